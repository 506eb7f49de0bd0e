# SPDX-License-Identifier: Apache-2.0
"""`leat replay` on the file of a run gives what the scripts gave in the run."""
import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray as xr
from leat_run import BUILD, Run

LEAT = os.environ.get("LEAT_COMMAND", BUILD / "bin/leat")
ITERATIONS = 7

XML = f"""<simulation name="mix">
  <architecture><dedicated cores="1"/><buffer size="16MiB" timeout="20s"/></architecture>
  <data>
    <parameter name="ny" type="int" value="8"/>
    <parameter name="time" type="double"/>
    <parameter name="label" type="string" value="first"/>
    <layout name="cells" type="double" dimensions="ny/2+2,5" global="ny,5" ghosts="1:1,0" names="y,x"/>
    <layout name="corners" type="float" dimensions="ny/2,5" global="ny,5" names="y,x"/>
    <layout name="other" type="int" dimensions="3" names="x"/>
    <layout name="particles" type="double" dimensions="?,3" names="atom,xyz"/>
    <layout name="patches" type="uint16" dimensions="?,?" names="row,column"/>
    <layout name="probe" type="complex64" dimensions="4" names="k"/>
    <layout name="letters" type="char" dimensions="3" names="letter"/>
    <layout name="number" type="int64" dimensions=""/>
    <variable name="zone" layout="corners" time-varying="false" unit="m" description="where cells are"/>
    <variable name="name" layout="letters" time-varying="false"/>
    <variable name="T" layout="cells" unit="K" description="of the plate"/>
    <group name="fields"><variable name="u" layout="cells"/></group>
    <variable name="x" layout="particles" unit="m"/>
    <variable name="patch" layout="patches"/>
    <variable name="probe" layout="probe" unit="V"/>
    <variable name="three" layout="other"/>
    <variable name="steps" layout="number"/>
    <variable name="seldom" layout="corners"/>
  </data>
  <storage><store name="out" type="hdf5"/></storage>
  <scripts interpreter="{sys.executable}" workers="2">
    SCRIPTS
  </scripts>
</simulation>
"""

# Sums over all that a script can see: bytes, types, names, attributes, coordinates.
EVERYTHING = """
import zlib
import numpy as np

def number_of(dims, array, attrs):
    array = np.ascontiguousarray(array)
    return zlib.crc32(repr((dims, array.shape, array.dtype.str, sorted(attrs.items()))).encode() + array.tobytes())

def process(ds, ctx):
    ctx.scalar("order", zlib.crc32(repr(list(ds.data_vars)).encode()))
    ctx.scalar("attrs", zlib.crc32(repr(ds.attrs).encode()))
    ctx.scalar("sizes", zlib.crc32(repr(dict(ds.sizes)).encode()))
    ctx.scalar("parameters", zlib.crc32(repr(sorted(ctx.parameters.items())).encode()))
    for name, variable in ds.variables.items():
        ctx.scalar("v_" + name.replace("/", "."), number_of(variable.dims, variable.values, variable.attrs))
        assert not variable.values.flags.writeable or name in ds.coords
    ctx.store("what", np.array([ctx.iteration, len(ds.variables)]), dims=["pair"], units="1")
"""

SELECTED = """
import leat
import numpy as np

@leat.on_iteration(variables=["T"], every=2)
def profile(ds, ctx):
    assert set(ds.data_vars) == {"T"}, ds
    ctx.store("mean", np.nan_to_num(ds["T"].values).mean(1), dims=["y"], units="K")
    ctx.store("growing", np.arange(ctx.iteration), dims=["y"])
    if ctx.iteration > 2:
        ctx.store("late", np.float32(ctx.iteration))
    ctx.image("plate", np.arange(12.0).reshape(3, 4) + ctx.iteration)

@leat.on_iteration(variables=["seldom", "x"], arrays="numpy")
def seldom(ds, ctx):
    ctx.scalar("seldom", float(np.nansum(ds["seldom"][0])))
    ctx.scalar("x", len(ds["x"]))
"""

BLOCKS = """
import zlib
import leat

@leat.on_iteration(variables=["x", "patch", "probe"])
def blocks(ds, ctx):
    for name in ("x", "patch", "probe", "name"):
        for b in ctx.blocks(name, include_ghosts=True):
            ctx.scalar(f"{name}{b.rank}_{b.block}", zlib.crc32(repr((b.extent, b.position, b.ghosts)).encode() + b.data.tobytes()))
"""

STATEFUL = """
import numpy as np

def process(ds, ctx):
    ctx.state["seen"] = ctx.state.get("seen", 0) + len(ds["x"])
    ctx.scalar("seen", ctx.state["seen"])
    ctx.scalar("window", sum(int(past.attrs["iteration"]) for past in ctx.window(3)))
    print("hello from", ctx.iteration)
    ctx.set("time", 5.0) if ctx.iteration == 1 else None
"""

SCRIPTS = {"everything": EVERYTHING, "selected": SELECTED, "blocks": BLOCKS, "stateful": STATEFUL}


