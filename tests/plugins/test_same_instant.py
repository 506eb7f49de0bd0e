# SPDX-License-Identifier: Apache-2.0
"""Servers of several nodes, and of several runs, that do the same thing at the same time: one view of each run, and nothing of
others is lost. (tests/plugins/same_instant.py N does it N times with any luck of the dice.)"""
import time

import pytest
from leat_plugin import variable
from nodes import Nodes
from same_instant import KINDS, expect, play

from leat_run import LIMIT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nodes", [2, 5])
def test_all_start_write_and_end_at_the_same_instant(tmp_path, kind, nodes):
    play(tmp_path, kind, nodes)


def test_a_server_that_takes_long_with_the_first_view_is_not_taken_for_another_run(tmp_path):
    """Of one whose file system is slow the others made a second view, under another name."""
    slow = ("strace", "-f", "-qq", "-o", tmp_path / "trace", "-e", "inject=rename,renameat,renameat2:delay_enter=4s")
    run = Nodes(tmp_path / "out", [variable("u", "f8", ["x"], **{"global": 1})], [[0], [1]], wrappers=[slow, ()])
    blocks = [run.block(0, (4,), rank, rank=rank, position=[4 * rank], **{"global": (8,)}) for rank in (0, 1)]
    run.plugins[0].start_iteration(0, blocks[0])
    begun, end = tmp_path / "out/.run.h5.rank000000", time.monotonic() + LIMIT
    while not begun.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    run.plugins[1].must(0, blocks[1])
    assert not run.plugins[0].answer()
    assert not run.finish()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["run.h5", "run.parts"]
    expect(tmp_path / "out/run.h5", [[0, 1]], 4)
