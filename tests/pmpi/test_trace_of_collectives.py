# SPDX-License-Identifier: Apache-2.0
"""LEAT_PMPI_TRACE=FOLDER: a line for each collective of each rank."""
import os
import re
import signal
import subprocess
import time

import pytest
from leat_run import LIMIT
from mpis import AS_ROOT, HERE

COLLECTIVES = {"waits.c": 36, "waits_mpifh.f90": 8, "waits_mpi.f90": 8, "waits_f08.f90": 8}


def lines(path):
    text = path.read_text()
    assert text.startswith("# start_ns duration_ns") and text.endswith("\n")
    return text.splitlines()


def entries(path):
    found = [tuple(map(int, line.split(" "))) for line in lines(path) if not line.startswith("#")]
    assert all(a[0] + a[1] <= b[0] for a, b in zip(found, found[1:])), "they are in order, and none is within another"
    return found


@pytest.mark.parametrize("source", COLLECTIVES)
def test_each_collective_of_a_rank_is_a_line(mpi, tmp_path, source):
    program = mpi.compile(source, *(("-I", HERE, "-fallow-argument-mismatch") if source.endswith("90") else ()))
    before = time.monotonic_ns()
    mpi.run(2, program, cwd=tmp_path, LEAT_PMPI_TRACE="trace")
    after = time.monotonic_ns()
    assert sorted(path.name for path in (tmp_path / "trace").iterdir()) == ["collectives-0.txt", "collectives-1.txt"]
    for rank in range(2):
        path = tmp_path / f"trace/collectives-{rank}.txt"
        found, origin = entries(path), int(re.search(r"; 0 is (\d+) of CLOCK_MONOTONIC", lines(path)[0])[1])
        until = int(re.fullmatch(r"# until (\d+)", lines(path)[-1])[1])
        assert len(found) == COLLECTIVES[source] and found[0][0] == 0
        assert before < origin and sum(found[-1]) <= until < after - origin


def test_who_is_killed_leaves_whole_lines(mpi, tmp_path):
    program = mpi.compile("many.c")
    path = tmp_path / "collectives-0.txt"
    job = subprocess.Popen(list(map(str, mpi.command(1, program, LEAT_PMPI_TRACE=tmp_path))), cwd=tmp_path, env={**os.environ, **AS_ROOT},
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + LIMIT
        while not path.exists() or path.stat().st_size < 1 << 18:
            assert time.monotonic() < until and job.poll() is None
            time.sleep(0.001)
    finally:
        (rank,) = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_running(pid, program)]
        os.kill(rank, signal.SIGKILL)
        job.wait(LIMIT)
    assert len(entries(path)) > 1000
    assert all(re.fullmatch(r"\d+ \d+|# .*|#*", line) for line in lines(path))
    text = path.read_bytes()
    assert all(text[end - 1:end] == b"\n" for end in range(4096, len(text), 4096))


def test_jobs_that_trace_to_one_folder_do_not_mix(mpi, tmp_path):
    program = mpi.compile("waits.c")
    words = list(map(str, mpi.command(2, program, LEAT_PMPI_TRACE="../trace")))
    jobs = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        jobs.append(subprocess.Popen(words, cwd=folder, env={**os.environ, **AS_ROOT}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    assert [job.wait(LIMIT) for job in jobs] == [0, 0]
    assert [len(entries(tmp_path / f"trace/collectives-{rank}.txt")) for rank in range(2)] == [COLLECTIVES["waits.c"]] * 2


def test_a_disk_that_is_full_is_said_once_and_costs_the_trace_alone(mpi, tmp_path):
    """Files may have two pages, and no more."""
    said = mpi.run(1, mpi.compile("many.c"), 20000, 8192, cwd=tmp_path, LEAT_PMPI_TRACE="trace")
    assert said.count("leat: LEAT_PMPI_TRACE=trace: cannot write: File too large") == 1
    assert all(re.fullmatch(r"\d+ \d+|#.*", line) for line in lines(tmp_path / "trace/collectives-0.txt"))


def is_running(pid, program):
    try:
        return os.readlink(f"/proc/{pid}/exe") == str(program)
    except OSError:
        return False


def test_a_folder_that_cannot_be_written_is_said_once_and_costs_the_trace_alone(mpi, tmp_path):
    (tmp_path / "file").touch()
    said = mpi.run(2, mpi.compile("waits.c"), cwd=tmp_path, LEAT_PMPI_TRACE="file/trace")
    assert said.count("leat: LEAT_PMPI_TRACE=file/trace: file/trace/collectives-0.txt: Not a directory") == 1
    assert "rank 0: 51 calls" in said
