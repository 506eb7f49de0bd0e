# SPDX-License-Identifier: Apache-2.0
"""leatd is killed by a real SIGKILL, or crashes; another one takes over, and nobody sees it in the output."""
import os
import random
import signal
import threading
import time

import h5py
import pytest
from h5_compare import expect_same
from leat_run import BUILD, Run, await_death, data, same_bits, xml
from stored_blocks import stored_blocks, stored_ranks

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
BIG = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>'
ALL = '''<parameter name="n" type="int"/><parameter name="time" type="double"/><parameter name="what" type="string"/>
<layout name="grid" type="float" dimensions="n+2,7" global="2*n,7" ghosts="1,0"/><variable name="grid" layout="grid"/>
<layout name="list" type="int64" dimensions="?,3"/><variable name="list" layout="list"/>''' + ROW + BIG
RANKS, ITERATIONS, N = 2, 40, 4


def step(rank, iteration):
    """One iteration of a rank: parameters, a place in a global grid, a ragged list, many small blocks, a large one."""
    number = rank.number
    seed = 100 * iteration + 10 * number
    rank.must("set_double", "time", iteration / 3)
    if iteration % 7 == number:
        rank.must("set_string", "what", f"text-{iteration}")
    assert rank.write("grid", 4 * (N + 2) * 7, seed).ok
    count = (iteration + number) % 4
    rank.must("set_extent", "list", 0, f"{count},3")
    assert rank.write("list", 24 * count, seed + 1).ok
    for block in range(5):
        assert rank.write("a", 20, seed + 2 + block, block).ok
    if iteration % 3 == 0:
        rank.must("alloc", "big", 0, 1 << 20, seed + 9)
        rank.must("commit", "big", 0)
    else:
        assert rank.write("big", 1 << 20, seed + 9).ok
    rank.end()


def begin(run):
    run.init()
    for rank in run.ranks:
        rank.must("set_int", "n", N)
        rank.must("set_position", "grid", 0, f"{N * rank.number},0")


def in_step(run, iterations, between=lambda iteration: None):
    for iteration in iterations:
        for rank in run.ranks:
            step(rank, iteration)
        between(iteration)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    with Run(folder, xml(ALL), ranks=RANKS) as run:
        begin(run)
        in_step(run, range(ITERATIONS))
        run.finish()
    return folder / "run.h5"


def kill(run):
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(6))
def test_servers_killed_at_random_moments_leave_the_output_of_an_undisturbed_run(tmp_path, undisturbed, seed):
    chance = random.Random(seed)
    with Run(tmp_path, xml(ALL), ranks=RANKS) as run:
        begin(run)

        def between(_):
            if chance.random() < 0.3:
                time.sleep(chance.choice([0, 0, 0.002, 0.05]))
                kill(run)
        in_step(run, range(ITERATIONS), between)
        run.finish()
        assert "has taken over" in run.log()
    expect_same(tmp_path / "run.h5", undisturbed, but=["session", "leat/ledger", "leat/ledger_length"])


def test_servers_killed_while_all_ranks_run_at_full_speed(tmp_path, undisturbed):
    with Run(tmp_path, xml(ALL), ranks=RANKS) as run:
        begin(run)
        failures = []

        def all_of(rank):
            try:
                for iteration in range(ITERATIONS):
                    step(rank, iteration)
            except BaseException as e:  # told to the test's own thread
                failures.append(e)
        threads = [threading.Thread(target=all_of, args=[rank]) for rank in run.ranks]
        for thread in threads:
            thread.start()
        chance = random.Random(0)
        while any(thread.is_alive() for thread in threads):
            time.sleep(chance.uniform(0, 0.4))
            kill(run)
        assert not failures, failures
        run.finish()
    expect_same(tmp_path / "run.h5", undisturbed, but=["session", "leat/ledger", "leat/ledger_length"])


