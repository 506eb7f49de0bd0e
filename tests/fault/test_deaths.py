# SPDX-License-Identifier: Apache-2.0
"""One test for each row of docs/explanation/failure-model.md: something dies or stops, for real."""
import os
import signal
import time

import h5py
import pytest
from leat_run import Run, data, same_bits, xml
from stored_blocks import stored_blocks, stored_ranks

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
BIG = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>'


def test_a_killed_rank_does_not_stop_the_others_and_what_it_had_committed_is_stored(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=3) as run:
        run.init()
        for rank in run.ranks:
            assert rank.write("a", 20, rank.number).ok
            rank.end()
            assert rank.write("a", 20, 10 + rank.number).ok
        run.ranks[1].kill()
        alive = [run.ranks[0], run.ranks[2]]
        for rank in alive:
            rank.end()
            assert rank.write("a", 20, 20 + rank.number).ok
            rank.end()
        for answer in run.finalize(alive):
            assert answer.ok, answer
        assert "rank 1 ended without leat_finalize, in iteration 1" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
        assert file["leat/iteration_complete"][:].tolist() == [1, 0, 0]
        for iteration, ranks in ((0, [0, 1, 2]), (1, [0, 1, 2]), (2, [0, 2])):
            stored = stored_ranks(file, "a", iteration)
            assert sorted(stored) == ranks
            for rank, got in stored.items():
                assert same_bits(got, data(5, "i4", 10 * iteration + rank))


def test_when_all_ranks_are_killed_the_server_stores_what_was_committed_and_ends(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=2) as run:
        run.init()
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("a", 20, 10 * iteration + rank.number).ok
                rank.end()
        for rank in run.ranks:
            rank.kill()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
        for iteration in range(3):
            for rank in range(2):
                assert same_bits(stored_ranks(file, "a", iteration)[rank], data(5, "i4", 10 * iteration + rank))


def test_all_that_a_killed_rank_had_pushed_is_stored_however_much_it_is(tmp_path):
    many = 700  # more than the server takes of one rank in one turn
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 0, 0).ok  # has memory from here on
        time.sleep(0.2)
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        for block in range(1, many):
            assert rank.write("a", 20, block, block).ok
        rank.end()
        rank.kill()
        os.kill(server, signal.SIGCONT)
    with h5py.File(tmp_path / "run.h5") as file:
        assert sorted(stored_blocks(file, "a")) == [(0, block) for block in range(many)]


@pytest.mark.parametrize("moment", range(8))
def test_a_rank_killed_at_any_moment_of_a_write_leaves_whole_blocks(tmp_path, moment):
    with Run(tmp_path, xml(BIG, buffer="8MiB")) as run:
        (rank,) = run.init()
        assert rank.write("big", 1 << 20, 1000).ok  # however late the rank may be
        rank.end()
        rank.start("run_on", "big", 1 << 20, 1001)
        time.sleep(0.02 + 0.013 * moment)
        rank.kill()
    with h5py.File(tmp_path / "run.h5") as file:
        iterations = file["iteration"][:].tolist()
        assert iterations == list(range(len(iterations))) and iterations
        for iteration in iterations:
            assert same_bits(file["big"][iteration].reshape(-1), data(1 << 20, "u1", 1000 + iteration))


def test_a_rank_killed_while_it_computes_in_leased_memory_gives_that_memory_back(tmp_path):
    with Run(tmp_path, xml(BIG, buffer="4MiB"), ranks=2) as run:
        run.init()
        run.ranks[0].must("alloc", "big", 0, 1 << 20, 1)
        run.ranks[0].kill()
        for iteration in range(12):
            assert run.ranks[1].write("big", 1 << 20, iteration).ok
            run.ranks[1].end()
        assert run.finalize([run.ranks[1]])[0].ok


