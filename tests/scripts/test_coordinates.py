# SPDX-License-Identifier: Apache-2.0
"""The ds of a script, in the run and replayed, has the coordinates, units and attributes that xarray shows of the file."""
import pickle
import subprocess
import sys

import numpy as np
import pytest
import xarray
from leat_run import same_bits
from script_run import config, script_run
from test_replay import LEAT

ITERATIONS = 3
OURS = ("leat_", "_FillValue", "DIMENSION_LABELS")  # how the file is made, and what stands where nobody wrote

# All that a script can see, beside it.
KEEP = """
import pathlib, pickle
import leat

def kept(ds):
    return {name: (v.dims, v.values.copy(), dict(v.attrs), name in ds.coords) for name, v in ds.variables.items()}

@leat.on_iteration(arrays="xarray")
def all_of_it(ds, ctx):
    pathlib.Path(f"FOLDER/all.{ctx.iteration}.pickle").write_bytes(pickle.dumps(kept(ds)))

@leat.on_iteration(variables=[NAMES], arrays="xarray")
def a_part(ds, ctx):
    pathlib.Path(f"FOLDER/part.{ctx.iteration}.pickle").write_bytes(pickle.dumps(kept(ds)))
"""

PLATE = """
<mesh name="plate" type="uniform" origin="1,-2" spacing="0.5,0.25" unit="m"/>
<layout name="cells" type="double" dimensions="3,4" global="3,4" names="y,x"/>
<layout name="corners" type="float" dimensions="4,5" global="4,5" names="y,x"/>
<layout name="alone" type="int" dimensions="3,4" names="y,x"/>
<variable name="t" layout="cells" mesh="plate" unit="K" description="temperature" standard-name="air_temperature"
          cell-methods="area: mean" comment="of the upper side"/>
<variable name="nodal" layout="corners" mesh="plate" centering="nodal"/>
<variable name="bare" layout="corners"/>
<variable name="single" layout="alone" mesh="plate"/>
<parameter name="hours" type="double"/><time parameter="hours" unit="hours since 2000-01-01"/>
"""
EARTH = """
<mesh name="earth" type="rectilinear" coordinates="lon,lat,depth"/>
<layout name="cells" type="float" dimensions="2,3,4" global="2,3,4" names="depth,lat,lon"/>
<layout name="lon" type="float" dimensions="4" global="4" names="lon"/>
<layout name="lat" type="double" dimensions="3" names="lat"/>
<layout name="depth" type="double" dimensions="2" names="depth"/>
<layout name="other" type="double" dimensions="5" names="lon"/>
<variable name="lon" layout="lon" time-varying="false" unit="degrees_east"/>
<variable name="lat" layout="lat" time-varying="false" unit="degrees_north"/>
<variable name="depth" layout="depth" time-varying="false" unit="m" description="below the ice"/>
<variable name="t" layout="cells" mesh="earth" unit="K"/>
<variable name="along" layout="other"/>
<parameter name="s" type="double"/><time parameter="s" unit="s"/>
"""
RING = """
<mesh name="ring" type="curvilinear" coordinates="px,py"/>
<layout name="cells" type="double" dimensions="3,4" global="3,4" names="j,i"/>
<variable name="px" layout="cells" unit="m" description="place to the east, which moves"/>
<variable name="py" layout="cells" time-varying="false" unit="m"/>
<variable name="t" layout="cells" mesh="ring" unit="K"/>
"""
BODY = """
<mesh name="body" type="unstructured" coordinates="points" connectivity="cells" cells="triangle"/>
<layout name="points" type="double" dimensions="4,3" names="point,xyz"/>
<layout name="cells" type="int" dimensions="6" names="corner"/>
<layout name="field" type="float" dimensions="4" names="point"/>
<variable name="points" layout="points" time-varying="false" unit="m"/>
<variable name="cells" layout="cells" time-varying="false"/>
<variable name="t" layout="field" mesh="body" centering="nodal" unit="K"/>
"""
CASES = {  # name: (XML, what a script asks for, which coordinates that brings)
    "uniform": (PLATE, "t", {"x", "y", "x_bnds", "y_bnds", "time"}),
    "rectilinear": (EARTH, "t", {"lon", "lat", "depth", "time"}),
    "curvilinear": (RING, "t", {"px", "py"}),
    "unstructured": (BODY, "t", {"points"}),
}
SIZES = {"t": {"uniform": 96, "rectilinear": 96, "curvilinear": 96, "unstructured": 16}, "nodal": 80, "bare": 80, "single": 48,
         "along": 40, "lon": 16, "lat": 24, "depth": 16, "px": 96, "py": 96, "points": 96, "cells": 24}


def write(rank, text, case, number):
    for name in [part.split('"')[0] for part in text.split('<variable name="')[1:]]:
        constant = 'time-varying="false"' in text.split(f'<variable name="{name}"')[1].split("/>")[0]
        if number > 0 and constant:
            continue
        size = SIZES[name] if name != "t" else SIZES["t"][case]
        rank.must("write", name, 0, size, 10 * number + len(name))
    for name in ("hours", "s"):
        if f'name="{name}"' in text:
            rank.must("set_double", name, 1.5 * number)


