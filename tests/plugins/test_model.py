# SPDX-License-Identifier: Apache-2.0
"""`leat model`: XML of files that Leat has written, and of others; `leat check` reads all of it."""
import subprocess
import xml.etree.ElementTree as tree

import h5py
import netCDF4
import numpy as np
import pytest
from leat_run import BUILD, Run, xml


def leat(*words):
    return subprocess.run([BUILD / "bin/leat", *words], capture_output=True, text=True)


def model(path, *words):
    """The document, once `leat check` has read it; and what was said."""
    done = leat("model", path, *words)
    assert done.returncode == 0, done.stderr
    made = path.parent / f"{path.name}.xml"
    made.write_text(done.stdout)
    checked = leat("check", made)
    assert checked.returncode == 0, checked.stdout + checked.stderr + done.stdout
    return tree.fromstring(done.stdout), done.stderr


def of(document, tag):
    return {each.get("name"): {k: v for k, v in each.attrib.items() if k != "name"} for each in document.iter(tag)}


def weather(path):
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("lat", 3), ("lon", 4), ("pair", 2)):
            file.createDimension(name, size)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "days since 2000-01-01", "noleap"
        time[:] = [0, 1]
        for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            axis = file.createVariable(name, "f4", (name,))
            axis.units = unit
            axis[:] = np.arange(len(file.dimensions[name]))
        air = file.createVariable("air temp", "f4", ("time", "lat", "lon"))
        air.units, air.long_name, air.standard_name = "K", 'air "near" <ground>', "air_temperature"
        air[:] = 1
        file.createGroup("flux").createVariable("q", "i2", ("lat", "lon"))[:] = 2
        file.createVariable("crs", "i4", ())
        file.createVariable("bounds", "f8", ("lat", "pair"))
        file.createVariable("remark", str, ("lat",))
    return path


def test_a_netcdf_file_has_layouts_units_coordinates_and_time(tmp_path):
    document, said = model(weather(tmp_path / "weather.nc"))
    assert document.get("name") == "weather"
    assert of(document, "time") == {None: {"parameter": "time", "unit": "days since 2000-01-01", "calendar": "noleap"}}
    assert {name: each.get("value") for name, each in of(document, "parameter").items()} == {
        "nlat": "3", "nlon": "4", "npair": "2", "time": None}
    variables = of(document, "variable")
    assert variables == {
        "air_temp": {"layout": "lat_lon", "unit": "K", "description": 'air "near" <ground>', "standard-name": "air_temperature",
                     "mesh": "lat_lon_grid"},
        "lat": {"layout": "lat", "unit": "degrees_north", "time-varying": "false"},
        "lon": {"layout": "lon", "unit": "degrees_east", "time-varying": "false"},
        "crs": {"layout": "scalar", "time-varying": "false"}, "bounds": {"layout": "lat_pair", "time-varying": "false"},
        "q": {"layout": "lat_lon_2", "time-varying": "false", "mesh": "lat_lon_grid"}}
    assert of(document, "layout")["lat_lon"] == {"type": "float", "dimensions": "nlat,nlon", "global": "nlat,nlon", "names": "lat,lon"}
    assert of(document, "mesh") == {"lat_lon_grid": {"type": "rectilinear", "coordinates": "lon,lat"}}
    assert [each.get("name") for each in document.iter("group")] == ["flux"]
    assert '"remark" is left out: Leat has no type of texts of any length' in said


def test_an_hdf5_file_without_names_of_dimensions_has_a_layout_for_each_shape(tmp_path):
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as file:
        file["a"], file["g/h/b"], file["z"] = np.zeros((4, 5), ">f8"), np.zeros(3, "u1"), np.complex128(1)
        file["texts"], file["yes"], file["none"] = np.array([b"abc"] * 2), np.ones(2, bool), np.zeros((0,), "i8")
        file.create_dataset("rows", (2, 3), maxshape=(None, 3))
        file.create_dataset("ragged", (2, 3), "i4", maxshape=(None, None), chunks=(1, 3))
        file["-odd name+"], file["text"], file["half"], file["nothing"] = 1., "text", np.zeros(2, "f2"), h5py.Empty("f4")
        file["deep"], file["pairs"] = np.zeros((1,) * 9), np.zeros(2, [("a", "f8"), ("b", "i4")])
        file["again"] = h5py.SoftLink("/a")
    document, said = model(path, "--name", "mine")
    assert document.get("name") == "mine"
    layouts = {name: (each["type"], each["dimensions"]) for name, each in of(document, "layout").items()}
    assert {name: layouts[each["layout"]] for name, each in of(document, "variable").items()} == {
        "a": ("double", "4,5"), "b": ("uint8", "3"), "z": ("complex128", ""), "texts": ("char", "2,3"), "yes": ("int8", "2"),
        "none": ("long", "0"), "rows": ("float", "3"), "ragged": ("int", "?"), "_-odd_name_": ("double", "")}
    assert {name for name in ("text", "half", "nothing", "deep", "pairs") if f'"{name}" is left out' in said} == {
        "text", "half", "nothing", "deep", "pairs"}


