# SPDX-License-Identifier: Apache-2.0
"""Cells whose nodes are known: centres as coordinates, and their bounds in the form of CF, judged by xarray, CDO and the checkers."""
import pathlib
import sys

import h5py
import numpy as np
import pytest
import readers
import xarray as xr
from judges import complaints, errors_of_cfchecks
from leat_plugin import Plugin, mesh, variable
from nodes import Nodes, expect_same_values
from nodes import leat as command

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))

import leat  # noqa: E402

GLOBAL = {"global": 1}
LON, LAT = np.array([0.0, 10.0, 30.0, 60.0, 70.0]), np.array([-60.0, -20.0, 20.0, 60.0])
VARIABLES = [
    variable("rain", "f8", ["lat", "lon"], **GLOBAL, unit="mm", description="rain", mesh=0),
    variable("lon_node", "f8", ["lon_node"], **GLOBAL, unit="degrees_east", standard_name="longitude", time_varying=0),
    variable("lat_node", "f8", ["lat_node"], **GLOBAL, unit="degrees_north", standard_name="latitude", time_varying=0),
    variable("corner", "f8", ["lat_node", "lon_node"], **GLOBAL, unit="m", description="height", mesh=0, centering=2),
    variable("plate", "f4", ["y", "x"], **GLOBAL, unit="K", description="temperature", mesh=1),
    variable("face", "f4", ["y", "x_face"], **GLOBAL, unit="m s-1", description="speed", mesh=1),
]
MESHES = [mesh("earth", "rectilinear", 2, coordinates=[1, 2]),
          mesh("plate", "uniform", 2, origin=[1.0, -2.0], spacing=[0.5, 0.25], unit="m")]
BOUNDS = {"lon": np.stack([LON[:-1], LON[1:]], 1), "lat": np.stack([LAT[:-1], LAT[1:]], 1),
          "x": 1 + np.array([[i, i + 1] for i in range(4)]) * 0.5, "y": -2 + np.array([[i, i + 1] for i in range(3)]) * 0.25}
UNWRITTEN = {f'mesh "earth": its coordinate "{name}" was never written, so nobody can tell where the values on it lie'
             for name in ("lon_node", "lat_node")}  # by the server that has none of them
RAIN = np.arange(12.0).reshape(3, 4)


def blocks(plugin, i, rows=slice(0, 3), rank=0):
    """Of a rank with these rows; the first one has the coordinates."""
    low, made = rows.start, []

    def whole(number, array, **more):
        array = np.asarray(array)
        at = [low, 0][:array.ndim]
        made.append(plugin.values(number, array, rank=rank, position=more.get("position", at), **{"global": more["all"]}))
    whole(0, RAIN[rows] + i, all=(3, 4))
    if i == 0 and rank == 0:
        whole(1, LON, all=(5,), position=[0])
        whole(2, LAT, all=(4,), position=[0])
    if rank == 0:
        whole(3, np.ones((4, 5)) * i, all=(4, 5), position=[0, 0])
    whole(4, RAIN[rows] * i, all=(3, 4))
    whole(5, np.zeros((len(RAIN[rows]), 5)), all=(3, 5))
    return sorted(made, key=lambda block: block["variable"])


def start(folder, **more):
    plugin = Plugin(folder, VARIABLES, meshes=MESHES, simulation="run", **more)
    assert not plugin.opened
    return plugin


def expect_cells(path):
    with h5py.File(path) as file:
        for name, bounds in BOUNDS.items():
            assert np.array_equal(file[f"{name}_bnds"][()], bounds) and np.array_equal(file[name][()], bounds.mean(axis=1)), name
            assert file[name].attrs["bounds"] in (f"{name}_bnds", f"{name}_bnds".encode())
        assert "bounds" not in file["x_face"].attrs and "x_face_bnds" not in file
        assert np.array_equal(file["lon_node"][()], LON)
    with xr.open_dataset(path, engine="h5netcdf") as ds:
        assert ds.lon.attrs["units"] == "degrees_east" and ds.lon.attrs["standard_name"] == "longitude" and ds.lon.attrs["axis"] == "X"
        assert float(ds.rain.sel(lon=21, lat=1, method="nearest")[1]) == RAIN[1, 1] + 1
        assert float(ds.plate.sel(x=1.3, y=-1.6, method="nearest")[1]) == RAIN[1, 0]
    with xr.open_dataset(path, engine="h5netcdf", decode_coords="all") as ds:
        assert set(ds.data_vars) == {"rain", "corner", "plate", "face"} | ({"iteration_complete"} & set(ds.data_vars))


def expect_read(path):
    """leat.open() too."""
    with leat.open(path) as run:
        assert run["rain"].lon.values.tolist() == BOUNDS["lon"].mean(axis=1).tolist() and run["rain"].lon.attrs["units"] == "degrees_east"
        assert float(run["rain"].sel(lon=21, lat=1, method="nearest")[1]) == RAIN[1, 1] + 1
        assert run[1].dataset()["lon_bnds"].values.tolist() == BOUNDS["lon"].tolist()


