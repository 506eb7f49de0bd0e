# SPDX-License-Identifier: Apache-2.0
"""Parts of arrays, compared with NumPy's slices of the same."""
import subprocess

import h5py
import numpy as np
import pytest
from derived_run import NX, NY, fields, run, stored, text
from leat_run import BUILD, same_bits

PARTS = {"y=3": np.s_[:, 3], "x=0": np.s_[:, :, 0], "x=11": np.s_[:, :, 11], "y=2:5": np.s_[:, 2:5], "x=3:10": np.s_[:, :, 3:10],
         "x=1:12:5": np.s_[:, :, 1:12:5], "x=::4": np.s_[:, :, ::4], "y=1:, x=:7:2": np.s_[:, 1:, :7:2], "y=6, x=5": np.s_[:, 6, 5],
         "y=::6, x=4": np.s_[:, ::6, 4]}


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_they_are_slices(tmp_path, ranks):
    whole = fields(3)
    names = {f"part{i}": each for i, each in enumerate(PARTS)}
    derived = "".join(f'<variable name="{name}" expr="u - v" select="{each}"/>' for name, each in names.items())
    log = run(tmp_path, derived, whole, ranks)
    assert "not made" not in log and "holes" not in log, log
    for name, part in names.items():
        expected = (whole["u"] - whole["v"])[PARTS[part]]
        found = stored(tmp_path, name)
        assert same_bits(found.reshape(expected.shape), expected), (part, found.shape)


def test_several_servers_have_one_view_of_them(tmp_path):
    whole = fields(2)
    run(tmp_path, '<variable name="part" expr="u" select="x=1:12:5"/><variable name="line" expr="u" select="y=2"/>', whole, 4,
        cores='2" servers="2')
    assert same_bits(stored(tmp_path, "part"), whole["u"][:, :, 1:12:5]) and same_bits(stored(tmp_path, "line"), whole["u"][:, 2])


def test_over_time_and_of_another_one(tmp_path):
    whole = fields(6)
    run(tmp_path, """<variable name="line" expr="u" select="y=2"/><variable name="mean" expr="line" operation="mean" every="3"/>
                     <variable name="spot" expr="u" select="y=1, x=2" operation="max" every="3"/>""", whole, 2)
    with h5py.File(tmp_path / "run-over-3.h5") as file:
        for row in range(2):
            part = whole["u"][3 * row:3 * row + 3]
            assert same_bits(file["mean"][row], (part[0, 2] + part[1, 2] + part[2, 2]) / 3)
            assert file["spot"][row].reshape(()) == part[:, 1, 2].max()


def test_scripts_have_them_as_arrays(tmp_path):
    (tmp_path / "look.py").write_text("""
import leat, numpy as np

@leat.on_iteration
def look(ds, ctx):
    np.save(f"line{ctx.iteration}.npy", np.asarray(ds["line"].values))
""")
    whole = fields(2)
    run(tmp_path, '<variable name="line" expr="u" select="y=2"/>', whole, 2,
        log='<scripts><script file="look.py" when-slow="wait"/></scripts>')
    for i in range(2):
        assert same_bits(np.load(tmp_path / f"line{i}.npy"), whole["u"][i, 2])


SIZES = '<parameter name="nx,ny,j" type="int"/><variable name="sizes" type="int" dimensions="nx" global="nx*ny" store="none"/>'
OF_PARAMETERS = {"y=ny/2": np.s_[:, 3], "x=nx-1": np.s_[:, :, 11], "x=nx/4:3*nx/4": np.s_[:, :, 3:9], "y=j:ny": np.s_[:, 2:],
                 "y=:ny-j, x=j:": np.s_[:, :5, 2:], "y=ny % 4, x=1:nx/2:3": np.s_[:, 3, 1:6:3]}


@pytest.mark.parametrize("ranks, servers", [(1, 1), (4, 1), (4, 2)])
def test_indices_are_of_parameters_that_the_simulation_sets(tmp_path, ranks, servers):
    whole = fields(3)
    names = {f"part{i}": each for i, each in enumerate(OF_PARAMETERS)}
    derived = SIZES + "".join(f'<variable name="{name}" expr="u - v" select="{each}"/>' for name, each in names.items())
    sizes = {("=nx", 0): np.array(NX), ("=ny", 0): np.array(NY), ("=j", 0): np.array(2)}
    log = run(tmp_path, derived, whole, ranks, more=sizes, cores=f'{servers}" servers="{servers}')
    assert "not made" not in log and "holes" not in log, log
    for name, select in names.items():
        expected = (whole["u"] - whole["v"])[OF_PARAMETERS[select]]
        assert same_bits(stored(tmp_path, name).reshape(expected.shape), expected), select


