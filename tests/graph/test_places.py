# SPDX-License-Identifier: Apache-2.0
"""One graph, wherever it runs: on the dedicated cores, in idle time, on four nodes, on staging nodes; the same bits."""
import json
import os
import sys
import textwrap

import numpy as np
import pytest
from graph_run import program, values, write_iterations
from leat_run import BUILD, Run, xml
from nodes_run import NodesRun

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "staging"))
import subprocess  # noqa: E402

from staging_run import StagingRun, staged  # noqa: E402

DATA = '<layout name="row" type="double" dimensions="8" names="x"/><variable name="a" layout="row"/>'
NUMBERS = range(4)
NOTE = """
    import hashlib, json
    import leat.module as module
    while module.wait():
        total = module.get("total")
        with open(f"{module.options()['to']}.{module.server()[0]}.seen", "a") as file:
            file.write(json.dumps([module.iteration(), hashlib.sha256(total.tobytes()).hexdigest()]) + "\\n")
"""
GRAPH = """
    import sys
    import leat.graph as g
    sim = g.simulation("run.xml")
    total = g.reduce(sim.a, op="sum", over="run", name="total")
    end = g.module("end", run=[sys.executable, "note.py"], inputs=["total"], options={{"to": "{name}"}})
    g.connect(total, end.total)
    g.run(place={{end: "{place}", total.owner: "{place}"}})
"""


def assemble(folder, place, text):
    program(folder, "note", NOTE)
    (folder / "run.xml").write_text(text)
    (folder / "graph.py").write_text(textwrap.dedent(GRAPH).format(name=place, place=place))
    done = subprocess.run([BUILD / "bin/leat", "graph", "--interpreter", sys.executable, "graph.py", "-o", "plan.json"], cwd=folder,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout


def hashes(folder, place):
    """{iteration: hash}, of all servers that have made it."""
    found = {}
    paths = sorted(folder.glob(f"{place}.*.seen"))
    for path in paths:
        for line in path.read_text().splitlines():
            number, digest = json.loads(line)
            assert found.setdefault(number, digest) == digest
    return found, len(paths)


def wanted():
    import hashlib
    import math
    sums = {}
    with np.errstate(all="ignore"):
        for number in NUMBERS:
            columns = zip(*(values(number, rank) for rank in range(4)))
            sums[number] = np.array([math.fsum(c) if np.isfinite(c).all() else np.sum(c) for c in columns])
    return {number: hashlib.sha256(total.tobytes()).hexdigest() for number, total in sums.items()}


@pytest.mark.parametrize("place", ("node", "idle"))
def test_on_one_node(tmp_path, place):
    assemble(tmp_path, place, xml(DATA))
    with Run(tmp_path, xml(DATA), ranks=4, environment={"LEAT_GRAPH": "plan.json"}) as run:
        run.init()
        write_iterations(run, NUMBERS)
        run.finish()
    assert hashes(tmp_path, place) == (wanted(), 1), run.log()


def test_on_four_nodes(tmp_path):
    assemble(tmp_path, "node", xml(DATA))
    with NodesRun(tmp_path, xml(DATA), [[0], [1], [2], [3]], environment={"LEAT_GRAPH": "plan.json", "LEAT_INTERFACE": "lo"}) as run:
        run.init()
        write_iterations(run, NUMBERS)
        run.finish()
    assert hashes(tmp_path, "node") == (wanted(), 4), run.log()


def test_on_staging_nodes(tmp_path):
    text = staged(xml(DATA), 2)
    assemble(tmp_path, "staging", text)
    with StagingRun(tmp_path, text, [[0, 1], [2, 3]], environment={"LEAT_GRAPH": "plan.json"}) as run:
        run.init()
        write_iterations(run, NUMBERS)
        run.finish()
    assert hashes(tmp_path, "staging") == (wanted(), 2), run.log()
