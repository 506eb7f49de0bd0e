# SPDX-License-Identifier: Apache-2.0
"""What the hdf5 store writes are CF-1.8 files with dates, judged by compliance-checker, cfchecker and xarray from PyPI."""
import datetime
import json
import pathlib
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from judges import ask, complaints, environment, errors_of_cfchecks
from leat_plugin import Plugin, array, mesh, variable
from leat_run import Run, same_bits, xml

GLOBAL = {"global": 1}
TIME = {"time_parameter": 0, "time_unit": "days since 2000-01-01", "calendar": "noleap"}
LEDGER = '{\n  "lost": 0,\n  "entries": []\n}\n'
# All forms that a variable has in the file, and all meshes that say where values lie.
VARIABLES = [
    variable("temperature", "f8", ["y", "x"], **GLOBAL, unit="K", description="air", standard_name="air_temperature",
             cell_methods="time: point", comment="by the new scheme", mesh=0),
    variable("amr", "f4", ["?y", "x"], **GLOBAL, unit="Pa", description="a grid that grows"),
    variable("blocks", "i2", ["x"], description="blocks"),
    variable("atoms", "f8", ["?atom", "xyz"], unit="m", description="positions"),
    variable("patches", "i4", ["?y", "?x"], description="patches"),
    variable("energy", "f8", [], unit="J", description="energy"),
    variable("odd", "f8", ["x"], description="in every other iteration"),
    variable("mesh", "f8", ["x"], time_varying=0, unit="m", description="places"),
    variable("one", "i4", [], time_varying=0, description="a number"),
    variable("edges", "f8", ["?n"], time_varying=0, description="edges"),
    variable("text", "S1", ["n"], description="letters"),
    variable("fields/grid", "f8", ["y", "x"], **GLOBAL, unit="K", description="in a group"),
    variable("salt", "f4", ["lat", "lon"], **GLOBAL, unit="1e-3", standard_name="sea_water_salinity", mesh=1),
    variable("lon", "f4", ["lon"], unit="degrees_east", standard_name="longitude", time_varying=0, **GLOBAL),
    variable("lat", "f8", ["lat"], unit="degrees_north", standard_name="latitude", time_varying=0, **GLOBAL),
    variable("speed", "f4", ["j", "i"], unit="m s-1", description="along a wing", mesh=2, **GLOBAL),
    variable("box", "f4", ["z", "y", "x"], unit="Pa", description="in space", mesh=3, **GLOBAL),
    variable("wx", "f8", ["j", "i"], unit="m", description="places", time_varying=0, **GLOBAL),
    variable("wy", "f8", ["j", "i"], unit="m", description="places", time_varying=0, **GLOBAL),
]
NUMBER = {v["name"]: i for i, v in enumerate(VARIABLES)}
MESHES = [mesh("plate", "uniform", 2, origin=[1.0, -2.0], spacing=[0.5, 0.25], unit="m"),
          mesh("earth", "rectilinear", 2, coordinates=[NUMBER["lon"], NUMBER["lat"]]),
          mesh("wing", "curvilinear", 2, coordinates=[NUMBER["wx"], NUMBER["wy"]]),
          mesh("box", "uniform", 3, origin=[1.0, -2.0, 0.0], spacing=[0.5, 0.25, 9.0], unit="m")]
DAYS = [0.0, 58.5, 59.5, 60.5]


def start(folder, variables=VARIABLES, **more):
    plugin = Plugin(folder, variables, **{"simulation": "heat", "description": "A plate that cools", "ledger": LEDGER,
                                          "options": {"file": "heat.nc"}, "ranks": 2, "meshes": MESHES, **TIME, **more})
    assert not plugin.opened, plugin.opened
    return plugin


