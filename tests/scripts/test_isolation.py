# SPDX-License-Identifier: Apache-2.0
"""Whatever a script does costs its own iteration and nothing else: real crashes, real loops, real memory."""
import os
import pathlib
import signal
import sys

import h5py
import numpy as np
import pytest
from leat_run import Run, data, same_bits
from script_run import config, last_report, put, rows, script_run, table, wait_until, write_iterations
from without_xarray import without_xarray  # noqa: F401

WITNESS = "def process(ds, ctx):\n    ctx.scalar('i', ctx.iteration)\n"


def expect_all_stored(folder, count, ranks=1):
    """As a run without scripts would have left it."""
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(count))
        assert file["leat/iteration_complete"][:].all()
        for number in range(count):
            assert same_bits(file["a"][number], data(8, "f8", number))


def witnessed(folder):
    return [int(row["iteration"]) for row in table(folder, "witness")]


@pytest.fixture
def folder(tmp_path):
    put(tmp_path, "witness", WITNESS)
    return tmp_path


def test_an_exception_is_told_with_its_line_and_the_script_goes_on(folder):
    put(folder, "bad", """
        def process(ds, ctx):
            if ctx.iteration == 1:
                inner(ds)
            ctx.scalar("i", ctx.iteration)
        def inner(ds):
            raise KeyError("no such thing")
        """)
    with script_run(folder, config()) as run:
        write_iterations(run, range(4))
    expect_all_stored(folder, 4)
    assert witnessed(folder) == [0, 1, 2, 3]
    assert [int(row["i"]) for row in table(folder, "bad")] == [0, 2, 3]
    log = run.log()
    assert 'script "bad", iteration 1: Traceback' in log and "KeyError: 'no such thing'" in log
    assert f'{folder}/analysis/bad.py", line 7, in inner' in log, log
    assert "scripting/" not in log, "frames of Leat do not help"
    assert "4 calls" in last_report(run, "bad") and "1 FAILED: KeyError" in last_report(run, "bad")


@pytest.mark.parametrize("how", ["os.abort()", "ctypes.string_at(0)", "os._exit(7)", "os.kill(os.getpid(), 9)"])
def test_a_crash_costs_one_iteration_of_one_script(folder, how):
    put(folder, "bad", f"""
        import ctypes, os
        def process(ds, ctx):
            ctx.scalar("i", ctx.iteration)
            if ctx.iteration == 2:
                {how}
        """)
    with script_run(folder, config(scripts='workers="1"')) as run:  # in the process of the witness
        write_iterations(run, range(6))
    expect_all_stored(folder, 6)
    assert witnessed(folder) == [0, 1, 2, 3, 4, 5]
    assert [int(row["i"]) for row in table(folder, "bad")] == [0, 1, 3, 4, 5]
    told = {"os.abort()": "was killed by signal 6 (Aborted)", "ctypes.string_at(0)": "was killed by signal 11",
            "os._exit(7)": "ended with status 7", "os.kill(os.getpid(), 9)": "was killed by signal 9 (Killed)"}[how]
    assert f'script "bad", iteration 2: its process {told}' in run.log()
    if told.endswith(("11", "(Aborted)")):
        assert 'bad.py", line 6 in process' in run.log(), "the place of the crash is told"


def test_an_endless_loop_is_ended_after_its_time_and_its_place_is_told(folder):
    put(folder, "bad", """
        def process(ds, ctx):
            while ctx.iteration == 1:
                pass
            ctx.scalar("i", ctx.iteration)
        """)
    with script_run(folder, config(scripts='workers="1"', folder='timeout="2s"')) as run:
        write_iterations(run, range(3))
    expect_all_stored(folder, 3)
    assert witnessed(folder) == [0, 1, 2]
    assert [int(row["i"]) for row in table(folder, "bad")] == [0, 2]
    assert 'script "bad", iteration 1: it took longer than 2 s and was ended' in run.log()
    assert 'bad.py", line 3 in process' in run.log() or 'bad.py", line 4 in process' in run.log(), run.log()


def test_memory_beyond_the_limit_is_a_memory_error(folder):
    put(folder, "bad", """
        import numpy as np
        def process(ds, ctx):
            if ctx.iteration == 1:
                np.ones(10 * 2**30, dtype="u1")
            ctx.scalar("i", ctx.iteration)
        """)
    with script_run(folder, config(scripts='memory="2GiB" workers="1"')) as run:
        write_iterations(run, range(3))
    expect_all_stored(folder, 3)
    assert witnessed(folder) == [0, 1, 2] and [int(row["i"]) for row in table(folder, "bad")] == [0, 2]
    assert "Unable to allocate 10.0 GiB" in run.log()


