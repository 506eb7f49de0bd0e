# SPDX-License-Identifier: Apache-2.0
"""The server in ranks of the job, as place="ranks" says, under real mpirun: the same output, and no rank that hangs."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, LIMIT, Run
from leat_run import xml as run_xml
from stored_blocks import stored_ranks

ROOT = pathlib.Path(__file__).parents[2]
XML = """<simulation name="run"><architecture><dedicated cores="{cores}" place="ranks" {more}/><buffer size="16MiB" timeout="10s"/>
</architecture><data><layout name="l" type="double" dimensions="512"/><variable name="u" layout="l"/></data>
<storage><store name="out" type="hdf5"/></storage></simulation>"""


def environment(folder, **more):
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    kept = {k: v for k, v in os.environ.items() if k not in ("LEAT_PLACE", "LEAT_SESSION")}
    return {**kept, "LEAT_RUNTIME_DIR": str(folder / "r"), "PATH": path, "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}


class Job:
    """`split_rank` on so many ranks, servers among them."""

    def __init__(self, folder, what, ranks, cores=1, iterations=10, xml="", **more):
        self.folder, self.size = folder, ranks
        (folder / "run.xml").write_text(xml or XML.format(cores=cores, more=""))
        words = ["mpirun", "--oversubscribe", "-n", str(ranks), BUILD / "bin/split_rank", "run.xml", what, str(iterations)]
        with open(folder / "out", "wb") as out:
            self.process = subprocess.Popen(words, cwd=folder, env=environment(folder, **more), stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=out)

    def said(self, rank):
        """{what: (status, message)}"""
        with contextlib.suppress(FileNotFoundError):
            found = re.findall(r"^(\w+) (LEAT_\w+) ?(.*)$", (self.folder / f"rank-{rank}").read_text(), re.M)
            return {what: (status, message) for what, status, message in found}
        return {}

    def await_said(self, rank, what):
        until = time.monotonic() + LIMIT
        while what not in self.said(rank):
            assert time.monotonic() < until and self.process.poll() is None, (rank, what, self.output())
            time.sleep(0.01)

    def pid(self, rank):
        return int(re.search(r"^pid (\d+)", (self.folder / f"rank-{rank}").read_text())[1])

    def output(self):
        return (self.folder / "out").read_text()

    def end(self):
        try:
            return self.process.wait(LIMIT)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def check_nothing_left(self):
        assert not segments(self.folder)
        left = [p for p in (self.folder / "r").iterdir() if p.suffix != ".late"]
        assert not left, left


def segments(folder):
    """Of the job that ran there: its session is named after one of its ranks."""
    pids = [pid for path in folder.glob("rank-*") for pid in re.findall(r"^pid (\d+)", path.read_text())]
    return [p for p in pathlib.Path("/dev/shm").iterdir() if any(f"split-{pid}-" in p.name for pid in pids)]


def expected(rank, iteration):
    return 1000.0 * rank + iteration + np.arange(512) / 1024


def check_stored(folder, ranks, iterations):
    with h5py.File(folder / "run.h5") as file:
        assert list(file["iteration"]) == list(range(iterations))
        for row in range(iterations):
            blocks = stored_ranks(file, "u", row)
            assert sorted(blocks) == list(range(ranks))
            assert all((blocks[rank] == expected(rank, row)).all() for rank in blocks)


def test_the_last_ranks_are_servers_and_come_back_at_the_end(tmp_path):
    job = Job(tmp_path, "write", 4, cores=2)
    assert job.end() == 0, job.output()
    assert [job.said(rank)["split"][0] for rank in range(4)] == ["LEAT_OK"] * 2 + ["LEAT_SERVED"] * 2
    assert all("end" in job.said(rank) for rank in range(4))
    for rank in (2, 3):  # an old communicator, or none, of a rank that was a server
        assert job.said(rank)["late"] == ("LEAT_ERROR_STATE", job.said(rank)["late"][1]) and "was a server" in job.said(rank)["late"][1]
    check_stored(tmp_path, 2, 10)
    job.check_nothing_left()


def test_the_mode_is_decided_there_too(tmp_path):
    job = Job(tmp_path, "write", 3, iterations=80, xml=XML.format(cores=1, more='mode="auto"'))
    assert job.end() == 0, job.output()
    check_stored(tmp_path, 2, 80)
    assert "decided" in json.loads((tmp_path / "run.report.json").read_text())["mode"]


WORDS = {"heat_c": ["heat", "heat.xml", "60"], "shallow_water_fortran": ["shallow_water", "shallow_water.xml", "60"],
         "lammps": ["leat_lammps", "--every", "100", "--steps", "500", "crack.xml", "/usr/share/lammps/examples/crack/in.crack"]}


@pytest.mark.parametrize("example", list(WORDS))
def test_the_output_is_the_same_bit_for_bit_in_all_places(tmp_path, example):
    program, *arguments = WORDS[example]
    xml = ROOT / "examples" / example / next(word for word in arguments if word.endswith(".xml"))
    files = {}
    for place, ranks in (("process", 2), ("ranks", 3), ("thread", 2), ("none", 2)):
        folder = tmp_path / place
        folder.mkdir()
        (folder / xml.name).write_text(re.sub(r"<scripts>.*</scripts>", "", xml.read_text(), flags=re.S))
        words = ["mpirun", "--oversubscribe", "-n", str(ranks), BUILD / "bin" / program, *arguments]
        done = subprocess.run(words, cwd=folder, env=environment(folder, LEAT_PLACE=place), capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stdout + done.stderr
        files[place] = everything_in(folder / f"{xml.stem}.h5")
    assert len(files["process"]) > 3 and all(file == files["process"] for file in files.values())


# What differs from run to run by itself.
OWN = re.compile(r"ledger|session|started|created|history|uuid|date|leat_run|xml", re.I)


def everything_in(path):
    """{name: bytes} of all datasets, but what says when and in which session."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: (str(item.dtype), item.shape, np.asarray(item[()]).tobytes())})
                        if isinstance(item, h5py.Dataset) and not OWN.search(name) else None)
    return found


