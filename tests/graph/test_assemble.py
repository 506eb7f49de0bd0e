# SPDX-License-Identifier: Apache-2.0
"""Graphs that are described in Python: `leat graph`, its plan, its messages, its picture."""
import json
import math
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from leat_run import BUILD, xml

sys.path.insert(0, str(BUILD / "lib/leat/python"))
from leat.graph import exact  # noqa: E402

HEAT = xml('<parameter name="camera" type="double" value="1.5"/><parameter name="rows" type="int" value="8"/>'
           '<layout name="row" type="double" dimensions="rows" names="x"/><variable name="u" layout="row" unit="K"/>'
           '<variable name="v" layout="row" unit="m/s"/>', name="heat")


def graph(folder, code, *options, code_wanted=0):
    """(what `leat graph` says, the plan)"""
    (folder / "heat.xml").write_text(HEAT)
    (folder / "g.py").write_text("import leat.graph as g\n" + textwrap.dedent(code).lstrip("\n"))
    done = subprocess.run([BUILD / "bin" / "leat", "graph", "--interpreter", sys.executable, "g.py", *options], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == code_wanted, done.stdout
    path = folder / "heat.graph.json"
    return done.stdout, json.loads(path.read_text()) if path.exists() else None


def test_the_plan_says_all_that_the_file_says(tmp_path):
    said, plan = graph(tmp_path, """
        sim = g.simulation("heat.xml")
        stats = g.module("stats", run="python3 stats.py --fast", inputs=["u"], outputs={"profile": "K"}, timeout=5)
        view = g.module("view", run="true", inputs={"u": "K", "profile": "K"}, outputs=["camera"])
        g.connect(sim.u, g.every(2), g.latest(rate="30 Hz"), view.u)
        g.connect(view.camera, sim.parameter("camera"))
        g.run(place={view: "idle"})
    """)
    assert "2 modules, 1 on the dedicated cores, 1 in idle time" in said
    stats, view = plan["modules"]
    assert stats == {"name": "stats", "run": ["python3", "stats.py", "--fast"], "place": "node", "where": "g.py:3", "timeout": 5,
                     "inputs": [{"port": "u", "variable": "u"}], "outputs": [{"port": "profile", "unit": "K"}]}
    assert view["inputs"] == [{"port": "u", "variable": "u", "every": 2, "rate": 30.0},
                              {"port": "profile", "sources": ["stats/profile"], "depth": 4}]
    assert view["latest"] and view["idle"] and view["outputs"] == [{"port": "camera", "steers": ["camera"]}]


@pytest.mark.parametrize("line, message", [
    ("g.connect(sim.w, view.u)", 'g.py:5: error: heat.xml has no variable "w"; there are: u, v'),
    ("g.connect(sim.u, view.uu)", 'g.py:5: error: module "view" has no port "uu"; did you mean "u"?'),
    ("g.connect(sim.v, view.u)", 'g.py:5: error: variable v -> view.u: "m/s" is made, and "km" taken, which is something else'),
    ("g.connect(stats.far, view.u)", 'g.py:5: error: stats/far -> view.u: "m" is made, and "km" taken, which measures the same on '
                                     "another scale: the module has to convert it"),
    ("g.connect(view.out, sim.parameter('cam'))", 'g.py:5: error: heat.xml has no parameter "cam"; did you mean "camera"?'),
    ("g.connect(sim.u, g.when('iteration > mx'), view.u)", 'g.py:5: error: g.when("iteration > mx"): "mx" is neither iteration, time, '
                                                           "a parameter of heat.xml, nor a stamp of variable u"),
    ("g.connect(view.out, stats.u)\ng.connect(stats.far, view.u)", "a circle without tokens would wait for itself: "),
    ("g.connect(sim.u, g.latest(rate='fast'), view.u)", 'g.py:5: error: a rate is a number above 0 of messages a second, like "30 Hz"'),
    ("g.module('view', run='true', inputs=['u'])", 'g.py:5: error: there is a module "view" already, of g.py:4'),
    ("g.module('out', run='true', inputs=['u'])", 'g.py:5: error: "out" is a store of heat.xml'),
    ("g.module('x', run='true', inputs=['q'])", 'g.py:5: error: input "q" of module "x" is not connected'),
    ("g.module('x', run='true')", 'g.py:5: error: module "x" has no input: nothing says when it has its turns'),
    ("g.module('x', run='no_such_program', inputs=['u'])", 'module "x": there is no program "no_such_program"'),
    ("x = g.module('x', run='true', inputs=['u'])\ng.connect(sim.u, g.greedy(), x.u)", "x.u cannot be greedy: variable u comes with each"),
    ("g.scatter(stats.far, [view.u])", "scatter() takes a variable, whose blocks it gives away; of stats/far there"),
    ("g.redistribute(sim.u, [g.module('x', run='true', inputs=['u']).u], axis=1)", "redistribute(axis=1): variable u has 1 dim"),
    ("g.run(place={view: 'moon'})", "where is one of node, idle, harvest, staging, host:NAME"),
    ("g.run(place={view: 'host:../x'})", "where is one of node, idle, harvest, staging, host:NAME"),
    ("g.run(place={view: 'staging'})", 'module "view" shall be on staging nodes, and heat.xml has none'),
    ("1 / 0", 'File "g.py", line 5'),
    ("raise SystemExit('enough')", "enough"),
])
def test_mistakes_are_told_with_their_line(tmp_path, line, message):
    code = ('sim = g.simulation("heat.xml")\nstats = g.module("stats", run="true", inputs={"u": ""}, outputs={"far": "m"})\n'
            'view = g.module("view", run="true", inputs={"u": "km"}, outputs=["out"])\n' + line + "\ng.run()\n")
    said, plan = graph(tmp_path, code, code_wanted=1)
    assert message in said and plan is None, said


@pytest.mark.parametrize("policy, latest", [("", True), ("g.every(2), ", True), ("g.fifo(), ", False)])
def test_on_another_host_iterations_are_left_out_where_nobody_says_fifo(tmp_path, policy, latest):
    said, plan = graph(tmp_path, f"""
        sim = g.simulation("heat.xml")
        stats = g.module("stats", run="true", inputs=["u"], outputs=["p"])
        view = g.module("view", run="there/no_such_program here", inputs=["u", "p"], outputs=["camera"])
        g.connect(sim.u, {policy}view.u)
        g.connect(view.camera, sim.parameter("camera"))
        g.run(place={{view: "host:desk"}})
    """, "--svg", "g.svg")
    assert "2 modules, 1 on the dedicated cores, 1 on desk" in said
    assert re.search(rf"^On desk:  leat graph join \S+:{re.escape(str(tmp_path))}/heat.hosts --as desk$", said, re.M), said
    view = plan["modules"][1]
    assert view["place"] == "host:desk" and view.get("latest", False) == latest
    assert view["inputs"][1] == {"port": "p", "sources": ["stats/p"], **({} if latest else {"depth": 4})}
    assert "on another host" in (tmp_path / "g.svg").read_text()


def test_all_mistakes_are_told_at_once_and_a_file_without_a_graph_is_none(tmp_path):
    code = "sim = g.simulation('heat.xml')\ng.module('a', run='true')\ng.module('b', run='nothing', inputs=['q'])\ng.run()\n"
    said, _ = graph(tmp_path, code, code_wanted=1)
    assert [line.split(":")[1] for line in said.splitlines()] == ["3", "4", "4"], said
    said, _ = graph(tmp_path, "pass", code_wanted=1)
    assert "it ends with leat.graph.run()" in said


def test_the_picture_has_each_module_and_each_connection(tmp_path):
    graph(tmp_path, """
        sim = g.simulation("heat.xml")
        parts = g.copies(4, "part", run="true", inputs=["u"], outputs=["p"])
        g.scatter(sim.u, [part.u for part in parts])
        total = g.reduce([part.p for part in parts], arity=2)
        view = g.module("view <1>".replace(" <1>", ""), run="true", inputs=["t"], outputs=["c"])
        g.connect(total, g.latest(), view.t)
        g.connect(view.c, sim.parameter("camera"))
        g.run()
    """, "--svg", "g.svg")
    root = ElementTree.parse(tmp_path / "g.svg").getroot()
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for name in ("heat", "part_0", "part_3", "sum_p", "view", "latest", "steers"):
        assert any(text.startswith(name) for text in texts), (name, texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) == 1 + 4 + 4 + 2 + 1 + 1


@pytest.mark.parametrize("arity", (2, 3, 8))
@pytest.mark.parametrize("count", (2, 7, 16))
def test_a_tree_has_the_depth_that_it_should_and_the_bits_of_any_other(arity, count):
    """Of what the module of reduce() does; trees of processes are in test_patterns.py."""
    rng = np.random.default_rng(count)
    arrays = [rng.normal(size=50) * 10.0 ** rng.integers(-30, 30, 50) for _ in range(count)]
    arrays.append(-sum(arrays[:2]))

    def tree(parts):
        while len(parts) > 1:
            groups = [parts[i:i + arity] for i in range(0, len(parts), arity)]
            parts = []
            for group in groups:
                sums = []
                for terms in group:
                    for term in terms:
                        sums = exact.add(sums, term)
                parts.append(sums)
        return exact.rounded(parts[0])

    wanted = np.array([math.fsum(column) for column in zip(*arrays)])
    order = rng.permutation(len(arrays))
    assert tree([[arrays[i]] for i in order]).tobytes() == wanted.tobytes()


def test_exact_sums_of_what_is_hard_and_of_what_is_no_number():
    rows = [[1e16, 1.0, -1e16], [1.0, 2.0**-53, 2.0**-106], [1.0, 2.0**-53, -2.0**-106], [1.0, -2.0**-54, -2.0**-107],
            [0.1] * 3, [np.inf, 1, 2], [np.inf, -np.inf, 1], [np.nan, 1, 1], [5e-324] * 3, [-0.0, -0.0, -0.0], [1e308, -1e308, 1.0]]
    sums = []
    for column in np.array(rows).T:
        sums = exact.add(sums, column)
    for row, value in zip(rows, exact.rounded(sums)):
        with np.errstate(all="ignore"):
            wanted = math.fsum(row) if np.all(np.isfinite(row)) else np.sum(row)
        assert value == wanted or (np.isnan(value) and np.isnan(wanted)), (row, value, wanted)