def test_after_three_failures_in_a_row_a_script_is_not_called_until_it_is_edited(folder):
    put(folder, "bad", "def process(ds, ctx):\n    if ctx.iteration not in (1, 2):\n        1 / 0\n")
    with script_run(folder, config(folder='when-slow="wait"')) as run:
        write_iterations(run, range(10))
        wait_until(lambda: len(rows(folder, "witness")) == 10, "the witness")
        wait_until(lambda: "failure 3 in a row" in run.log(), "the end of it")
        put(folder, "bad", WITNESS)
        write_iterations(run, range(10, 12))
    expect_all_stored(folder, 12)
    assert witnessed(folder) == list(range(12))
    assert run.log().count("Traceback (most") == 1 and "(as before, 4 times now)" in run.log(), "each failure is told once"
    assert "That was failure 3 in a row: it is not called any more. Edit the file to try again." in run.log()
    assert [int(row["iteration"]) for row in table(folder, "bad")] == [10, 11]
    assert "8 calls" in last_report(run, "bad")


def test_the_number_of_failures_can_be_chosen(folder):
    put(folder, "bad", "def process(ds, ctx):\n    1 / 0\n")
    with script_run(folder, config(folder='failures="1"')) as run:
        write_iterations(run, range(5))
    assert run.log().count("Traceback") == 1 and "1 call, " in last_report(run, "bad")


def test_a_script_that_dies_each_time_is_given_up_too(folder):
    put(folder, "bad", "import os\ndef process(ds, ctx):\n    os.abort()\n")
    with script_run(folder, config(scripts='workers="1"')) as run:
        write_iterations(run, range(8))
    expect_all_stored(folder, 8)
    assert witnessed(folder) == list(range(8))
    assert run.log().count("(Aborted)\nFatal Python error") == 1, "each failure is told once"
    assert "(as before, 3 times now)" in run.log() and "failure 3 in a row" in run.log() and "3 calls" in last_report(run, "bad")


def test_a_script_that_dies_while_it_is_loaded_harms_nobody(folder):
    put(folder, "bad", "import os\nos.abort()\n")
    with script_run(folder, config(scripts='workers="1"')) as run:
        write_iterations(run, range(3))
    expect_all_stored(folder, 3)
    assert witnessed(folder) == [0, 1, 2]
    assert 'script "bad": it could not be loaded: its process was killed by signal 6 (Aborted)' in run.log()


def test_state_survives_the_death_of_the_process_and_an_edit(folder):
    code = """
        import os
        VERSION = {version}
        def process(ds, ctx):
            if ctx.iteration == 2:
                os.abort()
            ctx.state["sum"] = ctx.state.get("sum", 0) + ctx.iteration
            ctx.scalar("sum", ctx.state["sum"])
            ctx.scalar("version", VERSION)
        """
    put(folder, "count", code.format(version=1))
    with script_run(folder, config(folder='when-slow="wait"')) as run:
        write_iterations(run, range(4))
        wait_until(lambda: len(rows(folder, "count")) == 3, "three calls")
        put(folder, "count", code.format(version=2))
        write_iterations(run, range(4, 6))
    got = [(int(r["iteration"]), int(r["sum"]), int(r["version"])) for r in table(folder, "count")]
    assert got == [(0, 0, 1), (1, 1, 1), (3, 4, 1), (4, 8, 2), (5, 13, 2)], run.log()


def test_the_simulation_and_its_data_are_as_without_scripts_whatever_these_do(tmp_path):
    """Several at once, for long: crashing, looping, raising, flooding the log, eating memory."""
    put(tmp_path, "abort", "import os\ndef process(ds, ctx):\n    if ctx.iteration % 5 == 0: os.abort()\n")
    put(tmp_path, "loop", "def process(ds, ctx):\n    while ctx.iteration % 7 == 0: pass\n")
    put(tmp_path, "raise_", "def process(ds, ctx):\n    raise RuntimeError('x' * 10000)\n")
    put(tmp_path, "flood", "def process(ds, ctx):\n    for i in range(200): print('flood', i)\n")
    put(tmp_path, "eat", "def process(ds, ctx):\n    ctx.state['x'] = [bytearray(2**28) for _ in range(99)]\n")
    put(tmp_path, "exit", "import sys\ndef process(ds, ctx):\n    sys.exit('I go')\n")
    text = config(scripts='workers="3" memory="1GiB"', folder='timeout="0.3s"')
    with script_run(tmp_path, text) as run:
        write_iterations(run, range(15))
    expect_all_stored(tmp_path, 15)
    for script in ("abort", "loop", "raise_", "eat", "exit"):
        assert "FAILED" in last_report(run, script)
    assert "SystemExit: I go" in run.log()
    flood = last_report(run, "flood")  # 0.3 s may be too little where other tests run
    assert "FAILED" not in flood or "took longer" in flood, flood


