# SPDX-License-Identifier: Apache-2.0
"""<buffer checksum="crc32c">: memory that changes between the rank's call and the end of the stores is found."""
import mmap
import os
import signal
import struct
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, Run, data, same_bits, xml
from stored_blocks import stored_blocks

FAST, SLOW = 300, 40  # of a Fortran array: one column has more than a kibibyte
MIB5 = 5 << 20
DATA = f"""
  <layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>
  <layout name="columns" type="double" dimensions="{SLOW},{FAST}"/><variable name="columns" layout="columns"/>
  <layout name="any" type="uint8" dimensions="?"/><variable name="bytes" layout="any"/>
"""
SPOILING = (f'<store name="out" type="hdf5"/><store name="mine" library="{BUILD}/lib/leat/test/spoiling.so">'
            '<option name="spoil" value="{0}"/></store>')
# In a BlockHeader, which is in front of the data.
HEADER, CHECKSUM = 192, 160

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(array):
    state = 0xFFFFFFFF
    for byte in array.tobytes():
        state = (state >> 8) ^ TABLE[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF


SPOILS_NOTHING = SPOILING.format(-1)


def guarded(store=SPOILS_NOTHING, kind="crc32c"):
    return xml(DATA, buffer="64MiB", store=store).replace("<buffer ", f'<buffer checksum="{kind}" ')


def section(seed, step):
    """What write_section hands over."""
    whole = data(2 * FAST * SLOW, "f8", seed).reshape(SLOW, 2 * FAST)
    return np.ascontiguousarray(whole[:, : step * FAST : step])


class SharedBlock:
    """The block in the segment of a run that holds these bytes, from outside."""

    def __init__(self, run, array):
        (path,) = run.segments()
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.place = self.memory.find(array.tobytes())
        assert self.place >= HEADER and self.memory.find(array.tobytes(), self.place + 1) < 0

    def checksum(self):
        """(checksum, has_checksum) of its header."""
        return struct.unpack_from("<II", self.memory, self.place - HEADER + CHECKSUM)

    def flip(self, bit):
        self.memory[self.place + bit // 8] ^= 1 << bit % 8


def sums(folder):
    """{(variable, rank, block): (has_checksum, checksum)} as a plugin got them, of the last iteration with the block."""
    lines = [line.split() for line in (folder / "sums.txt").read_text().splitlines()]
    return {(name, int(rank), int(block)): (int(has), int(value)) for name, rank, block, has, value in lines}


def flipped(array, bit):
    changed = np.frombuffer(array.tobytes(), "u1").copy()
    changed[bit // 8] ^= 1 << bit % 8
    return changed


def stored_rows(file, iteration):
    """{(rank, block): row} of variable a."""
    return stored_blocks(file, "a", iteration)


def must_be_lost(answer, run, variable, rank, block, iteration, before, after):
    assert answer.status == "LEAT_ERROR_LOST", answer
    said = " ".join(answer.error.split())  # a table, whose last column is broken into lines
    for part in (f" - {variable} {rank} {iteration} ", f"block {block} had", f"{crc32c(before):08x}",
                 f"{crc32c(after):08x}", "no store gets it"):
        assert part in said, (part, answer.error)
    assert f'rank {rank}: "{variable}" of iteration {iteration}: block {block} ' in run.log()


@pytest.mark.parametrize("bit", [0, 77, 159])
def test_a_bit_that_changes_in_the_segment_costs_that_block_only_and_both_checksums_are_named(tmp_path, bit):
    with Run(tmp_path, guarded(), ranks=2) as run:
        run.init()
        for iteration in range(3):
            for rank in run.ranks:
                for block in range(2):
                    assert rank.write("a", 20, 100 * iteration + 10 * rank.number + block, block).ok
            if iteration == 1:
                SharedBlock(run, data(5, "i4", 111)).flip(bit)
            for rank in run.ranks:
                rank.end()
        for answer in run.finalize():
            must_be_lost(answer, run, "a", 1, 1, 1, data(5, "i4", 111), flipped(data(5, "i4", 111), bit))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
        assert file["leat/iteration_complete"][:].tolist() == [1, 0, 1]
        for iteration in range(3):
            rows = stored_rows(file, iteration)
            assert sorted(rows) == [(0, 0), (0, 1), (1, 0), (1, 1)][: 3 if iteration == 1 else 4]
            for (rank, block), row in rows.items():
                assert same_bits(row, data(5, "i4", 100 * iteration + 10 * rank + block))


def test_a_bit_that_changes_while_the_server_is_stopped_is_found_when_it_goes_on(tmp_path):
    with Run(tmp_path, guarded()) as run:
        (rank,) = run.init()
        for block in range(2):  # has memory from here on
            assert rank.write("a", 20, 1, block).ok
        rank.end()
        time.sleep(0.2)
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        assert rank.write("a", 20, 2, 0).ok
        assert rank.write("a", 20, 3, 1).ok
        rank.end()
        SharedBlock(run, data(5, "i4", 2)).flip(42)
        os.kill(server, signal.SIGCONT)
        (answer,) = run.finalize()
        must_be_lost(answer, run, "a", 0, 0, 1, data(5, "i4", 2), flipped(data(5, "i4", 2), 42))
    with h5py.File(tmp_path / "run.h5") as file:
        assert {place: row.tobytes() for place, row in stored_rows(file, 1).items()} == {
            (0, 1): data(5, "i4", 3).tobytes()}


def hand_over(rank, form, seed):
    """Hands a block over in one of the ways that there are; its variable and its data."""
    if form in ("section", "rows"):
        step = 2 if form == "section" else 1
        rank.must("write_section", "columns", 0, FAST, SLOW, step, seed)
        return "columns", section(seed, step)
    rank.must("set_extent", "bytes", 0, MIB5)
    if form == "alloc":
        rank.must("alloc", "bytes", 0, MIB5, seed)
        rank.must("commit", "bytes", 0)
    else:
        rank.must("write", "bytes", 0, MIB5, seed)
    return "bytes", data(MIB5, "u1", seed)


@pytest.mark.parametrize("form", ["write", "alloc", "section", "rows"])
def test_a_bit_that_changes_is_found_however_the_block_was_handed_over(tmp_path, form):
    with Run(tmp_path, guarded()) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        variable, array = hand_over(rank, form, 7)
        last = 8 * array.nbytes - 1
        SharedBlock(run, array).flip(last)
        rank.end()
        (answer,) = run.finalize()
        must_be_lost(answer, run, variable, 0, 0, 0, array, flipped(array, last))
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(5), data(5, "i4", 1))
        assert variable not in file or file[variable].shape[0] == 0


@pytest.mark.parametrize("form", ["write", "alloc", "section", "rows"])
def test_a_plugin_gets_the_checksum_of_what_the_rank_handed_over(tmp_path, form):
    with Run(tmp_path, guarded()) as run:
        (rank,) = run.init()
        variable, array = hand_over(rank, form, 9)
        rank.end()
        run.finish()
    assert sums(tmp_path) == {(variable, 0, 0): (1, crc32c(array))}
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file[variable][:].reshape(array.shape), array)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000, MIB5])
def test_a_block_of_any_size_has_its_checksum_and_is_stored_to_the_last_bit(tmp_path, size):
    with Run(tmp_path, guarded()) as run:
        (rank,) = run.init()
        rank.must("set_extent", "bytes", 0, size)
        rank.must("write", "bytes", 0, size, 3)
        rank.must("set_extent", "bytes", 1, size)
        rank.must("alloc", "bytes", 1, size, 4)
        rank.must("commit", "bytes", 1)
        rank.end()
        run.finish()
    blocks = [data(size, "u1", seed) for seed in (3, 4)]
    assert sums(tmp_path) == {("bytes", 0, number): (1, crc32c(block)) for number, block in enumerate(blocks)}
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["bytes"][:], np.concatenate(blocks))