def write_all(plugin, i):
    made = []
    for rank in range(2):
        def part(name, rows, columns, rank=rank):
            block(name, (rows, columns), position=[rows * rank, 0], **{"global": (2 * rows, columns)})

        def block(name, extent, rank=rank, **more):
            made.append(plugin.block(NUMBER[name], extent, 10 * i + rank, rank=rank, **more))
        for name in ("temperature", "fields/grid", "speed", *(["wx", "wy"] if i == 0 else [])):
            part(name, 3, 4)
        part("amr", 2 + i, 4)
        block("blocks", (9,))
        if rank or i != 2:
            block("atoms", (3 + i + rank, 3))
        block("patches", (2 + rank, 1 + i))
        block("energy", ())
        if i % 2:
            block("odd", (4,))
        if i == 0:
            block("mesh", (8,))
            block("one", ())
            block("edges", (4 + rank,))
        block("text", (5,))
        if rank == 0:
            block("box", (2, 6, 4), position=[0, 0, 0], **{"global": (2, 6, 4)})
            block("salt", (3, 4), position=[0, 0], **{"global": (3, 4)})
        for name, degrees in (("lon", np.arange(4, dtype="f4")), ("lat", np.arange(3, dtype="f8"))):
            if rank == 0 and i == 0:
                block(name, degrees.shape, position=[0], raw=list(degrees.tobytes()), **{"global": degrees.shape})
    plugin.must(10 * i, *sorted(made, key=lambda b: (b["variable"], b["rank"])),
                parameters={"a": DAYS[i], "n": i, "s": f"step {i}"}, complete=int(i != 3))


def step(plugin, i):
    write_all(plugin, i)
    assert not plugin.results("means", 10 * i, plugin.result("mean", "f8", [], (), i, unit="K"),
                              plugin.result("histogram", "i4", ["bin"], (4,), i))


# An axis "X" or "Y" need not be in degrees, by section 5.6 of CF-1.8; compliance-checker 6.1.0 takes each for one that must.
DEGREES = re.compile("(latitude|longitude) variable '[xyz]' should define valid units for")


def expect_cf(path, tables):
    assert [found for found in complaints(path) if found[0] != "medium" or not DEGREES.match(found[2])] == []
    # CF-1.8 has texts, in section 2.2; cfchecker says itself that it does not know them.
    assert [found for found in errors_of_cfchecks(path, tables) if "vlen types not supported" not in found[1]] == []


@pytest.mark.parametrize("killed", [False, True])
def test_the_checkers_have_nothing_to_say_of_a_file_with_every_kind_of_variable(tmp_path, killed):
    plugin = start(tmp_path)
    for i in range(4):
        if killed and i == 2:
            plugin.kill()
            plugin = start(tmp_path, resumed=1)
        step(plugin, i)
    assert plugin.finish() == ""
    expect_cf(tmp_path / "heat.nc", tmp_path)


WHOLE = xml("""
    <parameter name="t" type="double"/><parameter name="n" type="int" value="2"/><parameter name="who" type="string" value="me"/>
    <time parameter="t" unit="days since 2000-01-01" calendar="noleap"/>
    <layout name="rows" type="float" dimensions="n" global="2*n" names="x"/>
    <layout name="list" type="double" dimensions="?" names="atom"/>
    <variable name="t2m" layout="rows" unit="K" description="near the ground" standard-name="air_temperature" cell-methods="time: point"
              comment="by the new scheme"/>
    <variable name="atoms" layout="list" unit="m" description="places of atoms"/>
    <group name="fields"><variable name="inner" layout="rows" unit="K" description="in a group"/></group>
    <variable name="area" layout="rows" unit="m2" description="area of cells" time-varying="false"/>""",
            store='<store name="out" type="hdf5"><option name="file" value="heat.nc"/></store>',
            log=f'<scripts interpreter="{sys.executable}"><script file="mean.py"/></scripts>').replace(
    '<simulation name="run">', '<simulation name="heat" description="A plate that cools">')
SCRIPT = """import leat
@leat.on_iteration(variables=["t2m"])
def process(data, ctx):
    ctx.scalar("mean", float(data["t2m"].mean()))
"""


