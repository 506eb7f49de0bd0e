# SPDX-License-Identifier: Apache-2.0
"""Memory that the server offers ahead (docs/design/segment.md): it is nobody's loss. Whoever needs it has it, whoever is
killed, and all of it comes back."""
import os
import random
import signal
import time

import h5py
from leat_run import Run, data, same_bits, xml
from stored_blocks import stored_blocks

MIB = 1 << 20
ROOM = 7  # blocks of 1 MiB with their headers, each in 17 units of 64 KiB
BIG = f'<layout name="big" type="uint8" dimensions="{MIB}"/><variable name="a" layout="big"/>'


def big_run(folder, **more):
    return Run(folder, xml(BIG, buffer=f"{ROOM * 17 * 64}KiB"), **more)


def seed(iteration, rank, block):
    return 100 * iteration + 10 * rank + block


def write_all(rank, blocks, iteration):
    for block in range(blocks):
        answer = rank.write("a", MIB, seed(iteration, rank.number, block), block)
        assert answer.ok, (iteration, block, answer)


def iterate(ranks, blocks, iteration):
    for rank in ranks:
        write_all(rank, blocks, iteration)
    for rank in ranks:
        rank.end()


def check(folder, stored):
    """`stored`: for each iteration the blocks that it has, as (rank, block)."""
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(len(stored)))
        for row, wanted in enumerate(stored):
            stored = stored_blocks(file, "a", row)
            assert set(stored) == set(wanted)
            for (rank, block), got in stored.items():
                assert same_bits(got.reshape(-1), data(MIB, "u1", seed(row, rank, block)))


def blocks(*counts):
    return [(rank, block) for rank, count in enumerate(counts) for block in range(count)]


def test_what_is_offered_to_one_rank_goes_to_another_that_waits(tmp_path):
    with big_run(tmp_path, ranks=2) as run:
        one, other = run.init()
        for iteration in range(3):  # what it is offered from then on is never claimed
            write_all(one, 3, iteration)
            one.end()
            other.end()
        write_all(other, ROOM, 3)
        for rank in (one, other):
            rank.end()
        run.finish()
    check(tmp_path, [blocks(3)] * 3 + [blocks(0, ROOM)])


def test_the_memory_of_a_rank_that_is_killed_with_offers_comes_back(tmp_path):
    with big_run(tmp_path, ranks=2) as run:
        one, other = run.init()
        for iteration in range(3):
            iterate((one, other), 2, iteration)
        write_all(one, 1, 3)
        one.kill()
        other.end()
        for iteration in range(4, 7):
            write_all(other, ROOM, iteration)
            other.end()
        assert other.call("finalize").ok
    check(tmp_path, [blocks(2, 2)] * 3 + [blocks(1)] + [blocks(0, ROOM)] * 3)


def test_the_memory_comes_back_when_servers_are_killed_at_any_moment(tmp_path):
    chance = random.Random(7)
    with big_run(tmp_path) as run:
        (rank,) = run.init()
        for iteration in range(24):
            full = iteration % 6 == 5
            write_all(rank, ROOM if full else 2, iteration)
            rank.end()
            if iteration % 3 == 2:
                time.sleep(chance.uniform(0, 0.03))
                os.kill(run.server(), signal.SIGKILL)
                time.sleep(0.12)  # so that the next call notices
        run.finish()
    check(tmp_path, [blocks(ROOM if iteration % 6 == 5 else 2) for iteration in range(24)])
