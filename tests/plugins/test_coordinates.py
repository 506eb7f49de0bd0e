# SPDX-License-Identifier: Apache-2.0
"""Coordinates from meshes, as xarray shows them."""
import numpy as np
import pytest
import xarray as xr
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits

GLOBAL = {"global": 1}
PLATE = mesh("plate", "uniform", 2, origin=[1.0, -2.0], spacing=[0.5, 0.25], unit="m")


def opened(folder, engine="h5netcdf", **more):
    return xr.open_dataset(folder / "run.h5", engine=engine, **more)


def whole(plugin, number, extent, seed):
    return plugin.block(number, extent, seed, position=[0] * len(extent), **{"global": extent})


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_a_uniform_mesh_gives_centres_and_nodes(tmp_path, engine):
    variables = [variable("zonal", "f8", ["y", "x"], mesh=0, **GLOBAL), variable("nodal", "f8", ["y", "x"], mesh=0, nodal=1, **GLOBAL),
                 variable("bare", "f4", ["y", "x"], **GLOBAL), variable("one", "f8", ["y", "x"], mesh=0)]
    plugin = Plugin(tmp_path, variables, meshes=[PLATE])
    for row in range(2):
        plugin.must(row, whole(plugin, 0, (3, 4), row), whole(plugin, 1, (4, 5), 10 + row), whole(plugin, 2, (3, 4), row),
                    plugin.block(3, (3, 4), 5))
    plugin.finish()
    with opened(tmp_path, engine) as ds:
        assert ds.zonal.dims == ("iteration", "y", "x") and ds.bare.dims == ds.one.dims == ds.zonal.dims
        assert ds.x.values.tolist() == [1.25, 1.75, 2.25, 2.75] and ds.y.values.tolist() == [-1.875, -1.625, -1.375]
        assert ds.x.attrs == {"units": "m", "axis": "X", "long_name": "place along X", "bounds": "x_bnds"} and ds.y.attrs["axis"] == "Y"
        assert ds[ds.nodal.dims[2]].values.tolist() == [1, 1.5, 2, 2.5, 3] and len(ds[ds.nodal.dims[1]]) == 4
        assert same_bits(ds.zonal.sel(x=1.3, y=-1.4, method="nearest").values, np.array([array((3, 4), "f8", r)[2, 0] for r in (0, 1)]))


def test_three_dimensions_run_from_z_to_x(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f4", ["z", "y", "x"], mesh=0, **GLOBAL)],
                    meshes=[mesh("box", "uniform", 3, origin=[0, 10, 20], spacing=[1, 2, 3])])
    plugin.must(0, whole(plugin, 0, (2, 3, 4), 1))
    plugin.finish()
    with opened(tmp_path) as ds:
        assert ds.x.values.tolist() == [0.5, 1.5, 2.5, 3.5] and ds.y.values.tolist() == [11, 13, 15]
        assert ds.z.values.tolist() == [21.5, 24.5]
        assert [ds[d].attrs.get("axis") for d in "xyz"] == ["X", "Y", None]


EARTH = mesh("earth", "rectilinear", 2, coordinates=[1, 2])
EARTH_VARIABLES = [variable("t", "f8", ["lat", "lon"], mesh=0, **GLOBAL),
                   variable("lon", "f4", ["lon"], unit="degrees_east", time_varying=0, **GLOBAL),
                   variable("lat", "f8", ["lat"], unit="degrees_north", time_varying=0)]


def write_earth(plugin, row):
    constant = [whole(plugin, 1, (4,), 20), plugin.block(2, (3,), 30)] if row == 0 else []
    plugin.must(row, whole(plugin, 0, (3, 4), row), *constant)


