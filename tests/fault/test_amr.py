# SPDX-License-Identifier: Apache-2.0
"""Blocks of an amr mesh keep their level and place whatever happens between their write and a store."""
import os
import signal

import pytest
from leat_run import BUILD, Run, await_file, xml
from test_full import open_gate

RANKS, ITERATIONS = 2, 8
DATA = '''<mesh name="gas" type="amr" levels="4" spacing="1,1"/>
<layout name="patch" type="double" dimensions="6,4" ghosts="1,0"/><layout name="any" type="double" dimensions="?,?"/>
<variable name="rho" layout="patch" mesh="gas" store="STORES"/><variable name="p" layout="any" mesh="gas" store="STORES"/>'''
TRACE = '<store name="lines" type="trace"/>'


def patches(rank, iteration):
    """{block: (level, place)} of a rank: blocks come and go, and change their level and place."""
    return {block: ((iteration + block) % 4, (8 * block - 4, 3 * iteration + 100 * rank))
            for block in range(5) if (iteration + block + rank) % 3}


def write(rank, iteration, block, level, place, scale=1):
    rank.must("set_level", "gas", block, level, "{},{}".format(*place))
    assert rank.write("rho", 192, iteration, block).ok
    rank.must("set_extent", "p", block, f"{iteration + 1},{scale}")
    assert rank.write("p", 8 * (iteration + 1) * scale, iteration, block).ok


def lines(iteration, scale=1):
    """What the trace store says of it."""
    shapes = {"rho": "(6, 4) 192", "p": f"({iteration + 1}, {scale}) {8 * (iteration + 1) * scale}"}
    return "".join(f"iteration {iteration} rank {rank} block {block} {name} {shape} bytes level {level} at ({y}, {x})\n"
                   for name, shape in shapes.items() for rank in range(RANKS)
                   for block, (level, (y, x)) in patches(rank, iteration).items())


def kill(run):
    os.kill(run.server(), signal.SIGKILL)
    run.await_end()


@pytest.mark.parametrize("when", ["before the first block", "between blocks", "after the last block", "after the end of one rank"])
def test_a_server_killed_before_the_end_of_an_iteration_has_a_successor_that_knows_each_level(tmp_path, when):
    with Run(tmp_path, xml(DATA.replace("STORES", "lines"), store=TRACE), ranks=RANKS) as run:
        run.init()
        for iteration in range(ITERATIONS):
            is_hit = iteration == ITERATIONS // 2
            if is_hit and when == "before the first block":
                kill(run)
            for rank in run.ranks:
                for number, (block, (level, place)) in enumerate(patches(rank.number, iteration).items()):
                    write(rank, iteration, block, level, place)
                    if is_hit and when == "between blocks" and number == rank.number == 1:
                        kill(run)
            if is_hit and when == "after the last block":
                kill(run)
            for rank in run.ranks:
                rank.end()
                if is_hit and when == "after the end of one rank" and rank.number == 0:
                    kill(run)
        run.finish()
    assert (tmp_path / "run.trace.txt").read_text() == "".join(map(lines, range(ITERATIONS)))


def test_memory_that_a_rank_computes_in_has_the_level_that_it_was_given_with(tmp_path):
    with Run(tmp_path, xml(DATA.replace("STORES", "lines"), store=TRACE)) as run:
        (rank,) = run.init()
        rank.must("set_level", "gas", 0, 2, "4,8")
        rank.must("alloc", "rho", 0, 192, 1)
        rank.must("set_level", "gas", 0, 3, "-1,0")
        kill(run)
        rank.must("commit", "rho", 0)
        rank.end()
        assert rank.write("rho", 192, 1).ok
        rank.end()
        run.finish()
    said = "iteration {} rank 0 block 0 rho (6, 4) 192 bytes level {} at ({})\n"
    assert (tmp_path / "run.trace.txt").read_text() == said.format(0, 2, "4, 8") + said.format(1, 3, "-1, 0")


def test_levels_of_iterations_that_were_spilled_are_those_of_the_simulation(tmp_path):
    (tmp_path / "disk").mkdir()
    scale = 4096  # of the larger blocks, that there is no room for all of them
    stores = f'<store name="gate" library="{BUILD}/lib/leat/test/gate.so"/>{TRACE}'
    text = xml(DATA.replace("STORES", "gate,lines"), buffer="4MiB", timeout="30s", store=stores)
    text = text.replace('timeout="30s"/>', f'timeout="30s" when-full="spill" spill="{tmp_path}/disk"/>')
    with Run(tmp_path, text, ranks=RANKS) as run:
        run.init()
        for iteration in range(ITERATIONS):
            for rank in run.ranks:
                for block, (level, place) in patches(rank.number, iteration).items():
                    write(rank, iteration, block, level, place, scale)
                rank.end()
            if iteration == 0:
                await_file(tmp_path / "begun-0")
        assert any((tmp_path / "disk").glob("*/*"))
        kill(run)  # the one that takes over reads what the other has spilled
        open_gate(run)
        run.finish()
    assert (tmp_path / "run.trace.txt").read_text() == "".join(lines(i, scale) for i in range(ITERATIONS))
