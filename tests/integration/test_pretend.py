# SPDX-License-Identifier: Apache-2.0
"""`leat launch --pretend-nodes`: one job on this machine as if it had several nodes, and nothing of them afterwards."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import types

import h5py
import pytest
from control_run import wait_until
from leat_run import BUILD, LIMIT, same_bits
from mpi_run import mpirun

TREE = pathlib.Path(__file__).parents[2]
HOW_TO = (TREE / "docs/how-to/several-nodes.md").read_text()
REFERENCE = (TREE / "docs/reference/leat-launch.md").read_text()
EXAMPLE = TREE / "examples" / "heat_c"
MET = re.compile(r"(pretend-\d) leatd heat: info: this is server (\d) of the 4 of the run, which have met by their ranks "
                 r"\(of pretend-0, pretend-1, pretend-2, pretend-3\); they reach each other by TCP, at port \d+")
ENDLESS = 100_000_000
IS_ROOT = os.geteuid() == 0
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if IS_ROOT else {}


def can_pretend():
    user = [] if IS_ROOT else ["--user", "--map-root-user"]
    line = "mount -t proc proc /proc && ip link add bridge0 type bridge && ip link add v0 type veth peer name v1"
    words = ["unshare", *user, "--mount", "--net", "--pid", "--fork", "sh", "-c", line]
    return bool(shutil.which("unshare")) and subprocess.run(words, capture_output=True, check=False).returncode == 0


with_nodes = pytest.mark.skipif(not can_pretend(), reason="this system allows no namespaces, or has no bridges")


def heat_xml(folder, timeout="60s"):
    folder.mkdir(exist_ok=True)
    (folder / "heat.xml").write_text((EXAMPLE / "heat.xml").read_text().replace('<buffer ', f'<buffer timeout="{timeout}" '))


def start(folder, steps, ranks=8, nodes=4, **environment):
    """As the pages say it, with other numbers."""
    line = "leat launch heat.xml --pretend-nodes 4 --run -n 8 -- ./heat heat.xml 41"
    assert f"\n    {line}\n" in HOW_TO and f"\n    $ {line}\n" in REFERENCE
    line = line.replace("nodes 4", f"nodes {nodes}").replace("-n 8", f"-n {ranks}").replace(" 41", f" {steps}")
    words = [BUILD / "bin/leat", *line.replace("./heat", str(BUILD / "bin/heat")).split()[1:]]
    return subprocess.Popen(words, cwd=folder, env={**os.environ, **ROOT, **environment}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def ended(run, code=0):
    """What it said on standard error."""
    out, said = run.communicate(timeout=2 * LIMIT)
    assert run.returncode == code, (run.returncode, out, said)
    return said


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except FileNotFoundError:
        return [""]


def below(pid):
    found = [pid]
    for each in found:
        try:
            found += children(each)
        except FileNotFoundError:
            pass
    return found[1:]


def on_node(run, what):
    """What the page says to look into a node, or to cut it off."""
    (holder,) = [pid for pid in below(run.pid) if words_of(pid)[0] == "leat-pretend-2"]
    (line,) = [line for line in HOW_TO.splitlines() if line.startswith("    nsenter") and line.endswith(what)]
    line = line.replace("$(pgrep --full '^leat-pretend-2 ')", str(holder))
    if not IS_ROOT:
        line = line.replace("--all", "--preserve-credentials --all")
    assert str(holder) in line
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True, env=environment, timeout=LIMIT).stdout


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def of_this_machine(folder):
    """What a run could leave on it."""
    running = [pid for pid in os.listdir("/proc") if pid.isdigit() and (words_of(pid)[0].startswith("leat-pretend") or is_in(pid, folder))]
    return (running, output("ip", "netns", "list"), re.findall(r"^\d+: (\S+):", output("ip", "-o", "link"), re.M),
            pathlib.Path("/proc/mounts").read_text(), sorted(os.listdir("/dev/shm")),
            [sorted(map(str, pathlib.Path("/tmp").glob(kind))) for kind in ("ompi*", f"leat-{os.geteuid()}/*", "*pretend*")])


def check_as_before(folder, before):
    with contextlib.suppress(AssertionError):
        wait_until(lambda: of_this_machine(folder) == before, "something is left")
    assert of_this_machine(folder) == before


def is_in(pid, folder):
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(folder)
    except OSError:
        return False


def values(folder):
    with h5py.File(folder / "heat.h5") as file:
        return file["iteration"][:].tolist(), file["temperature"][:]


def has_stored(folder, more_than=0):
    def stored():
        try:
            return len(values(folder)[0]) > more_than
        except (OSError, KeyError):
            return False
    return stored


def check_same(one, other):
    (iterations, field), (expected, same) = values(one), values(other)
    assert iterations == expected == [0, 10, 20, 30, 40] and same_bits(field, same)


@with_nodes
def test_four_pretended_nodes_give_the_bits_of_one_node(tmp_path):
    pretended, real = tmp_path / "pretended", tmp_path / "real"
    for folder in (pretended, real):
        heat_xml(folder)
    said = ended(start(pretended, 41))
    mpirun(8, "heat", "heat.xml", 41, cwd=real)
    check_same(pretended, real)
    assert sorted(MET.findall(said)) == [(f"pretend-{n}", str(n)) for n in range(4)], said
    told = REFERENCE[REFERENCE.index("      pretended: "):].split("\n\n")[0]
    assert all(line[4:] in said.splitlines() for line in told.splitlines()), said
    assert re.search(r"node +ranks +cores +address\n +pretend-0 +0-1 +\S.* 10\.77\.0\.1\n", said), said
    assert len(list((pretended / "heat.parts").glob("*/rank*.h5"))) == 4
    assert sorted(path.name for path in pretended.glob("*.ledger.json")) == [f"heat-pretend-{n}.ledger.json" for n in range(4)]


@with_nodes
@pytest.mark.parametrize("end", [None, signal.SIGKILL, signal.SIGSTOP])
def test_pretended_nodes_share_files_in_turn(tmp_path, end):
    """Also when one of their servers is killed, or stopped for longer than others wait for it."""
    steps = 41 if end is None else 2001
    for name in ("pretended", "real"):
        heat_xml(tmp_path / name, timeout="6s")
    config = tmp_path / "pretended" / "heat.xml"
    config.write_text(re.sub(r'(<store [^>]*type="hdf5")', r'\1 files="2" max-writers="2"', config.read_text()))
    assert 'files="2"' in config.read_text()
    run = start(tmp_path / "pretended", steps)
    if end is not None:
        wait_until(has_stored(tmp_path / "pretended"), "nothing is stored")
        (server, *_) = [pid for pid in below(run.pid) if words_of(pid)[0].endswith("leatd")]
        os.kill(server, end)
        if end == signal.SIGSTOP:
            time.sleep(3)
            os.kill(server, signal.SIGCONT)
    ended(run)
    mpirun(8, "heat", "heat.xml", steps, cwd=tmp_path / "real")
    (iterations, field), (expected, same) = values(tmp_path / "pretended"), values(tmp_path / "real")
    assert iterations == expected and same_bits(field, same)
    names = {path.name for path in (tmp_path / "pretended" / "heat.parts").glob("*/*.h5")}
    assert {"shared000.h5", "shared001.h5"} <= names and (end is not None or len(names) == 2)


@with_nodes
def test_servers_that_have_met_by_their_ranks_reach_each_other_by_a_folder(tmp_path):
    heat_xml(tmp_path)
    config = tmp_path / "heat.xml"
    config.write_text(config.read_text().replace("<buffer", '<network carrier="folder"/><buffer'))
    said = ended(start(tmp_path, 41))
    assert said.count("they reach each other by the folder") == 4 and "goes on without" not in said, said
    assert not (tmp_path / "heat.group").exists()


@with_nodes
def test_two_runs_at_once_do_not_disturb_each_other(tmp_path):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        heat_xml(folder)
    for run in [start(folder, 41) for folder in folders]:
        assert len(MET.findall(ended(run))) == 4
    check_same(*folders)


def ctrl_c(run):
    run.send_signal(signal.SIGINT)
    return 130


def terminate(run):
    run.terminate()
    return 130


def kill(run):
    run.kill()
    return -signal.SIGKILL


def kill_a_rank(run):
    os.kill(next(pid for pid in below(run.pid) if words_of(pid)[0].endswith("/heat")), signal.SIGKILL)
    return 128 + signal.SIGKILL


@with_nodes
@pytest.mark.parametrize("how", [ctrl_c, terminate, kill, kill_a_rank])
def test_nothing_is_left_of_a_run_that_is_ended(tmp_path, how):
    heat_xml(tmp_path)
    before = of_this_machine(tmp_path)
    run = start(tmp_path, ENDLESS)
    wait_until(has_stored(tmp_path, more_than=1), "nothing is stored")
    assert of_this_machine(tmp_path)[0] != before[0]
    assert of_this_machine(tmp_path)[1:] == before[1:]
    ended(run, how(run))
    check_as_before(tmp_path, before)
    assert values(tmp_path)[0][:2] == [0, 10]


@with_nodes
def test_a_user_looks_into_a_node(tmp_path):
    heat_xml(tmp_path)
    run = start(tmp_path, ENDLESS, nodes=4, ranks=4)
    wait_until(has_stored(tmp_path), "nothing is stored")
    assert "heat" in on_node(run, "leat ls")
    ended(run, ctrl_c(run))


@with_nodes
def test_a_node_that_is_cut_off_for_a_while_holds_up_nothing(tmp_path):
    heat_xml(tmp_path, timeout="2s")
    run = start(tmp_path, 1001)
    wait_until(has_stored(tmp_path), "nothing is stored")
    on_node(run, "eth0 down")
    time.sleep(6)
    on_node(run, "eth0 up")
    said = ended(run)
    assert values(tmp_path)[0] == list(range(0, 1001, 10))
    assert re.search(r"pretend-0 leatd heat: warning: .*pretend-2.* has reported nothing for too long", said), said
    assert re.search(r"pretend-2 leatd heat: warning: from iteration \d+ on this server goes on without the other servers", said), said


# ---- without nodes


def refused(folder, *words, code, **environment):
    heat_xml(folder)
    done = subprocess.run([BUILD / "bin/leat", "launch", "heat.xml", *words, "--", "./heat"], cwd=folder, capture_output=True, text=True,
                          check=False, env={**os.environ, **environment})
    assert done.returncode == code, done.stderr
    return done.stderr


def test_what_cannot_be_is_refused(tmp_path):
    assert "add --run" in refused(tmp_path, "--pretend-nodes", "2", "-n", "2", code=2)
    assert "excludes" in refused(tmp_path, "--pretend-nodes", "2", "-n", "2", "--run", "--nodes", "2", code=2)
    assert "not in range 2 to 200" in refused(tmp_path, "--pretend-nodes", "1", "-n", "2", "--run", code=2)
    assert "say --pretend-nodes 2" in refused(tmp_path, "--pretend-nodes", "3", "-n", "4", "--run", code=1)
    nothing = tmp_path / "bin"
    nothing.mkdir()
    assert "mpirun of Open MPI in PATH" in refused(tmp_path, "--pretend-nodes", "2", "-n", "2", "--run", code=1, PATH=str(nothing))


def without_namespaces(folder, steps):
    return start(folder, steps, ranks=4, nodes=2, LD_PRELOAD=str(BUILD / "lib/no_unshare.so"))


def test_where_namespaces_are_forbidden_nodes_are_runtime_folders(tmp_path):
    heat_xml(tmp_path / "pretended")
    heat_xml(tmp_path / "real")
    before = of_this_machine(tmp_path / "pretended")
    said = ended(without_namespaces(tmp_path / "pretended", 41))
    mpirun(4, "heat", "heat.xml", 41, cwd=tmp_path / "real")
    check_same(tmp_path / "pretended", tmp_path / "real")
    assert len(list((tmp_path / "pretended" / "heat.parts").glob("*/rank*.h5"))) == 2
    assert sorted(re.findall(r"this is server (\d) of the 2 .* by TCP", said)) == ["0", "1"], said
    assert "sudo sysctl -w" in said and "--privileged" in said and "make no namespaces" in said
    assert of_this_machine(tmp_path / "pretended") == before


@pytest.mark.parametrize("how", [ctrl_c, kill])
def test_without_namespaces_nothing_is_left_either(tmp_path, how):
    heat_xml(tmp_path)
    before = of_this_machine(tmp_path)
    run = without_namespaces(tmp_path, ENDLESS)
    wait_until(has_stored(tmp_path), "nothing is stored")
    ended(run, how(run))
    check_as_before(tmp_path, before)


def test_cores_are_shared_out():
    sys.path.insert(0, str(TREE / "python-plugins"))
    from leat.planning.pretend import nodes_of
    options = types.SimpleNamespace(staging=0, nodes=2, ranks=5, per_node=3, servers=1)
    one, other = nodes_of(options, [[0, 8], [1, 9], [2, 10], [3, 11]])
    assert (one.cpus, one.computing, one.ranks) == ([0, 8, 1, 9], [0, 8], range(3))
    assert (other.cpus, other.computing, other.ranks) == ([2, 10, 3, 11], [2, 10], range(3, 5))
    assert [node.cpus for node in nodes_of(options, [[5]])] == [[5], [5]]


def test_leat_takes_no_other_processors_than_it_is_given():
    first = min(os.sched_getaffinity(0))
    seen = subprocess.run([BUILD / "bin/leat", "placement", "--describe"], capture_output=True, text=True, check=True,
                          env={**os.environ, "LEAT_CPUS": str(first)}).stdout
    assert json.loads(seen)["allowed"] == str(first)
