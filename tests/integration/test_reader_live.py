# SPDX-License-Identifier: Apache-2.0
"""leat.open() of runs that go on, and that are killed: what it gives is right to the last bit, and nothing hangs."""
import itertools
import os
import pathlib
import signal
import sys
import threading
import time
import warnings

import h5py
import numpy as np
import pytest
from leat_run import LIMIT, Run, data, same_bits, xml
from nodes_run import NodesRun

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))

import leat  # noqa: E402

ROWS, COLUMNS = 4, 300
DATA = f"""
<layout name="rows" type="double" dimensions="{ROWS},{COLUMNS}" global="{2 * ROWS},{COLUMNS}" names="y,x"/>
<layout name="list" type="float" dimensions="?" names="atom"/>
<variable name="T" layout="rows" unit="K"/><variable name="atoms" layout="list"/>"""


def seed(i, rank):
    return 100 * i + rank


def count(i, rank):
    return (3 * i + rank) % 5


def iterate(ranks, numbers):
    for i in numbers:
        for rank in ranks:
            rank.must("set_position", "T", 0, f"{ROWS * rank.number},0")
            rank.must("write", "T", 0, 8 * ROWS * COLUMNS, seed(i, rank.number))
            rank.must("set_extent", "atoms", 0, str(count(i, rank.number)))
            rank.must("write", "atoms", 0, 4 * count(i, rank.number), 7 + seed(i, rank.number))
        for rank in ranks:
            rank.end()


def expect(it, ranks=2):
    T = np.concatenate([data(ROWS * COLUMNS, "f8", seed(it.number, rank)).reshape(ROWS, COLUMNS) for rank in range(ranks)])
    assert same_bits(it["T"], T), it.number
    atoms = it["atoms"]
    assert sorted(atoms) == list(range(ranks))
    assert all(same_bits(atoms[rank], data(count(it.number, rank), "f4", 7 + seed(it.number, rank))) for rank in range(ranks)), it.number


class Follower(threading.Thread):
    """Follows a run, and compares each iteration when it comes."""

    def __init__(self, path, check=expect, **options):
        super().__init__()
        self.path, self.check, self.options, self.numbers, self.error, self.state = path, check, options, [], None, ""
        self.start()

    def run(self):
        try:
            run = leat.open(self.path, wait=LIMIT)
            for it in run.follow(**self.options):
                self.check(it)
                self.numbers.append(it.number)
            self.state = run.state
        except Exception as error:
            self.error = error

    def await_numbers(self, numbers):
        until = time.monotonic() + LIMIT
        while self.numbers[:len(numbers)] != list(numbers):
            assert self.error is None and time.monotonic() < until, (self.error, self.numbers)
            time.sleep(0.01)

    def ended(self):
        self.join(LIMIT)
        assert not self.is_alive(), "it hangs"
        return self