def write_iteration(ranks, i):
    for rank in ranks:
        r, seed = rank.number, 100 * i + 10 * rank.number
        rank.must("set_double", "time", 0.1 * i)
        if i == 3:
            rank.must("set_string", "label", "second" * 10)
        if i == 0:
            rank.must("set_position", "zone", 0, f"{4 * r},0")
            rank.must("write", "zone", 0, 4 * 5 * 4, seed + 9)
            rank.must("write", "name", 0, 3, seed + 8)
        for name in ("T", "fields/u"):
            rank.must("set_position", name, 0, f"{4 * r},0")
            if r == 0 or i != 4:  # once a part is missing
                rank.must("write", name, 0, 6 * 5 * 8, seed + len(name))
        atoms = (3 * i + r) % 5
        rank.must("set_extent", "x", 0, f"{atoms},3")
        rank.must("write", "x", 0, atoms * 24, seed + 1)
        for block in range(2):
            rank.must("set_extent", "patch", block, f"{1 + block},{2 + i}")
            rank.must("write", "patch", block, (1 + block) * (2 + i) * 2, seed + 2 + block)
        if i != 5 or r == 1:  # once one rank alone
            rank.must("write", "probe", 0, 32, seed + 4)
        rank.must("write", "three", 0, 12, seed + 5)
        rank.must("write", "steps", 0, 8, seed + 6)
        if i in (2, 3, 6):
            rank.must("set_position", "seldom", 0, f"{4 * r},0")
            rank.must("write", "seldom", 0, 4 * 5 * 4, seed + 7)
    for rank in ranks:
        rank.start("end_iteration")
    assert all(rank.result().ok for rank in ranks)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A folder with mix.h5, mix-scripts/ and the scripts, of a run on two ranks."""
    folder = tmp_path_factory.mktemp("live")
    for name, text in SCRIPTS.items():
        (folder / f"{name}.py").write_text(text)
    elements = "\n".join(f'<script file="{name}.py" when-slow="wait"/>' for name in SCRIPTS)
    with Run(folder, XML.replace("SCRIPTS", elements), ranks=2) as run:
        ranks = run.init()
        for i in range(ITERATIONS):
            write_iteration(ranks, i)
        run.finish()
        log = run.log()
    assert "FAILED" not in log and "Traceback" not in log, log
    return folder


def replay(folder, *words, code=0):
    done = subprocess.run([LEAT, "replay", *map(str, words), "--interpreter", sys.executable], cwd=folder, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def files(folder, kind):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(pathlib.Path(folder).rglob(f"*.{kind}"))}


@pytest.fixture(scope="module")
def replayed(live, tmp_path_factory):
    output = tmp_path_factory.mktemp("replayed") / "out"
    done = replay(live, "mix.h5", *[f"{name}.py" for name in SCRIPTS], "--output", output)
    return output, done


def test_tables_of_a_replay_are_those_of_the_run_to_the_byte(live, replayed):
    tables = files(live / "mix-scripts", "csv")
    assert sorted(tables) == ["blocks.csv", "everything.csv", "selected.csv", "stateful.csv"]
    assert tables["everything.csv"].count(b"\n") == ITERATIONS + 1 and len(tables["everything.csv"].split(b",")) > 100
    assert files(replayed[0], "csv") == tables


def test_pictures_of_a_replay_are_those_of_the_run(live, replayed):
    pictures = files(live / "mix-scripts", "png")
    assert len(pictures) == 4 and files(replayed[0], "png") == pictures


@pytest.mark.parametrize("name", SCRIPTS)
def test_arrays_of_a_replay_are_those_of_the_run(live, replayed, name):
    with h5py.File(live / "mix.h5") as run, h5py.File(replayed[0] / f"{name}.h5") as again:
        expected = run[f"scripts/{name}"]
        assert sorted(again) == sorted(expected) and len(again) > 1
        for each in expected:
            assert again[each].dtype == expected[each].dtype and again[each].shape == expected[each].shape
            if "NAME" not in expected[each].attrs or each == "iteration":
                assert np.array_equal(again[each][()], expected[each][()], equal_nan=True)
            assert again[each].attrs.get("units") == expected[each].attrs.get("units")
            for own, other in zip(again[each].dims, expected[each].dims):
                assert [s.name for s in own.values()] == [s.name.removeprefix(f"/scripts/{name}") for s in other.values()]


def test_the_screen_says_calls_failures_and_where_the_results_are(replayed):
    output, done = replayed
    assert "mix: 7 iterations of mix.h5, 0 to 6" in done.stdout and f"results: {output}" in done.stdout
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert lines["script"] == ["calls", "seconds", "failures"]
    assert [lines[name][0] for name in SCRIPTS] == ["7", "5", "7", "7"] and all(lines[name][2] == "0" for name in SCRIPTS)
    assert 'script "stateful": hello from 6' in done.stderr
    assert 'script "stateful": ctx.set("time", 5.0): only told, a replay has no simulation to steer' in done.stderr
    assert "\r" not in done.stderr  # no progress where there is no terminal
