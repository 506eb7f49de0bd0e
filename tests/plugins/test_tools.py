# SPDX-License-Identifier: Apache-2.0
"""Other people's tools on files of the hdf5 store, with dates and without a time: CDO, NCO, netCDF's and HDF5's own, iris, cf-python,
h5netcdf, xarray. What they print is compared with what was written; lines of docs/reference/files.md are run as they stand."""
import functools
import json
import pathlib
import re
import shlex
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
from judges import ask
from leat_plugin import Plugin, mesh, variable
from leat_run import same_bits
from readers import vtk
from warm_python import warm

ROOT = pathlib.Path(__file__).parents[2]
GLOBAL = {"global": 1}
VARIABLES = [variable("air", "f8", ["lat", "lon"], unit="K", description="near the ground", standard_name="air_temperature", **GLOBAL),
             variable("lon", "f8", ["lon"], unit="degrees_east", standard_name="longitude", time_varying=0, **GLOBAL),
             variable("lat", "f8", ["lat"], unit="degrees_north", standard_name="latitude", time_varying=0, **GLOBAL),
             variable("atoms", "f8", ["?atom", "xyz"], unit="m", description="places"),
             variable("odd", "f4", ["lat", "lon"], unit="Pa", description="in every other iteration", **GLOBAL),
             variable("amr", "f4", ["?y", "x"], unit="Pa", description="an array that grows", **GLOBAL)]
TIME = {"time_parameter": 0, "time_unit": "days since 2000-01-01", "calendar": "standard"}
STEPS = 4
AIR = [280 + np.arange(24.).reshape(4, 6) + i * i for i in range(STEPS)]
DATES = ["2000-01-01 00:00:00", "2000-01-01 12:00:00", "2000-01-02 00:00:00", "2000-01-02 12:00:00"]


def write(folder, name, **more):
    plugin = Plugin(folder, VARIABLES, ranks=2, simulation=name, options={"file": f"{name}.nc"}, ledger='{\n  "lost": 0\n}\n', **more)
    axes = [plugin.values(1, np.arange(6.) * 60, position=[0], **{"global": (6,)}),
            plugin.values(2, np.arange(4.) * 30 - 45, position=[0], **{"global": (4,)})]
    for i in range(STEPS):
        blocks = [plugin.values(0, AIR[i][2 * r:2 * r + 2], rank=r, position=[2 * r, 0], **{"global": (4, 6)}) for r in range(2)]
        blocks += (axes if i == 0 else []) + [plugin.values(3, np.full((2 + i + r, 3), 10 * i + r), rank=r) for r in range(2)]
        blocks.append(plugin.values(5, np.full((2 + i, 3), i), position=[0, 0], **{"global": (2 + i, 3)}))
        if i % 2:
            blocks.append(plugin.values(4, AIR[i], position=[0, 0], **{"global": (4, 6)}))
        blocks.sort(key=lambda block: (block["variable"], block["rank"]))
        plugin.must(10 * i, *blocks, parameters={"a": 0.5 * i, "n": i, "s": "word"})
    assert plugin.finish() == ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """dates.nc and plain.nc, one without a time."""
    made = tmp_path_factory.mktemp("tools")
    write(made, "dates", **TIME)
    write(made, "plain")
    return made


def run(line, folder, may_say=""):
    """What a line of the shell prints; it says nothing else, but for lines that match `may_say`."""
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60)
    said = [text for text in done.stderr.splitlines() if not may_say or not re.search(may_say, text)]
    assert done.returncode == 0 and said == [], (line, done)
    return done.stdout


