# SPDX-License-Identifier: Apache-2.0
"""select="x=12 m" and d(u, x): places by their coordinates, compared with NumPy's slices and numpy.gradient."""
import json
import subprocess

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from derived_run import NX, NY, fields, stored
from leat_run import BUILD, same_bits, xml

X, Y = 10.25 + 0.5 * np.arange(NX), -1 + 2.0 * np.arange(NY)  # centres of the cells of the uniform mesh
UNEVEN = np.cumsum(np.linspace(0.1, 1.3, NX)) + 3
UNIFORM = '<mesh name="grid" type="uniform" origin="10,-2" spacing="0.5,2" unit="m"/>'
RECTILINEAR = '<mesh name="grid" type="rectilinear" coordinates="px,py"/>'


def text(derived, ranks, mesh=UNIFORM, ghosts=True, **more):
    width = NX // ranks + (2 if ghosts else 0)
    cells = f'type="double" dimensions="{NY},{width}" global="{NY},{NX}" names="y,x"' + (' ghosts="0:0,1:1"' if ghosts else "")
    x = more.pop("x", "")
    of_x, ghosts_x = "own_x" if "own" in x else "all_x", 2 if "ghosts" in x else 0
    return xml(f"""<parameter name="iy" type="int"/><parameter name="at" type="double"/>
      <layout name="cells" {cells}/>
      <layout name="all_x" type="double" dimensions="{NX}" names="x"/>
      <layout name="nodes_x" type="double" dimensions="{NX + 1}" names="nx"/>
      <layout name="own_x" type="double" dimensions="{NX // ranks + ghosts_x}" global="{NX}"
        ghosts="{ghosts_x // 2}" names="x"/>
      <layout name="all_y" type="float" dimensions="{NY}" names="y"/>{mesh}
      <variable name="px" layout="{of_x}" unit="m" time-varying="false" store="none"/>
      <variable name="py" layout="all_y" unit="m" time-varying="false" store="none"/>
      <variable name="nodes" layout="nodes_x" unit="m" time-varying="false" store="none"/>
      <variable name="u" layout="cells" mesh="grid" unit="K" store="out"/><variable name="v" layout="cells" mesh="grid" store="none"/>
      {derived}""", **more)


def by_rank(whole, ranks, own_x=False, ghosts=True, parameters=(), x=UNEVEN):
    """Ghosts are what others have there; those at both ends of the whole are nobody's."""
    own, all_ranks = NX // ranks, []
    for rank in range(ranks):
        begin, end = rank * own, (rank + 1) * own
        arrays = {("px", 0): x[begin:end] if own_x else x, ("py", 0): (Y ** 3).astype("f4"),
                  ("nodes", 0): np.concatenate([x - 0.04, x[-1:] + 0.04])}
        if own_x:
            arrays["px", "position"] = np.array([begin])
        if own_x == "ghosts":
            arrays["px", 0] = np.pad(x, 1, constant_values=-55)[begin:end + 2]
        for name, array in whole.items():
            if name not in ("u", "v"):
                continue
            arrays[name, "position"] = np.array([0, begin])
            for i, values in enumerate(array):
                padded = np.pad(values, ((0, 0), (1, 1)), constant_values=77)
                arrays[name, i] = padded[:, begin:end + 2] if ghosts else values[:, begin:end]
        for (name, i), value in dict(parameters).items():
            arrays["=" + name, i] = np.array(value)
        all_ranks.append(arrays)
    return all_ranks


def warnings(folder):
    (path,) = folder.glob("*.ledger.json")
    return json.dumps(json.loads(path.read_text())["warnings"])