def test_iterations_come_as_they_are_stored_and_the_loop_ends_with_the_run(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        follower = Follower(tmp_path / "run.h5")  # waits for the file
        iterate(ranks, range(3))
        follower.await_numbers(range(3))
        for i in range(3, 12):
            iterate(ranks, [i])
            follower.await_numbers(range(i + 1))
        assert leat.open(tmp_path / "run.h5").state == "running"
        run.finish()
        assert follower.ended().error is None and follower.numbers == list(range(12)) and follower.state == "ended"
    assert leat.open(tmp_path).lost == 0


def is_left(run, state):
    """Killed; unless somebody else's start on this machine has stored what it had in memory, and ended it."""
    until = time.monotonic() + LIMIT
    while state == "ended" and run.segments():
        assert time.monotonic() < until, "nobody has stored it"
        time.sleep(0.01)
    return state in ("unfinished", "ended")


def test_a_loop_over_a_run_that_is_killed_as_a_whole_ends(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        iterate(ranks, range(5))
        follower = Follower(tmp_path / "run.h5")
        follower.await_numbers(range(5))
        run.kill_all()
        assert follower.ended().error is None and follower.numbers == list(range(5)) and is_left(run, follower.state)
        # And one that comes later.
        for path in (tmp_path / "run.h5", tmp_path):
            assert [it.number for it in leat.open(path).follow(after=2)] == [3, 4]
        again = leat.open(tmp_path / "run.h5")
        assert is_left(run, again.state) and again.lost in (None, 0) and [it.number for it in again] == list(range(5))
        for segment in run.segments():
            segment.unlink()
        for left in run.runtime.iterdir():
            left.unlink(missing_ok=True)  # another run on the machine may store it


def test_a_loop_goes_on_with_the_next_server_when_one_is_killed(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        iterate(ranks, range(4))
        follower = Follower(tmp_path / "run.h5")
        follower.await_numbers(range(4))
        os.kill(run.server(), signal.SIGKILL)
        time.sleep(6)  # longer than a run without anybody is waited for: its ranks live
        iterate(ranks, range(4, 8))
        follower.await_numbers(range(8))
        run.finish()
        assert follower.ended().error is None and follower.numbers == list(range(8)) and follower.state == "ended"


def test_a_run_that_lives_and_stores_nothing_is_not_waited_for_without_end(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        iterate(ranks, range(2))
        follower = Follower(tmp_path / "run.h5", timeout=1.5)
        error = follower.ended().error
        assert isinstance(error, TimeoutError) and follower.numbers == [0, 1]
        assert "nothing was stored for 1.5 seconds behind 2 iterations, though its run is not over" in str(error)
        run.finish()


NODES = [[0], [1]]


@pytest.mark.parametrize("store", ['<store name="out" type="hdf5"/>', '<store name="out" type="hdf5" files="1"/>',
                                   '<store name="out" type="hdf5" split="4"/>'], ids=["parts", "shared", "split"])
def test_iterations_of_several_servers_come_when_all_have_stored_them(tmp_path, store):
    with NodesRun(tmp_path, xml(DATA, store=store), NODES) as run:
        ranks = run.init()
        follower = Follower(tmp_path / "run.h5")
        for i in range(10):
            iterate(ranks, [i])
            time.sleep(0.3)
        run.finish()
        assert follower.ended().error is None and follower.numbers == list(range(10)) and follower.state == "ended"


def stored_rows(path):
    with h5py.File(path) as file:
        return len(file["iteration"])


def test_a_node_that_dies_does_not_keep_the_others_from_being_followed(tmp_path):
    with NodesRun(tmp_path, xml(DATA), NODES) as run:
        ranks = run.init()
        seen = []

        def check(it):
            seen.append((it.number, it.complete, list(it["atoms"])))
            T = data(ROWS * COLUMNS, "f8", seed(it.number, 0)).reshape(ROWS, COLUMNS)
            assert same_bits(it["T"][:ROWS], T)

        follower = Follower(tmp_path / "run.h5", check)
        before, until = 0, time.monotonic() + LIMIT
        while len(seen) < 3:  # with a view that is made now and then
            assert time.monotonic() < until and follower.error is None
            iterate(ranks, [before])
            before += 1
            time.sleep(0.2)
        (part,) = tmp_path.glob("run.parts/*/rank000001.h5")
        while stored_rows(part) < before:
            assert time.monotonic() < until
            time.sleep(0.01)
        server = run.server_of(1)
        os.kill(server, signal.SIGSTOP)
        ranks[1].kill()
        os.kill(server, signal.SIGKILL)
        iterate(ranks[:1], range(before, before + 5))

        assert [answer.ok for answer in run.finalize(ranks[:1])]
        assert follower.ended().error is None and is_left(run, follower.state)
        assert seen == [(n, True, [0, 1]) for n in range(before)] + [(n, False, [0]) for n in range(before, before + 5)]
        for left in [*run.segments(), *(path for runtime in run.all_runtimes for path in runtime.iterdir())]:
            left.unlink(missing_ok=True)  # another run on the machine may store it


def opened(path, iterations):
    """With so many iterations."""
    run = leat.open(path, wait=LIMIT)
    await_stored(run, iterations)
    return run


def await_stored(run, iterations):
    """Numbers of those that were new."""
    new, until = [], time.monotonic() + LIMIT
    while len(run) < iterations:
        assert time.monotonic() < until
        new += run.refresh()
    return new


def test_what_was_there_stays_as_it_was_while_the_file_grows(tmp_path):
    """HDF5 shows fill values for pieces that have moved since it looked: a file that is left open gives wrong values of old iterations."""
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        iterate(ranks, range(3))
        one = opened(tmp_path / "run.h5", 3)
        for _ in range(12):
            there = len(one)
            other = leat.open(tmp_path / "run.h5")  # in the same process, and kept open
            lazy = other["T"]
            iterate(ranks, range(there, there + 9))
            for it in (*one, *other):
                expect(it)
            assert one.iterations == other.iterations == list(range(there))
            assert await_stored(one, there + 9) == list(range(there, there + 9))
            assert same_bits(lazy.values, np.stack([it["T"] for it in other]))
        run.finish()


def test_what_is_read_in_the_midst_of_commits_is_right(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        iterate(ranks, range(2))
        seen = opened(tmp_path / "run.h5", 1)
        stop = threading.Event()

        def write():
            for number in itertools.takewhile(lambda _: not stop.is_set(), itertools.count(2)):
                iterate(ranks, [number])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(8):
                seen.refresh()
                for number in (0, seen.iterations[-1], seen.iterations[len(seen) // 2], max(0, seen.iterations[-1] - 8)):
                    expect(seen[number])
        finally:
            stop.set()
            writer.join()
        assert len(seen) > 20
        run.finish()


def test_a_file_that_is_open_by_other_means_is_told(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        iterate(ranks, range(2))
        seen = opened(tmp_path / "run.h5", 2)
        with h5py.File(tmp_path / "run.h5"):
            with pytest.warns(RuntimeWarning, match="is open in this process by other means too"):
                seen.refresh()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            seen.refresh()
        run.finish()
