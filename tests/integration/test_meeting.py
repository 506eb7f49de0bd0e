# SPDX-License-Identifier: Apache-2.0
"""Servers of a run get to know each other, by their ranks or in a folder, and nobody else learns their secret."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import stat
import time

import pytest
from control_run import wait_until
from leat_run import BUILD, LIMIT, await_death, xml
from nodes_run import NodesRun, environment_of
from test_mpi_init import mpirun, returned
from test_places import XML as IN_RANKS
from test_places import Job

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
MET = re.compile(r"this is server (\d) of the (\d) of the run, which have met ([^(]*) \(of ([^)]*)\); they reach each other by (.*)")
ALONE = "this server goes on without the other servers of the run: "
BOTH = [("0", "2", "by their ranks"), ("1", "2", "by their ranks")]
LOG = '<log file="leatd.log"/>'
SECRET = re.compile(rb"leat-credential-1 ([0-9a-f]{64})")


def text(servers=1, network="", timeout="10s", log=LOG):
    whole = xml(ROW, timeout=timeout, log=log, cores=servers)
    return whole.replace(f'cores="{servers}"/>', f'cores="{servers}" servers="{servers}"/>{network}')


def met(folder):
    """What servers say of how they have met, by their numbers; of those that took over too."""
    lines = "".join(path.read_text() for path in sorted(folder.glob("leatd*.log")))
    return [found.groups() for found in MET.finditer(lines)]


def soon(condition):
    wait_until(condition, "the servers say nothing")


def iterate(ranks, count=3):
    for _ in range(count):
        for rank in ranks:
            rank.must("write", "a", 0, 20, 7)
        for rank in ranks:
            rank.end()


def write_iterations_until(condition, ranks):
    until = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until
        iterate(ranks, 1)
        time.sleep(0.02)


# ---- in a folder


def nodes_run(folder, nodes, own=LOG, **more):
    """Each node has a log of its own."""
    whole = text(log='<log file="${NODE}.log"/>' if own else "", **more)
    return NodesRun(folder, whole, nodes, each=[{"NODE": f"leatd-{n}"} for n in range(len(nodes))])


def test_without_mpi_they_meet_in_a_folder_that_is_gone_in_the_end(tmp_path):
    with nodes_run(tmp_path, [[2, 3], [0, 1], [4, 5]]) as run:
        ranks = run.init()
        iterate(ranks)
        soon(lambda: len(met(tmp_path)) == 3)
        folder = tmp_path / "run.group" / run.session
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
        run.finish()
    numbers = [re.search(r"this is server (\d)", (tmp_path / f"leatd-{node}.log").read_text())[1] for node in range(3)]
    assert numbers == ["1", "0", "2"]  # by their lowest ranks
    for _, of, how, _, _ in met(tmp_path):
        assert of == "3" and how == f"in the folder {folder}"
    assert not (tmp_path / "run.group").exists()


@pytest.mark.parametrize("network, reaches", [('<network interface="lo"/>', "TCP, at port "),
                                              ('<network carrier="folder"/>', "the folder ")])
def test_the_xml_says_by_what_they_reach_each_other(tmp_path, network, reaches):
    with nodes_run(tmp_path, [[0], [1]], network=network) as run:
        iterate(run.init())
        soon(lambda: len(met(tmp_path)) == 2)
        run.finish()
    assert all(each[4].startswith(reaches) for each in met(tmp_path))


def test_carrier_none_has_each_go_on_by_itself(tmp_path):
    with nodes_run(tmp_path, [[0], [1]], network='<network carrier="none"/>') as run:
        iterate(run.init())
        run.finish()
    logs = "".join(path.read_text() for path in tmp_path.glob("leatd*.log"))
    assert "of the run" not in logs and "rror" not in logs


def test_an_interface_that_a_node_does_not_have_is_an_error_of_the_start(tmp_path):
    with nodes_run(tmp_path, [[0], [1]], network='<network interface="loo"/>') as run:
        for rank in run.ranks:
            rank.start("init_ranks", run.config, run.session, rank.number, 2, 0, 1)
        for rank in run.ranks:
            answer = rank.result()
            assert answer.status == "LEAT_ERROR_CONFIG" and '"loo" is no interface' in answer.error and 'did you mean "lo"?' in answer.error


def test_a_server_whose_others_do_not_come_goes_on_and_says_what_they_need(tmp_path):
    with nodes_run(tmp_path, [[0, 1], [2, 3]], timeout="2s") as run:
        for place, rank in enumerate(run.ranks[:2]):
            rank.start("init_ranks", run.config, run.session, rank.number, 4, place, 2)
        assert all(rank.result().ok for rank in run.ranks[:2])
        iterate(run.ranks[:2])
        log = tmp_path / "leatd-0.log"
        soon(lambda: ALONE in log.read_text())
        folder = f"{tmp_path}/run.group/{run.session}"
        assert f"of the 4 ranks of the run servers of only 2 have met in {folder}; all nodes have to share" in log.read_text()
        assert all(answer.ok for answer in run.finalize(run.ranks[:2]))
        run.nodes, run.all_runtimes = run.nodes[:1], run.all_runtimes[:1]  # nobody was on the other one


def test_where_a_server_was_killed_the_next_one_has_its_place_and_its_port(tmp_path):
    with nodes_run(tmp_path, [[0, 1], [2, 3]], network='<network interface="lo"/>') as run:
        ranks = run.init()
        soon(lambda: len(met(tmp_path)) == 2)
        port = int(re.search(r"at port (\d+)", (tmp_path / "leatd-1.log").read_text())[1])
        before = met(tmp_path)
        killed = run.server_of(1)
        os.kill(killed, signal.SIGKILL)
        await_death(killed)
        write_iterations_until(lambda: len(met(tmp_path)) == 3, ranks)
        socket.create_connection(("127.0.0.1", port), LIMIT).close()
        run.finish()
    assert set(met(tmp_path)) == set(before)
    assert not (tmp_path / "run.group").exists()


def test_a_server_that_is_killed_before_they_have_met_is_followed_by_one_that_does(tmp_path):
    with nodes_run(tmp_path, [[0], [1]], timeout="30s") as run:
        run.ranks[0].must("init_ranks", run.config, run.session, 0, 2, 0, 1)
        killed = run.server_of(0)
        os.kill(killed, signal.SIGKILL)
        await_death(killed)
        write_iterations_until(lambda: run.servers(), run.ranks[:1])
        run.ranks[1].must("init_ranks", run.config, run.session, 1, 2, 0, 1)
        soon(lambda: len(met(tmp_path)) == 2)
        run.finish()


# ---- the secret


def files_of(pid):
    return [pathlib.Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")]


def test_the_secret_is_in_no_log_segment_command_line_or_file_for_others(tmp_path):
    with nodes_run(tmp_path, [[0, 1], [2, 3]]) as run:
        iterate(run.init())
        soon(lambda: len(met(tmp_path)) == 2)
        journals = [path for runtime in run.all_runtimes for path in runtime.glob("*.journal")]
        assert len(journals) == 2
        secrets = {secret for path in journals for secret in SECRET.findall(path.read_bytes())}

        def has_a_secret(text):
            return any(secret in text for secret in secrets)

        for path in journals:
            assert has_a_secret(path.read_bytes())
            assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        for path in [*run.segments(), *tmp_path.rglob("*")]:
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # a lock that is gone
                if stat.S_IMODE(path.stat().st_mode) & 0o077 or path in run.segments():
                    assert not has_a_secret(path.read_bytes()), path
        for pid in [*run.servers(), *(rank.process.pid for rank in run.ranks)]:
            assert not any(has_a_secret(each) for each in files_of(pid))
        assert environment_of(run.server_of(0))
        run.finish()
    assert not any(has_a_secret(path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())


# ---- by the communicator of the ranks


def test_by_mpi_they_meet_without_a_folder(tmp_path):
    (tmp_path / "run.xml").write_text(text(2, network='<network interface="lo"/>'))
    done = mpirun(tmp_path, (5, {}, ["run.xml", "finalize"]))
    assert returned(tmp_path, 5) == 5 * ["LEAT_OK "], done.stderr
    said = met(tmp_path)
    assert sorted(each[0] for each in said) == ["0", "1"], done.stderr
    assert all(each[1:3] == ("2", "by their ranks") and each[4].startswith("TCP") for each in said)
    assert not (tmp_path / "run.group").exists()


def test_by_mpi_ranks_with_leat_switched_off_take_part(tmp_path):
    (tmp_path / "run.xml").write_text(text(2, timeout="2s"))
    done = mpirun(tmp_path, (1, {"LEAT": "off"}, ["run.xml", "finalize"]), (4, {}, ["run.xml", "finalize"]))
    assert returned(tmp_path, 5) == 5 * ["LEAT_OK "], done.stderr
    assert sorted(each[0] for each in met(tmp_path)) == ["0", "1"], done.stderr


def test_servers_in_ranks_of_the_job_meet_too(tmp_path):
    job = Job(tmp_path, "finalize", 6, xml=IN_RANKS.format(cores=2, more='servers="2"').replace("</simulation>", LOG + "</simulation>"))
    assert job.end() == 0, job.output()
    assert sorted(each[:3] for each in met(tmp_path)) == BOTH, job.output()
    assert not (tmp_path / "run.group").exists()
    job.check_nothing_left()


def pid_of_server(folder, number):
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if words[0].endswith(b"leatd") and f"LEAT_RUNTIME_DIR={folder / 'r'}".encode() in environment_of(entry.name) \
                        and words[words.index(b"--server") + 1] == str(number).encode() and any((folder / "r").glob("*.sock")):
                    return int(entry.name)
            except (OSError, ValueError, IndexError):
                continue
        time.sleep(0.005)
    raise AssertionError("no server")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_is_killed_or_stopped_meanwhile_holds_up_no_rank(tmp_path, how):
    """The ranks of server 0 have been welcomed by it, and wait for those of server 1, which takes its time to start."""
    import threading
    (tmp_path / "run.xml").write_text(text(2, timeout="20s"))
    slow = tmp_path / "leatd.sh"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *"--server 1"*) until test -e {tmp_path}/go; do sleep 0.05; done;; esac\n'
                    f'exec {BUILD / "bin/leatd"} "$@"\n')
    slow.chmod(0o755)
    outcome = {}
    job = threading.Thread(target=lambda: outcome.update(done=mpirun(tmp_path, (4, {"LEAT_SERVER": slow}, ["run.xml", "finalize"]))))
    job.start()
    server = pid_of_server(tmp_path, 0)
    time.sleep(1)
    os.kill(server, how)
    (tmp_path / "go").touch()
    soon(lambda: all((tmp_path / f"returned-{rank}").exists() for rank in range(4)))
    if how == signal.SIGSTOP:
        os.kill(server, signal.SIGCONT)
    job.join(LIMIT)
    assert returned(tmp_path, 4) == 4 * ["LEAT_OK "], outcome["done"].stderr
    assert sorted(each[:3] for each in met(tmp_path)) == BOTH, outcome["done"].stderr