@pytest.mark.parametrize("ranks, servers", [(1, 1), (3, 1), (4, 2)])
def test_coordinates_of_a_uniform_mesh(tmp_path, ranks, servers):
    whole = fields(3)
    parts = {"x=12.3 m": np.s_[:, :, 4], "x=0.0102 km": np.s_[:, :, 0], "y=1 m": np.s_[:, 1], "x=11 m:13 m": np.s_[:, :, 2:6],
             "x=11.25 m:12.75 m": np.s_[:, :, 2:6], "y=3 m:3 m": np.s_[:, 2:3], "y=-99 m:0 m, x=15.9 m": np.s_[:, 0:1, 11],
             "y=5 m, x=10 m": np.s_[:, 3, 0]}
    derived = "".join(f'<variable name="part{i}" expr="u" select="{each}"/>' for i, each in enumerate(parts))
    log = write_arrays(tmp_path, text(derived, ranks, cores=f'{servers}" servers="{servers}'), by_rank(whole, ranks))
    assert "not made" not in log and "nothing is selected" not in log, log
    for i, (select, part) in enumerate(parts.items()):
        found, expected = stored(tmp_path, f"part{i}"), whole["u"][part]
        assert found.shape == expected.shape and same_bits(found, expected), (select, found.shape)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["part0"].attrs["leat_definition"] == b"u, select x=12.3 m"


PART = '<variable name="part" expr="u" select="x=5000 mm"/>'


@pytest.mark.parametrize("mesh", [RECTILINEAR, RECTILINEAR.replace("px", "nodes"), ""])
def test_coordinates_that_ranks_write(tmp_path, mesh):
    whole = fields(2)
    made, data = text(PART, 3, mesh), by_rank(whole, 3)
    if not mesh:
        made = text('<variable name="x" layout="all_x" unit="m" time-varying="false"/>' + PART, 3, mesh).replace(' mesh="grid"', "")
        for arrays in data:
            arrays["x", 0] = UNEVEN
    write_arrays(tmp_path, made, data)
    nodes = np.concatenate([UNEVEN - 0.04, UNEVEN[-1:] + 0.04])
    where = UNEVEN if "nodes" not in mesh else nodes[:-1] + np.diff(nodes) / 2
    assert same_bits(stored(tmp_path, "part"), whole["u"][:, :, np.abs(where - 5).argmin()])


@pytest.mark.parametrize("ranks, servers, mesh", [(1, 1, RECTILINEAR), (3, 1, RECTILINEAR.replace("px", "nodes")), (4, 2, RECTILINEAR)])
def test_ranges_of_coordinates_that_ranks_write(tmp_path, ranks, servers, mesh):
    whole = fields(4)
    nodes = np.concatenate([UNEVEN - 0.04, UNEVEN[-1:] + 0.04])
    where = UNEVEN if "nodes" not in mesh else nodes[:-1] + np.diff(nodes) / 2
    inside = (where >= 4) & (where <= 8)
    rows = (Y ** 3).astype("f4").astype("f8")
    derived = """<variable name="part" expr="u" select="x=400 cm:8 m"/>
      <variable name="corner" expr="2*u" select="y=-1 m:30 m, x=400 cm:8 m"/>
      <variable name="mean" expr="u" select="x=4 m:8 m" operation="mean" every="4"/>
      <variable name="most" expr="u" select="x=4 m:8 m" reduce="max"/><variable name="none" expr="u" select="x=4 m:4.01 m"/>"""
    log = write_arrays(tmp_path, text(derived, ranks, mesh, cores=f'{servers}" servers="{servers}'), by_rank(whole, ranks))
    part = whole["u"][:, :, inside]
    assert 2 < part.shape[2] < NX and same_bits(stored(tmp_path, "part"), part), log
    assert same_bits(stored(tmp_path, "corner"), 2 * part[:, (rows >= -1) & (rows <= 30)])
    assert same_bits(stored(tmp_path, "most"), part.max(axis=(1, 2)))
    np.testing.assert_allclose(stored(tmp_path, "mean", "run-over-4.h5")[0], part.mean(axis=0), rtol=1e-12)
    assert "nothing lies between 4 and 4.01 m" in warnings(tmp_path) if servers == 1 else True