def test_more_servers_than_ranks_is_an_error_on_all_of_them(tmp_path):
    job = Job(tmp_path, "write", 2, cores=2)
    assert job.end() != 0
    for rank in range(2):
        status, message = job.said(rank)["split"]
        assert status == "LEAT_ERROR_CONFIG" and "has only 2 ranks" in message, message


def test_a_bad_xml_and_a_server_that_cannot_start_are_errors_on_all_ranks(tmp_path):
    for name, xml, status, word in (("xml", "<simulation/>", "LEAT_ERROR_CONFIG", "name"),
                                    ("memory", XML.format(cores=1, more="").replace("16MiB", "20000GiB"), "LEAT_ERROR_MEMORY", "TiB")):
        folder = tmp_path / name
        folder.mkdir()
        job = Job(folder, "write", 3, xml=xml)
        assert job.end() != 0
        for rank in range(3):
            assert job.said(rank)["split"][0] == status and word in job.said(rank)["split"][1], job.said(rank)


def test_a_split_on_a_part_of_the_ranks_does_not_hang(tmp_path):
    job = Job(tmp_path, "part", 3, LEAT_SPLIT_TIMEOUT="1")
    assert job.end() != 0
    status, message = job.said(0)["split"]
    assert status == "LEAT_ERROR_TIMEOUT" and "some ranks of the communicator have not called leat_split" in message, message


def test_ranks_that_never_call_leat_init_keep_no_server(tmp_path):
    job = Job(tmp_path, "none", 3)
    assert job.end() == 0, job.output()
    assert job.said(2)["split"][0] == "LEAT_SERVED"
    job.check_nothing_left()


def test_a_forgotten_finalize_is_made_up_for_by_that_of_mpi(tmp_path):
    job = Job(tmp_path, "forget", 3)
    assert job.end() == 0, job.output()
    check_stored(tmp_path, 2, 10)


