# SPDX-License-Identifier: Apache-2.0
"""The trace of a run, decoded by Perfetto's own messages: what ranks, server, stores and scripts did, and when."""
import os
import pathlib
import signal
import sys
import time

import pytest
from leat_run import BUILD, Run

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from script_run import put  # noqa: E402  tests of scripts have it
from trace_run import BYTES, DATA, Trace, config, write
from without_xarray import without_xarray  # noqa: F401

ITERATIONS, PAUSE = 6, 0.02
TWO = '<store name="out" type="hdf5"/><store name="second" type="hdf5" file="second.h5" every="2"/>'
GATE = f'<store name="gate" library="{BUILD}/lib/leat/test/gate.so"/>'


def test_each_call_of_each_rank_is_a_slice_within_its_iteration_and_inside_the_run(tmp_path):
    began = time.time_ns()
    with Run(tmp_path, config(), ranks=3) as run:
        run.init()
        write(run, range(ITERATIONS), between=lambda: time.sleep(PAUSE))
        run.finish()
    ended = time.time_ns()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    assert [track.name for track in trace.ranks] == ["rank 0", "rank 1", "rank 2"]
    for rank in trace.ranks:
        assert [each.name for each in rank.slices if each.depth == 0] == [f"iteration {i}" for i in range(ITERATIONS)]
        for name in ("leat_write a", "leat_write b", "leat_end_iteration"):
            calls = rank.named(name)
            assert [call.facts["iteration"] for call in calls] == list(range(ITERATIONS)), name
            assert all(call.within.name == f"iteration {call.facts['iteration']}" for call in calls)
            assert all(call.facts.get("bytes") == (BYTES if "write" in name else None) for call in calls)
        computing = [0] * ITERATIONS
        for each in rank.named("compute"):
            computing[int(each.within.name.split()[1])] += each.ended - each.begun
        assert all(PAUSE * 1e9 <= each < ended - began for each in computing)
        assert all(began <= each.begun and each.ended <= ended for each in rank.slices)


def test_stores_the_pipeline_and_the_server_have_theirs(tmp_path):
    with Run(tmp_path, config(store=TWO), ranks=2) as run:
        run.init()
        write(run, range(ITERATIONS))
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    numbers = [f"iteration {i}" for i in range(ITERATIONS)]
    assert [each.name for each in trace["store out"].slices] == ["open", *numbers, "close"]
    assert [each.name for each in trace["store second"].slices] == ["open", *numbers[::2], "close"]
    assert [each.name for each in trace["pipeline"].slices] == numbers
    assert len(trace["server"].named("turn")) >= 1
    assert [name for name in trace["server"].moments if name.endswith(": complete")] == [f"{each}: complete" for each in numbers]
    used, waiting = trace["buffer in use"].numbers, trace["iterations waiting"].numbers
    assert used[0] == 0 and 2 * 2 * BYTES <= max(used) <= 16 << 20 and all(each >= 0 for each in used)
    assert waiting[-1] == 0 and 0 <= max(waiting) <= ITERATIONS


def test_arrows_lead_from_each_rank_to_each_store_that_has_stored_its_iteration(tmp_path):
    with Run(tmp_path, config(store=TWO), ranks=2) as run:
        run.init()
        write(run, range(ITERATIONS))
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    begins = {}
    for rank in trace.ranks:
        for end in rank.named("leat_end_iteration"):
            for number in end.facts["arrows"]:
                assert begins.setdefault(number, end) is end
    for name, every in (("store out", 1), ("store second", 2)):
        stored = [each for each in trace[name].slices if each.name.startswith("iteration")]
        assert len(stored) == ITERATIONS / every
        for each in stored:
            ends = [begins[number] for number in each.facts["arrows"]]
            assert len(ends) == 2 and all(end.facts["iteration"] == each.facts["iteration"] and end.begun < each.begun for end in ends)


def test_an_event_has_less_than_100_bytes(tmp_path):
    with Run(tmp_path, config(), ranks=2) as run:
        run.init()
        write(run, range(100))
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    events = trace.said["begin"] + trace.said["instant"] + trace.said["counter"]
    assert trace.count("leat_write a") == 200
    print(f"{trace.bytes / events:.1f} bytes an event, {events} events")
    assert trace.bytes / events < 100


def test_without_the_attribute_there_is_none_and_the_environment_asks_for_one(tmp_path):
    for name, environment in (("without", {}), ("with", {"LEAT_TRACE": "traces/other.pftrace"})):
        folder = tmp_path / name
        folder.mkdir()
        with Run(folder, config().replace('trace="run.pftrace"', ""), environment=environment) as run:
            run.init()
            write(run, range(2))
            run.finish()
    assert not list((tmp_path / "without").rglob("*.pftrace"))
    (path,) = (tmp_path / "with").rglob("*.pftrace")
    assert path == tmp_path / "with/traces/other.pftrace" and Trace(path).count("leat_write a") == 2