def expect_earth(folder, rows, engine="h5netcdf"):
    with opened(folder, engine) as ds:
        assert set(ds.coords) == {"iteration", "lon", "lat"} and ds.t.dims == ("iteration", "lat", "lon")
        assert same_bits(ds.lon.values, array((4,), "f4", 20)) and same_bits(ds.lat.values, array((3,), "f8", 30))
        assert ds.lon.attrs["units"] == "degrees_east" and ds.lon.attrs["axis"] == "X"
        for row in range(rows):
            assert same_bits(ds.t.values[row], array((3, 4), "f8", row))


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_variables_called_like_their_dimension_are_its_coordinates(tmp_path, engine):
    plugin = Plugin(tmp_path, EARTH_VARIABLES, meshes=[EARTH])
    for row in range(2):
        write_earth(plugin, row)
    plugin.finish()
    expect_earth(tmp_path, 2, engine)


@pytest.mark.parametrize("killed_after", [1, 2])
def test_a_resumed_run_goes_on_with_its_coordinates(tmp_path, killed_after):
    first = Plugin(tmp_path, EARTH_VARIABLES + [variable("u", "f8", ["y", "x"], mesh=1, **GLOBAL)], meshes=[EARTH, PLATE])
    for row in range(killed_after):
        write_earth(first, row)
    first.kill()
    second = Plugin(tmp_path, EARTH_VARIABLES + [variable("u", "f8", ["y", "x"], mesh=1, **GLOBAL)], meshes=[EARTH, PLATE], resumed=1)
    for row in range(killed_after, 4):
        write_earth(second, row)
    second.must(4, whole(second, 3, (3, 4), 9))
    second.kill()
    third = Plugin(tmp_path, EARTH_VARIABLES + [variable("u", "f8", ["y", "x"], mesh=1, **GLOBAL)], meshes=[EARTH, PLATE], resumed=1)
    third.must(5, whole(third, 3, (3, 4), 10))
    third.finish()
    with opened(tmp_path) as ds:
        assert set(ds.coords) == {"iteration", "lon", "lat", "y", "x"} and ds.x.values.tolist() == [1.25, 1.75, 2.25, 2.75]
        assert same_bits(ds.u.values[5], array((3, 4), "f8", 10)) and same_bits(ds.t.values[3], array((3, 4), "f8", 3))


@pytest.mark.parametrize("resumed", [False, True], ids=["undisturbed", "killed_after_each"])
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_dimensions_and_their_places_are_as_long_as_arrays_that_grow(tmp_path, engine, resumed):
    """Tools that go by the dimension's length would see a part of each."""
    variables = [variable("t", "f8", ["y", "x"], mesh=0, **GLOBAL), variable("bare", "f4", ["y", "x"], **GLOBAL),
                 variable("later", "f8", ["y", "x"], mesh=0, **GLOBAL), variable("blocks", "f8", ["n"]), variable("one", "f8", ["n"])]
    sizes = [(2, 3), (2, 9), (5, 4), (2, 12)]
    plugin = Plugin(tmp_path, variables, meshes=[PLATE])
    for row, size in enumerate(sizes):
        if resumed and row > 0:
            plugin.kill()
            plugin = Plugin(tmp_path, variables, meshes=[PLATE], resumed=1)
        later = [whole(plugin, 2, size, 20 + row)] if row < 3 else []
        plugin.must(row, whole(plugin, 0, size, row), whole(plugin, 1, size, 10 + row), *later,
                    *(plugin.block(3, (size[1] + b,), 30 + b, block=b) for b in range(2)), plugin.block(4, (size[1],), 40))
    plugin.finish()
    with opened(tmp_path, engine) as ds:
        assert ds.t.shape == (4, 5, 12) and ds.bare.shape[1:] == (5, 12)
        for row, (height, width) in enumerate(sizes):
            assert same_bits(ds.t.values[row, :height, :width], array((height, width), "f8", row))
            assert same_bits(ds.bare.values[row, :height, :width], array((height, width), "f4", 10 + row))
            if row < 3:
                assert same_bits(ds.later.values[row, :height, :width], array((height, width), "f8", 20 + row))
            for number in range(2):
                at = (ds.block_iteration == row) & (ds.block_number == number)
                assert same_bits(ds.blocks.values[at.values][0, :width + number], array((width + number,), "f8", 30 + number))
        for dim, first, step, length in ((ds.t.dims[1], -1.875, 0.25, 5), (ds.t.dims[2], 1.25, 0.5, 12)):
            assert ds[dim].values.tolist() == [first + step * i for i in range(length)] and ds[dim].attrs["units"] == "m"