def workers_of(run):
    """Process ids of Python workers of this run's server."""
    server, found = run.server(), []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            is_child = entry.name.isdigit() and f"\nPPid:\t{server}\n" in (entry / "status").read_text()
            if is_child and b"--guard-scripts" not in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("doing", ["while True: pass", "pass", "time.sleep(1000)"])
def test_workers_end_with_a_killed_server(tmp_path, doing):
    put(tmp_path, "busy", f"import time\ndef process(ds, ctx):\n    ctx.scalar('i', 1)\n    {doing}\n")
    put(tmp_path, "witness", WITNESS)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(2))
        wait_until(lambda: rows(tmp_path, "witness"), "the witness")
        workers = workers_of(run)
        assert len(workers) == 2
        os.kill(run.server(), signal.SIGKILL)
        run.ranks[0].kill()
        wait_until(lambda: not any(is_alive(pid) for pid in workers), "the end of the workers")
        for segment in run.segments():
            segment.unlink()
        for left in run.runtime.iterdir():
            left.unlink(missing_ok=True)  # what the start of a leatd of another test may do too


def is_alive(pid):
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_worker_that_is_killed_between_calls_is_replaced(folder):
    with script_run(folder, config(folder='when-slow="wait"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(rows(folder, "witness")) == 2, "two calls")
        for pid in workers_of(run):
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: not is_alive(pid), "its end")
        write_iterations(run, range(2, 5))
    expect_all_stored(folder, 5)
    assert witnessed(folder) == [0, 1, 2, 3, 4], run.log()
    assert "was killed by signal 9" in run.log()


def test_what_warns_a_whole_job_ends_no_worker(folder):
    with script_run(folder, config(folder='when-slow="wait"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(rows(folder, "witness")) == 2, "two calls")
        workers = workers_of(run)
        for pid in workers:
            for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                os.kill(pid, each)
        write_iterations(run, range(2, 5))
        wait_until(lambda: len(rows(folder, "witness")) == 5, "five calls")
        assert workers_of(run) == workers
    assert witnessed(folder) == [0, 1, 2, 3, 4], run.log()
    assert "was killed by signal" not in run.log()


def test_a_stopped_worker_is_ended_after_its_time(folder):
    with script_run(folder, config(folder='timeout="2s"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(rows(folder, "witness")) == 2, "two calls")
        for pid in workers_of(run):
            os.kill(pid, signal.SIGSTOP)
        write_iterations(run, range(2, 3))
        wait_until(lambda: "iteration 2: it took longer than 2 s" in run.log(), "the end of it")
        write_iterations(run, range(3, 4))
    expect_all_stored(folder, 4)
    assert np.all(np.diff(witnessed(folder)) > 0)


def test_what_a_script_has_started_ends_with_its_process(folder):
    put(folder, "bad", """
        import subprocess, os
        def process(ds, ctx):
            child = subprocess.Popen(["sleep", "1000"])
            ctx.scalar("pid", child.pid)
            if ctx.iteration == 1:
                while True: pass
        """)
    with script_run(folder, config(folder='timeout="2s"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: "iteration 1: it took longer" in run.log(), "the end of it")
        started = int(rows(folder, "bad")[0]["pid"])
        wait_until(lambda: not is_alive(started), "the end of what it started")
    expect_all_stored(folder, 2)


def test_on_several_nodes_each_has_an_output_of_its_own(tmp_path):
    """Two sessions of one run, as two nodes would be, on one disk."""
    put(tmp_path, "witness", WITNESS)
    with Run(tmp_path, config(store="")) as run:
        run.ranks[0].must("init_ranks", run.config, run.session, 0, 2, 0, 1)
        write_iterations(run, range(2))
        run.finish()
    name = os.uname().nodename.split(".")[0]
    assert (tmp_path / f"run-scripts-{name}/witness.csv").exists(), run.log()


HALF_A_PICTURE = """
    import os, signal, time
    class Picture:
        def savefig(self, file, format):
            file.write(b"half")
            file.flush()
            {end}
    def process(ds, ctx):
        if ctx.iteration == 1:
            ctx.image("p", Picture())
"""


def parts(folder):
    return [path for output in folder.glob("run-scripts*") for path in output.rglob("*.part")]


def test_half_a_picture_of_a_killed_worker_is_removed(folder):
    put(folder, "s", HALF_A_PICTURE.format(end="os.kill(os.getpid(), signal.SIGKILL)"))
    with script_run(folder, config()) as run:
        write_iterations(run, range(4))
    assert "was killed by signal 9" in run.log()
    assert (folder / "run-scripts" / "s").is_dir() and not parts(folder)
    expect_all_stored(folder, 4)


def test_half_a_picture_of_a_killed_session_is_removed_by_the_next(folder):
    put(folder, "s", HALF_A_PICTURE.format(end="time.sleep(1000)"))
    with script_run(folder, config()) as run:
        write_iterations(run, range(2))
        wait_until(lambda: parts(folder), "half a picture")
        os.kill(run.server(), signal.SIGSTOP)  # it would see that its files go, and end its worker
        for left in (*run.segments(), *run.runtime.iterdir()):  # before the kill: no other run on the machine stores it now
            left.unlink()
        run.kill_all()
    (part,) = parts(folder)
    assert part.read_bytes() == b"half"
    put(folder, "s", WITNESS)
    with script_run(folder, config()) as run:
        write_iterations(run, range(2))
    assert not parts(folder) and (folder / "run-scripts.1" / "s").is_dir()


def test_half_a_picture_of_a_script_that_fails_is_removed(folder):
    put(folder, "s", HALF_A_PICTURE.format(end="raise ValueError('no more')"))
    with script_run(folder, config()) as run:
        write_iterations(run, range(3))
        assert not parts(folder)
    assert "no more" in run.log()


def test_a_worker_that_is_killed_while_it_starts_is_followed_by_another(folder):
    python = folder / "python"
    python.write_text(f"""#!/bin/sh
case "$*" in *worker*) [ -e {folder}/began ] || {{ touch {folder}/began; kill -9 $$; }} ;; esac
exec {sys.executable} "$@"
""")
    python.chmod(0o755)
    with script_run(folder, config().replace(f'interpreter="{sys.executable}"', f'interpreter="{python}"')) as run:
        write_iterations(run, range(4))
    expect_all_stored(folder, 4)
    assert (folder / "began").exists() and witnessed(folder) == [0, 1, 2, 3]


def test_what_a_script_prints_may_be_no_text_at_all(folder):
    """The name of a file need not be UTF-8; Python has a half character for each byte that is none."""
    put(folder, "prints", """
        import os
        def process(ds, ctx):
            print("found", os.fsdecode(b"caf\\xe9.txt"), "and", "\\ud800")
            ctx.scalar("i", ctx.iteration)
        """)
    with script_run(folder, config()) as run:
        write_iterations(run, range(3))
    assert [int(row["i"]) for row in table(folder, "prints")] == [0, 1, 2]
    assert r"found caf\udce9.txt and \ud800" in run.log(), run.log()


def test_threads_of_a_script_may_print_while_it_works(folder):
    put(folder, "threads", """
        import concurrent.futures
        def say(number):
            for i in range(50):
                print(f"thread {number} line {i}")
        def process(ds, ctx):
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                list(pool.map(say, range(8)))
            ctx.scalar("i", ctx.iteration)
        """)
    with script_run(folder, config()) as run:
        write_iterations(run, range(3))
    assert [int(row["i"]) for row in table(folder, "threads")] == [0, 1, 2], run.log()
    assert "signal 9" not in run.log()


def test_what_is_no_message_is_said_to_be_none(folder):
    put(folder, "bad", """
        import os, struct, time
        def process(ds, ctx):
            if ctx.iteration == 1:
                os.write(3, struct.pack("=QQ", 7, 0) + b"garbage")
                time.sleep(50)  # it is ended meanwhile
            ctx.scalar("i", ctx.iteration)
        """)
    with script_run(folder, config()) as run:
        write_iterations(run, range(4))
    expect_all_stored(folder, 4)
    assert [int(row["i"]) for row in table(folder, "bad")] == [0, 2, 3]
    assert "makes no sense" in last_report(run, "bad") and "signal 9" not in run.log(), run.log()
