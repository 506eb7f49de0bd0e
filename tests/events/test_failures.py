# SPDX-License-Identifier: Apache-2.0
"""Servers and ranks that have signalled are killed or stopped: no event is lost, none happens twice."""
import os
import random
import signal
import subprocess
import time

import pytest
from control_run import ctl, wait_until
from event_run import DATA, HDF5, LISTENING, config, expect_data, lines, signals, step, write
from leat_run import BUILD, Run, xml


def kill(run):
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)


EVENTS = '<event name="x" plugin="ear"/><event name="y" plugin="ear" scope="node"/><event name="z" store="out"/>'


@pytest.mark.parametrize("seed", range(6))
def test_servers_killed_at_random_moments_lose_no_event_and_repeat_only_what_they_were_at(tmp_path, seed):
    chance = random.Random(seed)
    expected, snapshots = [], []
    with Run(tmp_path, config(EVENTS, LISTENING + HDF5), ranks=2) as run:
        ranks = run.init()
        for i in range(40):
            said = [(n, e) for n in (0, 1) for e in "x" * chance.choice([0, 0, 1, 3])]
            if chance.random() < 0.3:
                said += [(0, "y"), (1, "y")]
            if chance.random() < 0.3:
                said.append((chance.choice([0, 1]), "z"))
                snapshots.append(i)
            for rank in ranks:
                write(rank, i)
                for n, event in said:
                    if n == rank.number:
                        rank.must("signal", event)
                if chance.random() < 0.2:
                    time.sleep(chance.choice([0, 0, 0.002, 0.03]))
                    kill(run)
                rank.end()
            expected += [f"x {n} {i}" for n, e in said if e == "x"] + [f"y -1 {i}"] * ((0, "y") in said)
        run.finish()
        assert "has taken over" in run.log()
    expect_data(tmp_path, snapshots, 2)
    told = signals(tmp_path)
    for i in range(40):
        assert restarts([t for t in told if t.endswith(f" {i}")], [e for e in expected if e.endswith(f" {i}")]), (i, told)


def restarts(told, whole):
    """All of it, at the end; before that beginnings of it, by servers that were killed while they told it."""
    if not whole:
        return not told
    return told == whole or any(restarts(told[n:], whole) for n in range(1, len(whole) + 1) if told[:n] == whole[:n])


def test_a_plugin_that_takes_the_server_with_it_gets_the_iteration_once_more(tmp_path):
    store = LISTENING.replace("/>", '><option name="crash" value="1"/></store>')
    with Run(tmp_path, config('<event name="x" plugin="ear"/>', store)) as run:
        ranks = run.init()
        for i in range(3):
            step(ranks, i, [(0, "x")])
        run.finish()
    assert signals(tmp_path) == ["x 0 0", "x 0 1", "x 0 1", "x 0 2"]


def test_signals_that_a_dead_server_had_taken_happen_with_the_next(tmp_path):
    with Run(tmp_path, config(EVENTS, LISTENING + HDF5), ranks=2) as run:
        a, b = run.init()
        step([a], 0, [(0, "x"), (0, "y"), (0, "z")])
        step([a], 1, [(0, "x")])
        time.sleep(0.3)  # taken; b has ended nothing, so nothing has happened
        assert not signals(tmp_path)
        kill(run)
        step([b], 0, [(1, "y")])
        kill(run)
        step([b], 1)
        run.finish()
        assert "has taken over" in run.log()
    assert signals(tmp_path) == ["x 0 0", "y -1 0", "x 0 1"]
    expect_data(tmp_path, [0], 2)


def test_what_was_ordered_outlives_the_server(tmp_path):
    with Run(tmp_path, config('<event name="x" plugin="ear"/>'), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0)
        wait_until(lambda: "iteration 0 2" in lines(tmp_path), "iteration 0")
        ctl(run, "signal", "x", "--wait", "0")
        kill(run)
        step(ranks, 1)
        run.finish()
    assert signals(tmp_path) == ["x -1 1"]


@pytest.mark.parametrize("dead", [0, 1])
def test_a_rank_that_is_killed_is_not_waited_for(tmp_path, dead):
    with Run(tmp_path, config('<event name="x" plugin="ear" scope="node"/>'), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0)
        write(ranks[dead], 1)
        ranks[dead].kill()
        alive = ranks[1 - dead]
        step([alive], 1, [(alive.number, "x")])
        step([alive], 2)
        (answer,) = run.finalize([alive])
        assert answer.ok, answer
    assert signals(tmp_path) == ["x -1 1"]


def test_what_a_rank_signalled_before_it_was_killed_happens(tmp_path):
    with Run(tmp_path, config('<event name="x" plugin="ear"/><event name="z" store="out"/>', LISTENING + HDF5), ranks=2) as run:
        a, b = run.init()
        step((a, b), 0)
        for rank in (a, b):
            write(rank, 1)
        for event in "xz":
            b.must("signal", event)
        b.kill()
        a.end()
        (answer,) = run.finalize([a])
        assert answer.ok, answer
    assert signals(tmp_path) == ["x 1 1"]
    expect_data(tmp_path, [1], 2)


def test_what_all_had_signalled_when_everything_was_killed_happens_at_the_next_start(tmp_path):
    with Run(tmp_path, config('<event name="z" store="out" scope="node"/>', HDF5), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0)
        os.kill(run.server(), signal.SIGSTOP)
        step(ranks, 1, [(0, "z"), (1, "z")])
        step(ranks, 2)
        run.kill_all()
        recovered = subprocess.run([BUILD / "bin/leat", "recover", run.session], env=run.environment, cwd=tmp_path,
                                   capture_output=True, text=True)
        assert recovered.returncode == 0, recovered
    expect_data(tmp_path, [1], 2)


def test_with_a_stopped_server_a_signal_waits_for_the_timeout_at_most_and_says_so(tmp_path):
    text = config('<event name="x" plugin="ear"/>', timeout="1s")
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        pid = run.server()
        os.kill(pid, signal.SIGSTOP)
        count = 0
        while True:  # until the ring is full
            begun = time.monotonic()
            answer = rank.call("signal", "x")
            if not answer.ok:
                break
            count += 1
        assert answer.status == "LEAT_ERROR_TIMEOUT" and "was not signalled" in answer.error
        assert time.monotonic() - begun < 5
        os.kill(pid, signal.SIGCONT)
        rank.must("end_iteration")
        rank.must("signal", "x")
        run.finish()
    assert signals(tmp_path) == ["x 0 0"] * count + ["x 0 1"]


def test_events_of_iterations_on_the_disk_outlive_the_server(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>'
    (tmp_path / "spill").mkdir()
    text = xml(big + DATA, store=LISTENING + '<store name="gate" library="' + f'{BUILD}/lib/leat/test/gate.so' + '"/>',
               log='<actions><event name="x" plugin="ear"/></actions>')
    text = text.replace('size="16MiB"', f'size="4MiB" when-full="spill" spill="{tmp_path}/spill" spill-size="100MiB"')
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        for i in range(12):
            assert rank.write("big", 1 << 20, i).ok
            rank.must("signal", "x")
            rank.end()
            if i == 8:
                kill(run)
        (tmp_path / "gate-open").touch()
        run.finish()
    assert sorted(set(signals(tmp_path)), key=lambda line: int(line.split()[2])) == [f"x 0 {i}" for i in range(12)]
