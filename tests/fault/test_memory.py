# SPDX-License-Identifier: Apache-2.0
"""leatd takes the memory of its segment while the run goes on: leat_init waits for none of it, ranks get what has been taken,
and what there is not makes the buffer smaller. scarce_memory.c, preloaded, makes memory slow or scarce."""
import os
import signal

import h5py
import numpy as np
import pytest
from leat_run import BUILD, Run, data, same_bits, xml

MIB = 1 << 20
BLOCKS = '<layout name="l" type="uint8" dimensions="?"/><variable name="a" layout="l"/>'
SIZES = [100, 200 * 1024, MIB, 40 * MIB, 5]


def scarce(**limits):
    return {"LD_PRELOAD": str(BUILD / "lib" / "libleat_scarce_memory.so"),
            **{f"LEAT_SCARCE_{name.upper()}": str(value) for name, value in limits.items()}}


def write(rank, bytes_, seed, block=0):
    rank.must("set_extent", "a", block, bytes_)
    return rank.write("a", bytes_, seed, block)


def write_all(run, iteration):
    for rank in run.ranks:
        for block, bytes_ in enumerate(SIZES):
            answer = write(rank, bytes_, 100 * iteration + 10 * rank.number + block, block)
            assert answer.ok, answer
    for rank in run.ranks:
        rank.end()


def expect_all(path, ranks, iterations):
    with h5py.File(path) as file:
        assert file["leat/iteration_complete"][:].tolist() == [1] * iterations
        expected = [data(size, "u1", 100 * iteration + 10 * rank + block)
                    for iteration in range(iterations) for rank in range(ranks) for block, size in enumerate(SIZES)]
        assert same_bits(file["a"][:], np.concatenate(expected))


@pytest.mark.parametrize("limits", [{}, {"pause": 2}], ids=["fast", "slow"])
def test_what_is_written_at_once_into_a_large_buffer_is_stored_bit_for_bit(tmp_path, limits):
    with Run(tmp_path, xml(BLOCKS, buffer="512MiB"), ranks=2, environment=scarce(**limits)) as run:
        run.init()
        for iteration in range(3):
            write_all(run, iteration)
        run.finish()
    expect_all(tmp_path / "run.h5", 2, 3)


def test_the_start_does_not_wait_for_the_memory(tmp_path):
    with Run(tmp_path, xml(BLOCKS, buffer="1GiB"), environment=scarce(pause=20)) as run:
        run.init()
        (segment,) = run.segments()
        assert segment.stat().st_size > 1 << 30
        assert segment.stat().st_blocks * 512 < 1 << 29, "half a minute's work is done"
        run.finish()


def test_servers_killed_while_they_take_memory_leave_whole_output(tmp_path):
    with Run(tmp_path, xml(BLOCKS, buffer="256MiB"), ranks=2, environment=scarce(pause=2)) as run:
        run.init()
        for iteration in range(6):
            write_all(run, iteration)
            if iteration % 2 == 0:
                os.kill(run.server(), signal.SIGKILL)
        run.finish()
        assert "has taken over" in run.log()
    expect_all(tmp_path / "run.h5", 2, 6)


def test_memory_that_runs_out_makes_the_buffer_smaller_and_nothing_is_lost(tmp_path):
    with Run(tmp_path, xml(BLOCKS, buffer="64MiB"), environment=scarce(steps=16)) as run:
        (rank,) = run.init()
        for iteration in range(8):
            for block in range(3):
                assert write(rank, MIB, 10 * iteration + block, block).ok
            rank.end()
        run.finish()
        assert "of the buffer of 64 MiB only" in run.log() and "No space left on device" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["a"].shape == (24 * MIB,)
        for i in range(24):
            assert same_bits(file["a"][i * MIB:(i + 1) * MIB], data(MIB, "u1", 10 * (i // 3) + i % 3))


def test_a_block_for_which_the_smaller_buffer_has_no_room_is_refused_and_said(tmp_path):
    with Run(tmp_path, xml(BLOCKS, buffer="64MiB", timeout="50s"), environment=scarce(steps=16)) as run:
        (rank,) = run.init()
        answer = write(rank, 40 * MIB, 1)
        assert answer.status == "LEAT_ERROR_FULL", answer
        assert write(rank, MIB, 2).ok
        rank.end()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST"
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][:], data(MIB, "u1", 2))


def test_without_any_memory_each_write_is_refused_at_once(tmp_path):
    with Run(tmp_path, xml(BLOCKS, buffer="64MiB", timeout="50s"), environment=scarce(steps=1)) as run:
        (rank,) = run.init()
        assert write(rank, 10, 1).status == "LEAT_ERROR_FULL"
        rank.end()
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"
        assert "only 0 B can be had" in run.log()
