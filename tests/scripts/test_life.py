# SPDX-License-Identifier: Apache-2.0
"""Scripts that change while the run goes on, that are slow, that run side by side."""
import re
import time

import pytest
from script_run import ROW, SIZE, config, last_report, put, rows, script_run, table, wait_until, write_iterations
from without_xarray import without_xarray  # noqa: F401

VERSION = "def process(ds, ctx):\n    ctx.scalar('version', {})\n"


def versions(folder, script="s"):
    return [int(row["version"]) for row in rows(folder, script)]


def test_an_edit_takes_effect_at_the_next_iteration(tmp_path):
    put(tmp_path, "s", VERSION.format(1))
    with script_run(tmp_path, config(folder='when-slow="wait"')) as run:
        for version in (1, 2, 3):
            put(tmp_path, "s", VERSION.format(version))
            write_iterations(run, [version, version])
            wait_until(lambda: len(versions(tmp_path)) == 2 * version, "two calls")
    assert versions(tmp_path) == [1, 1, 2, 2, 3, 3], run.log()


def test_a_new_script_is_picked_up_and_a_removed_one_is_dropped(tmp_path):
    old = put(tmp_path, "old", VERSION.format(1))
    with script_run(tmp_path, config(folder='when-slow="wait"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(versions(tmp_path, "old")) == 2, "the old one")
        put(tmp_path, "new", VERSION.format(2))
        old.unlink()
        write_iterations(run, range(2, 4))
        wait_until(lambda: len(versions(tmp_path, "new")) == 2, "the new one")
        put(tmp_path, "old", VERSION.format(3))
        write_iterations(run, range(4, 6))
    assert versions(tmp_path, "old") == [1, 1, 3, 3] and versions(tmp_path, "new") == [2] * 4, run.log()
    assert 'script "old" is gone' in run.log()


def test_with_a_syntax_error_the_old_version_goes_on_and_the_line_is_told(tmp_path):
    put(tmp_path, "s", VERSION.format(1))
    with script_run(tmp_path, config(folder='when-slow="wait"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(versions(tmp_path)) == 2, "two calls")
        put(tmp_path, "s", "def process(ds, ctx):\n    ctx.scalar('version', 2\n\n")
        write_iterations(run, range(2, 4))
        wait_until(lambda: len(versions(tmp_path)) == 4, "two calls of the old one")
        put(tmp_path, "s", VERSION.format(3))
        write_iterations(run, range(4, 6))
    assert versions(tmp_path) == [1, 1, 1, 1, 3, 3]
    log = run.log()
    assert f'File "{tmp_path}/analysis/s.py", line 2' in log and "SyntaxError" in log, log
    assert "The version from before is kept." in log


def test_a_slow_script_leaves_iterations_out_and_sees_the_newest(tmp_path):
    put(tmp_path, "s", "import time\ndef process(ds, ctx):\n    time.sleep(0.3)\n    ctx.scalar('version', ctx.iteration)\n")
    with script_run(tmp_path, config(skip=True)) as run:
        write_iterations(run, range(1))
        wait_until(lambda: versions(tmp_path), "the first call")
        began = time.monotonic()
        write_iterations(run, range(1, 30))
        assert time.monotonic() - began < 29 * 0.3, "the simulation does not wait"
    seen = versions(tmp_path)
    assert seen[0] == 0 and seen[-1] == 29 and len(seen) < 30 and seen == sorted(seen), run.log()
    assert f"{30 - len(seen)} iterations skipped" in last_report(run, "s")


def test_a_script_that_must_see_all_makes_the_simulation_wait_only_when_memory_is_full(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
    put(tmp_path, "s", "import time\ndef process(ds, ctx):\n    time.sleep(0.05)\n    ctx.scalar('version', ctx.iteration)\n")
    with script_run(tmp_path, config(big, buffer="4MiB", folder='when-slow="wait"', store="")) as run:
        write_iterations(run, range(30), size=1 << 20)
    assert versions(tmp_path) == list(range(30)), run.log()
    assert "skipped" not in last_report(run, "s")


def test_a_script_that_may_skip_never_makes_the_simulation_wait_for_memory(tmp_path):
    """A script that sleeps for long on one iteration; all further ones go through three quarters of the buffer."""
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
    put(tmp_path, "s", "import time\ndef process(ds, ctx):\n    ctx.scalar('version', 1)\n    time.sleep(3)\n")
    with script_run(tmp_path, config(big, buffer="4MiB", timeout="1s", store="", skip=True)) as run:
        write_iterations(run, range(60), size=1 << 20)
    assert len(versions(tmp_path)) < 60, run.log()


def test_a_slow_import_costs_a_script_that_may_skip_none_of_the_first_iterations(tmp_path):
    """The buffer is full while the script is loaded: the rank waits for it, and not for half of its timeout."""
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
    put(tmp_path, "s", "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
                       "def process(ds, ctx): ctx.scalar('version', ctx.iteration)\n")
    with script_run(tmp_path, config(big, buffer="4MiB", timeout="60s", store="", skip=True)) as run:
        (rank,) = run.ranks
        number, has_room = 0, True
        while has_room:
            rank.start("write", "a", 0, 1 << 20, number)
            if has_room := rank.has_answered():
                assert rank.result().ok
                rank.end()
                number += 1
        assert number >= 2, run.log()
        (tmp_path / "go").touch()
        assert rank.result().ok
        rank.end()
    assert versions(tmp_path)[:number] == list(range(number)), run.log()


def test_scripts_in_several_processes_run_side_by_side(tmp_path):
    code = ("import time\ndef process(ds, ctx):\n    ctx.scalar('begin', time.monotonic())\n    time.sleep(1)\n"
            "    ctx.scalar('end', time.monotonic())\n")
    for name in ("one", "two"):
        put(tmp_path, name, code)
    with script_run(tmp_path, config(scripts='workers="2"')) as run:
        write_iterations(run, range(1))
    (one,), (two,) = table(tmp_path, "one"), table(tmp_path, "two")
    assert max(float(one["begin"]), float(two["begin"])) < min(float(one["end"]), float(two["end"])), run.log()


def test_the_output_of_an_earlier_run_is_kept(tmp_path):
    put(tmp_path, "s", VERSION.format(1))
    for _ in range(2):
        with script_run(tmp_path, config()) as run:
            write_iterations(run, range(2))
    assert len(table(tmp_path, "s")) == 2 and (tmp_path / "run-scripts.1/s.csv").read_text().count("\n") == 3, run.log()


def test_nobody_needs_to_write_for_a_store(tmp_path):
    put(tmp_path, "s", VERSION.format(1))
    with script_run(tmp_path, config(store="")) as run:
        assert run.ranks[0].call("wanted", "a").ok
        write_iterations(run, range(3))
    assert versions(tmp_path) == [1, 1, 1], run.log()


def test_helpers_beside_a_script_can_be_imported_and_standard_modules_stay(tmp_path):
    put(tmp_path, "_tools", "def answer():\n    return 42\n")
    put(tmp_path, "statistics", "def process(ds, ctx):\n    pass\n")
    put(tmp_path, "s", """
        import statistics
        import _tools
        def process(ds, ctx):
            ctx.scalar("version", _tools.answer())
            assert statistics.mean([1, 3]) == 2
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(1))
    assert versions(tmp_path) == [42], run.log()


@pytest.mark.parametrize("ranks", [1, 3])
def test_when_the_simulation_is_killed_scripts_see_what_was_committed(tmp_path, ranks):
    put(tmp_path, "s", "def process(ds, ctx):\n    ctx.scalar('version', ds.attrs['complete'])\n")
    with script_run(tmp_path, config(ROW), ranks=ranks) as run:
        write_iterations(run, range(3))
        for rank in run.ranks:
            rank.must("write", "a", 0, SIZE, 9)
        for rank in run.ranks:
            rank.kill()
    assert versions(tmp_path) == [1, 1, 1, 0], run.log()


def test_who_waits_for_what_is_said(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
    put(tmp_path, "slow", "import time\ndef process(ds, ctx):\n    open('begun', 'w')\n    time.sleep(0 if ctx.iteration else 4)\n")
    with script_run(tmp_path, config(big, buffer="4MiB", folder='when-slow="wait"', store="", timeout="5s")) as run:
        write_iterations(run, range(1), size=1 << 20)
        wait_until(lambda: (tmp_path / "begun").exists(), "the call")
        write_iterations(run, range(1, 4), size=1 << 20)
    said = r'rank 0 is waiting for 1\.0 MiB of buffer space: the buffer is full; script "slow" has held iteration 0 for [1-4] s'
    assert re.search(said, run.log()), run.log()


def test_a_slow_script_does_not_hold_up_the_end_with_what_came_before_it_was_loaded(tmp_path):
    put(tmp_path, "s", "import time\ntime.sleep(1)\ndef process(ds, ctx):\n    time.sleep(0.4)\n    ctx.scalar('version', ctx.iteration)\n")
    with script_run(tmp_path, config(skip=True)) as run:
        write_iterations(run, range(500))
    seen = versions(tmp_path)
    assert seen[0] == 0 and seen[-1] == 499 and 3 < len(seen) < 30, run.log()