def test_a_curvilinear_grid_is_a_mesh(tmp_path):
    path = tmp_path / "ocean.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("j", 3)
        file.createDimension("i", 4)
        for name in ("lat2", "lon2"):
            file.createVariable(name, "f8", ("j", "i")).standard_name = "latitude" if name == "lat2" else "longitude"
        file.createVariable("sst", "f4", ("j", "i")).coordinates = "lat2 lon2"
    document, _ = model(path)
    (mesh,) = of(document, "mesh").values()
    assert mesh == {"type": "curvilinear", "coordinates": "lon2,lat2"} and of(document, "variable")["sst"]["mesh"]


DATA = '<layout name="cells" type="double" dimensions="2"/>\n  <variable name="u" layout="cells" unit="K"/>\n'


def run(folder, data=DATA):
    with Run(folder, xml(data).replace("<data>", '<data undeclared="accept">'), 2) as one:
        one.init()
        for rank in one.ranks:
            assert rank.write("u", 16, 1).ok
            assert rank.call("write_any", "p", 10, f"{2 + rank.number},3", 24 * (2 + rank.number), 1).ok
            assert rank.call("write_any", "n", 3, "-", 4, 1).ok
            rank.end()
        one.finish()
    return folder / "run.h5"


def test_of_a_run_it_is_its_xml_with_what_was_stored_undeclared(tmp_path):
    path = run(tmp_path)
    document, said = model(path)
    assert (tmp_path / "run.xml").read_text().splitlines()[0] == leat("model", path).stdout.splitlines()[0] and not said
    assert of(document, "variable") == {"u": {"layout": "cells", "unit": "K"}, "p": {"layout": "p_layout"}, "n": {"layout": "scalar"}}
    assert of(document, "layout")["p_layout"] == {"type": "double", "dimensions": "?,3"}


def test_with_it_the_next_run_stores_all_of_them_declared(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    text = leat("model", run(first)).stdout
    with Run(second, text) as one:
        (rank,) = one.init()
        assert rank.call("write_any", "p", 10, "2,3", 48, 5).ok and rank.call("write_any", "n", 3, "-", 4, 6).ok
        rank.end()
        one.finish()
    with h5py.File(second / "run.h5") as file:
        assert {"p", "n"} <= set(file) and "products" not in file


def test_from_its_datasets_it_has_what_is_in_the_file(tmp_path):
    document, _ = model(run(tmp_path), "--from-datasets")
    assert list(of(document, "variable")) == ["u"]


@pytest.mark.parametrize("content, why", [(b"", "is no HDF5 file"), (b"CDF\x01", "is a file of netCDF-3"),
                                          (b"\x89HDF\r\n\x1a\n" + 99 * b"\0", "")])
def test_what_is_no_such_file_is_an_error(tmp_path, content, why):
    path = tmp_path / "bad.h5"
    path.write_bytes(content)
    done = leat("model", path)
    assert done.returncode == 1 and done.stderr.startswith("leat model: ") and why in done.stderr and not done.stdout
    assert "Traceback" not in done.stderr
    assert leat("model", tmp_path / "none.h5").returncode == leat("model", tmp_path).returncode == 1


def test_a_file_without_anything_is_an_error(tmp_path):
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file["text"] = "text"
    done = leat("model", tmp_path / "empty.h5")
    assert done.returncode == 1 and "has no dataset that Leat could write" in done.stderr


@pytest.mark.parametrize("unit, calendar", [
    ("days since 1850-01-01", "gregorian"), ("days since 1850-01-01", "martian"), ("months since 2000-01-01", "standard"),
    ("fortnights since 2000-01-01", "standard"), ("days since 0000-01-01", "360_day"), ("days since -4713-01-01", "standard"),
    ("hours since 2000-01-01 06:00", "proleptic_gregorian")])
def test_a_time_that_leat_does_not_count_in_is_left_out_and_said(tmp_path, unit, calendar):
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createVariable("time", "f8", ("time",)).setncatts({"units": unit, "calendar": calendar})
        file.createVariable("T", "f4", ("time", "x")).setncatts({"standard_name": "air temperature of it"})
    document, said = model(tmp_path / "t.nc")
    times = of(document, "time")
    if "since 1850" in unit and calendar == "gregorian" or unit.startswith("hours"):
        assert times[None]["unit"] == unit and times[None]["calendar"] == calendar.replace("gregorian", "standard", calendar == "gregorian")
    else:
        assert not times and f'Leat does not count in "{unit}" of the calendar "{calendar}"' in said
    assert "standard-name" not in of(document, "variable")["T"] and "its standard_name is left out" in said


def test_a_group_with_a_dimension_of_its_own_has_not_the_coordinate_of_the_root(tmp_path):
    with netCDF4.Dataset(tmp_path / "g.nc", "w") as file:
        file.createDimension("lat", 5)
        file.createVariable("lat", "f8", ("lat",))[:] = range(5)
        inner = file.createGroup("g")
        inner.createDimension("lat", 6)
        inner.createVariable("T", "f8", ("lat",))[:] = range(6)
    document, _ = model(tmp_path / "g.nc")
    assert "mesh" not in of(document, "variable")["T"]


def test_what_has_more_bytes_than_can_be_counted_is_left_out(tmp_path):
    with h5py.File(tmp_path / "big.h5", "w") as file:
        file.create_dataset("big", (2**33, 2**33), "f8", chunks=(1, 1024))
        file["small"] = np.zeros(3)
    document, said = model(tmp_path / "big.h5")
    assert set(of(document, "variable")) == {"small"} and "more bytes than 63 bits can count" in said
