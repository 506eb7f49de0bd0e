# SPDX-License-Identifier: Apache-2.0
"""runs="harvest" in the waits of MPI, of a simulation that knows nothing of idle phases."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from arrays_run import products
from leat_run import LIMIT, xml
from mpis import AS_ROOT, ROOT

sys.path.append(str(ROOT / "tests/workers"))
from worker_run import OUT, ROW, WAIT, chunks  # noqa: E402  the plugin that adds up bytes

ITERATIONS = 6
KNOWN = 2  # phases before the iterations, in leat_init_mpi


def sums(iterations):
    i, rank = np.arange(1000), np.arange(2)[:, None]
    return [int(((7 * i + 13 * n + rank) % 256).sum()) for n in range(iterations)]


@pytest.fixture
def program(mpi):
    return mpi.compile("harvested.c", "-lleat", "-fopenmp", "-pthread")


def prepare(folder, runs="harvest"):
    (folder / "run.xml").write_text(xml(ROW, store=OUT + chunks(f'runs="{runs}" {WAIT}', at="hold")))


def await_end_of_leat(folder):
    until = time.monotonic() + LIMIT
    while [path for path in (folder / "r").iterdir() if path.suffix != ".late"]:
        assert time.monotonic() < until, "leatd does not end"
        time.sleep(0.02)


def said_of_phases(log):
    (line,) = [line for line in log.splitlines() if "ranks idled" in line]
    return tuple(map(int, re.search(r"in (\d+) phases \((\d+) too short to use, .* (\d+) pieces", line).groups()))


def expect_results(folder, iterations=ITERATIONS):
    found, numbers = products(folder, "pieces")
    assert numbers == list(range(iterations)) and found["sum"].tolist() == sums(iterations)
    return found["sum"].tobytes()


def test_it_works_while_a_rank_waits_for_another_and_makes_what_it_makes_on_the_server(mpi, program, tmp_path):
    made = []
    for runs in ("harvest", "server"):
        folder = tmp_path / runs
        folder.mkdir()
        prepare(folder, runs)
        log = mpi.run(2, program, "run.xml", ITERATIONS, cwd=folder)
        await_end_of_leat(folder)
        made.append(expect_results(folder))
        if runs == "harvest":
            phases, _, pieces = said_of_phases(log)
            assert phases == 2 * (KNOWN + ITERATIONS) and pieces == 8 * ITERATIONS
            idle = json.loads((folder / "run.report.json").read_text())["stores"][1]["idle"]
            assert (idle["phases"], idle["pieces"]) == (phases, pieces) and idle["found_seconds"] > idle["used_seconds"] > 0
    assert made[0] == made[1]


def test_waits_of_other_threads_and_in_parallel_regions_are_none_of_the_process(mpi, program, tmp_path):
    prepare(tmp_path)
    comms = 3
    log = mpi.run(2, program, "run.xml", ITERATIONS, "threads", cwd=tmp_path)
    await_end_of_leat(tmp_path)
    expect_results(tmp_path)
    assert said_of_phases(log)[0] == 2 * (KNOWN + comms + ITERATIONS)


def test_a_rank_that_is_killed_while_it_waits_costs_nothing_but_itself(mpi, program, tmp_path):
    prepare(tmp_path)
    words = mpi.command(2, program, "run.xml", ITERATIONS, "killed")
    environment = {**os.environ, **AS_ROOT, "LEAT_RUNTIME_DIR": str(tmp_path / "r")}
    with open(tmp_path / "said", "w") as said, subprocess.Popen(list(map(str, words)), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=said,
                                                               stderr=said, env=environment) as job:
        until = time.monotonic() + LIMIT
        pid = tmp_path / "pid"
        while not (pid.exists() and pid.read_text().endswith("\n")):
            assert time.monotonic() < until and job.poll() is None, (tmp_path / "said").read_text()
            time.sleep(0.02)
        time.sleep(0.1)  # it waits now, or nearly
        os.kill(int(pid.read_text()), signal.SIGKILL)
        job.wait(LIMIT)
    await_end_of_leat(tmp_path)
    expect_results(tmp_path)


def test_who_marks_no_phase_is_told_what_does(mpi, program, tmp_path):
    """Nothing is preloaded; the server's end lets the plugin work."""
    prepare(tmp_path)
    (tmp_path / "pieces").write_text("\n" * 8 * ITERATIONS)
    log = mpi.run(2, program, "run.xml", ITERATIONS, cwd=tmp_path, preload=())
    await_end_of_leat(tmp_path)
    expect_results(tmp_path)
    assert "has said when it idles, by leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or OMP_TOOL_LIBRARIES=libleat_ompt.so:" in log, log