def test_a_server_killed_while_it_drains_is_followed_by_one_that_ends_the_run(tmp_path, undisturbed):
    with Run(tmp_path, xml(ALL), ranks=RANKS) as run:
        begin(run)
        in_step(run, range(ITERATIONS))
        os.kill(run.server(), signal.SIGSTOP)
        for rank in run.ranks:
            rank.start("finalize")
        time.sleep(0.2)
        kill(run)
        for rank in run.ranks:
            answer = rank.result()
            assert answer.ok, answer
    expect_same(tmp_path / "run.h5", undisturbed, but=["session", "leat/ledger", "leat/ledger_length"])


def test_memory_that_a_rank_computes_in_outlives_the_server(tmp_path):
    with Run(tmp_path, xml(BIG, buffer="4MiB")) as run:
        (rank,) = run.init()
        for iteration in range(8):
            rank.must("alloc", "big", 0, 1 << 20, iteration)
            if iteration % 2 == 1:
                kill(run)
                time.sleep(0.12)
            rank.must("commit", "big", 0)
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for iteration in range(8):
            assert same_bits(file["big"][iteration].reshape(-1), data(1 << 20, "u1", iteration))


def test_threads_that_wait_for_memory_go_on_with_the_next_server(tmp_path):
    with Run(tmp_path, xml(BIG, buffer="8MiB")) as run:
        (rank,) = run.init()
        for iteration in range(6):
            os.kill(run.server(), signal.SIGSTOP)
            rank.start("threads", "big", 5, 1, 1 << 20, 10 * iteration)
            time.sleep(0.05)
            kill(run)
            answer = rank.result()
            assert answer.ok, answer
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for iteration in range(6):
            for block in range(5):
                got = stored_blocks(file, "big", iteration)[0, block]
                assert same_bits(got.reshape(-1), data(1 << 20, "u1", 10 * iteration + block))


def test_a_rank_that_dies_while_there_is_no_server_has_all_it_handed_over_stored(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=2) as run:
        run.init()
        for rank in run.ranks:
            assert rank.write("a", 20, rank.number).ok
            rank.end()
            assert rank.write("a", 20, 10 + rank.number).ok
        kill(run)
        run.ranks[1].kill()
        time.sleep(0.12)
        run.ranks[0].end()
        (answer,) = run.finalize([run.ranks[0]])
        assert answer.ok, answer
        assert "rank 1 ended without leat_finalize, in iteration 1" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1, 0]
        for iteration in range(2):
            for rank in range(2):
                assert same_bits(stored_ranks(file, "a", iteration)[rank], data(5, "i4", 10 * iteration + rank))


def test_a_rank_that_comes_late_finds_the_second_server(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=2) as run:
        first, second = run.ranks
        assert first.init().ok
        assert first.write("a", 20, 1).ok
        kill(run)
        assert second.init().ok
        assert second.write("a", 20, 2).ok
        for rank in run.ranks:
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for rank in range(2):
            assert same_bits(stored_ranks(file, "a", 0)[rank], data(5, "i4", rank + 1))


@pytest.mark.parametrize("how", ["segfault", "abort"])
def test_a_plugin_that_crashes_loses_its_iteration_and_no_other_store_loses_any(tmp_path, how):
    plugin = BUILD / "lib" / "leat" / "tests" / "crashing.so"
    stores = f'<store name="out" type="hdf5"/><store name="bad" library="{plugin}"/>'
    crash = {"LEAT_TEST_CRASH": how, "LEAT_TEST_CRASH_AT": "2"}
    with Run(tmp_path, xml(ROW, store=stores), environment=crash) as run:
        (rank,) = run.init()
        for iteration in range(5):
            assert rank.write("a", 20, iteration).ok
            rank.end()
            time.sleep(0.3)  # so that the crash is noticed by an end of iteration, too
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST"
        words = answer.error.split()
        assert "bad" in words and "2" in words and "crashed" in words
        assert "out" not in words
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(5))
        for iteration in range(5):
            assert same_bits(file["a"][iteration].reshape(-1), data(5, "i4", iteration))


