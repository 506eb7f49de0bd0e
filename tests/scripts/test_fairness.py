# SPDX-License-Identifier: Apache-2.0
"""More scripts than processes: whoever loops costs its own iterations, and what was left out is counted to the last one."""
import re
import time

from leat_run import LIMIT
from script_run import config, last_report, put, rows, script_run, table, wait_until, write_iterations
from test_isolation import WITNESS, expect_all_stored
from without_xarray import without_xarray  # noqa: F401

LOOP = "def process(ds, ctx):\n    while True: pass\n"


def counts(run, script):
    """(calls, left out) of the report."""
    line = last_report(run, script)
    left_out = re.search(r"(\d+) iterations? skipped", line)
    return int(re.search(r"(\d+) calls?", line)[1]), int(left_out[1]) if left_out else 0


def check_counts(run, folder, scripts, iterations):
    """Each script was called for an iteration, or it is counted as left out; a row of its table is a call."""
    for script in scripts:
        calls, left_out = counts(run, script)
        assert calls + left_out == iterations, (script, run.log())
        if script in "bc":
            assert calls == len(table(folder, script)), run.log()


def test_long_calls_of_many_scripts_keep_nobody_else_waiting(tmp_path):
    for number in range(3):  # in front of the others by their names
        put(tmp_path, f"a{number}", f"import os\ndef process(ds, ctx):\n    while not os.path.exists({str(tmp_path / 'stop')!r}): pass\n")
    for name in ("b", "c"):
        put(tmp_path, name, WITNESS)
    with script_run(tmp_path, config(scripts='workers="2"', skip=True)) as run:
        for number in range(5):
            write_iterations(run, [number])
            wait_until(lambda: all(rows(tmp_path, s) and rows(tmp_path, s)[-1]["i"] == str(number) for s in "bc"), "the others")
        (tmp_path / "stop").touch()
    expect_all_stored(tmp_path, 5)
    assert "it took longer" not in run.log()
    check_counts(run, tmp_path, ("a0", "a1", "a2", "b", "c"), 5)


def test_scripts_that_loop_again_and_again_do_not_starve_those_of_their_process(tmp_path):
    for name in ("a0", "a1"):
        put(tmp_path, name, LOOP)
    for name in ("b", "c"):
        put(tmp_path, name, WITNESS)
    number = 0
    with script_run(tmp_path, config(scripts='workers="1"', folder='timeout="0.5s" failures="99"', skip=True)) as run:
        until = time.monotonic() + LIMIT
        while not all(len(rows(tmp_path, script)) >= 3 for script in "bc"):
            assert time.monotonic() < until, run.log()
            write_iterations(run, [number])
            number += 1
            time.sleep(0.05)
    expect_all_stored(tmp_path, number)
    check_counts(run, tmp_path, ("a0", "a1", "b", "c"), number)


def test_each_script_of_a_process_has_its_turn(tmp_path):
    """The first by name always has a newer iteration that waits: the other one sees some all the same."""
    put(tmp_path, "a", "import time\ndef process(ds, ctx):\n    time.sleep(0.2)\n    ctx.scalar('i', ctx.iteration)\n")
    put(tmp_path, "b", WITNESS)
    with script_run(tmp_path, config(scripts='workers="1"', skip=True)) as run:
        write_iterations(run, range(1))
        wait_until(lambda: rows(tmp_path, "a") and rows(tmp_path, "b"), "the first calls")
        write_iterations(run, range(1, 60))
        wait_until(lambda: len(rows(tmp_path, "b")) > 1, "the second one")
    expect_all_stored(tmp_path, 60)
    for script in "ab":
        calls, left_out = counts(run, script)
        assert calls + left_out == 60 and calls == len(table(tmp_path, script)), run.log()


def test_left_out_are_those_that_a_script_wanted_and_no_others(tmp_path):
    """Wanted: each tenth of 100. What came while it was loaded, while its process was new, and after it was given up counts."""
    put(tmp_path, "s", """
        import leat, os, time
        time.sleep(0.3)
        @leat.on_iteration(every=10)
        def tenth(ds, ctx):
            ctx.scalar("i", ctx.iteration)
            if ctx.iteration == 30:
                os.abort()
            if ctx.iteration >= 50:
                1 / 0
        """)
    with script_run(tmp_path, config(folder='failures="2"', skip=True)) as run:
        for start in range(0, 100, 10):
            write_iterations(run, range(start, start + 10))
            if start == 0:
                wait_until(lambda: rows(tmp_path, "s"), "the first call")
    expect_all_stored(tmp_path, 100)
    calls, left_out = counts(run, "s")
    assert calls + left_out == 10, run.log()
    assert {int(row["i"]) for row in table(tmp_path, "s")} <= set(range(0, 100, 10))


def test_an_iteration_that_is_not_wanted_takes_nobodys_place(tmp_path):
    """When the process is a new one, it is known still what the script wants."""
    put(tmp_path, "s", """
        import leat, os
        @leat.on_iteration(every=5)
        def fifth(ds, ctx):
            if ctx.iteration == 5:
                os.abort()
            ctx.scalar("i", ctx.iteration)
        """)
    with script_run(tmp_path, config(skip=True)) as run:
        write_iterations(run, range(6))
        wait_until(lambda: "(Aborted)" in run.log(), "its end")
        write_iterations(run, range(6, 15))
    assert [int(row["i"]) for row in table(tmp_path, "s")] == [0, 10], run.log()
    assert counts(run, "s") == (3, 0), run.log()