def test_a_stopped_server_blocks_no_call_longer_than_the_timeout(tmp_path):
    with Run(tmp_path, xml(BIG, buffer="4MiB", timeout="1s")) as run:
        (rank,) = run.init()
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        answers = [rank.write("big", 1 << 20, i) for i in range(3)]
        assert [a.status for a in answers] == ["LEAT_ERROR_FULL"] * 3
        assert "stayed full for 1000 ms" in answers[0].error
        # Its socket is open, so it is stopped, not dead: finalize gives up after the timeout and says so.
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_TIMEOUT" and "no progress" in end.error
        os.kill(server, signal.SIGCONT)
        run.await_end()
    assert "  -      big       0      0           3 MiB  no room for 1 MiB of it: the segment of" in run.log()


def test_a_stopped_rank_delays_the_others_only_by_the_timeout(tmp_path):
    with Run(tmp_path, xml(ROW, timeout="1s"), ranks=2) as run:
        first, second = run.init()
        assert first.write("a", 20, 1).ok
        assert second.write("a", 20, 2).ok
        second.process.send_signal(signal.SIGSTOP)
        first.end()
        (end,) = run.finalize([first])
        assert end.status == "LEAT_ERROR_TIMEOUT" and "other ranks" in end.error
        second.process.send_signal(signal.SIGCONT)
        second.end()
        assert run.finalize([second])[0].ok
    with h5py.File(tmp_path / "run.h5") as file:
        for rank in range(2):
            assert same_bits(stored_ranks(file, "a")[rank], data(5, "i4", rank + 1))


def test_a_rank_that_never_comes_does_not_keep_the_server(tmp_path):
    with Run(tmp_path, xml(ROW, timeout="1s"), ranks=2) as run:
        first = run.ranks[0]
        assert first.init().ok
        assert first.write("a", 20, 3).ok
        first.end()
        (end,) = run.finalize([first])
        assert end.status in ("LEAT_OK", "LEAT_ERROR_TIMEOUT")
        run.await_end()
        (run.runtime / f"{run.session}.late").unlink()  # stays for a day, for the rank that may come yet
    assert "rank 1 did not connect while" in run.log() and "rank 1 did not connect, and" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(-1)[:5], data(5, "i4", 3))


def test_after_sigterm_the_server_takes_what_ranks_write_in_the_grace_time(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=2) as run:
        run.init()
        server = run.server()
        os.kill(server, signal.SIGTERM)
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("a", 20, 10 * iteration + rank.number).ok
                rank.end()
        run.finish()
        assert "Leat accepts data for" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2] and file["leat/iteration_complete"][:].tolist() == [1, 1, 1]


def test_a_job_that_is_told_to_end_and_does_not_is_stored_within_the_grace_time(tmp_path):
    config = xml(ROW).replace('cores="1"', 'cores="1" grace="2s"')
    with Run(tmp_path, config, ranks=2) as run:
        run.init()
        for rank in run.ranks:
            assert rank.write("a", 20, rank.number).ok
        run.ranks[0].end()
        os.kill(run.server(), signal.SIGTERM)
        run.await_end()  # no rank ends
        for rank in run.ranks:
            rank.kill()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [0]
        for rank in range(2):
            assert same_bits(stored_ranks(file, "a")[rank], data(5, "i4", rank))


def test_a_second_sigterm_makes_the_server_store_what_it_has_and_end(tmp_path):
    with Run(tmp_path, xml(ROW, timeout="2s")) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 3).ok
        rank.end()
        server = run.server()
        os.kill(server, signal.SIGTERM)
        time.sleep(0.2)  # two at once may be one
        os.kill(server, signal.SIGTERM)
        run.await_end()
        time.sleep(0.15)
        assert rank.call("end_iteration").status == "LEAT_ERROR_SERVER"
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(-1), data(5, "i4", 3))


def test_signals_for_the_simulation_leave_the_server_alone(tmp_path):
    """A batch system that is to warn a job with SIGUSR1 sends it to all processes of the job."""
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        server = run.server()
        for each in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
            os.kill(server, each)
        assert rank.write("a", 20, 3).ok
        rank.end()
        assert run.server() == server
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(-1), data(5, "i4", 3))


def test_an_idle_server_uses_no_processor_time(tmp_path):
    def ticks(pid):
        fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        rank.end()
        time.sleep(0.3)
        before = ticks(run.server())
        time.sleep(1.5)
        assert ticks(run.server()) - before <= 1
        run.finish()
