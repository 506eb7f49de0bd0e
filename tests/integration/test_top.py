# SPDX-License-Identifier: Apache-2.0
"""leat top in terminals of two sizes: what a run does is seen, keys steer it, and whatever becomes of its server, top goes on."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from control_run import DATA, Peer, wait_until, write
from leat_run import BUILD, LIMIT, Run, xml
from terminal import Tmux

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from script_run import config, put  # noqa: E402
from without_xarray import without_xarray  # noqa: F401

TOP = [BUILD / "bin/leat", "top"]
SIZES = pytest.mark.parametrize("width, height", [(80, 24), (120, 40)])
EVENT = '<actions><event name="snapshot"/></actions>'


def top(run, *words):
    return subprocess.run([*TOP, *words], cwd=run.folder, env={**run.environment, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True,
                          timeout=LIMIT)


def terminal(run, *words, width=80, height=24):
    return Tmux([*TOP, *words], run.folder, run.environment, width, height)


def broken_and_good_scripts(folder):
    put(folder, "good", "def process(ds, ctx):\n    ctx.scalar('highest', float(ds['u'].max()))\n")
    put(folder, "broken", "def process(ds, ctx):\n    raise ValueError('u has no maxx')\n")


@SIZES
def test_a_run_is_seen_as_it_is(tmp_path, width, height):
    broken_and_good_scripts(tmp_path)
    with Run(tmp_path, config(DATA), ranks=2) as run:
        ranks = run.init()
        with terminal(run, run.session, "--iterations", "40", width=width, height=height) as screen:
            write(ranks, range(10))
            screen.await_text("10 complete, 10 stored, 0 on their way", "2 of 2 attached; in iteration 10", "10 of 40, 25 %",
                              "dt 0.5, n 8", "ValueError: u has no maxx")
            rows = screen.rows()
            assert len(rows) == height and all(len(row) <= width for row in rows)
            assert rows[0].startswith(f"run  running  {run.session}  leatd {run.server()}")
            assert re.search(r"\d\d:\d\d:\d\d$", rows[0].ljust(width).rstrip()) and rows[-1].startswith("q quit  Esc sessions")
            table = {row.split()[0]: row.split() for row in rows if re.match(r"  (out|good|broken) +(store|script)", row)}
            assert table["out"][1:3] == ["store", "10"] and set(table) == {"out", "good", "broken"}
            row = r"^  broken +script +\d+ .* (\d+)( +-)?$"
            wait_until(lambda: re.search(row, screen.screen(), re.M)[1] != "0", "its failures")
            screen.keys("q")
            screen.await_text("exit code 0")
        for answer in run.finalize():
            assert answer.ok


def test_a_terminal_that_is_made_smaller_and_larger_is_drawn_anew(tmp_path):
    broken_and_good_scripts(tmp_path)
    with Run(tmp_path, config(DATA), ranks=2) as run:
        ranks = run.init()
        with terminal(run, run.session) as screen:
            write(ranks, range(3))
            screen.await_text("3 complete", "stores and scripts")
            for width, height in ((40, 10), (132, 50), (20, 5), (1, 1), (80, 24)):
                screen.resize(width, height)
                wait_until(lambda: (rows := screen.rows()) and all(len(row) <= width for row in rows) and len(rows) <= height, "the size")
            screen.await_text("3 complete", "broken is not called any more", "broken: ValueError", "q quit")
            screen.resize(80, 8)
            screen.await_text("rows below")
            screen.keys("NPage", "NPage", "NPage")
            wait_until(lambda: "broken: ValueError" in (text := screen.screen()) and " below" not in text, "the end of what is shown")
            assert screen.rows()[0].startswith("run  running")
        for answer in run.finalize():
            assert answer.ok


@SIZES
def test_keys_steer_signal_reload_and_drain(tmp_path, width, height):
    broken_and_good_scripts(tmp_path)
    with Run(tmp_path, config(DATA).replace("</simulation>", EVENT + "</simulation>"), ranks=2) as run:
        ranks = run.init()
        numbers = iter(range(1_000_000))

        def go_on_until(*texts):
            wait_until(lambda: write(ranks, [next(numbers)]) or all(text in screen.screen() for text in texts), texts)

        with terminal(run, run.session, width=width, height=height) as screen:
            write(ranks, [next(numbers)])
            screen.await_text("1 complete")
            screen.keys("s")
            screen.await_text("set NAME=VALUE (dt, n, title):", "Enter gives the order, Esc does not")
            screen.type("dt=0.1255")
            screen.keys("BSpace", "Enter")
            go_on_until("set dt=0.125: steered", "dt is 0.125 from it on", "dt 0.125, n 8")
            screen.keys("s")
            screen.type("n=9")
            screen.keys("Enter")
            screen.await_text('set n=9: ', 'layout "cells"')
            screen.keys("s")
            screen.type("dt=7")
            screen.keys("Escape")
            screen.keys("e")
            screen.await_text("signal event (snapshot):")
            screen.type("snapshot")
            screen.keys("Enter")
            go_on_until("signal snapshot: signalled")
            screen.keys("r")
            screen.await_text("reload-scripts: done")
            screen.keys("d")
            screen.await_text("Type yes:")
            screen.type("no")
            screen.keys("Enter")
            screen.keys("d")
            screen.type("yes")
            screen.keys("Enter")
            screen.await_text("drain: ", "ended")
            screen.await_text("run  ended", "stopped, nothing lost")
        assert ranks[0].must("get_double", "dt").value == 0.125
    log = run.log()
    assert "has ordered to load all scripts anew" in log and "dt from 0.5 to 0.125" in log and "to 7" not in log


def test_a_server_that_is_stopped_does_not_stop_who_watches(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        with terminal(run, run.session) as screen:
            write(ranks, range(3))
            screen.await_text("3 complete")
            os.kill(run.server(), signal.SIGSTOP)
            screen.await_text("run  not answering", "its server is stopped or has no time", "3 complete")
            screen.keys("s")
            screen.type("dt=1")
            screen.keys("Enter")
            screen.await_text("the server does not answer; whether it will be done is not known")
            screen.keys("Escape")
            screen.await_text("1 session of yours on this node", "not answering")
            screen.keys("Enter")
            screen.await_text("run  not answering")
            once = top(run, "--once", "--timeout", "0.5", run.session)
            assert once.returncode == 1 and "connecting" in once.stdout
            os.kill(run.server(), signal.SIGCONT)
            screen.await_text("run  running")
            write(ranks, range(3, 5))
            screen.await_text("5 complete")
        run.finish()


def test_the_server_that_takes_over_is_found_and_said(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        with terminal(run, run.session) as screen:
            write(ranks, range(3))
            screen.await_text("3 complete")
            first = run.server()
            os.kill(first, signal.SIGKILL)
            screen.await_text("run  server died", "the next calls of its ranks start another one")
            numbers = iter(range(3, 1_000_000))
            wait_until(lambda: write(ranks, [next(numbers)]) or "run  running" in screen.screen(), "another server")
            screen.await_text("another server has taken over", "takeovers 1 server of this session died", f"in iteration {next(numbers)}")
            assert f"leatd {first} " not in screen.screen()
        run.finish()


def test_the_end_of_a_run_is_said_and_the_next_one_of_its_name_is_shown(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        with terminal(run, run.session) as screen:
            write(ranks, range(4))
            screen.await_text("4 complete")
            run.finish()
            run.await_end()
            screen.await_text("run  ended", "finished, nothing lost; below is what it said last", "4 complete")
            (tmp_path / "next").mkdir()
            again = Run(tmp_path / "next", xml(DATA), environment={"LEAT_RUNTIME_DIR": str(run.runtime)})
            again.runtime, again.session = run.runtime, run.session
            with again:
                write(again.init(), range(2))
                screen.await_text("run  running", "2 complete")
                assert "taken over" not in screen.screen()
                again.finish()


def test_new_values_come_on_the_screen_by_themselves(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        with terminal(run, run.session) as screen:
            seconds = []
            for i in range(8):
                time.sleep(0.07 * i)  # anywhere between two questions
                ranks[0].must("set_double", "dt", 100 + i)
                write(ranks, [i])
                begin = time.monotonic()
                screen.await_text(f"dt {100 + i}", f"{i + 1} complete")
                seconds.append(time.monotonic() - begin)
        run.finish()
    print("seconds until each was seen:", *(f"{each:.3f}" for each in seconds))


def test_ranks_that_wait_for_the_buffer_are_named(tmp_path):
    buffer = '<buffer size="1MiB" timeout="60s"/>'
    text = xml(DATA.replace('value="8"', 'value="8192"')).replace('<buffer size="16MiB" timeout="10s"/>', buffer)
    with Run(tmp_path, text, ranks=2) as run:
        a, b = run.init()
        with terminal(run, run.session) as screen:
            size = 8192 * 4 * 8
            for i in range(8):  # b stays in iteration 0, so nothing is ever free
                a.start("write", "u", 0, size, i)
                if not a.has_answered():
                    break
                assert a.result().ok
                a.end()
            screen.await_text("rank 0 waits for buffer space", "iteration 0 waits for rank 1; the fastest rank is in iteration")
            for j in range(i + 1):
                assert b.write("u", size, j).ok
                b.end()
            assert a.result().ok
            wait_until(lambda: "rank 0 waits" not in screen.screen(), "rank 0 goes on")
            a.end()
        run.finish()


def test_once_prints_what_there_is_for_logs(tmp_path):
    broken_and_good_scripts(tmp_path)
    with Run(tmp_path, config(DATA), ranks=2) as run:
        ranks = run.init()
        write(ranks, range(5))
        with Peer(run) as peer:
            wait_until(lambda: peer.ask("metrics")["result"]["iterations"]["stored"] == 5, "five iterations")
        done = top(run, "--once")
        assert done.returncode == 0 and done.stderr == "" and "\033" not in done.stdout
        assert "5 complete, 5 stored" in done.stdout and done.stdout.startswith(f"run  running  {run.session}")
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", done.stdout.splitlines()[0])
        assert top(run, "run", "--once").stdout.split()[:3] == done.stdout.split()[:3]
        facts = json.loads(top(run, "--json", run.session).stdout)
        (session,) = facts["sessions"]
        assert facts["leat_top"] == 1 and session["metrics"]["iterations"]["complete"] == 5
        assert session["status"]["session"] == run.session and session["waits"]
        wrong = top(run, "--once", run.session + "x")
        assert wrong.returncode == 1 and f'did you mean "{run.session}"?' in wrong.stderr and wrong.stdout == ""
        piped = top(run)
        assert piped.returncode == 2 and "no terminal" in piped.stderr and "--once" in piped.stderr
        for answer in run.finalize():
            assert answer.ok
        run.await_end()
        assert top(run, "--once").stdout == "no session of yours runs on this node\n"


def test_a_terminal_without_block_characters_gets_letters(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        write(run.init(), range(2))
        plain = subprocess.run([*TOP, "--once"], env={**run.environment, "LC_ALL": "C"}, capture_output=True, timeout=LIMIT).stdout
        assert plain.isascii() and b" of 16 MiB" in plain
        run.finish()


def test_long_names_and_many_parameters_leave_room_for_all_else(tmp_path):
    many = "".join(f'<parameter name="parameter_{i:03}" type="double" value="1"/>' for i in range(300))
    with Run(tmp_path, xml(DATA + many, name="n" * 90)) as run:
        write(run.init(), range(2))
        with terminal(run, run.session, width=60, height=24) as screen:
            rows = screen.await_text("2 complete", "more, see `leat ctl`", "stores and scripts").splitlines()
            assert rows[0].startswith(f"{'n' * 17}...  running  {run.session}")
            screen.keys("s")
            screen.type("parameter_000=abc")
            screen.keys("Enter")
            # All of it, in as many rows as it takes.
            wait_until(lambda: '"abc" is a text, write a number' in "".join(screen.rows()), "why it is refused")
        with open("/dev/full", "w") as full:
            done = subprocess.run([*TOP, run.session, "--once"], env=run.environment, stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=LIMIT)
        assert done.returncode == 1 and done.stderr.startswith("leat: not all could be printed")
        for answer in run.finalize():
            assert answer.ok


def test_all_sessions_of_the_node_are_listed_and_opened(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with Run(tmp_path / "one", xml(DATA)) as one:
        two = Run(tmp_path / "two", xml(DATA), environment={"LEAT_RUNTIME_DIR": str(one.runtime)})
        two.runtime = one.runtime
        with two:
            write(one.init(), range(3))
            write(two.init(), range(6))
            with terminal(one, width=120, height=40) as screen:
                text = screen.await_text("2 sessions of yours on this node", one.session, two.session)
                sessions = sorted([one.session, two.session])
                assert f"> {sessions[0]}" in text
                screen.keys("Down")
                screen.await_text(f"> {sessions[1]}")
                screen.keys("Enter")
                screen.await_text(f"run  running  {sessions[1]}", "6 complete" if sessions[1] == two.session else "3 complete")
                screen.keys("q")
                screen.await_text("exit code 0")
            for each in (one, two):
                each.finish()
                each.await_end()


def test_a_run_with_several_servers_shows_them_all(tmp_path):
    text = xml(DATA, cores=2).replace('<dedicated cores="2"/>', '<dedicated cores="2" servers="2"/>')
    with Run(tmp_path, text, ranks=4) as run:
        ranks = run.init()
        with terminal(run, run.session, height=40) as screen:
            write(ranks, range(3))
            screen.await_text("2 servers of the run", "3 complete", "2 of 2 attached, 4 in the run")
        run.finish()


def test_a_signal_ends_it_and_the_terminal_is_as_before(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        write(run.init(), range(2))
        with terminal(run, run.session) as screen:
            screen.await_text("2 complete")
            screen.keys("C-c")
            screen.await_text("exit code 0")
            assert "2 complete" not in screen.screen()
        run.finish()
