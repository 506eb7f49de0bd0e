# SPDX-License-Identifier: Apache-2.0
"""One graph, wherever it runs: on the dedicated cores, in idle time, while ranks idle, in ranks of the job, on four nodes, on staging
nodes, on another host; the same bits."""
import json
import os
import re
import sys
import textwrap
import time

import numpy as np
import pytest
from graph_run import program, values, wait_until, write_iterations
from host_run import Desk
from leat_run import BUILD, LIMIT, Run, xml
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
    total = g.reduce(sim["{variable}"], op="sum", over="run", name="total")
    end = g.module("end", run=[sys.executable, "note.py"], inputs=["total"], options={{"to": "{name}"}})
    g.connect(total, g.fifo(), end.total)
    g.run(place={{end: "{place}", total.owner: "{reduce}"}})
"""


def assemble(folder, place, text, name=None, reduce=None, variable="a"):
    program(folder, "note", NOTE)
    (folder / "run.xml").write_text(text)
    (folder / "graph.py").write_text(textwrap.dedent(GRAPH).format(name=name or place, place=place, reduce=reduce or place,
                                                                     variable=variable))
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


def test_while_ranks_idle(tmp_path):
    text = xml(DATA, log='<log level="debug"/>')
    assemble(tmp_path, "harvest", text)
    with Run(tmp_path, text, ranks=4, environment={"LEAT_GRAPH": "plan.json"}) as run:
        run.init()
        for rank in run.ranks:  # the first phase of a site is left alone
            rank.must("idle_begin", "exchange")
            time.sleep(0.02)
            rank.must("idle_end")
        write_iterations(run, NUMBERS)
        time.sleep(0.5)
        assert hashes(tmp_path, "harvest") == ({}, 0), "it works while no rank idles"
        run.ranks[2].must("idle_begin", "exchange")
        wait_until(lambda: hashes(tmp_path, "harvest") == (wanted(), 1), f"turns while a rank idles {run.log()}")
        run.ranks[2].must("idle_end")
        run.finish()
    said = r'modules of place "harvest": ranks idled for \S+ s in 5 phases .* the analysis worked for \S+ s in 8 pieces'
    assert re.search(said, run.log()), run.log()


JOB = """<simulation name="run"><architecture><dedicated cores="1"/><buffer size="16MiB" timeout="10s"/></architecture>
<data><layout name="l" type="double" dimensions="512"/><variable name="u" layout="l"/></data>
<storage><store name="out" type="hdf5"/></storage></simulation>"""


def made_by_a_job(folder, server, ranks):
    """Hashes of a job under mpirun whose server is in that place, of so many ranks and servers in ranks."""
    folder.mkdir()
    assemble(folder, "node", JOB, variable="u")
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks), BUILD / "bin/split_rank", "run.xml", "write", "10"], cwd=folder,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LEAT_PLACE": server, "LEAT_GRAPH": "plan.json", "LEAT_RUNTIME_DIR": str(folder / "r"),
                               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    assert done.returncode == 0, done.stdout
    return hashes(folder, "node")


def test_in_ranks_of_the_job(tmp_path):
    made, servers = made_by_a_job(tmp_path / "ranks", "ranks", 3)
    assert sorted(made) == list(range(10)) and servers == 1
    assert (made, servers) == made_by_a_job(tmp_path / "process", "process", 2)


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


def test_on_another_host(tmp_path):
    assemble(tmp_path, "host:desk", xml(DATA), name="desk", reduce="node")
    with Run(tmp_path, xml(DATA), ranks=4, environment={"LEAT_GRAPH": "plan.json"}) as run:
        with Desk(run, folder=tmp_path).join() as desk:
            run.init()
            write_iterations(run, NUMBERS)
            run.finish()
            assert desk.ended() == 0, desk.log()
    assert hashes(tmp_path, "desk") == (wanted(), 1), run.log()
