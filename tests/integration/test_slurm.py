# SPDX-License-Identifier: Apache-2.0
"""Jobs of Slurm as `leat launch` prints them, on a cluster that is this machine: whatever ends a job, the file has all that its
ranks had written, and the nodes are as they were."""
import json
import os
import pathlib
import re
import signal
import time

import h5py
import pytest
from example_run import iterations
from leat_run import BUILD, same_bits
from slurm_cluster import NODES, Slurm, wait_for
from test_heat import NY, plate

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "heat_c"
ENDLESS = 100_000_000
RUNTIME = "/dev/shm/leat"  # on each node another one


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with Slurm(tmp_path_factory.mktemp("slurm") / "c") as cluster:
        yield cluster


def job_file(slurm, folder, steps, *options, nodes=1):
    text = (EXAMPLE / "heat.xml").read_text()
    (folder / "heat.xml").write_text(text.replace("64MiB", "1MiB").replace("<data>", '<log file="heat.log"/>\n  <data>'))
    text = slurm.output("leat", "launch", "heat.xml", "-n", nodes, "--nodes", nodes, "--job", "slurm", *options, "--",
                        BUILD / "bin/heat", "heat.xml", steps, cwd=folder)
    (folder / "heat.sbatch").write_text(text)
    return text


def submit(slurm, folder):
    words = ("sbatch", "--parsable", "--time=10", "--output=job.txt", "heat.sbatch")
    return int(slurm.output(*words, cwd=folder, LEAT_RUNTIME_DIR=RUNTIME).strip())


def running(slurm, folder, *options, nodes=1):
    """The number of an endless job of which something is in the file already."""
    job_file(slurm, folder, ENDLESS, *options, nodes=nodes)
    number = submit(slurm, folder)
    wait_for("nothing is stored", lambda: len(iterations(folder / "heat.h5")) > 2)
    return number


def processes_in(folder, name=""):
    """Those that work there; of this name."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.readlink(process / "cwd") == str(folder):
                if name in ("", (process / "comm").read_text().strip()):
                    found.append(int(process.name))
        except OSError:
            continue
    return found


def sleeps(pid):
    return "\nState:\tS" in pathlib.Path(f"/proc/{pid}/status").read_text()


def stop_servers(folder):
    """Until a rank waits for room: there is much in memory then that is in no file."""
    for pid in processes_in(folder, "leatd"):
        os.kill(pid, signal.SIGSTOP)
    ranks, seen = processes_in(folder, "heat"), 0
    while seen < 10:
        wait_for("no rank waits", lambda: any(map(sleeps, ranks)))
        seen = seen + 1 if any(map(sleeps, ranks)) else 0
        time.sleep(0.01)
    return ranks


def expect_nothing_left(slurm, folder):
    """Slurm says that a job is over while its last processes still end."""
    wait_for("processes of the job do not end", lambda: not processes_in(folder))
    for node in NODES:
        wait_for(f"memory stays on {node}", lambda node=node: not [path for path in slurm.shared_memory(node) if path != "leat"])


def ledgers(folder, nodes):
    names = ["heat"] if nodes == 1 else [f"heat-{node}" for node in NODES]
    return [json.loads((folder / f"{name}.ledger.json").read_text()) for name in names]


def expect_all_that_was_written(folder, steps=None, nodes=1):
    """Of a rank that died all before the iteration that it was in; to the last bit as far as NumPy computes it here."""
    rows = NY // nodes
    plates = [T for i, T in enumerate(plate(201)) if i % 10 == 0]
    with h5py.File(folder / "heat.h5") as file:
        numbers = file["iteration"][:].tolist()
        for node, ledger in enumerate(ledgers(folder, nodes)):
            ended = steps or ledger["died"][0]["iteration"]
            due = list(range(0, ended, 10))
            assert ledger["lost"] == 0 and due and numbers[:len(due)] == due
            part = slice(node * rows, (node + 1) * rows)
            for T, stored in zip(plates, file["temperature"][:min(len(due), len(plates))]):
                assert same_bits(stored[part], T[part])


@pytest.mark.parametrize(("launcher", "nodes"), [("slurm", 2), ("openmpi", 1)])
def test_the_job_file_of_leat_launch_runs_with_a_core_for_the_server_of_each_node(slurm, tmp_path, launcher, nodes):
    text = job_file(slurm, tmp_path, 201, "--launcher", launcher, nodes=nodes)
    assert ("\nmpirun " in text) == (launcher == "openmpi")
    assert slurm.end_of(submit(slurm, tmp_path)) == ("COMPLETED", "0:0"), (tmp_path / "job.txt").read_text()
    expect_all_that_was_written(tmp_path, steps=201, nodes=nodes)
    placed = json.loads(slurm.output("leat", "placement", "--xml", "heat.xml", "--ranks", 1, "--json", cwd=tmp_path))["server"]
    for ledger in ledgers(tmp_path, nodes):
        assert re.match(rf"cores? {placed['cpus']},", ledger["placement"]["server"]) and ledger["placement"]["warnings"] == []
    expect_nothing_left(slurm, tmp_path)


@pytest.mark.parametrize(("launcher", "nodes"), [("slurm", 1), ("slurm", 2), ("openmpi", 1)])
def test_what_a_cancelled_job_had_written_is_in_the_file(slurm, tmp_path, launcher, nodes):
    number = running(slurm, tmp_path, "--launcher", launcher, nodes=nodes)
    slurm.output("scancel", number)
    assert slurm.end_of(number)[0] == "CANCELLED"
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_nothing_left(slurm, tmp_path)
    logs = "".join(path.read_text() for path in tmp_path.glob("heat*.log"))  # each server has its own
    for rank in range(nodes):
        assert re.search(rf"rank {rank} died in iteration \d+; the data it had written is stored", logs), rank


def test_what_a_job_had_written_that_was_warned_of_its_end_is_in_the_file(slurm, tmp_path):
    """`#SBATCH --signal=TERM@60` does this a minute before the end: the steps have SIGTERM, the script does not."""
    number = running(slurm, tmp_path)
    slurm.output("scancel", "--signal=TERM", number)
    assert slurm.end_of(number) == ("FAILED", "143:0")
    expect_all_that_was_written(tmp_path)
    expect_nothing_left(slurm, tmp_path)


@pytest.mark.parametrize(("end", "nodes"), [(signal.SIGSEGV, 1), (signal.SIGKILL, 2)])
def test_what_a_job_had_written_whose_rank_died_is_in_the_file(slurm, tmp_path, end, nodes):
    number = running(slurm, tmp_path, nodes=nodes)
    os.kill(stop_servers(tmp_path)[0], end)
    state, code = slurm.end_of(number)
    assert state == "FAILED" and (nodes > 1 or code == f"{128 + end}:0")
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_nothing_left(slurm, tmp_path)
    assert "that were in memory are stored now" in (tmp_path / "job.txt").read_text()


def test_a_job_ends_with_the_code_of_its_program(slurm, tmp_path):
    job_file(slurm, tmp_path, 41)
    text = (tmp_path / "heat.sbatch").read_text()
    (tmp_path / "heat.sbatch").write_text(text.replace("heat.xml 41", "none.xml 41"))
    assert slurm.end_of(submit(slurm, tmp_path)) == ("FAILED", "1:0")
    assert "none.xml" in (tmp_path / "job.txt").read_text()
