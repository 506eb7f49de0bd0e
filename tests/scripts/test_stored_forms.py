# SPDX-License-Identifier: Apache-2.0
"""`leat ls` and `leat replay` show all that is in a file: each form of a variable, to the bit."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from leat_run import BUILD, Run, data

LEAT = os.environ.get("LEAT_COMMAND", BUILD / "bin/leat")
ITERATIONS, RANKS = 5, 2
SELDOM = (1, 3)  # the iterations that have it

XML = f"""<simulation name="mix" description="A run of all forms">
  <architecture><dedicated cores="1"/><buffer size="8MiB" timeout="20s"/></architecture>
  <data>
    <parameter name="t" type="double"/><parameter name="n" type="int" value="3"/>
    <parameter name="label" type="string" value="first"/>
    <time parameter="t" unit="days since 2000-01-01" calendar="noleap"/>
    <layout name="plane" type="double" dimensions="4,5" global="8,5" names="y,x"/>
    <layout name="three" type="int" dimensions="3" names="k"/>
    <layout name="particles" type="double" dimensions="?,3" names="atom,xyz"/>
    <layout name="patches" type="uint16" dimensions="?,?" names="row,column"/>
    <mesh name="plate" type="uniform" origin="0,0" spacing="1,1" unit="m"/>
    <variable name="T" layout="plane" unit="K" description="of the plate" mesh="plate"/>
    <variable name="zone" layout="plane" time-varying="false"/>
    <variable name="seldom" layout="plane"/>
    <group name="fields"><variable name="u" layout="plane"/></group>
    <variable name="three" layout="three"/>
    <variable name="x" layout="particles" unit="m"/>
    <variable name="patch" layout="patches"/>
  </data>
  <storage><store name="out" type="hdf5"/></storage>
  <scripts interpreter="{sys.executable}"><script file="mean.py" when-slow="wait"/></scripts>
</simulation>
"""
MEAN = """import leat
@leat.on_iteration(variables=["three"])
def process(data, ctx):
    ctx.scalar("number", float(ctx.iteration))
"""
# All that a script sees, as bytes.
LOOK = """
import json
import leat
@leat.on_iteration(arrays="numpy")
def process(data, ctx):
    seen = {"parameters": {name: str(value) for name, value in ctx.parameters.items()},
            "arrays": {name: [list(a.shape), a.dtype.str, a.tobytes().hex()] for name, a in data.items()}}
    for name in ("three", "x", "patch"):
        seen[name] = [[b.rank, b.block, list(b.data.shape), b.data.tobytes().hex()] for b in ctx.blocks(name)]
    with open(f"seen{ctx.iteration}.json", "w") as file:
        json.dump(seen, file)
"""


def seed(name, i, rank, block=0):
    return 1000 * i + 100 * rank + 10 * block + len(name)


def blocks_of(name, i, rank):
    """The extents of its blocks in this iteration, by number."""
    return {"three": [(3,)], "x": [((3 * i + rank) % 4, 3)], "patch": [(1, 2 + i), (2, 2 + i)]}.get(name, [(4, 5)])


def written_in(i):
    return ["T", "fields/u", "three", "x", "patch", *(["zone"] if i == 0 else []), *(["seldom"] if i in SELDOM else [])]


TYPES = {"three": "i4", "patch": "u2"}


def write_iteration(ranks, i):
    for rank in ranks:
        rank.must("set_double", "t", 0.5 * i)
        if i == 2:
            rank.must("set_string", "label", "second")
        for name in written_in(i):
            for number, extent in enumerate(blocks_of(name, i, rank.number)):
                if name in ("x", "patch"):
                    rank.must("set_extent", name, number, ",".join(map(str, extent)))
                elif name != "three":
                    rank.must("set_position", name, number, f"{4 * rank.number},0")
                size = int(np.prod(extent)) * np.dtype(TYPES.get(name, "f8")).itemsize
                rank.must("write", name, number, size, seed(name, i, rank.number, number))
    for rank in ranks:
        rank.start("end_iteration")
    assert all(rank.result().ok for rank in ranks)


def values(name, i, rank, number):
    extent = blocks_of(name, i, rank)[number]
    return data(int(np.prod(extent)), TYPES.get(name, "f8"), seed(name, i, rank, number)).reshape(extent)


def make(folder):
    (folder / "mean.py").write_text(MEAN)
    with Run(folder, XML, ranks=RANKS) as run:
        ranks = run.init()
        for i in range(ITERATIONS):
            write_iteration(ranks, i)
        run.finish()
    return folder / "mix.h5"


@pytest.fixture
def stored(tmp_path):
    (tmp_path / "run").mkdir()
    return make(tmp_path / "run")


def leat(*words, cwd):
    done = subprocess.run([LEAT, *words], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_leat_ls_says_what_is_in_it(stored, tmp_path):
    facts = json.loads(leat("ls", "--json", stored, cwd=tmp_path))
    assert facts["made_by_leat"] and facts["state"] == "closed" and facts["lost"] == 0 and facts["problem"] == ""
    assert facts["iterations"] == {"count": ITERATIONS, "first": 0, "last": ITERATIONS - 1, "step": 1, "incomplete_count": 0,
                                   "incomplete": []}
    variables = {v["name"]: (v["layout"], v["iterations"]) for v in facts["variables"]}
    assert variables == {"T": ("global", 5), "zone": ("global", None), "seldom": ("global", 2), "fields/u": ("global", 5),
                         "three": ("blocks", 5), "x": ("varying", 5), "patch": ("varying", 5)}
    assert {p["name"]: p["last"] for p in facts["parameters"]} == {"t": 2.0, "n": 3, "label": "second"}
    assert [s["name"] for s in facts["scripts"]] == ["mean"] and facts["ledger"]["lost"] == 0
    assert "time" in [other["name"] for other in facts["others"]], facts["others"]


def test_leat_replay_shows_scripts_every_value_of_it(stored, tmp_path):
    (tmp_path / "look.py").write_text(LOOK)
    leat("replay", "--interpreter", sys.executable, stored, "look.py", cwd=tmp_path)
    for i in range(ITERATIONS):
        seen = json.loads((tmp_path / f"seen{i}.json").read_text())
        assert seen["parameters"] == {"t": str(0.5 * i), "n": "3", "label": "first" if i < 2 else "second"}
        arrays = seen["arrays"]
        assert sorted(arrays) == sorted({*written_in(i), "zone"})
        for name in ("T", "fields/u", "zone", *(["seldom"] if i in SELDOM else [])):
            whole = np.concatenate([values(name, 0 if name == "zone" else i, rank, 0) for rank in range(RANKS)])
            assert arrays[name] == [[8, 5], "<f8", whole.tobytes().hex()], name
        for name in ("three", "x", "patch"):
            wanted = [(rank, number, values(name, i, rank, number)) for rank in range(RANKS)
                      for number in range(len(blocks_of(name, i, rank)))]
            assert seen[name] == [[rank, number, list(a.shape), a.tobytes().hex()] for rank, number, a in wanted], name
