# SPDX-License-Identifier: Apache-2.0
"""select="x=12.3 m linear" and mid(u, x): values between others, across blocks, compared with NumPy."""
import subprocess

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from derived_run import NX, NY, fields, stored
from leat_run import BUILD, same_bits, xml
from test_coordinates import RECTILINEAR, UNEVEN, X, Y, by_rank, text


def between(values, places, at, axis):
    """Along an axis, of ascending places; at the ends the first and the last value."""
    at = np.clip(at, places[0], places[-1])
    i = min(np.searchsorted(places, at, side="right") - 1, len(places) - 2)
    w = (at - places[i]) / (places[i + 1] - places[i])
    return (1 - w) * values.take(i, axis) + w * values.take(i + 1, axis)


@pytest.mark.parametrize("ranks, servers, ghosts", [(1, 1, False), (3, 1, False), (4, 2, True)])
def test_values_between_two_places(tmp_path, ranks, servers, ghosts):
    whole = fields(3)
    u = whole["u"]
    parts = {"x=12.3 m linear": between(u, X, 12.3, 2), "x=10.01 m linear": u[:, :, 0], "x=1.51 dam linear": between(u, X, 15.1, 2),
             "x=11.75 m linear": u[:, :, 3], "y=2.5 m linear": between(u, Y, 2.5, 1), "y=5": u[:, 5],
             "y=2.5 m linear, x=13.6 m linear": between(between(u, X, 13.6, 2), Y, 2.5, 1),
             "y=1:6:2, x=12.3 m linear": between(u, X, 12.3, 2)[:, 1:6:2], "y=4, x=13.4 m linear": between(u, X, 13.4, 2)[:, 4]}
    derived = "".join(f'<variable name="part{i}" expr="u" select="{each}"/>' for i, each in enumerate(parts))
    derived += '<variable name="both" expr="u*u + v" select="x=12.3 m linear" store-type="float"/>'
    derived += '<variable name="mean" expr="u" select="x=12.3 m linear" operation="mean" every="3"/>'
    made = text(derived, ranks, ghosts=ghosts, cores=f'{servers}" servers="{servers}')
    log = write_arrays(tmp_path, made, by_rank(whole, ranks, ghosts=ghosts))
    assert "not made" not in log and "nothing is selected" not in log, log
    for i, (select, expected) in enumerate(parts.items()):
        found = stored(tmp_path, f"part{i}")
        assert found.shape == expected.shape, (select, found.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13, err_msg=select)
    line, other = between(u, X, 12.3, 2), between(whole["v"], X, 12.3, 2)
    np.testing.assert_allclose(stored(tmp_path, "both"), line * line + other, rtol=1e-6)
    np.testing.assert_allclose(stored(tmp_path, "mean", "run-over-3.h5")[0], line.mean(axis=0), rtol=1e-12, atol=1e-13)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["part0"].attrs["leat_definition"] == b"u, select x=12.3 m linear" and file["part0"].dtype == "f8"


def test_values_between_places_that_ranks_write_and_that_move(tmp_path):
    whole = fields(4)
    at = (5.0, 9.3, UNEVEN[6], 3.11)
    places = {("at", i): each for i, each in enumerate(at)} | {("iy", i): i for i in range(4)}
    derived = """<variable name="probe" expr="u" select="y=iy, x=at m linear"/>
      <variable name="probe_max" expr="probe" operation="max" every="4"/>"""
    write_arrays(tmp_path, text(derived, 3, RECTILINEAR), by_rank(whole, 3, parameters=places))
    expected = np.array([between(whole["u"][i][i], UNEVEN, at[i], 0) for i in range(4)])
    np.testing.assert_allclose(stored(tmp_path, "probe"), expected, rtol=1e-13)
    np.testing.assert_allclose(stored(tmp_path, "probe_max", "run-over-4.h5"), [expected.max()], rtol=1e-13)


def test_what_is_on_another_server_without_ghosts_is_said(tmp_path):
    whole = fields(2)
    derived = '<variable name="edge" expr="u" select="x=13.1 m linear"/><variable name="inside" expr="u" select="x=11.1 m linear"/>'
    with pytest.raises(AssertionError, match="what is at index 6 along .x., beside the"):
        write_arrays(tmp_path, text(derived, 4, ghosts=False, cores='2" servers="2'), by_rank(whole, 4, ghosts=False))
    np.testing.assert_allclose(stored(tmp_path, "inside"), between(whole["u"], X, 11.1, 2), rtol=1e-13)
    with h5py.File(tmp_path / "run.h5") as file:
        assert "edge" not in file


