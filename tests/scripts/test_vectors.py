# SPDX-License-Identifier: Apache-2.0
"""<vector>: ParaView's arrays, scripts and readers have the components as one field, bit for bit."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from leat_run import BUILD, same_bits, xml
from readers import vtk
from script_run import config, put

sys.path.insert(0, str(BUILD / "lib/leat/python"))
import leat  # noqa: E402

VERSIONS = ["judges", "vtk93"]  # the newest VTK, and the oldest whose reader knows steps
STEPS, NY, NX = 4, 3, 4
SCRIPT = """
    import numpy as np
    import leat
    @leat.on_iteration(variables=["velocity"])
    def look(ds, ctx):
        assert ds["velocity"].dims[0] == "component" and ds["velocity"].attrs.get("units") == ds["uy"].attrs.get("units"), ds
        assert ds["velocity"].sel(component="y").values.tolist() == ds["uy"].values.tolist()
        ctx.store("both", ds["velocity"].values)
        ctx.scalar("fastest", float(np.sqrt((ds["velocity"] ** 2).sum("component")).max()))
    @leat.on_iteration(variables=["velocity"], arrays="numpy")
    def plain(ds, ctx):
        ctx.store("plain", ds["velocity"])
"""


def random(shape, *seed):
    return np.random.default_rng(seed).standard_normal(shape)


def beside(*components):
    """As VTK has them: a row of three for each value."""
    rows = np.zeros((components[0].size, 3), components[0].dtype)
    for number, of_it in enumerate(components):
        rows[:, number] = of_it.ravel()
    return rows


def expect_in_vtk(path, place, wanted, vectors=("velocity",)):
    """wanted: {step: components}."""
    for version in VERSIONS:
        seen = vtk(version, path, path.parent / f"{version}.npz")
        for step, components in wanted.items():
            for vector in vectors:
                assert same_bits(seen[f"{step}/{place}/{vector}"], beside(*components)), (version, step)


# Uniform: on the faces, brought to the cells by the server

def layout(name, y, x, y_name="y", x_name="x"):
    return f'<layout name="{name}" type="double" dimensions="{y},{x}" global="{NY + y_name.count("f")},{NX + x_name.count("f")}" ' \
           f'names="{y_name},{x_name}"/>'


BOX = '<mesh name="box" type="uniform" origin="1,0" spacing="0.5,0.25" unit="m"/>'
STAGGERED = (BOX + layout("cells", NY, NX) + layout("x_faces", NY, NX + 1, x_name="x_f") + layout("y_faces", NY + 1, NX, y_name="y_f") +
             '<variable name="p" layout="cells" mesh="box" unit="Pa"/>'
             '<variable name="u" layout="x_faces" mesh="box" unit="m/s"/><variable name="v" layout="y_faces" mesh="box" unit="m/s"/>'
             '<variable name="ux" expr="mid(u, x_f)"/><variable name="uy" expr="mid(v, y_f)"/>'
             '<vector name="velocity" components="ux,uy"/>')


def staggered(step):
    """u and v, and the components at the centres of cells."""
    u, v = random((NY, NX + 1), 1, step), random((NY + 1, NX), 2, step)
    return u, v, (u[:, :-1] + u[:, 1:]) / 2, (v[:-1] + v[1:]) / 2


@pytest.mark.parametrize("steps", [1, STEPS])
def test_staggered_velocities_are_one_field_at_the_cells(tmp_path, steps):
    put(tmp_path, "look", SCRIPT)
    arrays = {("p", 0): random((NY, NX), 0)}
    for step in range(steps):
        arrays["u", step], arrays["v", step] = staggered(step)[:2]
    log = write_arrays(tmp_path, config(STAGGERED), [arrays])
    assert "FAILED" not in log and "Traceback" not in log, log
    with h5py.File(tmp_path / "run.h5") as file:
        assert [file[name].attrs["leat_vector"] for name in ("ux", "uy")] == [b"velocity[0]", b"velocity[1]"] and "velocity" not in file
        shown = file["VTKHDF/CellData/velocity"]
        assert shown.is_virtual and shown.id.get_storage_size() == 0, "no second copy"
        for step in range(steps):
            both = np.stack(staggered(step)[2:])
            assert all(same_bits(file[f"scripts/look/{name}"][step], both) for name in ("both", "plain"))
            assert file["scripts/look/fastest"][step] == np.sqrt((both ** 2).sum(0)).max()
    expect_in_vtk(tmp_path / "run.h5", "C", {step: staggered(step)[2:] for step in range(steps)})
    with leat.open(tmp_path / "run.h5") as stored:
        for iteration in stored:
            both = np.stack(staggered(iteration.number)[2:])
            assert same_bits(iteration["velocity"], both) and same_bits(iteration.dataset("velocity")["velocity"].values, both)


# Whole arrays, of several kinds of meshes

AXES = '<layout name="lx" type="double" dimensions="5"/><layout name="ly" type="double" dimensions="4"/>' \
       '<variable name="x" layout="lx" time-varying="false"/><variable name="y" layout="ly" time-varying="false"/>' \
       '<mesh name="box" type="rectilinear" coordinates="x,y"/>'


def of_three(mesh, kind="double", shape=(NY, NX), more=""):
    y, x = shape
    return f'{mesh}<layout name="l" type="{kind}" dimensions="{y},{x}" global="{y},{x}" names="b,a"/>' \
        f'<group name="flow" mesh="box" {more}>' + "".join(f'<variable name="{name}" layout="l" unit="m/s"/>' for name in ("u", "v", "w")) \
        + '<vector name="velocity" components="u,v,w"/></group>'


@pytest.mark.parametrize("mesh, kind, shape, place", [(BOX, "float", (NY, NX), "C"), (AXES, "int", (NY, NX), "C"),
                                                      (AXES, "double", (NY + 1, NX + 1), "P"), (BOX, "double", (NY + 1, NX + 1), "P")],
                         ids=["uniform", "cells", "nodes", "corners"])
def test_three_components_are_what_was_written(tmp_path, mesh, kind, shape, place):
    dtype = {"float": "f4", "int": "i4", "double": "f8"}[kind]
    more = 'centering="nodal"' if place == "P" else ""
    arrays = {(f"flow/{name}", step): (100 * random(shape, number, step)).astype(dtype)
              for step in range(STEPS) for number, name in enumerate("uvw")}
    if mesh is AXES:
        arrays |= {("x", 0): np.arange(5.0), ("y", 0): np.arange(4.0)}
    write_arrays(tmp_path, xml(of_three(mesh, kind, shape, more)), [arrays])
    wanted = {step: [arrays[f"flow/{name}", step] for name in "uvw"] for step in range(STEPS)}
    expect_in_vtk(tmp_path / "run.h5", place, wanted, ["flow_velocity"])


def test_of_particles_the_number_of_which_changes(tmp_path):
    data = ('<layout name="n" type="double" dimensions="?"/><layout name="p" type="double" dimensions="?,3"/>'
            '<mesh name="atoms" type="points" coordinates="x"/><variable name="x" layout="p"/>'
            '<variable name="vx" layout="n" mesh="atoms"/><variable name="vy" layout="n" mesh="atoms"/>'
            '<variable name="vz" layout="n" mesh="atoms"/><vector name="velocity" components="vx,vy,vz"/>')
    by_rank = []
    for rank in range(2):
        arrays = {}
        for step in range(STEPS):
            count = 1 + (3 * step + 2 * rank) % 4
            arrays["x", step] = random((count, 3), 5, rank, step)
            arrays |= {(f"v{axis}", step): random(count, ord(axis), rank, step) for axis in "xyz"}
        by_rank.append(arrays)
    write_arrays(tmp_path, xml(data), by_rank)
    wanted = {step: [np.concatenate([arrays[f"v{axis}", step] for arrays in by_rank]) for axis in "xyz"] for step in range(STEPS)}
    expect_in_vtk(tmp_path / "run.h5", "P", wanted)


def test_components_that_are_not_written_together_are_shown_alone_and_that_is_said(tmp_path):
    """Values of one lie beside those of another only while there are as many."""
    data = ('<layout name="n" type="double" dimensions="?"/><layout name="p" type="double" dimensions="?,3"/>'
            '<mesh name="atoms" type="points" coordinates="x"/><variable name="x" layout="p"/>'
            '<variable name="vx" layout="n" mesh="atoms"/><variable name="vy" layout="n" mesh="atoms"/>'
            '<vector name="velocity" components="vx,vy"/>')
    for name, gap in (("gap", 1), ("late", 0)):
        arrays = {}
        for step in range(STEPS):
            arrays["x", step], arrays["vx", step] = random((3, 3), 5, step), random(3, 6, step)
            if step != gap:
                arrays["vy", step] = random(3, 7, step)
        (tmp_path / name).mkdir()
        log = write_arrays(tmp_path / name, xml(data), [arrays])
        assert re.search(r'vector "velocity" is not shown( any more)?: in an iteration "vy" has not the blocks that "vx" has', log), log
        seen = vtk("judges", tmp_path / name / "run.h5", tmp_path / name / "seen.npz")
        for step in range(STEPS):
            assert f"{step}/P/velocity" not in seen and same_bits(seen[f"{step}/P/vx"], arrays["vx", step])


# Several nodes, kills, what does not fit

def halves(step):
    """Of two ranks: {variable: array}."""
    return [{name: random((NY, NX), number, step)[:, part] for number, name in enumerate(("ux", "uy"))}
            for part in (slice(0, NX // 2), slice(NX // 2, NX))]


HALF = (BOX + layout("cells", NY, NX // 2) + '<variable name="ux" layout="cells" mesh="box" unit="m/s"/>'
        '<variable name="uy" layout="cells" mesh="box" unit="m/s"/><vector name="velocity" components="ux,uy"/>')


def of_halves():
    by_rank = [{(name, "position"): np.array([0, rank * NX // 2]) for name in ("ux", "uy")}
               for rank in range(2)]
    for step in range(STEPS):
        for rank, arrays in enumerate(halves(step)):
            by_rank[rank] |= {(name, step): array for name, array in arrays.items()}
    return by_rank, {step: [random((NY, NX), number, step) for number in range(2)] for step in range(STEPS)}


def test_the_view_of_two_nodes_has_the_vector(tmp_path):
    by_rank, wanted = of_halves()
    put(tmp_path, "look", SCRIPT)
    write_arrays(tmp_path, config(HALF), by_rank, nodes=2)
    expect_in_vtk(tmp_path / "run.h5", "C", wanted)
    subprocess.run([BUILD / "bin/leat", "merge", tmp_path / "run.h5", tmp_path / "whole.h5"], check=True, capture_output=True)
    expect_in_vtk(tmp_path / "whole.h5", "C", wanted)


def test_a_server_that_is_killed_is_followed_by_one_that_goes_on_with_the_vector(tmp_path):
    by_rank, wanted = of_halves()

    def kill(run, iteration):
        for server in run.servers() if iteration in (0, 2) else ():
            os.kill(server, signal.SIGKILL)
    log = write_arrays(tmp_path, xml(HALF), by_rank, after=kill)
    assert "has taken over" in log, log
    expect_in_vtk(tmp_path / "run.h5", "C", wanted)


def test_components_whose_sizes_differ_in_the_run_are_not_shown_as_one_and_that_is_said(tmp_path):
    """What the XML does not know: n and m have no values there."""
    data = (BOX + '<parameter name="n" type="int"/><parameter name="m" type="int"/>'
            '<layout name="a" type="double" dimensions="3,n" global="3,n"/><layout name="b" type="double" dimensions="3,m" global="3,m"/>'
            '<variable name="ux" layout="a" mesh="box"/><variable name="uy" layout="b" mesh="box"/>'
            '<vector name="velocity" components="ux,uy"/>')
    put(tmp_path, "look", SCRIPT)
    arrays = {("=n", 0): np.array(4), ("=m", 0): np.array(6), ("ux", 0): random((3, 4), 0), ("uy", 0): random((3, 6), 1)}
    log = write_arrays(tmp_path, config(data), [arrays])
    assert 'vector "velocity" is not shown: it has values for (3, 6) cells' in log, log
    assert 'vector "velocity": its components have the shapes (3, 4), (3, 6) here' in log, log
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["ux"][0], arrays["ux", 0]) and same_bits(file["uy"][0], arrays["uy", 0])
        assert "velocity" not in file["VTKHDF/CellData"]


def test_leat_check_knows_vectors_that_scripts_ask_for(tmp_path):
    (tmp_path / "run.xml").write_text(config(HALF))
    for asked, code in (("velocity", 0), ("velocty", 1)):
        put(tmp_path, "look", f"import leat\n@leat.on_iteration(variables=['{asked}'])\ndef f(ds, ctx):\n    pass\n")
        done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
    assert 'did you mean "velocity"' in done.stderr, done.stderr


def test_the_page_has_the_xml_of_this_test():
    page = (pathlib.Path(__file__).parents[2] / "docs/how-to/meshes.md").read_text()
    assert '<variable name="ux" expr="mid(u, x_face)"/>' in page and '<vector name="velocity" components="ux,uy"/>' in page