def test_where_no_server_can_be_started_calls_fail_at_once_and_say_so(tmp_path):
    program = tmp_path / "leatd"
    program.symlink_to(BUILD / "bin" / "leatd")
    with Run(tmp_path, xml(BIG, buffer="4MiB"), environment={"LEAT_SERVER": str(program)}) as run:
        (rank,) = run.init()
        assert rank.write("big", 1 << 20, 1).ok
        program.unlink()
        server = run.server()
        kill(run)
        await_death(server)
        time.sleep(0.12)  # it looks for its server every 100 ms
        answer = rank.call("end_iteration")
        assert answer.status == "LEAT_ERROR_SERVER" and "leatd" in answer.error
        for _ in range(3):
            before = time.monotonic()
            answer = rank.write("big", 1 << 20, 1)
            assert answer.status == "LEAT_ERROR_SERVER" and "no other one can take over" in answer.error
            assert time.monotonic() - before < 5  # the timeout is 10 s
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_SERVER"
        rank.stop_process()
        # Nobody is left to remove it; the next start on this node does, and that is what this is.
        for path in [*run.segments(), *run.runtime.iterdir()]:
            path.unlink()


def server_that_starts(folder, trouble):
    """A program that counts its starts in a file, as $n, and gets into trouble before it is leatd. Both."""
    program, starts = folder / "leatd", folder / "starts"
    program.write_text(f"""#!/bin/sh
echo >>{starts}
n=$(wc -l <{starts})
{trouble}
exec {BUILD.absolute()}/bin/leatd "$@"
""")
    program.chmod(0o755)
    return program, starts


def test_servers_that_are_killed_while_they_start_are_followed_by_one_that_is_not(tmp_path):
    # The first one lives, four after it are killed at once.
    program, starts = server_that_starts(tmp_path, "[ $n -gt 1 ] && [ $n -lt 6 ] && kill -9 $$")
    with Run(tmp_path, xml(ROW, timeout="60s"), environment={"LEAT_SERVER": str(program)}) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 0).ok
        rank.end()
        kill(run)
        time.sleep(0.12)
        assert rank.write("a", 20, 1).ok
        rank.end()
        run.finish()
    assert starts.read_text().count("\n") == 6
    with h5py.File(tmp_path / "run.h5") as file:
        for iteration in range(2):
            assert same_bits(file["a"][iteration].reshape(-1), data(5, "i4", iteration))


def test_a_call_waits_no_longer_than_the_timeout_for_a_server_that_is_stopped_while_it_takes_over(tmp_path):
    program, _ = server_that_starts(tmp_path, "[ $n -eq 2 ] && sleep 5")
    with Run(tmp_path, xml(ROW, timeout="0.3s"), environment={"LEAT_SERVER": str(program)}) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 0).ok
        rank.end()
        kill(run)
        iterations = 1
        while not run.servers() or iterations < 5:  # the sleeping one is no leatd yet
            time.sleep(0.12)
            for call in (lambda: rank.write("a", 20, iterations), lambda: rank.call("end_iteration")):
                before = time.monotonic()
                assert call().ok
                assert time.monotonic() - before < 1.5
            iterations += 1
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(iterations))
        for iteration in range(iterations):
            assert same_bits(file["a"][iteration].reshape(-1), data(5, "i4", iteration))


def test_a_configuration_that_was_changed_meanwhile_does_not_matter_to_the_run(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        (tmp_path / run.config).write_text(xml(ROW.replace("5", "6")))
        kill(run)
        time.sleep(0.12)
        rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(-1), data(5, "i4", 1))


def test_a_server_that_was_told_to_end_is_not_started_again(tmp_path):
    with Run(tmp_path, xml(ROW).replace('cores="1"', 'cores="1" grace="0s"')) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 3).ok
        rank.end()
        os.kill(run.server(), signal.SIGTERM)
        run.await_end()
        time.sleep(0.12)
        assert rank.call("end_iteration").status == "LEAT_ERROR_SERVER"
        assert not run.servers()
        run.finalize()