def test_over_time_where_a_size_says_it_and_an_index_that_moves(tmp_path):
    whole = fields(6)
    derived = SIZES + """<variable name="middle" expr="u" select="y=ny/2" operation="mean" every="3"/>
      <variable name="probe" expr="u" select="y=j+1"/>"""
    sizes = {("=nx", 0): np.array(NX), ("=ny", 0): np.array(NY), **{("=j", i): np.array(i // 2) for i in range(6)}}
    run(tmp_path, derived, whole, 2, more=sizes)
    with h5py.File(tmp_path / "run-over-3.h5") as file:
        for row in range(2):
            part = whole["u"][3 * row:3 * row + 3, 3]
            assert same_bits(file["middle"][row], (part[0] + part[1] + part[2]) / 3)
    for i, row in enumerate(stored(tmp_path, "probe")):
        assert same_bits(row, whole["u"][i, i // 2 + 1])


def test_an_index_outside_is_said_where_it_is_known(tmp_path):
    log = run(tmp_path, SIZES + '<variable name="part" expr="u" select="y=2*ny"/><variable name="none" expr="u" select="x=nx:j"/>',
              fields(1), 2, more={("=nx", 0): np.array(3), ("=ny", 0): np.array(NY), ("=j", 0): np.array(2)})
    assert '"2*ny" is 14, and only 0 to 6 are possible' in log and '"j" is 2, and only 4 to 12 are possible' in log, log


@pytest.mark.parametrize("select, said", [
    ("y=m/2:mx", 'column 1 of "mx": unknown parameter "mx"; did you mean "m"?'), ("y=2*my", 'unknown parameter "my"; did you mean "m"?'),
    ("y=k/2", "parameter \"k\" is of type double, only those of type int can be used here"), ("y=(m", '"(" is not closed'),
    ("y=m-9", '"m-9" comes to -1: indices count from 0'), ("y=m:m", "nothing lies between: it goes from 8 to 8"),
    ("y=m/0", "division by zero"), ("y=m+1", "indices 0 to 6, and this comes to 9"), ("y=0:m", "indices 0 to 6, and this comes to 7"),
    ('y=w-1" operation="mean" every="3',
     '"w" is not the size of a layout that stays the same, and so may change: a place that moves has nothing over time')])
def test_what_parameters_do_not_come_to_is_refused(tmp_path, select, said):
    made = text('<parameter name="m" type="int" value="8"/><parameter name="w" type="int"/>'
                f'<variable name="part" expr="u" select="{select}"/>', 2)
    (tmp_path / "run.xml").write_text(made)
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stderr and "run.xml:" in done.stderr, done.stderr


@pytest.mark.parametrize("select, said", [
    ("z=3", 'there is no dimension "z"'), ("y=7", 'the dimension "y" has indices 0 to 6'),
    ("x=0:13", 'the dimension "x" has indices 0 to 11'),
    ("y", '"y" is no part of an array'), ("y=5:2", 'nothing lies in "5:2"'), ("y=1, y=2", 'the dimension "y" is there twice'),
    ("y=3:3", 'nothing lies in "3:3": it ends before the second number, as "3:4" is 3 alone'),
    ("y=-1", '"-1": indices count from 0; the last of nx is "nx-1"'),
    ("y=0:-1", '"-1": indices count from 0'), ("y=0:4:0", '"y=0:4:0" is no part')])
def test_what_is_no_part_is_refused(tmp_path, select, said):
    (tmp_path / "run.xml").write_text(text(f'<variable name="part" expr="u" select="{select}"/>', 2))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_a_variable_that_is_not_written_in_an_iteration_makes_none_there(tmp_path):
    whole = fields(6)
    seldom = {("dt", i): np.array(2.0) for i in (1, 4)}
    log = run(tmp_path, '<variable name="both" expr="u*dt" store="two"/>', whole, 2, more=seldom,
              store='<store name="out" type="hdf5"/><store name="two" type="hdf5" file="two.h5"/>')
    assert "not made" not in log, log
    with h5py.File(tmp_path / "two.h5") as file:
        assert file["iteration"][:].tolist() == [1, 4] and same_bits(file["both"][:], 2 * whole["u"][[1, 4]])
    assert NX and NY
