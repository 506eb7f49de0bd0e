# SPDX-License-Identifier: Apache-2.0
"""Runs of an analysis for Deisa, and what it has told: by Leat on emulated nodes, and by deisa-dask itself."""
import json
import os
import pathlib
import subprocess

import numpy as np
from cluster_run import HEIGHT, WIDTH, ClusterRun, block, field
from leat_run import LIMIT, xml
from nodes_run import NodesRun
from readers import python_of

HERE = pathlib.Path(__file__).parent
MORE = '<variable name="v" layout="rows"/><parameter name="heat" type="double" value="0.5"/>'

# What each analysis below begins with: it tells what it sees, with digests of the very bits, a line of JSON each.
TELLING = '''
import hashlib, json, os
from deisa.core import Window
from deisa.dask import Deisa

def tell(what, *seen):
    line = json.dumps([what, *seen]) + "\\n"
    with open("told.jsonl", "a") as file:
        file.write(line)

def window(arrays):
    return [[each.timestep, hashlib.sha256(each.compute().tobytes()).hexdigest()] for each in arrays]

tell("begins")
deisa = Deisa()
'''


def seen(iteration, ranks, seed=0):
    """As window() of an analysis tells of "u"; of "v" with seed=V."""
    import hashlib
    whole = np.concatenate([block(iteration + seed, rank) for rank in range(ranks)])
    return [iteration, hashlib.sha256(whole.tobytes()).hexdigest()]


V = 50  # what is in "v" is what is in "u" of so many iterations later


def has_v(iteration):
    return iteration % 2 == 0


def config_of(folder, ranks, code, attributes="", **others):
    """XML for an analysis, which is written too: `code` behind TELLING. attributes: of <script>."""
    (folder / "analysis.py").write_text(TELLING + code)
    scripts = (f'<scripts interpreter="{python_of("deisa")}"><script file="analysis.py" form="deisa" {attributes}/></scripts>'
               '<log level="debug"/>')
    return xml(field(ranks, MORE), log=scripts, **others)


class DeisaRun(ClusterRun):
    def __init__(self, folder, nodes, code, attributes="", **others):
        NodesRun.__init__(self, folder, config_of(folder, sum(map(len, nodes)), code, attributes, **others), nodes)

    def init(self):
        super().init()
        for rank in self.ranks:
            rank.must("set_position", "v", 0, f"{HEIGHT * rank.number},0")
        return self.ranks

    def step(self, iteration):
        for rank in self.ranks:
            assert rank.write("u", HEIGHT * WIDTH * 8, 100 * iteration + rank.number).ok
            if has_v(iteration):
                assert rank.write("v", HEIGHT * WIDTH * 8, 100 * (iteration + V) + rank.number).ok
            rank.end()


def told(folder):
    path = folder / "told.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def told_by_deisa_itself(folder, code, ranks, iterations):
    """What the same analysis tells where deisa-dask gives it the same arrays; subprocess.SubprocessError where that does not end well."""
    folder.mkdir()
    (folder / "analysis.py").write_text(TELLING + code)
    for iteration in range(iterations):
        for name, seed in (("u", 0), ("v", V))[:2 if has_v(iteration) else 1]:
            np.save(folder / f"{name}-{iteration}.npy", np.concatenate([block(iteration + seed, rank) for rank in range(ranks)]))
    subprocess.run([python_of("deisa"), HERE / "deisa_itself.py", str(iterations)], cwd=folder, check=True, timeout=LIMIT,
                   env={**os.environ, "PYTHONPATH": ""})
    return told(folder)
