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


@pytest.mark.parametrize("select, said", [
    ("z=3", 'there is no dimension "z"'), ("y=7", 'the dimension "y" has indices 0 to 6'),
    ("x=0:13", 'the dimension "x" has indices 0 to 11'),
    ("y", '"y" is no part of an array'), ("y=5:2", '"y=5:2" is no part'), ("y=1, y=2", 'the dimension "y" is there twice'),
    ("y=-1", '"y=-1" is no part'), ("y=0:4:0", '"y=0:4:0" is no part')])
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
