# SPDX-License-Identifier: Apache-2.0
"""Files that servers write in turn, step by step: what one of them has not committed yet stays its own."""
import contextlib
import fcntl
import pathlib

import h5py
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import same_bits
from nodes import Nodes
from stored_blocks import stored_ranks

RANKS, ROW = 3, 4000
OPTIONS = {"files": "1"}


def start(folder, **more):
    return Nodes(folder, [variable("u", "f8", ["x"])], [[n] for n in range(RANKS)], options=OPTIONS, shared_file=0, **more)


def give(run, number, nodes=range(RANKS)):
    for rank in nodes:
        run.plugins[rank].must(number, run.plugins[rank].block(0, (ROW,), 100 * number + rank, rank=rank))


def expect(folder, rows):
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(rows))
        for row in range(rows):
            found = stored_ranks(file, "u", row)
            assert sorted(found) == list(range(RANKS))
            assert all(same_bits(found[rank].ravel(), array((ROW,), "f8", 100 * row + rank)) for rank in found), row
    assert not list(folder.glob("run.parts/*/*.damaged"))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_servers_that_follow_killed_ones_open_a_file_before_either_writes(tmp_path, order):
    """Who opens it takes room at its end, and commits that with its next iteration: nobody else takes the same."""
    run = start(tmp_path)
    for number in range(2):
        give(run, number)
    for generation in range(3):
        for plugin in run.plugins:
            plugin.kill()
            plugin.process.wait()
        run = start(tmp_path, resumed=1)
        for number in range(2 + 2 * generation, 4 + 2 * generation):
            give(run, number, order)
    assert "damaged" not in run.finish()
    expect(tmp_path, 8)


@contextlib.contextmanager
def written_by_another(folder):
    """The shared file is locked."""
    with open(next(folder.glob("run.parts/*")) / ".shared000.h5.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        pathlib.Path(lock.name).unlink()


@pytest.mark.parametrize("is_gone", [False, True])
def test_what_another_server_is_writing_is_not_taken_for_lost(tmp_path, is_gone):
    """The next server cannot look into it when it starts: it does at the end, and says what is lost then."""
    run = start(tmp_path)
    for number in range(2):
        give(run, number)
    run.plugins[0].kill()
    run.plugins[0].process.wait()
    if is_gone:
        run.finish(but=[0])
    ledger = '{"stores": [{"name": "out", "stored_until": 1}],\n  "lost": 0}'
    with written_by_another(tmp_path):
        run.plugins[0] = Plugin(tmp_path, run.plugins[0].variables, ranks=RANKS, node_ranks=1, first_rank=0, session="s1",
                                options=OPTIONS, shared_file=0, resumed=1, ledger=ledger)
        run.plugins[0].must(2, run.plugins[0].block(0, (ROW,), 200, rank=0))
    if is_gone:
        next(tmp_path.glob("run.parts/*/shared000.h5")).unlink()
        assert "up to iteration 1 at least, is lost" in run.plugins[0].close()[0]
        return
    give(run, 2, [1, 2])
    give(run, 3)
    said = run.finish()
    assert "lost" not in said and "until it can" in said
    expect(tmp_path, 4)
    with h5py.File(tmp_path / "run.h5") as file:
        assert not [name for name, part in file["parts"].items() if "leat_lost_before" in part.attrs]