def test_a_place_that_moves_with_parameters(tmp_path):
    whole, places = fields(5), {("iy", i): i + 1 for i in range(5)}
    places |= {("at", i): at for i, at in enumerate((10.3, 13.1, 99.0, 15.5, 12.4))}
    derived = '<variable name="row" expr="u" select="y=iy" store="out"/><variable name="probe" expr="u" select="y=iy, x=at m" store="two"/>'
    stores = '<store name="out" type="hdf5"/><store name="two" type="hdf5" file="two.h5"/>'
    write_arrays(tmp_path, text(derived, 4, store=stores), by_rank(whole, 4, parameters=places))
    assert same_bits(stored(tmp_path, "row"), np.array([whole["u"][i, i + 1] for i in range(5)]))
    x = {0: 0, 1: 6, 3: 10, 4: 4}
    with h5py.File(tmp_path / "two.h5") as file:
        assert file["iteration"][:].tolist() == list(x)
        assert same_bits(file["probe"][:], np.array([whole["u"][i, i + 1, at] for i, at in x.items()]))
    assert 'nothing is selected: along \\"x\\": 99 lies outside: it goes from 10 to 16 m' in warnings(tmp_path)


@pytest.mark.parametrize("ranks, servers", [(4, 1), (4, 2), (6, 2)])
def test_a_probe_that_goes_from_rank_to_rank(tmp_path, ranks, servers):
    """And back, within one server and from one to the other."""
    columns = [5, 0, 3, 11, 1, 4, 0, 8, 11, 9]
    whole = fields(len(columns))
    places = {("iy", i): 2 for i in range(len(columns))} | {("at", i): X[at] for i, at in enumerate(columns)}
    derived = """<variable name="probe" expr="u" select="y=iy, x=at m"/>
      <variable name="line" expr="u" select="x=at m"/>"""
    log = write_arrays(tmp_path, text(derived, ranks, cores=f'{servers}" servers="{servers}'), by_rank(whole, ranks, parameters=places))
    assert "not made" not in log, log
    assert same_bits(stored(tmp_path, "probe"), np.array([whole["u"][i, 2, at] for i, at in enumerate(columns)]))
    assert same_bits(stored(tmp_path, "line"), np.array([whole["u"][i, :, at] for i, at in enumerate(columns)]))


def test_coordinates_that_a_server_does_not_know_are_said(tmp_path):
    whole = fields(2)
    with pytest.raises(AssertionError, match="not all coordinates are known to"):  # it may be there: a lost write
        write_arrays(tmp_path, text('<variable name="part" expr="u" select="x=5 m"/>', 4, RECTILINEAR, x="own", cores='2" servers="2'),
                     by_rank(whole, 4, own_x=True))


@pytest.mark.parametrize("ranks, servers, own_x, ghosts", [(1, 1, False, True), (3, 1, True, False), (4, 2, False, True),
                                                            (4, 2, "ghosts", True)])
@pytest.mark.parametrize("mesh", [UNIFORM, RECTILINEAR])
def test_derivatives_are_those_of_numpy_gradient(tmp_path, mesh, ranks, servers, own_x, ghosts):
    whole, x, y = fields(2), *((0.5, 2.0) if mesh == UNIFORM else (UNEVEN, (Y ** 3).astype("f4").astype("f8")))

    def along_x(array):
        return np.gradient(array, x, axis=2)

    u, v = whole["u"], whole["v"]
    expected = {"ux": along_x(u), "curl": along_x(v) - np.gradient(u, y, axis=1), "flux": (u * along_x(u)).astype("f4"),
                "of_row": along_x(u)[:, 2]}
    derived = """<variable name="ux" expr="d(u, x)"/><variable name="curl" expr="d(v, x) - d(u,y)"/>
      <variable name="flux" expr="u * d('u', x)" store-type="float"/>
      <variable name="mean" expr="d(u, x)" operation="mean" every="2"/><variable name="of_row" expr="d(u, x)" select="y=2"/>"""
    if servers == 1:
        derived += '<variable name="twice" expr="d(ux, x)"/>'
        expected["twice"] = along_x(along_x(u))
    made = text(derived, ranks, mesh, ghosts, x=f"own {own_x}" if own_x else "", cores=f'{servers}" servers="{servers}')
    write_arrays(tmp_path, made, by_rank(whole, ranks, own_x, ghosts))
    for name, values in expected.items():
        assert same_bits(stored(tmp_path, name), values), name
    assert same_bits(stored(tmp_path, "mean", "run-over-2.h5")[0], (along_x(u)[0] + along_x(u)[1]) / 2)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["ux"].attrs["units"] == b"m-1.K" and "d(v,x)" not in file
        assert file["flux"].attrs["leat_definition"] == b"u * d('u', x); d(u,x): d('u', x)"