def faces_text(derived, ranks, mid_layout=True, ghosts=False, **more):
    """Faces along x: the last rank has one more."""
    wide = 2 if ghosts else 0
    return xml(f"""<parameter name="nf" type="int" value="{NX // ranks}"/>
      <layout name="faces" type="double" dimensions="{NY},nf+{wide}" global="{NY},{NX + 1}" names="y,x_face"
        {'ghosts="0:0,1:1"' if ghosts else ''}/>
      <layout name="cells" type="double" dimensions="{NY},{NX // ranks}" global="{NY},{NX}" names="y,x"/>
      <variable name="u" layout="faces" unit="m/s" store="out"/>
      {'<variable name="T" layout="cells" unit="K" store="out"/>' if mid_layout else ''}{derived}""", **more)


def faces_by_rank(u, cells, ranks, ghosts=False):
    own, all_ranks = NX // ranks, []
    for rank in range(ranks):
        begin = rank * own
        end = begin + own + (1 if rank == ranks - 1 else 0)
        arrays = {("u", "position"): np.array([0, begin]), ("T", "position"): np.array([0, begin]), ("=nf", 0): np.array(end - begin)}
        for i, values in enumerate(u):
            padded = np.pad(values, ((0, 0), (1, 1)), constant_values=55)
            arrays["u", i] = padded[:, begin:end + 2] if ghosts else values[:, begin:end]
            arrays["T", i] = cells[i][:, begin:begin + own]
        all_ranks.append(arrays)
    return all_ranks


@pytest.mark.parametrize("ranks, servers, ghosts", [(1, 1, False), (3, 1, False), (2, 1, True), (4, 2, True)])
def test_faces_to_centres(tmp_path, ranks, servers, ghosts):
    random = np.random.default_rng(3)
    u, cells = random.normal(size=(3, NY, NX + 1)), random.normal(size=(3, NY, NX))
    derived = """<variable name="u_c" expr="mid(u, x_face)"/><variable name="flux" expr="T * mid(u, x_face)"/>
      <variable name="named" expr="mid(u, x_face, x)^2"/><variable name="most" expr="mid(u, x_face)" reduce="max"/>
      <variable name="u_mean" expr="u_c" operation="mean" every="3"/>"""
    log = write_arrays(tmp_path, faces_text(derived, ranks, ghosts=ghosts, cores=f'{servers}" servers="{servers}'),
                       faces_by_rank(u, cells, ranks, ghosts))
    assert "not made" not in log, log
    centres = (u[:, :, :-1] + u[:, :, 1:]) / 2
    assert same_bits(stored(tmp_path, "u_c"), centres) and same_bits(stored(tmp_path, "flux"), cells * centres)
    assert same_bits(stored(tmp_path, "named"), centres ** 2) and same_bits(stored(tmp_path, "most"), centres.max(axis=(1, 2)))
    np.testing.assert_allclose(stored(tmp_path, "u_mean", "run-over-3.h5")[0], centres.mean(axis=0), rtol=1e-13)
    with h5py.File(tmp_path / "run.h5") as file:
        assert [dim[0].name for dim in list(file["u_c"].dims)[1:]] == ["/y", "/x"] and file["u_c"].attrs["units"] == b"m.s-1"
        assert file["flux"].attrs["units"] == b"m.s-1.K"


@pytest.mark.parametrize("ranks, servers", [(3, 1), (4, 2)])
def test_faces_that_two_ranks_write(tmp_path, ranks, servers):
    """Each rank has both faces of its cells: mid() has one value for each cell, and what else is selected of faces does not matter."""
    random = np.random.default_rng(5)
    u, cells, own = random.normal(size=(2, NY, NX + 1)), random.normal(size=(2, NY, NX)), NX // ranks
    derived = """<variable name="u_c" expr="mid(u, x_face)"/><variable name="flux" expr="T * mid(u, x_face)"/>
      <variable name="some" expr="u" select="y=2:5"/>"""
    by_rank = faces_by_rank(u, cells, ranks)
    for rank, arrays in enumerate(by_rank):
        arrays["=nf", 0] = np.array(own + 1)
        for i in range(2):
            arrays["u", i] = u[i][:, rank * own:(rank + 1) * own + 1]
    log = write_arrays(tmp_path, faces_text(derived, ranks, cores=f'{servers}" servers="{servers}'), by_rank)
    centres = (u[:, :, :-1] + u[:, :, 1:]) / 2
    assert "not made" not in log, log
    assert same_bits(stored(tmp_path, "u_c"), centres) and same_bits(stored(tmp_path, "flux"), cells * centres)


