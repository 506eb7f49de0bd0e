# SPDX-License-Identifier: Apache-2.0
"""Trees, shares and boxes, as a graph in Python makes them and programs see them: bit for bit what NumPy makes of the same arrays."""
import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from graph_run import Run, data, graph_run, program, seen, write_iterations
from leat_run import BUILD, xml

ROWS = ('<layout name="row" type="double" dimensions="8" names="x"/><variable name="a" layout="row" unit="K"/>'
        '<layout name="box" type="double" dimensions="6,8" global="12,16" ghosts="1:1,1:1" names="y,x"/><variable name="b" layout="box"/>')
NOTE = """
    import json
    import leat.module as module
    while module.wait():
        with open(module.name() + ".seen", "a") as file:
            got = {port: module.get(port) for port in module.options()["ports"]}
            seen = {port: array.tobytes().hex() for port, array in got.items()}
            file.write(json.dumps({"iteration": module.iteration(), **seen}) + "\\n")
"""
LOG = f'<scripts interpreter="{sys.executable}"><script file="plan.json" form="graph"/></scripts>'


def assemble(folder, code, data_xml=ROWS, name="run"):
    """plan.json of a graph in Python."""
    (folder / f"{name}.xml").write_text(xml(data_xml, name=name))
    program(folder, "note", NOTE)
    (folder / "g.py").write_text("import leat.graph as g\n" + textwrap.dedent(code).lstrip("\n"))
    done = subprocess.run([BUILD / "bin" / "leat", "graph", "g.py", "-o", "plan.json"], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, env={**os.environ, "PATH": f"{BUILD}/bin:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout


def rows(iteration, ranks):
    return [data(8, "f8", iteration * 100 + rank) for rank in range(ranks)]


@pytest.mark.parametrize("arity", (2, 5))
def test_a_tree_of_modules_sums_to_the_same_bits(tmp_path, arity):
    program(tmp_path, "scale", """
        import numpy as np
        import leat.module as module
        while module.wait():
            module.put("s", np.arange(8) * 0.1 + module.options()["copy"] * 1e15 * (-1) ** module.options()["copy"])
    """)
    assemble(tmp_path, f"""
        import sys
        sim = g.simulation("run.xml")
        parts = g.copies(9, "part", run="{sys.executable} scale.py", inputs=["a"], outputs=["s"])
        total = g.reduce([part.s for part in parts], op="sum", arity={arity}, name="total")
        end = g.module("end", run="{sys.executable} note.py", inputs=["t"], options={{"ports": ["t"]}})
        g.connect(total, end.t)
        g.run()
    """)
    with graph_run(tmp_path, xml(ROWS, log=LOG)) as run:
        write_iterations(run, range(3))
    terms = [np.arange(8) * 0.1 + i * 1e15 * (-1) ** i for i in range(9)]
    wanted = np.array([math.fsum(column) for column in zip(*terms)])
    assert [turn["t"] for turn in seen(tmp_path, "end")] == [wanted.tobytes().hex()] * 3, run.log()



def write_boxes(run, numbers):
    """Four ranks, two above each other and two beside: 6 x 8 own cells each, with a layer of ghosts."""
    for number in numbers:
        for rank in run.ranks:
            y, x = divmod(rank.number, 2)
            rank.must("set_position", "b", 0, f"{y * 6},{x * 8}")
            assert rank.write("b", 8 * 10 * 8, number * 100 + rank.number).ok
            rank.end()


@pytest.mark.parametrize("shares, axis, ghosts", [(1, 0, 0), (2, 0, 1), (3, 1, 2), (5, 1, 1), (8, 0, 0)])
def test_boxes_of_any_number_have_the_cells_of_the_whole(tmp_path, shares, axis, ghosts):
    layout = ('<layout name="box" type="double" dimensions="8,10" global="12,16" ghosts="1:1,1:1" names="y,x"/>'
              '<variable name="b" layout="box"/>')
    assemble(tmp_path, f"""
        sim = g.simulation("run.xml")
        parts = g.copies({shares}, "part", run="{sys.executable} note.py", inputs=["b"], options={{"ports": ["b"]}})
        g.redistribute(sim.b, [part.b for part in parts], axis={axis}, ghosts={ghosts})
        g.run()
    """, layout)
    with graph_run(tmp_path, xml(layout, log=LOG), ranks=4) as run:
        write_boxes(run, range(2))
    for number in range(2):
        whole = np.empty((12, 16))
        for rank in range(4):
            y, x = divmod(rank, 2)
            whole[6 * y:6 * y + 6, 8 * x:8 * x + 8] = data(80, "f8", number * 100 + rank).reshape(8, 10)[1:-1, 1:-1]
        for share in range(shares):
            length = whole.shape[axis]
            low, high = max(0, length * share // shares - ghosts), min(length, length * (share + 1) // shares + ghosts)
            wanted = np.take(whole, range(low, high), axis)
            turns = seen(tmp_path, f"part_{share}")
            assert len(turns) == 2 and turns[number]["b"] == np.ascontiguousarray(wanted).tobytes().hex(), (share, run.log())


def test_the_command_runs_a_simulation_with_the_graph_that_the_xml_does_not_know(tmp_path):
    assemble(tmp_path, f"""
        sim = g.simulation("run.xml")
        end = g.module("end", run="{sys.executable} note.py", inputs=["a"], options={{"ports": ["a"]}})
        g.run()
    """)
    with Run(tmp_path, xml(ROWS), environment={"LEAT_GRAPH": "plan.json"}) as run:
        run.init()
        write_iterations(run, range(4))
        run.finish()
    assert [turn["a"] for turn in seen(tmp_path, "end")] == [rows(i, 1)[0].tobytes().hex() for i in range(4)], run.log()