def test_a_whole_run_is_a_cf_file_whose_dates_xarray_shows(tmp_path):
    (tmp_path / "mean.py").write_text(SCRIPT)
    with Run(tmp_path, WHOLE, ranks=2) as run:
        ranks = run.init()
        for i in range(3):
            for number, rank in enumerate(ranks):
                rank.must("set_double", "t", DAYS[i])
                for name in ("t2m", "fields/inner", *(["area"] if i == 0 else [])):
                    rank.must("set_position", name, 0, 2 * number)
                    assert rank.write(name, 8, 10 * i + number).ok
                rank.must("set_extent", "atoms", 0, 1 + i)
                assert rank.write("atoms", 8 * (1 + i), i).ok
                rank.end()
        run.finish()
    expect_cf(tmp_path / "heat.nc", tmp_path)
    seen = look(tmp_path / "heat.nc", "netcdf4")
    assert seen["time"] == ["2000-01-01 00:00:00", "2000-02-28 12:00:00", "2000-03-01 12:00:00"]
    assert seen["of"]["t2m"] == ["iteration", "time"] and seen["attributes"]["source"].startswith("heat, written by Leat ")
    with h5py.File(tmp_path / "heat.nc") as file:
        assert file["t2m"].attrs["standard_name"] == b"air_temperature" and file["t2m"].attrs["cell_methods"] == b"time: point"
        assert file["t2m"].attrs["comment"] == b"by the new scheme"
        assert file["scripts/mean/mean"].shape == (3,) and file["parameters/t"][:].tolist() == DAYS[:3]


