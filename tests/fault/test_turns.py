# SPDX-License-Identifier: Apache-2.0
"""Servers that write in turn: never more at one time than may, whoever is killed or stopped, and nothing is lost."""
import os
import signal
import time

import h5py
import pytest
from control_run import wait_until
from leat_run import BUILD, data, same_bits, xml
from nodes_run import NodesRun
from stored_blocks import stored_ranks

LIST = '<layout name="list" type="int" dimensions="3"/><variable name="own" layout="list"/>'
PLUGIN = BUILD / "lib/leat/test/turns.so"


def stores(most, ms=5):
    return (f'<store name="out" type="hdf5" max-writers="{most}"/>'
            f'<store name="seen" library="{PLUGIN}" max-writers="{most}"><option name="ms" value="{ms}"/></store>')


def iterate(ranks, numbers):
    for number in numbers:
        for rank in ranks:
            rank.must("write", "own", 0, 12, 100 * number + rank.number)
        for rank in ranks:
            rank.end()


def expect_own(path, rows, ranks):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(rows))
        assert file["leat/iteration_complete"][:].tolist() == [1] * rows
        for row in range(rows):
            stored = stored_ranks(file, "own", row)
            assert sorted(stored) == list(ranks)
            assert all(same_bits(stored[r].ravel(), data(3, "i4", 100 * row + r)) for r in ranks)


def lines(folder):
    """[(what, rank, iteration, process)]"""
    try:
        text = (folder / "turns.log").read_text()
    except FileNotFoundError:
        return []
    return [(what, *map(int, numbers)) for what, *numbers in map(str.split, text.splitlines())]


def most_at_work(said, gone=()):
    """gone: processes that count for nothing once another one has begun after them."""
    at_work, most = set(), 0
    for what, _, _, process in said:
        if what == "begin":
            at_work = {each for each in at_work if each not in gone} | {process}
        else:
            at_work.discard(process)
        most = max(most, len(at_work))
    return most


def has_begun(folder, rank):
    return lambda: any(what == "begin" and who == rank for what, who, _, _ in lines(folder))


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_servers_write_at_one_time_than_may(tmp_path, most):
    with NodesRun(tmp_path, xml(LIST, store=stores(most)), [[n] for n in range(5)]) as run:
        iterate(run.init(), range(6))
        run.finish()
        assert "without its turn" not in run.log()
    said = lines(tmp_path)
    assert sorted((rank, iteration) for what, rank, iteration, _ in said if what == "end") == [(r, i) for r in range(5) for i in range(6)]
    assert most_at_work(said) <= most
    expect_own(tmp_path / "run.h5", 6, range(5))


def test_all_write_at_one_time_where_nothing_is_said(tmp_path):
    """What the test above counts is not so by itself."""
    text = xml(LIST, store=f'<store name="seen" library="{PLUGIN}"/>')
    for rank in range(3):
        (tmp_path / f"hold-{rank}").touch()
    with NodesRun(tmp_path, text, [[n] for n in range(3)]) as run:
        iterate(run.init(), range(1))
        wait_until(lambda: most_at_work(lines(tmp_path)) == 3, "they wait for each other")
        for rank in range(3):
            (tmp_path / f"hold-{rank}").unlink()
        run.finish()


def test_the_turn_of_a_killed_server_comes_back_and_what_it_had_is_stored(tmp_path):
    (tmp_path / "hold-1").touch()
    with NodesRun(tmp_path, xml(LIST, timeout="6s", store=stores(1)), [[0], [1], [2]]) as run:
        ranks = run.init()
        iterate(ranks, range(1))
        wait_until(has_begun(tmp_path, 1), "server 1 gets no turn")
        killed = run.server_of(1)
        os.kill(killed, signal.SIGKILL)
        (tmp_path / "hold-1").unlink()
        iterate(ranks, range(1, 4))
        run.finish()
        assert "without its turn" not in run.log()
    said = lines(tmp_path)
    assert {(rank, i) for what, rank, i, _ in said if what == "end"} == {(r, i) for r in range(3) for i in range(4)}
    assert most_at_work(said, gone=[killed]) == 1
    expect_own(tmp_path / "run.h5", 4, range(3))


def test_the_turn_of_a_stopped_server_comes_back_and_it_goes_on_without(tmp_path):
    (tmp_path / "hold-1").touch()
    with NodesRun(tmp_path, xml(LIST, timeout="6s", store=stores(1)), [[0], [1], [2]]) as run:
        ranks = run.init()
        iterate(ranks, range(1))
        wait_until(has_begun(tmp_path, 1), "server 1 gets no turn")
        stopped = run.server_of(1)
        os.kill(stopped, signal.SIGSTOP)
        others = [ranks[0], ranks[2]]
        iterate(others, range(1, 3))
        done = {(r, i) for r in (0, 2) for i in range(3)}
        begin = time.monotonic()
        wait_until(lambda: done <= {(rank, i) for what, rank, i, _ in lines(tmp_path) if what == "end"}, "they wait for the stopped server")
        assert time.monotonic() - begin < 30
        (tmp_path / "hold-1").unlink()
        os.kill(stopped, signal.SIGCONT)
        iterate([ranks[1]], range(1, 3))
        iterate(ranks, range(3, 5))
        run.finish()
        assert 'store "seen" writes without its turn: ' in ranks[1].stderr()
    expect_own(tmp_path / "run.h5", 5, range(3))