def test_the_old_communicator_is_refused_and_a_second_split_too(tmp_path):
    job = Job(tmp_path, "old", 3)
    assert job.end() == 0, job.output()
    for rank in range(2):
        status, message = job.said(rank)["old"]
        assert status == "LEAT_ERROR_STATE" and "that leat_split gave" in message and "this one has 3" in message, message
    check_stored(tmp_path, 2, 10)
    (tmp_path / "twice").mkdir()
    job = Job(tmp_path / "twice", "twice", 3)
    job.end()
    # Each aborts the job when it has said so, and another one may not come to that.
    said = [job.said(rank)["twice"] for rank in range(2) if "twice" in job.said(rank)]
    assert said and all(status == "LEAT_ERROR_STATE" and "once" in message for status, message in said)


def processor_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_idle_servers_sleep_and_wait_for_ranks_that_prepare_for_long(tmp_path):
    job = Job(tmp_path, "slow", 4, cores=2)  # its timeout gives up ranks that never come after 7.5 s
    job.await_said(0, "split")
    before = {rank: processor_seconds(job.pid(rank)) for rank in (2, 3)}
    time.sleep(9)
    used = {rank: processor_seconds(job.pid(rank)) - before[rank] for rank in (2, 3)}
    (tmp_path / "go").touch()
    assert job.end() == 0, job.output()
    assert all(seconds <= 0.1 for seconds in used.values()), used
    check_stored(tmp_path, 2, 10)


def recovered(folder):
    """What a killed job has left in memory is stored now, if it is not already."""
    until = time.monotonic() + LIMIT
    done = None
    while time.monotonic() < until:
        done = subprocess.run([BUILD / "bin/leat", "recover"], cwd=folder, env=environment(folder), capture_output=True, text=True)
        if done.returncode == 0 and not segments(folder):
            return
        time.sleep(0.1)
    raise AssertionError(done.stdout + done.stderr)


@pytest.mark.parametrize("victim", ["server", "rank"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_written_is_stored_when_a_rank_is_killed_and_the_job_with_it(tmp_path, victim, how):
    job = Job(tmp_path, "wait", 3)
    for rank in range(2):
        job.await_said(rank, "wrote")
    os.kill(job.pid(2 if victim == "server" else 0), how)
    if victim == "server" and how == signal.SIGTERM:  # a warning of the batch system: it stores, and the job goes on
        (tmp_path / "go").touch()
        assert job.end() == 0, job.output()
        return check_stored(tmp_path, 2, 20)
    assert job.end() != 0
    recovered(tmp_path)
    check_stored(tmp_path, 2, 10)


def test_a_program_without_the_split_is_told_so(tmp_path):
    with Run(tmp_path, run_xml('<layout name="l" type="uint8" dimensions="8"/><variable name="a" layout="l"/>'),
             environment={"LEAT_PLACE": "ranks"}) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_CONFIG" and "leat_split was not called" in answer.error, answer


def test_a_server_rank_comes_back_although_another_one_never_does(tmp_path):
    """One that is stopped is here what one that died is to a launcher that lets the job go on."""
    xml = XML.format(cores=2, more='servers="2"')
    job = Job(tmp_path, "write", 6, xml=xml, LEAT_SPLIT_TIMEOUT="5")
    for rank in (0, 1, 3, 4):
        job.await_said(rank, "init")  # a rank that comes to a stopped server waits for it for long
    stopped = next(rank for rank in (5, 2) if "split" not in job.said(rank))
    other = 7 - stopped
    os.kill(job.pid(stopped), signal.SIGSTOP)
    try:
        job.await_said(other, "split")
        assert job.said(other)["split"][0] == "LEAT_SERVED"
        assert "have not come back" in job.output(), job.output()
    finally:
        os.kill(job.pid(stopped), signal.SIGCONT)
    job.end()
    with h5py.File(next((tmp_path / "run.parts").glob("*/rank000000.h5"))) as file:
        assert file["iteration"][:].tolist() == list(range(10))


def test_a_session_with_too_long_a_name_is_an_error_and_not_cut(tmp_path):
    """Two names that begin alike would be one session."""
    job = Job(tmp_path, "write", 3, LEAT_SESSION="x" * 65)
    job.end()
    assert all(job.said(rank)["split"][0] == "LEAT_ERROR_CONFIG" and "1 to 64 letters" in job.said(rank)["split"][1] for rank in range(3))