def test_derivatives_by_the_nodes_of_a_mesh(tmp_path):
    whole = fields(2)
    nodes = np.concatenate([UNEVEN - 0.04, UNEVEN[-1:] + 0.04])
    write_arrays(tmp_path, text('<variable name="a" expr="d(u, x)"/>', 1, RECTILINEAR.replace("px", "nodes")), by_rank(whole, 1))
    expected = np.gradient(whole["u"], nodes[:-1] + np.diff(nodes) / 2, axis=2)
    np.testing.assert_allclose(stored(tmp_path, "a"), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("select", ["x=4 m:8 m", "x=5 m linear"])
def test_coordinates_in_no_order_and_unknown_ones_are_lost_writes(tmp_path, select):
    whole = fields(1)
    for number, places in enumerate((UNEVEN[[0, 2, 1, *range(3, NX)]], np.where(np.arange(NX) == 3, np.nan, UNEVEN))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(AssertionError, match="neither ascend|not all coordinates"):
            write_arrays(folder, text(f'<variable name="a" expr="u" select="{select}" reduce="max"/>', 2, RECTILINEAR),
                         by_rank(whole, 2, x=places))


BAD = {
    '<variable name="q" expr="u" every="last"/><variable name="a" expr="q + 1"/>': "nothing is made of it",
    '<variable name="q" expr="u" reduce="max" store="none"/><variable name="p" expr="q" every="last"/>'
    '<variable name="a" expr="u" when="p &gt; 1"/>': "nothing is made of it",
    '<variable name="a" expr="mid(u, y)"/>': "no layout has cells between these faces",
    '<variable name="a" expr="mid(u, x)"/>': '"u" has no dimension "x"; there are: "y", "x_face"',
    '<variable name="a" expr="mid(u + 1, x_face)"/>': "mid(u, x) at letter 1 is of a variable",
    '<variable name="a" expr="u" every="run"/>': 'every="last" is its last iteration',
    '<variable name="a" expr="u" operation="mean" every="last"/>': 'every="run" is the whole run',
    '<variable name="a" expr="u" reduce="max" every="last"/>': "is of a second variable",
    '<variable name="a" expr="u" every="last" when="max(u) &gt; 1"/>': "take one of them away",
    '<variable name="a" layout="faces" every="last"/>': "in a variable of its own",
    '<variable name="a" expr="u" every="last" store="raw"/>': "is for a store of type hdf5",
    '<variable name="a" expr="u" select="y=iy linear"/>': "is no part of an array",
}


@pytest.mark.parametrize("derived", BAD)
def test_what_makes_no_sense_is_said(tmp_path, derived):
    stores = '<store name="out" type="hdf5"/><store name="raw" type="raw" folder="raw"/>'
    (tmp_path / "bad.xml").write_text(faces_text(derived, 1, store=stores))
    done = subprocess.run([BUILD / "bin" / "leat", "check", tmp_path / "bad.xml"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and BAD[derived] in done.stdout + done.stderr, done.stdout + done.stderr


def test_fields_that_make_no_sense_are_said(tmp_path):
    stores = """<store name="out" type="hdf5"><field ref="nothing"/><field ref="u" select="y=1"/>
      <field ref="u" operation="mean" every="2"/><field ref="u" operation="mean" every="3"/>
      <field ref="g" operation="max" every="2"/></store>"""
    (tmp_path / "bad.xml").write_text(faces_text('<group name="g"><variable name="w" expr="u+1"/></group>', 1, store=stores))
    done = subprocess.run([BUILD / "bin" / "leat", "check", tmp_path / "bad.xml"], capture_output=True, text=True, timeout=60, check=False)
    said = done.stdout + done.stderr
    assert 'ref="nothing" is no variable and no group' in said and 'give it a name, like name="u_2"' in said, said
    assert 'a second field called "u_mean": give it a name of its own' in said and 'ref="g" is a group' in said, said
