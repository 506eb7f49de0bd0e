# SPDX-License-Identifier: Apache-2.0
"""Servers of several nodes, and of several runs, that do the same thing at the same time: one view of each run, and nothing of
others is lost. (tests/plugins/same_instant.py N does it N times with any luck of the dice.)"""
import time

import pytest
from leat_run import LIMIT
from nodes import Nodes
from same_instant import KINDS, VARIABLES, blocks_of, expect_run, play, write


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nodes", [2, 5])
def test_all_start_write_and_end_at_the_same_instant(tmp_path, kind, nodes):
    play(tmp_path, kind, nodes)


def test_a_run_that_ended_since_this_one_began_is_not_replaced(tmp_path):
    """It lost all of its parts, when it had its first view and its end before the other's first iteration."""
    long = Nodes(tmp_path, VARIABLES, [[0], [1]], session="s1", options={"exists": "replace"})
    write(tmp_path, ["s2"], 2, {"exists": "replace"})
    expect_run(tmp_path / "run.h5", "s2", 2)
    for i in range(2):
        long.must(i, *blocks_of(long.plugins[0], "s1", i, 2))
    assert "was written by another run since this one began" in long.finish()
    expect_run(tmp_path / "run.h5", "s2", 2)
    expect_run(tmp_path / "run-s1.h5", "s1", 2)


def test_a_server_that_takes_long_with_the_first_view_is_not_taken_for_another_run(tmp_path):
    """Of one whose file system is slow the others made a second view, under another name."""
    slow = ("strace", "-f", "-qq", "-o", tmp_path / "trace", "-e", "inject=rename,renameat,renameat2:delay_enter=4s")
    run = Nodes(tmp_path / "out", VARIABLES, [[0], [1]], wrappers=[slow, ()])
    first, second = blocks_of(run.plugins[0], "s1", 0, 2)
    run.plugins[0].start_iteration(0, first)
    begun, end = tmp_path / "out/.run.h5.rank000000", time.monotonic() + LIMIT
    while not begun.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    run.plugins[1].must(0, second)
    assert not run.plugins[0].answer()
    run.must(1, *blocks_of(run.plugins[0], "s1", 1, 2))
    assert not run.finish()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["run.h5", "run.parts"]
    expect_run(tmp_path / "out/run.h5", "s1", 2)