@pytest.fixture(scope="module", params=CASES)
def run(request, tmp_path_factory):
    """(case, folder): run.h5, live/ and replayed/ with what the script saw."""
    case = request.param
    folder = tmp_path_factory.mktemp(case)
    text, asked, _ = CASES[case]
    for kind in ("live", "replayed"):
        (folder / kind).mkdir()
        script = KEEP.replace("FOLDER", str(folder / kind)).replace("NAMES", repr(asked))
        (folder / ("analysis" if kind == "live" else ".")).mkdir(exist_ok=True)
        (folder / ("analysis/keep.py" if kind == "live" else "again.py")).write_text(script)
    with script_run(folder, config(text)) as live:
        for number in range(ITERATIONS):
            write(live.ranks[0], text, case, number)
            live.ranks[0].end()
    assert "Traceback" not in live.log(), live.log()
    done = subprocess.run([LEAT, "replay", "run.h5", "again.py", "--interpreter", sys.executable], cwd=folder, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return case, folder


def seen(folder, kind, what, number):
    return pickle.loads((folder / kind / f"{what}.{number}.pickle").read_bytes())


def attributes(attrs):
    return {name: value for name, value in attrs.items() if not name.startswith(OURS)}


def same(here, there):
    assert here.keys() == there.keys(), (sorted(here), sorted(there))
    for name, (dims, values, attrs, is_coordinate) in here.items():
        other_dims, other_values, other_attrs, other_is = there[name]
        assert (dims, attrs, is_coordinate) == (other_dims, other_attrs, other_is), name
        assert values.dtype == other_values.dtype and same_bits(values, other_values), name


@pytest.mark.parametrize("what", ["all", "part"])
@pytest.mark.parametrize("number", range(ITERATIONS))
def test_a_replay_shows_what_the_run_showed(run, what, number):
    same(seen(run[1], "live", what, number), seen(run[1], "replayed", what, number))


@pytest.mark.parametrize("number", range(ITERATIONS))
def test_the_run_shows_what_the_file_shows(run, number):
    live = seen(run[1], "live", "all", number)
    with xarray.open_dataset(run[1] / "run.h5", engine="h5netcdf", mask_and_scale=False) as file:
        row = file.isel({file["iteration"].dims[0]: number})
        # Bounds are coordinates for xarray with decode_coords="all" only.
        there = {name: (v.dims, v.values, attributes(v.attrs), name in row.coords or name.endswith("_bnds"))
                 for name, v in row.variables.items() if name in live or name in row.coords}
        there["iteration"] = (*there["iteration"][:1], there["iteration"][1].astype("i8"), *there["iteration"][2:])
    same(live, there)


@pytest.mark.parametrize("number", range(ITERATIONS))
def test_what_is_asked_for_comes_with_its_coordinates(run, number):
    _, asked, coordinates = CASES[run[0]]
    part, whole = (seen(run[1], "live", what, number) for what in ("part", "all"))
    assert {name for name, told in part.items() if not told[3]} == {asked}
    assert {name for name, told in part.items() if told[3]} == coordinates | {"iteration"}
    for name, (dims, values, attrs, _) in part.items():
        assert (dims, attrs) == (whole[name][0], whole[name][2]) and same_bits(values, whole[name][1]), name


def test_particles_keep_the_names_of_their_dimensions_and_their_types(tmp_path):
    particles = """<mesh name="atoms" type="points" coordinates="x"/>
        <layout name="p" type="float" dimensions="?,3" names="atom,xyz"/><layout name="n" type="int64" dimensions="?" names="atom"/>
        <variable name="x" layout="p" unit="m"/><variable name="id" layout="n" mesh="atoms"/>"""
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/look.py").write_text("""
import leat
@leat.on_iteration(variables=["id", "x"], arrays="xarray")
def look(ds, ctx):
    assert ds.id.dims == ("atom",) and ds.x.dims == ("atom", "xyz") and ds.x.attrs == {"units": "m"}, ds
    assert ds.id.dtype == "i8" and len(ds.id) == 3 * ctx.iteration, ds
    ctx.scalar("sum", int(ds.id.sum()))
""")
    with script_run(tmp_path, config(particles)) as run:
        for number in range(ITERATIONS):
            for name, extent, size in (("x", f"{3 * number},3", 36 * number), ("id", f"{3 * number}", 24 * number)):
                run.ranks[0].must("set_extent", name, 0, extent)
                run.ranks[0].must("write", name, 0, size, number)
            run.ranks[0].end()
    assert "Traceback" not in run.log(), run.log()
    (tmp_path / "again.py").write_text((tmp_path / "analysis/look.py").read_text())
    done = subprocess.run([LEAT, "replay", "run.h5", "again.py", "--interpreter", sys.executable], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    tables = [tmp_path / f"run-{kind}" / f"{name}.csv" for kind, name in (("scripts", "look"), ("replay", "again"))]
    assert np.array_equal(*[np.loadtxt(table, delimiter=",", skiprows=1) for table in tables])
