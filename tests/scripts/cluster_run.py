# SPDX-License-Identifier: Apache-2.0
"""Runs on several emulated nodes with a script of the whole run."""
import pathlib
import subprocess
import sys

import numpy as np
from leat_run import data
from nodes_run import NodesRun
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


def python_with_newest_dask():
    """From PyPI; that of the tests is Debian's."""
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run([root / "tools/python_environment", root / "tools/dask.txt"], capture_output=True, text=True, check=True)
    return done.stdout.strip() + "/bin/python"


def interpreters():
    return {"Debian": sys.executable, "PyPI": python_with_newest_dask()}


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
