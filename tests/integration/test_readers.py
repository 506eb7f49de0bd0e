# SPDX-License-Identifier: Apache-2.0
"""What the examples in C and Fortran write, in other people's tools, which see the same values; those in Python are tried so in
tests/python/test_python_client.py, and files of the test's own in tests/plugins/test_tools.py."""
import pathlib
import shutil

import h5py
import numpy as np
import pytest
import readers
from leat_run import same_bits
from mpi_run import mpirun

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
# {example: (fields that tools find, those that lie on a plane)}
FIELDS = {"heat": (["temperature"], ["temperature"]), "shallow_water": (["depth", "bottom"], ["depth"]),
          "crack": (["x", "v", "id", "type"], []), "amr_advection": (["dye"], [])}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{example: its file}, of two ranks, whose name ends with .nc."""
    runs = {"heat": ("heat_c", "heat", "heat.xml", 21),
            "shallow_water": ("shallow_water_fortran", "shallow_water", "shallow_water.xml", 41),
            "crack": ("lammps", "leat_lammps", "--every", 100, "--steps", 200, "crack.xml",
                      "/usr/share/lammps/examples/crack/in.crack"),
            "amr_advection": ("amr_advection", "amr_advection", "amr_advection.xml", 21)}
    made = {}
    for name, (folder, program, *words) in runs.items():
        work = tmp_path_factory.mktemp(name)
        for xml in (EXAMPLES / folder).glob("*.xml"):
            (work / xml.name).write_text(xml.read_text().replace('<folder path="analysis"/>', ""))
        mpirun(2, program, *words, cwd=work)
        made[name] = shutil.move(work / f"{name}.h5", work / f"{name}.nc")
        assert len(readers.values_of(made[name])["iteration"]) == 3
    return made


@pytest.mark.parametrize("example", FIELDS)
def test_tools_of_netcdf_and_hdf5_and_nco_see_all_values(files, tmp_path, example):
    readers.expect_copies(files[example], tmp_path)
    readers.expect_nco(files[example], tmp_path)
    for name in FIELDS[example][0]:
        readers.expect_h5dump(files[example], name, tmp_path)


@pytest.mark.parametrize("example", FIELDS)
def test_cdo_has_the_values_of_all_that_it_finds(files, example):
    readers.expect_cdo(files[example], *FIELDS[example][0])


@pytest.mark.parametrize("reader", ["iris", "cf", "h5netcdf"])
def test_readers_in_python_load_all_fields(files, tmp_path, reader):
    places = {"heat": ["time", "y", "x"], "shallow_water": ["iteration", "y", "x"]}
    seen = readers.expect_reader(reader, {files[name]: fields for name, (fields, _) in FIELDS.items()}, tmp_path)
    for (name, (_, fields)), (_, found) in zip(FIELDS.items(), seen, strict=True):
        for field in fields:
            assert set(found[f"{field}/coordinates"]) >= set(places[name]), (reader, field)


def test_xarray_plots_a_field_without_being_told_a_coordinate(files, tmp_path):
    seen = dict(readers.expect_reader("plot", {files[name]: FIELDS[name][1] for name in ("heat", "shallow_water")}, tmp_path))
    for name, (_, (field,)) in list(FIELDS.items())[:2]:
        assert seen[files[name]][f"{field}/coordinates"].tolist() == ["place along Y [m]", "place along X [m]"]


def test_yt_shows_a_field(files, tmp_path):
    list(readers.expect_reader("yt", {files["heat"]: ["temperature"]}, tmp_path))


def test_netcdf_java_reads_them(files):
    readers.expect_netcdf_java(list(files.values()))


@pytest.mark.parametrize("example", FIELDS)
def test_checkers_of_cf_find_nothing_but_a_time_without_a_date(files, tmp_path, example):
    readers.expect_cf(files[example], tmp_path, *([readers.NO_DATE] if example in ("heat", "amr_advection") else []))


@pytest.mark.parametrize("version", ["vtk93", "judges"])
@pytest.mark.parametrize("example", ["heat", "shallow_water", "crack"])
def test_vtk_shows_each_step(files, tmp_path, version, example):
    seen = readers.vtk(version, files[example], tmp_path / "seen.npz")
    with h5py.File(files[example]) as file:
        for step in range(3):
            if example == "crack":
                (part,) = np.nonzero(np.repeat(file["block_iteration"][:], file["v_count"][:]) == step)
                assert same_bits(seen[f"{step}/points"], file["x"][:][part])
                assert all(same_bits(seen[f"{step}/P/{name}"], file[name][:][part]) for name in ("v", "id", "type"))
            for name in FIELDS[example][1]:
                assert same_bits(seen[f"{step}/C/{name}"], file[name][step].ravel())
