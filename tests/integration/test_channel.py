# SPDX-License-Identifier: Apache-2.0
"""What ranks write is what h5py reads, to the last bit."""
import h5py
import numpy as np
import pytest
from leat_run import Run, data, same_bits, xml
from stored_blocks import counts_of_rows, stored_blocks, stored_ranks

GRID = """
    <parameter name="ranks" type="int"/>
    <layout name="cells" type="double" dimensions="8/ranks+2,6" global="8,6" ghosts="1:1,0" names="y,x"/>
    <variable name="t" layout="cells" unit="K" description="temperature"/>"""
FREE = """
    <layout name="row" type="int" dimensions="5"/>
    <layout name="particles" type="double" dimensions="?,3"/>
    <variable name="a" layout="row"/>
    <variable name="b" layout="row"/>
    <variable name="x" layout="particles"/>"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_grid_of_ranks_is_one_array_without_ghosts(tmp_path, ranks):
    rows = 8 // ranks
    with Run(tmp_path, xml(GRID), ranks=ranks) as run:
        for rank in run.init():
            rank.must("set_int", "ranks", ranks)
            rank.must("set_position", "t", 0, f"{rank.number * rows},0")
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("t", (rows + 2) * 6 * 8, 100 * iteration + rank.number).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
        assert file["t"].shape == (3, 8, 6)
        for iteration in range(3):
            for rank in range(ranks):
                block = data((rows + 2) * 6, "f8", 100 * iteration + rank).reshape(rows + 2, 6)
                assert same_bits(file["t"][iteration, rank * rows:(rank + 1) * rows], block[1:-1])
        assert file["t"].attrs["units"] == b"K"


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_alloc_and_commit_hand_over_what_was_computed_in_place(tmp_path, ranks):
    with Run(tmp_path, xml(FREE), ranks=ranks) as run:
        for rank in run.init():
            for iteration in range(2):
                rank.must("alloc", "a", 0, 20, 10 * rank.number + iteration)
                rank.must("commit", "a", 0)
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for rank in range(ranks):
            for iteration in range(2):
                assert same_bits(stored_ranks(file, "a", iteration)[rank], data(5, "i4", 10 * rank + iteration))


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_sizes_may_change_with_rank_and_iteration_and_may_be_zero(tmp_path, ranks):
    def count(rank, iteration):
        return (3 * rank + 5 * iteration) % 7 if iteration != 2 else 0

    with Run(tmp_path, xml(FREE), ranks=ranks) as run:
        for rank in run.init():
            for iteration in range(4):
                n = count(rank.number, iteration)
                rank.must("set_extent", "x", 0, f"{n},3")
                assert rank.write("x", n * 24, 10 * rank.number + iteration).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        counts = [[count(r, i) for r in range(ranks)] for i in range(4)]
        assert counts_of_rows(file, "x").tolist() == counts
        expected = [data(count(r, i) * 3, "f8", 10 * r + i) for i in range(4) for r in range(ranks)]
        assert same_bits(file["x"][:].reshape(-1), np.concatenate(expected))


def test_a_rank_may_have_many_blocks_and_new_ones_later(tmp_path):
    with Run(tmp_path, xml(FREE), ranks=2) as run:
        first, second = run.init()
        for iteration, blocks in enumerate([(0, 1), (2, 0, 1)]):
            for block in blocks:
                assert first.write("a", 20, 10 * iteration + block, block=block).ok
            assert second.write("a", 20, 10 * iteration + 7).ok
            for rank in run.ranks:
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        where = {(i, r, b): got for i in range(2) for (r, b), got in stored_blocks(file, "a", i).items()}
        assert set(where) == {(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 0, 2), (1, 1, 0)}
        for (iteration, rank, block), got in where.items():
            seed = 10 * iteration + (7 if rank == 1 else block)
            assert same_bits(got, data(5, "i4", seed))


def test_ranks_may_write_different_subsets_in_any_order(tmp_path):
    with Run(tmp_path, xml(FREE), ranks=2) as run:
        first, second = run.init()
        assert second.write("b", 20, 1).ok
        second.end()
        assert second.write("a", 20, 2).ok  # already in the next iteration
        assert first.write("a", 20, 3).ok
        assert first.write("b", 20, 4).ok
        first.end()
        first.end()
        second.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1]
        stored = {name: {(i, r): got for i in range(2) for r, got in stored_ranks(file, name, i).items()} for name in "ab"}
        assert set(stored["a"]) == {(0, 0), (1, 1)} and set(stored["b"]) == {(0, 0), (0, 1)}
        for name, at, seed in (("b", (0, 1), 1), ("a", (1, 1), 2), ("a", (0, 0), 3), ("b", (0, 0), 4)):
            assert same_bits(stored[name][at], data(5, "i4", seed))


def test_a_block_written_twice_in_an_iteration_counts_once(tmp_path):
    with Run(tmp_path, xml(FREE)) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        assert rank.write("a", 20, 2).ok
        rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(-1), data(5, "i4", 2))


def test_only_the_iterations_that_a_store_wants_are_stored(tmp_path):
    every = '<store name="out" type="hdf5" every="3"/>'
    with Run(tmp_path, xml(FREE, store=every)) as run:
        (rank,) = run.init()
        for iteration in range(7):
            wanted = rank.call("wanted", "a").status
            assert wanted == ("LEAT_OK" if iteration % 3 == 0 else "LEAT_UNWANTED")
            assert rank.write("a", 20, iteration).ok
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 3, 6]
        for row, iteration in enumerate((0, 3, 6)):
            assert same_bits(file["a"][row].reshape(-1), data(5, "i4", iteration))


def test_threads_of_a_rank_may_write_at_once(tmp_path):
    with Run(tmp_path, xml(FREE), ranks=2) as run:
        for rank in run.init():
            rank.must("threads", "a", 4, 50, 20, 100 * rank.number)
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        stored = stored_blocks(file, "a")
        assert sorted(stored) == [(r, b) for r in range(2) for b in range(4)]
        for (rank, block), got in stored.items():
            assert same_bits(got, data(5, "i4", 100 * rank + block))


@pytest.mark.parametrize("ranks", [1, 4])
def test_far_more_than_the_segment_holds_goes_through_it(tmp_path, ranks):
    # 1 MiB blocks have extents of their own, small ones share; 3 x 40 MiB through 16 MiB.
    both = FREE + '<layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>'
    with Run(tmp_path, xml(both, timeout="30s"), ranks=ranks) as run:
        run.init()
        for iteration in range(40):
            for rank in run.ranks:
                rank.start("write", "big", 0, 1 << 20, 100 * rank.number + iteration)
            for rank in run.ranks:
                assert rank.result().ok
                assert rank.write("a", 20, 100 * rank.number + iteration).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for iteration in range(40):
            for rank in range(ranks):
                big = stored_ranks(file, "big", iteration)[rank].reshape(-1)
                assert same_bits(big, data(1 << 20, "u1", 100 * rank + iteration))
                small = stored_ranks(file, "a", iteration)[rank].reshape(-1)
                assert same_bits(small, data(5, "i4", 100 * rank + iteration))


def test_one_rank_may_use_what_the_others_do_not(tmp_path):
    uneven = FREE + '<layout name="big" type="uint8" dimensions="12*1048576"/><variable name="big" layout="big"/>'
    with Run(tmp_path, xml(uneven), ranks=4) as run:
        run.init()
        # The others have ended iteration 0 first, so nothing need be kept for them: 12 of 16 MiB are this rank's.
        for rank in run.ranks[1:]:
            assert rank.write("a", 20, rank.number).ok
            rank.end()
        assert run.ranks[0].write("big", 12 << 20, 9).ok
        run.ranks[0].end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["big"][0].reshape(-1), data(12 << 20, "u1", 9))


def test_a_second_run_in_the_same_process_is_a_run_of_its_own(tmp_path):
    replace = '<store name="out" type="hdf5"><option name="exists" value="replace"/></store>'
    with Run(tmp_path, xml(FREE, store=replace)) as run:
        for seed in (1, 2):
            (rank,) = run.init()
            assert rank.call("iteration").value == 0
            assert rank.write("a", 20, seed).ok
            rank.end()
            run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][:].reshape(-1), data(5, "i4", 2))


def test_data_written_after_the_last_end_of_iteration_are_stored(tmp_path):
    with Run(tmp_path, xml(FREE)) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0]
        assert same_bits(file["a"][:].reshape(-1), data(5, "i4", 1))