def test_coordinates_that_come_late_or_have_another_length_are_data(tmp_path):
    plugin = Plugin(tmp_path, EARTH_VARIABLES, meshes=[EARTH])
    plugin.must(0, whole(plugin, 0, (3, 4), 0))
    plugin.must(1, whole(plugin, 1, (6,), 20), plugin.block(2, (3,), 30))
    plugin.must(2, whole(plugin, 0, (3, 4), 0))
    said = plugin.finish()
    assert said.count('variable "t" has 4 values along "lon", and the coordinate "lon" of its mesh "earth" has 6') == 1
    with opened(tmp_path) as ds:
        assert ds.t.shape == (3, 3, 4) and ds.sizes["lon"] == 6
        assert same_bits(ds.lon.values, array((6,), "f4", 20)) and same_bits(ds.lat.values, array((3,), "f8", 30))


def test_curvilinear_coordinates_are_beside_the_data(tmp_path):
    variables = [variable("grid/x", "f8", ["j", "i"], time_varying=0, **GLOBAL), variable("y", "f8", ["j", "i"], time_varying=0, **GLOBAL),
                 variable("p", "f8", ["j", "i"], mesh=0, **GLOBAL), variable("grid/q", "f8", ["j", "i"], mesh=0, **GLOBAL),
                 variable("other", "f8", ["k", "i"], mesh=0, **GLOBAL)]
    plugin = Plugin(tmp_path, variables, meshes=[mesh("wing", "curvilinear", 2, coordinates=[0, 1])])
    plugin.must(0, *[whole(plugin, n, (3, 4), n) for n in range(5)])
    plugin.finish()
    with opened(tmp_path) as ds:
        assert set(ds.p.coords) == {"iteration", "y"} and same_bits(ds.p.coords["y"].values, array((3, 4), "f8", 1))
        assert set(ds.other.coords) == {"iteration"}
    with opened(tmp_path, group="grid") as ds:
        assert ds.q.attrs.get("coordinates", ds.q.encoding.get("coordinates")) == "x y"


def test_staggered_variables_keep_their_shape(tmp_path):
    variables = [variable("p", "f8", ["y", "x"], mesh=0, **GLOBAL), variable("u", "f8", ["y", "x_face"], mesh=-1, **GLOBAL),
                 variable("v", "f8", ["y", "x"], mesh=0, **GLOBAL)]
    plugin = Plugin(tmp_path, variables, meshes=[PLATE])
    plugin.must(0, whole(plugin, 0, (3, 4), 0), whole(plugin, 1, (3, 5), 1), whole(plugin, 2, (4, 4), 2))
    plugin.finish()
    with opened(tmp_path) as ds:
        assert [ds[n].shape for n in "puv"] == [(1, 3, 4), (1, 3, 5), (1, 4, 4)]
        assert same_bits(ds.u.values[0], array((3, 5), "f8", 1)) and same_bits(ds.v.values[0], array((4, 4), "f8", 2))


def test_coordinates_that_never_come_are_missed(tmp_path):
    plugin = Plugin(tmp_path, EARTH_VARIABLES, meshes=[EARTH])
    plugin.must(0, whole(plugin, 0, (3, 4), 0), plugin.block(2, (3,), 30))
    said = plugin.finish()
    assert 'mesh "earth": its coordinate "lon" was never written' in said and '"lat" was never' not in said
