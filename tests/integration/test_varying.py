# SPDX-License-Identifier: Apache-2.0
"""Parameters that shape a layout are set between writes: where the layout says varying="true" each block has the size that holds when
it is written, and where it does not nothing is copied out of an array of another size."""
import json
import os
import signal
import time

import h5py
import pytest
from leat_run import LIMIT, Run, await_death, data, same_bits, xml
from stored_blocks import stored_blocks, stored_ranks

SIZES = [10, 1000, 3, 0, 700, 10]
VARYING = """<parameter name="n" type="int" value="10"/>
  <layout name="line" type="double" dimensions="n" varying="true"/><variable name="u" layout="line"/>
  <layout name="nodes" type="double" dimensions="n" varying="true"/><variable name="v" layout="nodes"/>"""
FIXED = """<parameter name="n" type="int" value="10"/><parameter name="m" type="int" value="5"/>
  <layout name="line" type="double" dimensions="n"/><variable name="u" layout="line"/>
  <layout name="twice" type="double" dimensions="2*n"/><variable name="v" layout="twice"/>
  <layout name="other" type="double" dimensions="m"/><variable name="w" layout="other"/>"""


def iterate(ranks, number, size):
    for rank in ranks:
        own = size + rank.number
        rank.must("set_int", "n", own)
        rank.must("write", "u", 0, own * 8, 100 * number + rank.number)
        rank.must("set_int", "n", own + 1)  # as codes have it that store cells and nodes
        rank.must("write", "v", 0, (own + 1) * 8, 100 * number + 50 + rank.number)
    for rank in ranks:
        rank.end()


def expect(path, sizes, ranks):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(len(sizes)))
        for number, size in enumerate(sizes):
            for name, more, seed in (("u", 0, 0), ("v", 1, 50)):
                stored = stored_ranks(file, name, number)
                assert sorted(stored) == list(range(ranks))
                for rank, got in stored.items():
                    assert same_bits(got.ravel(), data(size + rank + more, "f8", 100 * number + seed + rank)), (name, number, rank)


def test_each_block_has_the_size_that_holds_when_it_is_written(tmp_path):
    with Run(tmp_path, xml(VARYING), ranks=2) as run:
        ranks = run.init()
        for number, size in enumerate(SIZES):
            iterate(ranks, number, size)
        run.finish()
    expect(tmp_path / "run.h5", SIZES, 2)


def test_sizes_outlive_a_server_that_is_killed(tmp_path):
    sizes = []
    with Run(tmp_path, xml(VARYING), ranks=2) as run:
        ranks = run.init()

        def go_on():
            sizes.append(SIZES[len(sizes) % len(SIZES)])
            iterate(ranks, len(sizes) - 1, sizes[-1])

        for _ in range(2):
            for _ in range(4):
                go_on()
            server = run.server()
            os.kill(server, signal.SIGKILL)
            await_death(server)
            until = time.monotonic() + LIMIT
            while not run.servers():  # ranks see it now and then, and start another one
                assert time.monotonic() < until
                go_on()
        go_on()
        run.finish()
    expect(tmp_path / "run.h5", sizes, 2)


def ledger(folder):
    return json.loads((folder / "run.ledger.json").read_text())


@pytest.mark.parametrize("other", [1000, 3])
def test_where_a_size_is_fixed_nothing_is_written_of_arrays_of_another_one(tmp_path, other):
    with Run(tmp_path, xml(FIXED)) as run:
        (rank,) = run.init()
        rank.must("write", "u", 0, 80, 1)
        rank.end()
        refused = rank.call("set_int", "n", other)
        assert refused.status == "LEAT_ERROR_STATE" and 'varying="true"' in refused.error, refused
        for name in ("u", "v"):  # also of a layout of which nothing was written yet
            answer = rank.call("write", name, 0, 8, 2)  # of these bytes nothing is read
            assert answer.status == "LEAT_ERROR_SHAPE" and f'leat_set_int("n", {other}) was refused' in answer.error, answer
            assert rank.call("alloc", name, 0, 8, 2).status == "LEAT_ERROR_SHAPE"
        rank.must("write", "w", 0, 40, 3)  # n does not shape it
        rank.end()
        rank.must("set_int", "n", 10)
        rank.must("write", "u", 0, 80, 4)
        rank.must("write", "v", 0, 160, 5)
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST", answer
    lost = [(e["variable"], e["iterations"]) for e in ledger(tmp_path)["entries"] if e["fate"] == "not written"]
    assert sorted(lost) == [("u", [1, 1, 1]), ("v", [1, 1, 1])], lost
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(stored_ranks(file, "u", 0)[0].ravel(), data(10, "f8", 1))
        assert stored_blocks(file, "u", 1) == {} or 0 not in stored_ranks(file, "u", 1)
        assert same_bits(stored_ranks(file, "u", 2)[0].ravel(), data(10, "f8", 4))
        assert same_bits(stored_ranks(file, "v", 2)[0].ravel(), data(20, "f8", 5))
        assert same_bits(stored_ranks(file, "w", 1)[0].ravel(), data(5, "f8", 3))