@pytest.mark.parametrize("killed", [False, True])
def test_cells_have_centres_and_bounds(tmp_path, killed):
    plugin = start(tmp_path, options={"file": "run.nc"})
    for i in range(3):
        if killed and i == 2:
            plugin.kill()
            plugin = start(tmp_path, options={"file": "run.nc"}, resumed=1)
        plugin.must(i, *blocks(plugin, i))
    assert not plugin.finish()
    expect_cells(tmp_path / "run.nc")
    expect_read(tmp_path / "run.nc")
    found = [each for each in complaints(tmp_path / "run.nc") if "should define valid units for" not in each[2]]
    assert found == [] and errors_of_cfchecks(tmp_path / "run.nc", tmp_path) == []
    readers.expect_cdo(tmp_path / "run.nc", "rain", "plate")


def test_the_view_and_what_is_merged_have_them_too(tmp_path):
    nodes = Nodes(tmp_path / "several", VARIABLES, [[0], [1]], simulation="run", meshes=MESHES)
    (tmp_path / "one").mkdir()
    one = start(tmp_path / "one", ranks=2, session="s1")
    for i in range(2):
        made = [*blocks(one, i, slice(0, 2)), *blocks(one, i, slice(2, 3), rank=1)]
        nodes.must(i, *made)
        one.must(i, *sorted(made, key=lambda block: (block["variable"], block["rank"])))
    assert set(nodes.finish().splitlines()) <= UNWRITTEN and not one.finish()
    done = command("merge", tmp_path / "several/run.h5", tmp_path / "run.h5", "--force")
    assert done.returncode == 0, done.stderr
    for path in ("several/run.h5", "one/run.h5", "run.h5"):
        expect_cells(tmp_path / path)
        expect_read(tmp_path / path)
    expect_same_values(tmp_path / "several/run.h5", tmp_path / "one/run.h5")


def test_nodes_in_parts_of_several_servers_make_cells_in_the_view(tmp_path):
    nodes = Nodes(tmp_path / "several", VARIABLES[:3], [[0], [1]], simulation="run", meshes=MESHES[:1])
    plugin = nodes.plugins[0]
    made = [plugin.values(0, RAIN[:2], rank=0, position=[0, 0], **{"global": (3, 4)}),
            plugin.values(1, LON[:3], rank=0, position=[0], **{"global": (5,)}),
            plugin.values(2, LAT, rank=0, position=[0], **{"global": (4,)}),
            plugin.values(0, RAIN[2:], rank=1, position=[2, 0], **{"global": (3, 4)}),
            plugin.values(1, LON[3:], rank=1, position=[3], **{"global": (5,)})]
    nodes.must(0, *made)
    assert set(nodes.finish().splitlines()) <= UNWRITTEN
    with h5py.File(tmp_path / "several/run.h5") as file:
        assert np.array_equal(file["lon_bnds"][()], BOUNDS["lon"]) and np.array_equal(file["lat_bnds"][()], BOUNDS["lat"])


@pytest.mark.parametrize("nodes", [LON[:4], np.where(LON == 30, np.nan, LON)], ids=["centres", "a hole"])
def test_what_makes_no_cells_has_no_bounds(tmp_path, nodes):
    plugin = start(tmp_path)
    plugin.must(0, plugin.values(0, RAIN, position=[0, 0], **{"global": (3, 4)}),
                plugin.values(1, nodes, position=[0], **{"global": nodes.shape}),
                plugin.values(2, LAT, position=[0], **{"global": (4,)}))
    assert not plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert "lon_bnds" not in file and "lat_bnds" in file
        assert file["rain"].dims[2][0].attrs["NAME"].startswith(b"This is a netCDF dimension")


def test_nodes_called_as_the_dimension_leave_it_another_name(tmp_path):
    variables = [variable("rho", "f8", ["x"], **GLOBAL, mesh=0), variable("x", "f8", ["x"], **GLOBAL, unit="m", time_varying=0)]
    plugin = Plugin(tmp_path, variables, meshes=[mesh("line", "rectilinear", 1, coordinates=[1])])
    plugin.must(0, plugin.values(0, RAIN[0], position=[0], **{"global": (4,)}), plugin.values(1, LON, position=[0], **{"global": (5,)}))
    assert not plugin.finish()
    with xr.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as ds:
        assert ds.rho.dims[1:] == ("x_2",) and ds.x_2.values.tolist() == BOUNDS["lon"].mean(axis=1).tolist()
        assert ds.x_2.attrs["bounds"] == "x_2_bnds" and ds.x.values.tolist() == LON.tolist()


def test_bounds_grow_with_an_array_on_a_uniform_mesh(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **GLOBAL, mesh=0)], meshes=[MESHES[1]])
    for i in range(3):
        shape = (3, 4 + i)
        plugin.must(i, plugin.values(0, np.ones(shape), position=[0, 0], **{"global": shape}))
    assert "its shape has changed" in plugin.finish()  # for VTK
    with h5py.File(tmp_path / "run.h5") as file:
        name = file["t"].dims[2][0].name.lstrip("/")
        assert file[name].shape == (6,) and file[f"{name}_bnds"].shape == (6, 2)
        assert np.array_equal(file[f"{name}_bnds"][()].mean(axis=1), file[name][()]) and file[name][5] == 1.25 + 2.5