@pytest.mark.parametrize("ranks, servers, own_x", [(1, 1, False), (4, 2, "ghosts")])
@pytest.mark.parametrize("spacing", [3.0, 7.0, 0.1])
def test_derivatives_by_coordinates_that_are_even_or_nearly(tmp_path, ranks, servers, own_x, spacing):
    """Where all steps are alike to the last bit NumPy takes another formula: a NaN goes nowhere else then."""
    whole, x = fields(2), spacing * np.arange(NX)
    whole["u"][0, 1, 3], whole["u"][1, 0, 4] = np.nan, np.inf
    made = text('<variable name="ux" expr="d(u, x)"/>', ranks, RECTILINEAR, x=f"own {own_x}" if own_x else "",
                cores=f'{servers}" servers="{servers}')
    write_arrays(tmp_path, made, by_rank(whole, ranks, own_x, x=x))
    found, wanted = stored(tmp_path, "ux"), np.gradient(whole["u"], x, axis=2)
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert same_bits(np.nan_to_num(found, nan=1.5), np.nan_to_num(wanted, nan=1.5))


@pytest.mark.parametrize("mesh, own_x, ghosts, said", [
    (UNIFORM, False, False, r'what is at index 6 along "x", beside the\s+block of rank 1'),
    (RECTILINEAR, True, True, 'not made: the coordinate at index 6 along "x" is not')])
def test_what_is_beside_a_block_on_another_server_counts_as_lost(tmp_path, mesh, own_x, ghosts, said):
    made = text('<variable name="ux" expr="d(u, x)"/>', 4, mesh, ghosts, x="own" if own_x else "", cores='2" servers="2')
    with pytest.raises(AssertionError, match=said):
        write_arrays(tmp_path, made, by_rank(fields(1), 4, own_x, ghosts))


@pytest.mark.parametrize("derived, said", [
    ('expr="u" select="x=12 kg"', 'coordinates along "x" are in "m", and not in "kg"'),
    ('expr="u" select="x=1.5"', '"x=1.5" is no part of an array'),
    ('expr="u" select="y=iz"', '"iz" is no parameter; did you mean "iy"?'),
    ('expr="u" select="y=at"', 'the parameter "at" is no integer, as an index is; a coordinate has a unit, as "at m"'),
    ('expr="u" select="x=99 m:98 m"', "there is nothing between these coordinates"),
    ('expr="u" select="y=iy" operation="mean" every="3"', "a place that moves has nothing over time"),
    ('expr="u" select="q=1 m"', 'there is no dimension "q"'),
    ('expr="d(u*u, x)"', "d(u, x) at letter 1 is of a variable, along one of its dimensions"),
    ('expr="1 + d(u, z)"', '"u" has no dimension "z"'), ('expr="u*d(at, x)"', '"at" is a parameter'),
    ('expr="d(w, x)"', '"w" in expr="d(w, x)" is no variable')])
def test_what_is_no_place_is_refused(tmp_path, derived, said):
    (tmp_path / "run.xml").write_text(text(f'<variable name="part" {derived}/>', 3))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_without_coordinates_the_error_says_what_there_could_be(tmp_path):
    made = text('<variable name="part" expr="u" select="x=3 m"/><variable name="slope" expr="d(u, x)"/>', 3).replace(' mesh="grid"', "")
    (tmp_path / "run.xml").write_text(made)
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count('where "u" lies along "x" is not known: give it a mesh') == 2, done.stderr
