# SPDX-License-Identifier: Apache-2.0
"""LEAT_ANALYTICS_TRACE: when each piece of an analysis was at work, and where."""
import os
import re
import signal
import subprocess
import sys

import pytest
from control_run import wait_until
from leat_run import BUILD, Run, xml
from worker_run import OUT, ROW, WAIT, chunks, has_stored, stored, workers, write

PIECES, ITERATIONS = 8, 5


def traced(folder, schedule, trace="trace", ranks=1):
    return Run(folder, xml(ROW, store=OUT + chunks(f'runs="{schedule}" {WAIT}')), ranks=ranks,
               environment={"LEAT_ANALYTICS_TRACE": str(folder / trace)})


def events(path):
    """(begin, duration, core) of a file, whose lines have to make sense."""
    lines = path.read_text().splitlines()
    origin = re.fullmatch(r"# start_ns duration_ns; 0 is (\d+) of CLOCK_MONOTONIC", lines[0])[1]
    found, core = [], None
    for line in lines[1:]:
        if line.startswith("# core "):
            core = int(line.split()[-1])
        elif not line.startswith("#"):
            begin, duration = map(int, line.split())
            assert core in os.sched_getaffinity(0) and duration >= 0 and begin >= (sum(found[-1][:2]) if found else 0)
            found.append((begin, duration, core))
    return int(origin), found


@pytest.mark.parametrize("schedule", ["server", "sync", "idle", "harvest", "coordinated"])
def test_each_piece_is_in_it_once_and_leat_predict_reads_it(tmp_path, schedule):
    with traced(tmp_path, schedule) as run:
        run.init()
        write(run, range(ITERATIONS))
        run.finish()
        files = sorted((tmp_path / "trace").glob("analytics-*-pieces-*.txt"))
        found = [events(path) for path in files]
        assert sum(len(of_thread) for _, of_thread in found) == PIECES * ITERATIONS
        assert len({origin for origin, _ in found}) == 1 and min(of_thread[0][0] for _, of_thread in found) == 0
        assert all(path.read_text().splitlines()[-1].startswith("# until ") for path in files)
    said = subprocess.run([BUILD / "bin/leat", "predict", "--ranks", "8", "--compute", "1ms", "--burst-traces", *files, "--json",
                           "--interpreter", sys.executable],
                          capture_output=True, text=True)
    assert said.returncode == 0, said.stderr


def test_of_a_process_that_is_killed_whole_calls_are_in_it(tmp_path):
    with traced(tmp_path, "idle") as run:
        run.init()
        run.server()
        write(run, range(2))
        wait_until(lambda: has_stored(tmp_path, [0, 1]) and workers(run), "its process")
        for worker in workers(run):
            os.kill(worker, signal.SIGKILL)
        write(run, range(2, 4))
        run.finish()
    files = list((tmp_path / "trace").glob("analytics-*-pieces-*.txt"))
    assert {path.name.split("-")[-3] for path in files} and all(events(path)[1] for path in files)
    assert sum(len(events(path)[1]) for path in files) >= 2 * PIECES


def test_where_it_cannot_be_written_the_run_goes_on_and_says_so_once(tmp_path):
    (tmp_path / "trace").write_text("in the way")
    with traced(tmp_path, "idle") as run:
        run.init()
        write(run, range(3))
        run.finish()
    assert stored(tmp_path) == [0, 1, 2] and (tmp_path / "trace").read_text() == "in the way"
    assert run.log().count('no trace of store "pieces" can be written there') == 1