def test_bytes_that_change_while_they_are_stored_are_lost_and_the_stores_named(tmp_path):
    with Run(tmp_path, guarded(SPOILING.format(1))) as run:
        (rank,) = run.init()
        for iteration in range(3):
            for block in range(2):
                assert rank.write("a", 20, 10 * iteration + block, block).ok
            rank.end()
        (answer,) = run.finalize()
        before, after = data(5, "i4", 10), flipped(data(5, "i4", 10), 28)
        assert answer.status == "LEAT_ERROR_LOST", answer
        said = " ".join(answer.error.split())
        for part in (" - a 0 1 ", "block 0 is stored (out, mine), but its bytes changed while it was being stored",
                     f"{crc32c(before):08x}", f"{crc32c(after):08x}"):
            assert part in said, answer
    with h5py.File(tmp_path / "run.h5") as file:  # it was the first store, so it has them as they were
        for iteration in range(3):
            for (_, block), row in stored_rows(file, iteration).items():
                assert same_bits(row, data(5, "i4", 10 * iteration + block))


def test_a_block_whose_header_lost_its_checksum_is_lost(tmp_path):
    with Run(tmp_path, guarded()) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        rank.end()
        time.sleep(0.2)
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        assert rank.write("a", 20, 2).ok
        block = SharedBlock(run, data(5, "i4", 2))
        block.memory[block.place - HEADER + CHECKSUM + 4] = 0
        rank.end()
        os.kill(server, signal.SIGCONT)
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and "it has no checksum" in answer.error, answer


def test_without_the_attribute_nothing_is_computed_and_a_change_is_not_seen(tmp_path):
    with Run(tmp_path, guarded(kind="none")) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        rank.must("alloc", "a", 1, 20, 2)
        rank.must("commit", "a", 1)
        rank.must("write_section", "columns", 0, FAST, SLOW, 2, 3)
        for array in (data(5, "i4", 1), data(5, "i4", 2), section(3, 2)):
            assert SharedBlock(run, array).checksum() == (0, 0)
        SharedBlock(run, data(5, "i4", 1)).flip(5)
        rank.end()
        run.finish()
    assert set(sums(tmp_path).values()) == {(0, 0)}