def test_the_code_in_the_documentation_runs(tmp_path):
    plugin = start(tmp_path)
    for i in range(3):
        step(plugin, i)
    plugin.finish()
    page = pathlib.Path(__file__).parents[2] / "docs/reference/files.md"
    code = re.findall("```python\n(.*?)```", page.read_text(), re.DOTALL)[0]
    done = subprocess.run([environment() / "bin/python", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2000, 3, 1, 12" in done.stdout and "long_name:      air" in done.stdout


def look(path, engine, group=None):
    return ask("""
data = xr.open_dataset(sys.argv[1], engine=sys.argv[2], group=sys.argv[3] or None).load()
print(json.dumps({"time": [str(t) for t in data.time.values] if "time" in data else [],
                  "type": str(data.time.dtype) if "time" in data else "",
                  "of": {n: sorted(str(c) for c in v.coords) for n, v in data.data_vars.items()},
                  "dims": {n: v.dims for n, v in data.variables.items()},
                  "attributes": {n: str(v) for n, v in data.attrs.items()}}))""", path, engine, group or "")


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
@pytest.mark.parametrize("unit, calendar, first, second, third", [
    ("days since 2000-01-01", "noleap", "2000-01-01 00:00:00", "2000-02-28 12:00:00", "2000-03-01 12:00:00"),
    ("days since 2000-01-01", "standard", "2000-01-01T00:00:00.000000000", "2000-02-28T12:00:00.000000000",
     "2000-02-29T12:00:00.000000000"),
    ("hours since 1999-12-30 12:00", "360_day", "1999-12-30 12:00:00", "2000-01-02 22:30:00", "2000-01-02 23:30:00"),
    ("s", "standard", "0.0", "58.5", "59.5")], ids=["noleap", "standard", "360_day", "seconds"])
def test_time_is_a_coordinate_of_what_varies_in_time(tmp_path, engine, unit, calendar, first, second, third):
    plugin = start(tmp_path, time_unit=unit, calendar=calendar)
    for i in range(3):
        step(plugin, i)
    plugin.finish()
    seen = look(tmp_path / "heat.nc", engine)
    assert seen["time"] == [first, second, third] and seen["dims"]["time"] == seen["dims"]["iteration"] == ["time"]
    with_time = ["iteration", "time"]
    assert seen["of"]["block_count"] == with_time
    assert [seen["of"][n] for n in ("energy", "atoms_count")] == [["block_iteration", "block_number", "block_rank"]] * 2
    own = look(tmp_path / "heat.nc", engine, "leat")  # which need not see coordinates of the root
    assert own["dims"]["iteration_complete"] == own["dims"]["odd_written"] == ["time"]
    assert not [name for name in seen["dims"] if name.endswith(("_complete", "_written", "_global", "ledger"))]
    assert [seen["of"][n] for n in ("atoms", "edges")] == [[]] * 2
    assert [seen["of"][n] for n in ("mesh", "one")] == [["mesh_block_number", "mesh_block_rank"]] * 2
    assert seen["of"]["temperature"] == [*with_time, "x", "y"] and seen["of"]["speed"] == [*with_time, "wx", "wy"]
    with h5py.File(tmp_path / "heat.nc") as file:
        assert file["fields/grid"].attrs["coordinates"] == file["parameters/n"].attrs["coordinates"] == b"/iteration"
        has_date = unit != "s"
        assert [name in file["time"].attrs for name in ("standard_name", "axis", "calendar")] == [has_date] * 3
        assert file["time"].attrs["units"].decode() == unit and "_FillValue" not in file["time"].attrs
        assert file["iteration"].dims[0][0].name == file["parameters/n"].dims[0][0].name == "/time"


def test_a_run_whose_time_was_never_set_counts_iterations(tmp_path):
    said = []
    # Methods of cells may name a coordinate that there is.
    never_set = WHOLE.replace(' cell-methods="time: point"', "").replace("<scripts", "<!-- ").replace("</scripts>", "-->")
    for name, times in (("never", [None] * 3), ("late", [None, 2.5, 3.5])):
        folder = tmp_path / name
        folder.mkdir()
        with Run(folder, never_set, ranks=1, name="heat") as run:
            (rank,) = run.init()
            rank.must("set_position", "t2m", 0, 0)
            rank.must("set_position", "fields/inner", 0, 0)
            for time in times:
                if time is not None:
                    rank.must("set_double", "t", time)
                for variable_ in ("t2m", "fields/inner"):
                    assert rank.write(variable_, 8, 3).ok
                rank.end()
            run.finish()
            run.await_end()
            said.append(run.log())
        (warning,) = [w for w in json.loads((folder / "heat.ledger.json").read_text())["warnings"] if w["what"] == "time"]
        assert (warning["first"], warning["last"]) == ((0, 2) if name == "never" else (0, 0))
        assert 'parameter "t"' in warning["text"] and warning["text"] in said[-1]
        expect_cf(folder / "heat.nc", folder)
        with h5py.File(folder / "heat.nc") as file:
            assert ("time" in file) == (name == "late")
            named = [path for path in ("t2m", "fields/inner", "leat/iteration_complete", "parameters/n", "leat/t2m_written")
                     if path in file and "time" in str(file[path].attrs.get("coordinates", ""))]
            assert named == ([] if name == "never" else ["t2m", "fields/inner", "leat/iteration_complete", "parameters/n"])
        for engine in ("netcdf4", "h5netcdf"):
            seen = look(folder / "heat.nc", engine)
            assert seen["of"]["t2m"] == (["iteration"] if name == "never" else ["iteration", "time"])
            assert seen["dims"]["t2m"] == ["iteration", "x"]


def test_an_iteration_without_a_time_has_none(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f4", ["x"], unit="m", description="a")], **{**TIME, "calendar": "standard"},
                    options={"file": "a.nc"})
    for i, day in enumerate([None, 1.5, 1.5]):
        plugin.must(i, plugin.block(0, (3,), i), parameters={"a": day})
    plugin.finish()
    assert look(tmp_path / "a.nc", "netcdf4")["time"] == ["NaT"] + 2 * ["2000-01-02T12:00:00.000000000"]
    expect_cf(tmp_path / "a.nc", tmp_path)


@pytest.mark.parametrize("killed", [False, True])
def test_a_time_that_is_missing_or_comes_twice_behind_the_first_row_is_kept_as_it_was_said(tmp_path, killed):
    plugin = Plugin(tmp_path, [variable("a", "f4", ["x"])], **{**TIME, "calendar": "standard"})
    for i, day in enumerate([1.5, None, 1.5, 1.0]):
        if killed and i == 2:
            plugin.kill()
            plugin = Plugin(tmp_path, [variable("a", "f4", ["x"])], resumed=1, **{**TIME, "calendar": "standard"})
        plugin.must(10 * i, plugin.block(0, (3,), i), parameters={"a": day})
    plugin.finish()
    day = "2000-01-02T12:00:00.000000000"
    assert look(tmp_path / "run.h5", "netcdf4")["time"] == [day, "NaT", day, "2000-01-02T00:00:00.000000000"]
    assert ask("""
data = xr.open_dataset(sys.argv[1], engine="netcdf4").swap_dims(time="iteration")
print(json.dumps([data["a"].sel(iteration=10 * i).values.tobytes().hex() for i in range(4)]))
""", tmp_path / "run.h5") == [array((3,), "f4", i).tobytes().hex() for i in range(4)]


def test_a_run_without_a_time_has_none_and_one_with_a_variable_of_that_name_keeps_both(tmp_path):
    for name, more in (("without.nc", {"time_parameter": -1}), ("both.nc", {})):
        for resumed in (0, 1):
            plugin = start(tmp_path, [variable("time", "f4", ["x"])], options={"file": name}, resumed=resumed, ranks=1, **more)
            plugin.must(resumed, plugin.block(0, (3,), resumed), parameters={"a": 2.5 + resumed})
            plugin.kill()
        with h5py.File(tmp_path / name) as file:
            assert same_bits(file["time"][:], np.array([array((3,), "f4", seed) for seed in (0, 1)]))
            assert ("time_" in file) == (name == "both.nc") == ("coordinates" in file["time"].attrs)
            if "time_" in file:
                assert file["time_"][:].tolist() == [2.5, 3.5] and file["time"].attrs["coordinates"] == b"iteration"
                assert file["time"].dims[0][0].name == "/time_"


def test_the_history_says_who_made_the_file_and_who_went_on_with_it(tmp_path):
    for i in range(4):
        before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        plugin = start(tmp_path, session="one", resumed=int(i > 0))
        if i != 2:  # that one is killed before it has stored anything: nothing of it is in the file
            step(plugin, i)
        plugin.kill()
    with h5py.File(tmp_path / "heat.nc") as file:
        lines = file.attrs["history"].decode().split("\n")
        assert file.attrs["Conventions"] == b"CF-1.8" and file.attrs["title"] == b"A plate that cools"
    assert len(lines) == 3 and "began this file (session one)" in lines[0]
    assert all("went on with it after its server had died (session one)" in line for line in lines[1:])
    last = datetime.datetime.strptime(lines[-1].split()[0], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.UTC)
    assert before <= last <= datetime.datetime.now(datetime.UTC)


def test_the_title_is_the_description_or_else_the_name(tmp_path):
    start(tmp_path, description="").finish()
    with h5py.File(tmp_path / "heat.nc") as file:
        assert file.attrs["title"] == file.attrs["simulation"] == b"heat"


def test_numbers_of_iterations_end_where_those_of_cf_do_and_that_is_said(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "i4", ["x"])])
    plugin.must(2**31 - 1, plugin.block(0, (3,), 1))
    error = plugin.iteration(2**31, plugin.block(0, (3,), 2))
    assert "iteration 2147483648" in error and "32 bits" in error and "2147483647" in error
    assert "32 bits" in plugin.results("s", 2**31, plugin.result("r", "f8", [], (), 1))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [2**31 - 1] and same_bits(file["a"][:], array((3,), "i4", 1)[None])
        assert "scripts" not in file or "r" not in file["scripts/s"]


def test_tables_have_room_for_numbers_that_are_large_when_they_are_made_and_say_when_they_have_not(tmp_path):
    plugin = Plugin(tmp_path, [variable("wide", "i1", ["?x"], **GLOBAL), variable("narrow", "i1", ["?x"], **GLOBAL)])

    def write(i, wide, narrow):
        made = [plugin.block(n, (4,), i, position=[0], **{"global": [size]}) for n, size in enumerate((wide, narrow))]
        return plugin.iteration(i, *made)

    assert not write(0, 4, 4) and not write(1, 2**32, 5)
    error = write(2, 2**33, 2**31)
    assert "narrow_global cannot hold 2147483648" in error and "wide" not in error
    assert not write(3, 5, 2**31 - 1)
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/wide_global"][:, 0].tolist() == [4, 2**32, 2**33, 5]
        assert file["leat/narrow_global"][:, 0].tolist() == [4, 5, -1, 2**31 - 1]
        assert file["leat/iteration_complete"][:].tolist() == [1, 1, 0, 1]
        for name in ("wide", "narrow"):
            assert same_bits(file[name][1, :4], array((4,), "i1", 1)) and same_bits(file[name][3, :4], array((4,), "i1", 3))
