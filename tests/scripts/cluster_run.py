# SPDX-License-Identifier: Apache-2.0
"""Runs on several emulated nodes with a script of the whole run."""
import pathlib
import sys

import numpy as np
from leat_run import data
from nodes_run import NodesRun
from readers import python_of
from script_run import config, put

HEIGHT, WIDTH = 8, 6  # of a block of "u"


def field(ranks, more=""):
    """One block below the other in the whole of "u"."""
    return f"""<layout name="rows" type="double" dimensions="{HEIGHT},{WIDTH}" global="{HEIGHT * ranks},{WIDTH}" names="y,x"/>
      <variable name="u" layout="rows" unit="K"/>{more}"""


def block(iteration, rank):
    return data(HEIGHT * WIDTH, "f8", 100 * iteration + rank).reshape(HEIGHT, WIDTH)


def whole(iteration, ranks):
    return np.concatenate([block(iteration, rank) for rank in range(ranks)])


def interpreter_with(dask):
    """Of "Debian", as the tests have it, or the newest of "PyPI"."""
    return python_of("dask") if dask == "PyPI" else sys.executable


def script_process(run, node):
    """The process of the script on this node."""
    server = run.server_of(node)
    found = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if b"launch.py" in words_of(path)]
    (pid,) = [pid for pid in found if parent_of(pid) == server]
    return pid


def words_of(path):
    try:
        return (path / "cmdline").read_bytes()
    except OSError:
        return b""


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class ClusterRun(NodesRun):
    """nodes: lists of ranks. code: of the script "of_run". attributes: of <folder>."""

    def __init__(self, folder, nodes, code, more="", attributes="", environment=None, **others):
        put(folder, "of_run", code)
        ranks = sum(map(len, nodes))
        super().__init__(folder, config(field(ranks, more), folder=attributes, **others), nodes, environment)

    def init(self):
        super().init()
        for rank in self.ranks:
            rank.must("set_position", "u", 0, f"{HEIGHT * rank.number},0")
        return self.ranks

    def step(self, iteration, ranks=None):
        for rank in self.ranks if ranks is None else ranks:
            assert rank.write("u", HEIGHT * WIDTH * 8, 100 * iteration + rank.number).ok
            rank.end()


def rows_of(folder):
    """Of the table of the server on which the script was called; {iteration: row}."""
    found = {}
    for path in folder.glob("run-scripts*/of_run.csv"):
        lines = path.read_text().splitlines()
        names = lines[0].split(",")
        for line in lines[1:]:
            row = dict(zip(names, line.split(",")))
            assert row["iteration"] not in found, "two servers have called it"
            found[int(row["iteration"])] = row
    return found
