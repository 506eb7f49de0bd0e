# SPDX-License-Identifier: Apache-2.0
"""A server that is stopped for longer than the timeout while the event rings of the ranks are full. What each call has said
is what the file and the ledger say: each value under its iteration, each refused write by variable, rank and iteration."""
import json
import os
import signal
import struct
import time

import h5py
import pytest
from leat_run import LIMIT, Run, data, same_bits, xml
from stored_blocks import stored_ranks

SLOTS = 4096  # of a rank's event ring
CELLS = 3
ONE = '<layout name="row" type="int" dimensions="3"/><variable name="a" layout="row"/><variable name="b" layout="row"/>'
FILLER = '<parameter name="filler" type="int" value="0"/><parameter name="t" type="double" value="0"/>'


def seed(variable, rank, iteration):
    return 1000 * iteration + 10 * rank + "ab".index(variable)


def write(rank, variable, iteration):
    return rank.write(variable, 4 * CELLS, seed(variable, rank.number, iteration)).status


def iterate(rank, iterations, said, variables="ab"):
    """Whole iterations; `said`: what each write has returned. Returns what the ends have."""
    ends = []
    for iteration in iterations:
        for variable in variables:
            said[variable, rank.number, iteration] = write(rank, variable, iteration)
        ends.append(rank.call("end_iteration").status)
    return ends


def fill_ring(rank, leave=0):
    """Parameters are events too. Leaves room for so many more."""
    rank.must_all([("set_int", "filler", i) for i in range(SLOTS - leave)])


def rings_are_empty(run):
    """The counters of pushed and of taken events are where docs/design/segment.md draws them."""
    (segment,) = run.segments()
    with open(segment, "rb") as file:
        file.seek(40)
        lanes, stride = struct.unpack("<QQ", file.read(16))
        counters = []
        for rank in range(len(run.ranks)):
            file.seek(lanes + rank * stride)
            lane = file.read(840)
            counters.append((lane[:8], lane[832:840]))
    return all(pushed == taken for pushed, taken in counters)


def stop(run):
    """Once it has taken all events."""
    pid = run.server()
    until = time.monotonic() + LIMIT
    while not rings_are_empty(run):
        assert time.monotonic() < until
        time.sleep(0.002)
    os.kill(pid, signal.SIGSTOP)
    return pid


def go_on(run, pid):
    """Until there is room again."""
    os.kill(pid, signal.SIGCONT)
    until = time.monotonic() + LIMIT
    while not rings_are_empty(run):
        assert time.monotonic() < until
        time.sleep(0.002)


def refused(said):
    return {place for place, status in said.items() if status != "LEAT_OK"}


def in_ledger(folder):
    """(variable, rank, iteration) of what was not written, and how many writes that were."""
    whole = json.loads((folder / "run.ledger.json").read_text())
    cells, count = set(), 0
    for entry in whole["entries"]:
        if entry["fate"] != "not written":
            continue
        count += entry["blocks"]
        first, last, step = entry["iterations"]
        cells |= {(entry["variable"], rank, i) for i in range(first, last + 1, step)
                  for low, high in entry["ranks"] for rank in range(low, high + 1)}
    return cells, count


def check_values(folder, said, ranks, without=()):
    """Every value lies under the iteration that it was written in, bit for bit, and nothing else does."""
    with h5py.File(folder / "run.h5") as file:
        iterations = file["iteration"][:].tolist()
        assert iterations == sorted(set(iterations))
        for (variable, rank, iteration), status in said.items():
            if status != "LEAT_OK" or iteration in without:
                continue
            stored = stored_ranks(file, variable, iterations.index(iteration))
            assert rank in stored, (variable, rank, iteration)
            assert same_bits(stored[rank], data(CELLS, "i4", seed(variable, rank, iteration))), (variable, rank, iteration)
        for row, iteration in enumerate(iterations):
            for variable in "ab":
                if ranks > 1:
                    there = stored_ranks(file, variable, row)
                    assert set(there) == {r for r in range(ranks) if said.get((variable, r, iteration)) == "LEAT_OK"}
        return iterations


def test_iterations_keep_their_numbers_when_their_ends_find_no_room(tmp_path):
    said = {}
    with Run(tmp_path, xml(FILLER + ONE, timeout="200ms"), ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            assert set(iterate(rank, range(5), said)) == {"LEAT_OK"}
        pid = stop(run)
        for rank in ranks:
            fill_ring(rank, leave=rank.number + 3)
            ends = iterate(rank, range(5, 8 + rank.number), said)
            assert ends[-1] == "LEAT_ERROR_TIMEOUT"
        go_on(run, pid)
        for rank in ranks:
            assert set(iterate(rank, range(8 + rank.number, 60), said)) == {"LEAT_OK"}
        answers = run.finalize()
    assert [a.status for a in answers] == ["LEAT_ERROR_LOST"] * 2
    assert refused(said)
    assert check_values(tmp_path, said, 2) == sorted({i for (_, _, i), status in said.items() if status == "LEAT_OK"})
    assert in_ledger(tmp_path) == (refused(said), len(refused(said)))


def test_an_end_that_found_no_room_is_sent_by_leat_finalize(tmp_path):
    said = {}
    with Run(tmp_path, xml(FILLER + ONE, timeout="200ms")) as run:
        (rank,) = run.init()
        assert iterate(rank, [0], said) == ["LEAT_OK"]
        pid = stop(run)
        fill_ring(rank, leave=2)
        assert iterate(rank, [1, 2], said) == ["LEAT_ERROR_TIMEOUT"] * 2
        assert refused(said) == {("a", 0, 2), ("b", 0, 2)}
        rank.start("finalize")
        time.sleep(0.3)
        os.kill(pid, signal.SIGCONT)
        answer = rank.result()
    assert answer.status == "LEAT_ERROR_LOST" and "2 writes of this rank failed" in answer.error
    assert in_ledger(tmp_path) == (refused(said), 2)
    assert check_values(tmp_path, said, 1) == [0, 1]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1, 1]


