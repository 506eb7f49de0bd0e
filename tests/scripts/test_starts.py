# SPDX-License-Identifier: Apache-2.0
"""Processes of scripts that somebody stops or kills while they start, and what scripts start themselves."""
import contextlib
import os
import pathlib
import signal
import sys

import pytest
from leat_run import Run
from script_run import config, put, rows, script_run, table, wait_until, write_iterations
from test_isolation import WITNESS, expect_all_stored, is_alive, witnessed, workers_of
from without_xarray import without_xarray  # noqa: F401

ONCE = """
import os, pathlib, signal
mark = pathlib.Path({mark!r})
if not mark.exists():
    mark.touch()
    os.kill(os.getpid(), signal.{signal})
"""


def wrapped(folder, text, body):
    """The same XML with an interpreter that is a shell script which does `body` before it is Python."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in *worker*) {body} ;; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return text.replace(f'interpreter="{sys.executable}"', f'interpreter="{python}"')


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGKILL"])
@pytest.mark.parametrize("moment", ["before Python", "during imports", "while it loads the script"])
def test_a_worker_that_is_stopped_or_killed_while_it_starts_is_replaced(tmp_path, moment, name):
    once = ONCE.format(mark=str(tmp_path / "began"), signal=name)
    text, environment = config(timeout="3s"), {}
    put(tmp_path, "witness", (once if "script" in moment else "") + WITNESS)
    if "Python" in moment:
        text = wrapped(tmp_path, text, f"[ -e {tmp_path}/began ] || {{ touch {tmp_path}/began; kill -{name[3:]} $$; }}")
    elif "imports" in moment:
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "leat_site_test.py").write_text(once)
        (tmp_path / "site" / "sitecustomize.py").write_text("import sys\nif 'worker' in sys.orig_argv: import leat_site_test\n")
        environment = {"PYTHONPATH": str(tmp_path / "site")}
    with script_run(tmp_path, text, environment=environment) as run:
        write_iterations(run, range(4))
    assert (tmp_path / "began").exists()
    expect_all_stored(tmp_path, 4)
    assert witnessed(tmp_path) == [0, 1, 2, 3], run.log()
    assert "cannot run" not in run.log() and "not called any more" not in run.log()


@pytest.mark.parametrize("how", ["kill -STOP $$", "sleep 1000"])
def test_a_worker_that_has_not_started_yet_ends_with_a_killed_server(tmp_path, how):
    put(tmp_path, "witness", WITNESS)
    with script_run(tmp_path, wrapped(tmp_path, config(timeout="30s"), f"touch {tmp_path}/began; {how}")) as run:
        wait_until(lambda: (tmp_path / "began").exists(), "its start")
        workers = workers_of(run)
        assert len(workers) == 1
        os.kill(run.server(), signal.SIGKILL)
        run.ranks[0].kill()
        wait_until(lambda: not any(is_alive(pid) for pid in workers), "the end of the worker")
        for left in (*run.segments(), *run.runtime.iterdir()):
            left.unlink(missing_ok=True)


def holders_of(segment_name):
    """Processes that have the segment mapped."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and segment_name in (entry / "maps").read_text():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


FORKS = """
    import os, subprocess, sys, time
    def fork(deep):
        pid = os.fork()
        if pid == 0:
            if deep:
                os.setsid()
                if os.fork():
                    os._exit(0)
            time.sleep(1000)
        return pid
    def process(ds, ctx):
        ctx.scalar("i", ctx.iteration)
        if ctx.iteration in (1, 9):
            for number in range(6):
                fork(number % 2)
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
            {end}
"""


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), 9)", "os._exit(3)", "while True: pass"])
def test_what_a_script_has_forked_neither_survives_its_process_nor_hides_its_death(tmp_path, end):
    put(tmp_path, "s", FORKS.format(end=end))
    with Run(tmp_path, config(folder='timeout="3s"')) as run:
        run.init()
        (segment,) = run.segments()
        server = run.server()
        write_iterations(run, range(4))
        wait_until(lambda: len(rows(tmp_path, "s")) == (4 if end == "pass" else 3), "all calls")
        if end != "pass":
            wait_until(lambda: len(holders_of(segment.name)) <= 3, "the end of what was forked")  # rank, leatd, worker
        run.finish()
        wait_until(lambda: not any(is_alive(pid) for pid in holders_of(segment.name)), "the end of all")
    left = [pid for pid in family_of(server) if is_alive(pid)]
    assert not left, left
    expect_all_stored(tmp_path, 4)
    assert [int(row["i"]) for row in table(tmp_path, "s")] == ([0, 1, 2, 3] if end == "pass" else [0, 2, 3]), run.log()


