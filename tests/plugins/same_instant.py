#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that do everything at the same instant. As a program: same_instant.py TIMES [SEED]."""
import pathlib
import random
import sys
import tempfile

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import h5py
import numpy as np
from leat_plugin import Plugin, array, variable
from leat_run import same_bits

VARIABLES = [variable("u", "f8", ["x"], **{"global": 1})]
LENGTH = 4
# What is in the folder before, and what happens to it.
KINDS = ["fresh", "old view", "old file", "old view replaced", "old file replaced", "same session", "two runs",
         "two runs over an old view", "two runs replace an old view"]


def seed(session, iteration, rank):
    return 1000 * int(session[1:]) + 10 * iteration + rank


def blocks_of(plugin, session, iteration, nodes):
    """Of all ranks, one on each node."""
    return [plugin.block(0, (LENGTH,), seed(session, iteration, rank), rank=rank, position=[LENGTH * rank],
                         **{"global": (LENGTH * nodes,)}) for rank in range(nodes)]


def write(folder, sessions, nodes, options=None):
    """Two iterations by servers of all sessions, each call given to all of them before any has answered. Their warnings."""
    all_ = [(s, r, Plugin(folder, VARIABLES, ranks=nodes, node_ranks=1, first_rank=r, session=s, begin=False,
                          options=options or {})) for s in sessions for r in range(nodes)]
    random.shuffle(all_)

    def answers():
        errors = [plugin.answer() for _, _, plugin in all_]
        assert not any(errors), errors

    for _, _, plugin in all_:
        plugin.begin()
    answers()
    for i in range(2):
        for session, r, plugin in all_:
            plugin.start_iteration(i, blocks_of(plugin, session, i, nodes)[r])
        answers()
    for _, _, plugin in all_:
        plugin.process.stdin.close()
    return "".join(plugin.finish(is_told=False) for _, _, plugin in all_)


def expect_run(path, session, nodes):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == [0, 1]
        for i in range(2):
            wanted = np.concatenate([array((LENGTH,), "f8", seed(session, i, r)) for r in range(nodes)])
            assert same_bits(file["u"][i], wanted), (path, i)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def prepare(folder, kind, nodes):
    if "old file" in kind:
        plugin = Plugin(folder, VARIABLES, session="s9")
        plugin.must(0, plugin.block(0, (LENGTH,), 9, position=[0], **{"global": (LENGTH,)}))
        plugin.finish()
    elif "old view" in kind or kind == "same session":
        write(folder, ["s9"], nodes)


def play(folder, kind, nodes):
    prepare(folder, kind, nodes)
    replaces = "replace" in kind
    sessions = ["s9"] if kind == "same session" else ["s1", "s2"] if "two runs" in kind else ["s1"]
    said = write(folder, sessions, nodes, {"exists": "replace"} if replaces else {})
    owner = session_of(folder / "run.h5")
    wanted = ["run.h5", "run.parts"]
    expect_run(folder / "run.h5", owner, nodes)
    for other in set(sessions) - {owner}:
        wanted.append(f"run-{other}.h5")
        expect_run(folder / wanted[-1], other, nodes)
    if "old" in kind and not replaces:
        wanted.append("run.1.h5")
        assert session_of(folder / "run.1.h5") == "s9"
    if kind == "old view":
        expect_run(folder / "run.1.h5", "s9", nodes)
    if kind == "same session":
        assert names(folder / "run.parts") == ["s9", "s9.1"] and said.count("of a run with the same session name") == nodes
    elif len(sessions) == 1:
        assert not said, said
    assert names(folder) == sorted(wanted) and not list(folder.rglob(".*"))


def session_of(path):
    with h5py.File(path) as file:
        return file.attrs["session"].decode()


if __name__ == "__main__":
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else None)
    for turn in range(int(sys.argv[1])):
        kind, nodes = dice.choice(KINDS), dice.choice([2, 3, 4])
        print(turn, kind, nodes, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            play(pathlib.Path(folder), kind, nodes)