def test_values_of_parameters_that_found_no_room_reach_their_iterations(tmp_path):
    said = {}
    text = xml(FILLER + ONE, timeout="100ms").replace("<data>", '<data><time parameter="t"/>')
    with Run(tmp_path, text) as run:
        (rank,) = run.init()

        def iterate_with_time(iterations):
            for iteration in iterations:
                rank.call("set_double", "t", 0.5 * iteration)
                iterate(rank, [iteration], said)
        iterate_with_time([0])
        pid = stop(run)
        fill_ring(rank, leave=7)  # t, a, b and the end of iteration 1; t, a and b of iteration 2
        iterate_with_time(range(1, 5))
        go_on(run, pid)
        iterate_with_time(range(5, 8))
        rank.call("finalize")
    iterations = check_values(tmp_path, said, 1)
    assert iterations == [0, 1, 2, 5, 6, 7]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["time"][:].tolist() == [0.5 * i for i in iterations]


def test_what_a_rank_was_refused_and_could_not_tell_before_it_was_killed_is_in_the_ledger(tmp_path):
    said = {}
    with Run(tmp_path, xml(FILLER + ONE, timeout="100ms"), ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            assert iterate(rank, range(2), said) == ["LEAT_OK"] * 2
        pid = stop(run)
        fill_ring(ranks[1], leave=1)
        iterate(ranks[1], range(2, 4), said)
        assert len(refused(said)) == 3
        ranks[1].kill()
        os.kill(pid, signal.SIGCONT)
        assert iterate(ranks[0], range(2, 6), said) == ["LEAT_OK"] * 4
        answer = run.finalize(ranks[:1])[0]
    assert answer.status == "LEAT_ERROR_LOST", answer
    cells, count = in_ledger(tmp_path)
    assert count == 3 and {(rank, iteration) for _, rank, iteration in cells} == {(1, 2)}
    check_values(tmp_path, said, 2)


def test_a_server_that_is_killed_then_takes_nothing_from_what_ranks_still_have_to_say(tmp_path):
    said = {}
    with Run(tmp_path, xml(FILLER + ONE, timeout="500ms"), ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            iterate(rank, [0], said)
        pid = stop(run)
        for rank in ranks:
            fill_ring(rank, leave=4)
            assert iterate(rank, [1, 2], said) == ["LEAT_OK", "LEAT_ERROR_TIMEOUT"]
        os.kill(pid, signal.SIGKILL)
        for rank in ranks:
            iterate(rank, range(3, 20), said)
        answers = run.finalize()
    assert [a.status for a in answers] == ["LEAT_ERROR_LOST"] * 2
    assert refused(said) >= {("b", 0, 2), ("b", 1, 2)}
    check_values(tmp_path, said, 2)
    assert in_ledger(tmp_path) == (refused(said), len(refused(said)))


# ---- memory after a stop ----

# Blocks of the first are cut from common extents, those of the second have one each.
SIZES = {"small": 20_000, "large": 120_000}
BLOCKS = "".join(f'<layout name="{name}" type="char" dimensions="{size}"/><variable name="{name}" layout="{name}"/>'
                 for name, size in SIZES.items())


def use_half(rank, name):
    """More than that is free when nothing is kept."""
    until = time.monotonic() + LIMIT / 6
    for block in range((5 << 19) // SIZES[name]):
        while not (answer := rank.write(name, SIZES[name], block, block=block)).ok:
            assert time.monotonic() < until, (block, answer)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("leave", [0, 1, 2])
def test_a_rank_gets_memory_again_after_a_stop_with_a_full_ring(tmp_path, name, leave):
    """The request for memory, the seal of an extent or the block itself finds no room, as the ring has `leave` places."""
    with Run(tmp_path, xml(FILLER + BLOCKS, buffer="4MiB", timeout="50ms")) as run:
        (rank,) = run.init()
        for turn in range(8):
            for _ in range(turn):  # another place in the extent each time
                rank.write("small", SIZES["small"], 1)
            pid = stop(run)
            fill_ring(rank, leave)
            for block in range(4):
                rank.write(name, SIZES[name], block)
            os.kill(pid, signal.SIGCONT)
            use_half(rank, name)
            rank.end()
        rank.call("finalize")


@pytest.mark.parametrize("name", SIZES)
def test_blocks_of_threads_that_found_no_room_keep_no_memory(tmp_path, name):
    with Run(tmp_path, xml(FILLER + BLOCKS, buffer="4MiB", timeout="50ms")) as run:
        (rank,) = run.init()
        for _ in range(6):
            pid = stop(run)
            fill_ring(rank, leave=2)
            rank.call("threads", name, 4, 2, SIZES[name], 7)
            os.kill(pid, signal.SIGCONT)
            use_half(rank, name)
            rank.end()
        rank.call("finalize")
