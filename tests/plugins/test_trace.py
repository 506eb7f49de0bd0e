# SPDX-License-Identifier: Apache-2.0
"""The trace plugin: a line for each block."""
from leat_plugin import Plugin, variable


def test_trace_writes_a_line_for_each_block(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"])], plugin="trace")
    plugin.must(3, plugin.block(0, (2, 4), 1, rank=1, block=7))
    plugin.finish()
    assert (tmp_path / "run.trace.txt").read_text() == "iteration 3 rank 1 block 7 t (2, 4) 64 bytes\n"


def test_trace_says_where_it_cannot_write(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", [])], plugin="trace", options={"file": "nowhere/t.txt"})
    assert "nowhere/t.txt" in plugin.opened
    plugin.close()


def test_trace_says_when_the_disk_is_full(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", [])], plugin="trace", options={"file": "/dev/full"})
    assert "No space left" in plugin.iteration(0, plugin.block(0, (), 1))
    plugin.close()