@functools.cache
def readers():
    done = subprocess.run([ROOT / "tools/python_environment", ROOT / "tools/readers.txt"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def read_with(code, path):
    """What `code` prints as JSON, in the environment of tools/readers.txt."""
    head = "import json, sys, warnings\nimport numpy as np\nwarnings.simplefilter('ignore')\n"
    done = warm(f"{readers()}/bin/python", code.split()[1]).run(head + code, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# What CDO says of each such file: it reads the root, and wants coordinates of places only.
CDO_SAYS = "NetCDF4 groups not supported|Coordinates variable iteration can't be assigned|^cdo .*: Processed"


def test_cdo_finds_the_dates_and_counts_right(folder):
    assert run("cdo -s showtimestamp dates.nc", folder, CDO_SAYS).split() == [date.replace(" ", "T") for date in DATES]
    assert "air" in run("cdo -s showname dates.nc", folder, CDO_SAYS).split()
    lines = run("cdo -s outputtab,date,time,value -timmean -selname,air dates.nc", folder, CDO_SAYS).splitlines()[1:]
    assert [float(line.split()[2]) for line in lines] == np.mean(AIR, axis=0).ravel().tolist()
    assert {tuple(line.split()[:2]) for line in lines} == {("2000-01-01", "18:00:00")}
    info = run("cdo -s infon -selname,air dates.nc", folder, CDO_SAYS).splitlines()[1:]
    assert [float(line.split()[8]) for line in info] == [float(field.min()) for field in AIR]


def test_an_array_that_grows_is_seen_whole(folder):
    with netCDF4.Dataset(folder / "plain.nc") as file:
        assert file["amr"].shape == (STEPS, STEPS + 1, 3) and (file["amr"][3] == 3).all() and file["amr"][2].mask[-1].all()
    values = run("cdo -s output -selname,amr -seltimestep,4 plain.nc", folder, CDO_SAYS).split()
    assert values[-(STEPS + 1) * 3:] == ["3"] * (STEPS + 1) * 3


def test_cdo_reads_fields_of_a_file_without_a_time(folder):
    # It takes the numbers of iterations for times, and says so in stdout, before the head of the table or behind it.
    lines = [line for line in run("cdo -s outputtab,value -timmean -selname,air plain.nc", folder, CDO_SAYS).splitlines()
             if "Unsupported TIMEUNIT" not in line and not line.startswith("#")]
    assert [float(line) for line in lines] == np.mean(AIR, axis=0).ravel().tolist()


@pytest.mark.parametrize("name, rows", [("dates", "time"), ("plain", "iteration")])
def test_nco_keeps_the_time_and_averages_over_it(folder, tmp_path, name, rows):
    path = folder / f"{name}.nc"
    run(f"ncks -O -v air {path} one.nc && ncra -O -v air {path} mean.nc && ncks -O -d {rows},1,2 {path} some.nc", tmp_path)
    with h5py.File(tmp_path / "one.nc") as file, h5py.File(tmp_path / "mean.nc") as mean, h5py.File(tmp_path / "some.nc") as some:
        assert {"air", "lat", "lon", "iteration", rows} <= set(file) and "atoms" not in file
        assert same_bits(file["air"][:], np.array(AIR)) and file["iteration"][:].tolist() == [0, 10, 20, 30]
        assert mean["air"].shape == (1, 4, 6) and np.allclose(mean["air"][0], np.mean(AIR, axis=0))
        assert same_bits(some["air"][:], np.array(AIR[1:3])) and some["atoms"].shape[1] == 3


@pytest.mark.parametrize("name", ["dates", "plain"])
def test_the_tools_of_netcdf_and_hdf5_end_and_copies_have_the_same_values(folder, tmp_path, name):
    path = folder / f"{name}.nc"
    if name == "dates":
        shown = run(f"ncdump -t -v time {path}", tmp_path)
        assert all(f'"{date.removesuffix(":00:00").removesuffix(" 00")}' in shown for date in DATES)
    assert "group: leat {" in run(f"ncdump {path}", tmp_path) and "280" in run(f"h5dump -d /air {path}", tmp_path)
    assert "/leat/iteration_complete" in run(f"h5ls -r {path}", tmp_path)
    run(f"h5dump {path}", tmp_path)
    run(f"nccopy {path} copied.nc && h5repack {path} repacked.nc", tmp_path)
    for copy in ("copied.nc", "repacked.nc"):
        with h5py.File(path) as file, h5py.File(tmp_path / copy) as other:
            for each in ("air", "odd", "lat", "lon", "atoms", "atoms_count", "iteration", "parameters/n", "parameters/s", "leat/ledger"):
                assert same_bits(file[each][:], other[each][:]), (copy, each)


@pytest.mark.parametrize("name", ["dates", "plain"])
def test_iris_and_cf_python_load_the_field_with_its_coordinates(folder, name):
    seen = read_with("""import iris
(air,) = iris.load(sys.argv[1], "air_temperature")
print(json.dumps([air.data.tolist(), [c.name() for c in air.dim_coords], [str(c.point) for c in air.dim_coords[0].cells()]]))
""", folder / f"{name}.nc")
    rows = "time" if name == "dates" else "number of the simulation's iteration"
    assert seen[0] == np.array(AIR).tolist() and seen[1] == [rows, "latitude", "longitude"]
    assert seen[2] == (DATES if name == "dates" else ["0", "10", "20", "30"])
    seen = read_with("""import cf
(air,) = cf.read(sys.argv[1]).select_by_ncvar("air")
print(json.dumps([air.array.tolist(), sorted(air.coordinate(c).nc_get_variable() for c in air.coordinates())]))
""", folder / f"{name}.nc")
    assert seen[0] == np.array(AIR).tolist() and {"lat", "lon", "iteration"} <= set(seen[1])


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_plots_a_field_without_being_told_a_coordinate(folder, engine):
    # What plot() looks for is the coordinates of the dimensions.
    seen = ask("""
air = xr.open_dataset(sys.argv[1], engine=sys.argv[2])["air"]
print(json.dumps([air.dims, [d in air.coords for d in air.dims], air.isel(time=1).values.tolist(), str(air.time.values[1])]))
""", folder / "dates.nc", engine)
    assert seen == [["time", "lat", "lon"], [True] * 3, AIR[1].tolist(), "2000-01-01T12:00:00.000000000"]


def test_each_line_of_the_page_works(folder, tmp_path):
    page = (ROOT / "docs/reference/files.md").read_text()
    (lines,) = re.findall(r"## Tools that were tried.*?```sh\n(.*?)```", page, re.DOTALL)
    (tmp_path / "run.h5").write_bytes((folder / "dates.nc").read_bytes())
    assert len(lines.splitlines()) > 8
    for line in lines.splitlines():
        run(line, tmp_path, CDO_SAYS)
    (code,) = re.findall(r"## Tools that were tried.*?```python\n(.*?)```", page, re.DOTALL)
    shown = code + "print(float(shown.index.grids[0]['stream', 'air'].max()), values.max(), cube.data.max(), field.array.max())"
    said = run(f"MPLBACKEND=Agg {readers()}/bin/python -W ignore -c {shlex.quote(shown)} 2> /dev/null", tmp_path)
    assert {float(word) for word in said.split()} == {AIR[-1].max()} | {np.max(AIR)}


MESHED = {"plate": ([variable("air", "f8", ["y", "x"], mesh=0, **GLOBAL)],
                    [mesh("plate", "uniform", 2, origin=[0., 0.], spacing=[1., 2.])]),
          "plate, another declared": ([variable("air", "f8", ["y", "x"], mesh=0, **GLOBAL),
                                       variable("other", "f8", ["y", "x"], mesh=1, **GLOBAL)],
                                      [mesh("plate", "uniform", 2, origin=[0., 0.], spacing=[1., 2.]),
                                       mesh("never", "uniform", 2, origin=[0., 0.], spacing=[1., 2.])]),
          "particles": ([variable("x", "f8", ["?atom", "xyz"]), variable("id", "i4", ["?atom"], mesh=0)],
                        [mesh("cloud", "points", 3, coordinates=[0])])}


@pytest.mark.parametrize("kind", MESHED)
def test_vtk_93_shows_what_the_newest_shows(tmp_path, kind):
    variables, meshes = MESHED[kind]
    plugin = Plugin(tmp_path, variables, meshes=meshes)
    for i in range(3):
        blocks = [plugin.values(0, AIR[i], position=[0, 0], **{"global": (4, 6)})] if kind != "particles" else [
            plugin.values(0, np.arange(3. * (2 + i)).reshape(-1, 3)), plugin.values(1, np.arange(2 + i))]
        plugin.must(i, *blocks)
    plugin.finish()
    seen = []
    for number, list_ in enumerate(("vtk93", "judges")):
        seen.append(vtk(list_, tmp_path / "run.h5", tmp_path / f"{number}.npz"))
    assert sorted(seen[0]) == sorted(seen[1]) and len(seen[0]["time"]) == 3
    assert all(np.array_equal(seen[0][name], seen[1][name]) for name in seen[0])
    last = seen[0]["2/C/air" if kind != "particles" else "2/P/id"]
    assert last.tolist() == (AIR[2].ravel() if kind != "particles" else np.arange(4)).tolist()