def family_of(server):
    """Processes that a worker of this leatd has started, wherever they went."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f".{server}.".encode() in b"".join(
                    word for word in (entry / "environ").read_bytes().split(b"\0") if word.startswith(b"LEAT_WORKER=")):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_what_scripts_of_a_killed_server_have_started_is_ended_by_the_next(tmp_path):
    put(tmp_path, "s", FORKS.format(end="ctx.scalar('forked', 1)"))
    with script_run(tmp_path, config(folder='timeout="3s"')) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(rows(tmp_path, "s")) == 2, "the forks")
        first = run.server()
        assert len(family_of(first)) >= 7
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not is_alive(first), "its end")
        write_iterations(run, range(2, 4))
        wait_until(lambda: not any(is_alive(pid) for pid in family_of(first)), "the end of what was forked")
    expect_all_stored(tmp_path, 4)


def guard_of(server):
    """The process that this leatd has for when it is killed; None before there is one, or after its end."""
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if words[1:3] == [b"--guard-scripts", str(server).encode()]:
                return int(entry.name)
    return None


@pytest.mark.parametrize("before", ["nothing", "the worker is killed", "the worker and the guard are killed"])
def test_what_scripts_have_started_ends_with_a_killed_server_though_no_other_one_starts(tmp_path, before):
    put(tmp_path, "s", FORKS.format(end="ctx.scalar('forked', 1)"))
    with Run(tmp_path, config(folder='timeout="3s" when-slow="wait"')) as run:
        run.init()
        write_iterations(run, range(2))
        wait_until(lambda: len(rows(tmp_path, "s")) == 2, "the forks")
        server = run.server()
        assert len(family_of(server)) >= 7
        if "guard" in before:  # the next worker has another one, and forks again
            for pid in (*workers_of(run), guard_of(server)):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda pid=pid: not is_alive(pid), "its end")
            write_iterations(run, range(2, 10))
            wait_until(lambda: len(rows(tmp_path, "s")) == 10, "another process")
            assert len(family_of(server)) >= 7
        os.kill(run.ranks[0].process.pid, signal.SIGSTOP)  # it would start another server
        os.kill(server, signal.SIGSTOP)  # and this one would see the death of its worker
        if "worker" in before:
            for pid in workers_of(run):
                os.kill(pid, signal.SIGKILL)
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: not any(is_alive(pid) for pid in family_of(server)), "the end of what was forked")
        wait_until(lambda: guard_of(server) is None, "the end of the guard")
        run.ranks[0].kill()
        for left in (*run.segments(), *run.runtime.iterdir()):
            left.unlink(missing_ok=True)


def test_nothing_is_left_to_guard_after_an_orderly_end(tmp_path):
    put(tmp_path, "s", WITNESS)
    with Run(tmp_path, config()) as run:
        run.init()
        write_iterations(run, range(1))
        wait_until(lambda: guard_of(run.server()) is not None, "its start")
        server = run.server()
        os.kill(guard_of(server), signal.SIGSTOP)  # which keeps nobody from anything
        run.finish()
        run.await_end()
        assert guard_of(server) is None


def test_multiprocessing_works_while_a_call_runs(tmp_path):
    put(tmp_path, "s", """
        import multiprocessing, concurrent.futures
        def double(x):
            print("I am heard")
            return 2 * x
        def process(ds, ctx):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                ctx.scalar("pool", sum(pool.map(double, range(10))))
            with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
                ctx.scalar("futures", sum(executor.map(double, range(5))))
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
    expect_all_stored(tmp_path, 3)
    assert [(int(r["pool"]), int(r["futures"])) for r in table(tmp_path, "s")] == [(90, 20)] * 3, run.log()
    assert "I am heard" in run.log()


@pytest.mark.parametrize("name", ["''", "'../x'", "'a/b'", "'a\\nb'", "'.hidden'", "'\\x00'", "'x' * 201", "7"])
def test_bad_names_of_results_and_pictures_are_refused_at_once(tmp_path, name):
    put(tmp_path, "s", f"""
        import numpy as np
        def process(ds, ctx):
            refused = 0
            for make in (lambda: ctx.scalar({name}, 1), lambda: ctx.store({name}, np.zeros(3)),
                         lambda: ctx.image({name}, np.zeros((2, 2)))):
                try:
                    make()
                except (ValueError, TypeError) as error:
                    refused += "name" in str(error)
            ctx.scalar("refused", refused)
            ctx.store("x" * 200, np.arange(3.0))
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(1))
    expect_all_stored(tmp_path, 1)
    assert [int(row["refused"]) for row in table(tmp_path, "s")] == [3], run.log()
    assert not list(tmp_path.rglob("*.png"))
