# SPDX-License-Identifier: Apache-2.0
"""A rank forks: nothing of the rank's outlives it in a child, and a child that calls Leat gets an error of its own."""
import contextlib
import json
import os
import signal
import time

import h5py
import pytest
from leat_run import Run, data, same_bits, xml
from stored_blocks import stored_ranks

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
TIMEOUT = 10.0


@contextlib.contextmanager
def child_of(rank):
    pid = rank.must("fork_and_stay").value
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def write_rows(rank, first, count):
    for iteration in range(first, first + count):
        assert rank.write("a", 20, 100 * rank.number + iteration).ok
        rank.end()


def expect_rows(path, rank, count):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(count))
        for iteration in range(count):
            row = stored_ranks(file, "a", iteration)[rank]
            assert same_bits(row.reshape(-1), data(5, "i4", 100 * rank + iteration))


def test_the_death_of_a_rank_is_seen_while_its_child_lives(tmp_path):
    with Run(tmp_path, xml(ROW, timeout=f"{TIMEOUT:g}s"), ranks=2) as run:
        first, second = run.init()
        for rank in run.ranks:
            write_rows(rank, 0, 2)
        with child_of(second):
            second.kill()
            write_rows(first, 2, 3)
            begin = time.monotonic()
            assert run.finalize([first])[0].ok
            assert time.monotonic() - begin < TIMEOUT / 2
            run.await_end(TIMEOUT / 2)
            assert not run.segments()
    expect_rows(tmp_path / "run.h5", 0, 5)
    assert [d["rank"] for d in json.loads((tmp_path / "run.ledger.json").read_text())["died"]] == [1]


def test_when_the_server_and_a_rank_with_a_child_are_killed_the_next_server_does_not_wait_for_the_child(tmp_path):
    with Run(tmp_path, xml(ROW, timeout=f"{TIMEOUT:g}s"), ranks=2) as run:
        first, second = run.init()
        for rank in run.ranks:
            write_rows(rank, 0, 2)
        with child_of(second):
            os.kill(run.server(), signal.SIGKILL)
            second.kill()
            write_rows(first, 2, 3)
            begin = time.monotonic()
            assert run.finalize([first])[0].ok
            assert time.monotonic() - begin < TIMEOUT / 2
    expect_rows(tmp_path / "run.h5", 0, 5)


@pytest.mark.parametrize("call", ["write a 0 20 7", "end_iteration", "finalize", "alloc a 0 20 7", "set_extent a 0 5",
                                  "init run.xml", "wanted a"])
def test_a_child_that_calls_leat_is_told_so_and_harms_nobody(tmp_path, call):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        write_rows(rank, 0, 2)
        answer = rank.call("in_child", call)
        assert answer.status == "LEAT_ERROR_STATE", answer
        assert f"was forked from process {rank.process.pid}" in answer.error and "called leat_init" in answer.error, answer
        write_rows(rank, 2, 3)
        run.finish()
    expect_rows(tmp_path / "run.h5", 0, 5)


def test_a_child_forked_before_leat_init_may_be_a_rank_itself(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.ranks
        answer = rank.call("in_child", f"init_ranks run.xml {run.session} 0 1")
        assert answer.ok, answer
        run.await_end()


def test_many_children_that_come_and_go_change_nothing(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        for iteration in range(20):
            assert rank.call("in_child", "iteration").value == -1
            write_rows(rank, iteration, 1)
        run.finish()
    expect_rows(tmp_path / "run.h5", 0, 20)
