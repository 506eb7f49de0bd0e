# SPDX-License-Identifier: Apache-2.0
"""Parameters that shape a layout are set between writes: where the layout says varying="true" each block has the size that holds when
it is written, and where it does not nothing is copied out of an array of another size."""
import json
import os
import signal
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, Run, await_death, await_file, data, same_bits, xml
from stored_blocks import stored_blocks, stored_ranks

SIZES = [10, 1000, 3, 0, 700, 10]
VARYING = """<parameter name="n" type="int" value="10"/>
  <layout name="line" type="double" dimensions="n" varying="true"/><variable name="u" layout="line"/>
  <layout name="nodes" type="double" dimensions="n" varying="true"/><variable name="v" layout="nodes"/>"""
RAGGED = VARYING.replace('"n" varying="true"', '"?n"').replace(' value="10"', "")
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


@pytest.mark.parametrize("layouts", [VARYING, RAGGED], ids=["varying", "ragged"])
def test_each_block_has_the_size_that_holds_when_it_is_written(tmp_path, layouts):
    with Run(tmp_path, xml(layouts), ranks=2) as run:
        ranks = run.init()
        for number, size in enumerate(SIZES):
            iterate(ranks, number, size)
        run.finish()
    expect(tmp_path / "run.h5", SIZES, 2)


def test_a_block_may_have_an_extent_of_its_own_in_the_place_of_the_parameter_s(tmp_path):
    with Run(tmp_path, xml(RAGGED)) as run:
        (rank,) = run.init()
        answer = rank.call("write", "u", 0, 80, 1)
        assert answer.status == "LEAT_ERROR_SHAPE" and 'needs parameter "n", which has no value' in answer.error, answer
        rank.must("set_int", "n", 10)
        rank.must("set_extent", "v", 0, "3")
        rank.must("write", "u", 0, 80, 1)
        rank.must("write", "v", 0, 24, 2)
        rank.end()
        rank.must("set_int", "n", -1)
        assert "-1" in rank.call("write", "u", 0, 80, 3).error
        rank.end()
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(stored_ranks(file, "u", 0)[0], data(10, "f8", 1)) and same_bits(stored_ranks(file, "v", 0)[0], data(3, "f8", 2))
        assert len(file["u"]) == 10 and len(file["v"]) == 3


def test_a_size_that_was_refused_for_another_layout_is_none_of_this_one(tmp_path):
    """Else more is copied than the array has."""
    with Run(tmp_path, xml(FIXED + '<layout name="ragged" type="double" dimensions="?n"/>'
                           '<variable name="r" layout="ragged"/>')) as run:
        (rank,) = run.init()
        rank.must("write", "u", 0, 80, 1)
        rank.must("write", "r", 0, 80, 2)
        rank.end()
        assert rank.call("set_int", "n", 4).status == "LEAT_ERROR_STATE"
        answer = rank.call("write", "r", 0, 32, 3)
        assert answer.status == "LEAT_ERROR_SHAPE" and 'leat_set_int("n", 4) was refused' in answer.error, answer
        rank.end()
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"


@pytest.mark.parametrize("layouts", [VARYING, RAGGED], ids=["varying", "ragged"])
def test_sizes_outlive_a_server_that_is_killed(tmp_path, layouts):
    sizes = []
    with Run(tmp_path, xml(layouts), ranks=2) as run:
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


# A block of 1 MiB takes 17 units of 64 KiB of the buffer, which has room for a few.
SPILLING = f'<store name="gate" library="{BUILD}/lib/leat/test/gate.so"/><store name="out" type="hdf5"/>'
WHOLE = """<parameter name="n" type="int" value="10"/>
  <layout name="whole" type="double" dimensions="n+2" global="n" ghosts="1:1" varying="true"/>
  <variable name="g" layout="whole" store="gate,out"/>
  <layout name="own" type="double" dimensions="n" varying="true"/><variable name="u" layout="own" store="gate,out"/>"""


@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "killed"])
def test_sizes_on_the_disk_are_those_of_their_iteration(tmp_path, killed):
    (tmp_path / "disk").mkdir()
    text = xml(WHOLE, buffer="6528KiB", timeout="30s", store=SPILLING)
    text = text.replace('timeout="30s"/>', f'timeout="30s" when-full="spill" spill="{tmp_path}/disk"/>')
    sizes = [100_000, 7, 131_000, 50_000, 0, 120_000, 90_000, 3, 131_000, 100, 60_000]

    def write(rank, number):
        size = sizes[number]
        rank.must("set_int", "n", size)
        rank.must("write", "g", 0, 8 * (size + 2), 10 * number)
        rank.must("write", "u", 0, 8 * size, 10 * number + 1)
        rank.end()

    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        write(rank, 0)
        await_file(tmp_path / "begun-0")
        for number in range(1, len(sizes) - 1):
            write(rank, number)
        assert len(list((tmp_path / "disk").rglob("*.spill"))) >= 4
        if killed:
            server = run.server()
            os.kill(server, signal.SIGKILL)
            await_death(server)
        (tmp_path / "gate-open").touch()
        write(rank, len(sizes) - 1)
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(len(sizes)))
        assert file["leat/g_global"][:, 0].tolist() == sizes
        for number, size in enumerate(sizes):
            assert same_bits(file["g"][number, :size], data(size + 2, "f8", 10 * number)[1:-1]), number
            assert same_bits(stored_ranks(file, "u", number)[0], data(size, "f8", 10 * number + 1)), number


def test_iterations_that_are_dropped_leave_the_sizes_of_the_others(tmp_path):
    text = xml(WHOLE, buffer="6528KiB", timeout="30s", store=SPILLING)
    text = text.replace('timeout="30s"/>', 'timeout="30s" when-full="drop-iteration"/>')
    sizes = [100_000, 7, 131_000, 50_000, 0, 120_000, 90_000, 3, 131_000, 100, 60_000]
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        for number, size in enumerate(sizes):
            rank.must("set_int", "n", size)
            for name, elements, seed in (("g", size + 2, 10 * number), ("u", size, 10 * number + 1)):
                assert rank.call("write", name, 0, 8 * elements, seed).status in ("LEAT_OK", "LEAT_DROPPED")
            rank.end()
            if number == 0:
                await_file(tmp_path / "begun-0")
        (tmp_path / "gate-open").touch()
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        numbers = file["iteration"][:].tolist()
        assert 0 in numbers and len(sizes) - 1 in numbers and len(numbers) < len(sizes)
        for row, number in enumerate(numbers):
            size = sizes[number]
            assert file["leat/g_global"][row, 0] == size
            assert same_bits(file["g"][row, :size], data(size + 2, "f8", 10 * number)[1:-1]), number
            assert same_bits(stored_ranks(file, "u", row)[0], data(size, "f8", 10 * number + 1)), number