def test_a_wait_for_memory_is_within_the_write_that_waits(tmp_path):
    with Run(tmp_path, config()) as run:
        (rank,) = run.init()
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        rank.start("write", "a", 0, BYTES, 1)
        time.sleep(0.2)
        os.kill(server, signal.SIGCONT)
        assert rank.result().ok
        rank.end()
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    (wait,) = trace["rank 0"].named("wait: buffer space")
    assert wait.within.name == "leat_write a" and wait.ended - wait.begun >= 0.15e9


def test_a_rank_that_waits_until_its_iteration_is_stored_says_so(tmp_path):
    with Run(tmp_path, config().replace('cores="1"', 'cores="1" mode="sync"'), ranks=2) as run:
        run.init()
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("a", BYTES, iteration).ok
                rank.start("end_iteration")
            for rank in run.ranks:
                assert rank.result().ok
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    for rank in trace.ranks:
        waits = rank.named("wait: iteration stored")
        assert len(waits) == 3 and all(each.within.name == "leat_end_iteration" for each in waits)


def test_idle_phases_are_slices(tmp_path):
    with Run(tmp_path, config()) as run:
        (rank,) = run.init()
        for iteration in range(3):
            assert rank.write("a", BYTES, iteration).ok
            rank.must("idle_begin", "halo")
            time.sleep(0.02)
            rank.must("idle_end")
            rank.end()
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    idle = trace["rank 0"].named("idle")
    assert [each.within.name for each in idle] == ["iteration 0", "iteration 1", "iteration 2"]
    assert all(each.ended - each.begun >= 0.02e9 for each in idle)


def test_each_call_of_a_script_is_a_slice(tmp_path):
    put(tmp_path, "slow", """
        import time
        import leat
        @leat.on_iteration
        def slow(ds, ctx):
            time.sleep(0.01)
    """)
    scripts = '<scripts interpreter="python3"><folder path="analysis" when-slow="wait"/></scripts>'
    with Run(tmp_path, config(log=scripts)) as run:
        run.init()
        write(run, range(4))
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    calls = [each for each in trace["script slow"].slices if each.name != "load"]
    assert [each.name for each in calls] == [f"iteration {i}" for i in range(4)]
    assert all(each.ended - each.begun >= 0.01e9 for each in calls) and len(trace["script slow"].named("load")) == 1


def test_dropped_iterations_and_lost_writes_are_moments(tmp_path):
    data = DATA.replace('"1024"', '"32768"')
    text = config(data).replace('<buffer size="16MiB" timeout="10s"/>', '<buffer size="1MiB" timeout="1s" when-full="drop-iteration"/>')
    with Run(tmp_path, text, ranks=2) as run:
        a, b = run.init()
        for iteration in range(8):  # b stays in iteration 0, so nothing is ever free
            a.write("a", 32768 * 8, iteration)
            a.end()
        assert not a.write("nothing", 8, 1).ok
        b.kill()
        run.finalize([a])
    trace = Trace(tmp_path / "run.pftrace")
    assert any(": dropped: " in name for name in trace["server"].moments), trace["server"].moments
    assert "write lost" in trace["rank 0"].moments and "rank died" in trace["rank 1"].moments


def test_a_store_that_skips_says_so(tmp_path):
    with Run(tmp_path, config(store=GATE.replace("/>", ' when-slow="skip"/>') + '<store name="out" type="hdf5"/>')) as run:
        run.init()
        write(run, range(1))
        while not (tmp_path / "begun-0").exists():
            time.sleep(0.01)
        write(run, range(1, 6))
        time.sleep(0.3)
        (tmp_path / "gate-open").touch()
        run.finish()
    assert any("store gate skipped it" in name for name in Trace(tmp_path / "run.pftrace")["server"].moments)


def test_calls_of_several_threads_of_a_rank_at_once_nest(tmp_path):
    threads, writes = 4, 200
    with Run(tmp_path, config(DATA.replace('"1024"', '"8192"')), ranks=2) as run:
        for rank in run.init():
            rank.start("threads", "a", threads, writes, 8192 * 8, 100 * rank.number)
        for rank in run.ranks:
            assert rank.result().ok
            rank.end()
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    assert trace.count("leat_write a") == 2 * threads * writes


@pytest.mark.parametrize("place", ["thread", "none"])
def test_a_server_in_the_process_of_the_simulation_writes_one_too(tmp_path, place):
    with Run(tmp_path, config().replace('cores="1"', f'cores="1" place="{place}"'), ranks=1) as run:
        run.init()
        write(run, range(3))
        run.finish()
    trace = Trace(tmp_path / "run.pftrace")
    trace.check_whole()
    assert trace.count("leat_write a") == 3 and len(trace["store out"].named("iteration 2")) == 1
