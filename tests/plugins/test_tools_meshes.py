# SPDX-License-Identifier: Apache-2.0
"""/VTKHDF in the tools of netCDF and HDF5, which read all that a dataset says it has: its lists have the size of what they show,
in files that are finished, merged, killed or still growing. VTK's own reader judges them in test_vtkhdf.py."""
import h5py
import numpy as np
import pytest
import readers
from leat_plugin import Plugin, variable
from nodes import Nodes, leat
from test_vtkhdf import (
    MIXED_MESH,
    array,
    field_blocks,
    global_block,
    mesh,
    mixed_blocks,
    mixed_variables,
    several,
    vtk,
    write_several,
)

STEPS = 6


def write_collection(folder):
    """Particles whose number grows, a uniform plate, a rectilinear line that comes later."""
    return several(folder), write_several


def write_cells(folder):
    """Mixed cells that change and are away, with a field of which half is missing once."""
    plugin = Plugin(folder, mixed_variables(True), meshes=MIXED_MESH, ranks=2)

    def write(plugin, step):
        ranks = [[0, 1], [1], [], [0, 1]][step % 4]
        plugin.must(step, *mixed_blocks(plugin, ranks, step), *field_blocks(plugin, step, ranks if step != 3 else [0]))
    return plugin, write


def write_moving(folder):
    """A curvilinear mesh that moves."""
    plugin = Plugin(folder, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0), variable("x", "f8", ["y", "x"]),
                             variable("y", "f8", ["y", "x"])], meshes=[mesh("m", "curvilinear", 2, coordinates=[1, 2])])

    def write(plugin, step):
        y, x = np.meshgrid(np.arange(3.), np.arange(4.), indexing="ij")
        plugin.must(step, global_block(plugin, 0, (2, 3), step), plugin.values(1, x + step), plugin.values(2, y))
    return plugin, write


def write_blocks(folder):
    """As many particles in each of three blocks."""
    plugin = Plugin(folder, [variable(c, "f8", ["n"]) for c in "xy"] + [variable("m", "f8", ["n"], mesh=0)], ranks=3,
                    meshes=[mesh("atoms", "points", 2, coordinates=[0, 1])])

    def write(plugin, step):
        plugin.must(step, *[plugin.block(i, (4,), 10 * step + 3 * i + r, rank=r) for i in range(3) for r in range(3)])
    return plugin, write


KINDS = {"collection": write_collection, "cells": write_cells, "moving": write_moving, "blocks": write_blocks}


def lists_for_vtk(path):
    """{name: (elements, those that a step needs, 1 MiB of them)} of virtual datasets."""
    found = {}
    with h5py.File(path) as file:
        def look(name, thing):
            if not (isinstance(thing, h5py.Dataset) and thing.is_virtual and thing.virtual_sources()[0].file_name == "."):
                return  # what is a list already has a second name
            (begin, *_), (end, *_) = thing.virtual_sources()[0].vspace.get_select_bounds()
            sources = [file[source.dset_name] for source in thing.virtual_sources()]
            assert end + 1 == len(thing) and thing.shape == thing.maxshape
            elements = max(source.size // (thing.shape[1] if thing.ndim > 1 and len(sources) == 1 else 1) for source in sources)
            found[name] = len(thing), begin + elements, (1 << 20) // thing.dtype.itemsize
        file["VTKHDF"].visititems(look)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_lists_have_the_size_of_what_they_show_at_any_commit_and_tools_end(tmp_path, kind):
    plugin, write = KINDS[kind](tmp_path)
    for step in range(STEPS):
        write(plugin, step)
        for name, (elements, needed, most) in lists_for_vtk(tmp_path / "run.h5").items():
            assert needed <= elements <= needed + min(needed, most), (step, name)
        if step in (0, 3):  # another reader looks on while it grows
            readers.expect_copies(tmp_path / "run.h5", tmp_path)
    plugin.kill()
    readers.expect_copies(tmp_path / "run.h5", tmp_path)
    run = dict(plugin.run, resumed=1)
    again = Plugin(tmp_path, run.pop("variables"), **run)
    again.finish()
    lists = lists_for_vtk(tmp_path / "run.h5")
    assert lists and all(elements == needed for elements, needed, _ in lists.values()), lists
    readers.expect_copies(tmp_path / "run.h5", tmp_path)


def test_a_long_run_of_large_iterations_has_no_more_room_than_a_mebibyte(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0), variable("lon", "f8", ["x"], time_varying=0),
                               variable("lat", "f8", ["y"], time_varying=0)], meshes=[mesh("m", "rectilinear", 2, coordinates=[1, 2])])
    shape, changes = (200, 300), 0
    for step in range(9):
        first = [plugin.values(1, np.arange(300.)), plugin.values(2, np.arange(200.))] if step == 0 else []
        plugin.must(step, global_block(plugin, 0, shape, step), *first)
        with h5py.File(tmp_path / "run.h5") as file:
            shown = len(file["VTKHDF/PointData/t"]) // 60000
        assert step + 1 <= shown <= min(2 * (step + 1), step + 1 + 2), "480,000 bytes each"
        changes += shown == step + 1
    assert changes < 9, "not a new one in each commit"
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert len(file["VTKHDF/PointData/t"]) == 9 * 60000


def test_a_merged_file_and_a_view_have_no_list_that_is_too_long(tmp_path):
    variables = [variable(c, "f8", ["?n"]) for c in "xy"] + [variable("m", "f8", ["?n"], mesh=0)]
    nodes = Nodes(tmp_path / "n", variables, [[0], [1]], meshes=[mesh("atoms", "points", 2, coordinates=[0, 1])])
    for i in range(3):
        nodes.must(i, *[nodes.block(v, (3 + i + rank,), 10 * i + v, rank=rank) for v in range(3) for rank in range(2)])
    nodes.finish()
    done = leat("merge", tmp_path / "n/run.h5", tmp_path / "merged.h5")
    assert done.returncode == 0, done.stderr
    for path in (tmp_path / "n/run.h5", tmp_path / "merged.h5"):
        lists = lists_for_vtk(path)
        assert lists and all(elements == needed for elements, needed, _ in lists.values()), lists
        with h5py.File(path) as file:
            assert len(file["VTKHDF/PointData/m"]) == sum(2 * (3 + i) + 1 for i in range(3))
    readers.expect_copies(tmp_path / "merged.h5", tmp_path)
    readers.expect_nco(tmp_path / "merged.h5", tmp_path)
    readers.expect_copies(tmp_path / "n/run.h5", tmp_path / "n")  # what is copied as a view keeps to the folder of its parts
    readers.expect_nco(tmp_path / "n/run.h5", tmp_path, "--cnk_map=nc4")


def test_what_lacks_in_more_and_more_points_is_fill_value_also_behind_a_server_that_died(tmp_path):
    variables = [variable("x", "f8", ["?n"]), variable("m", "f8", ["?n"], mesh=0)]
    meshes = [mesh("atoms", "points", 1, coordinates=[0])]
    plugin = Plugin(tmp_path, variables, meshes=meshes)
    for step in range(6):  # in every other one, among more points each time: what is in front of the others moves them
        if step in (2, 5):
            plugin.kill()
            plugin = Plugin(tmp_path, variables, meshes=meshes, resumed=1)
        with_it = [plugin.block(1, (2 + 3 * step,), step)] if step % 2 == 0 else []
        plugin.must(step, plugin.block(0, (2 + 3 * step,), 50 + step), *with_it)
        seen = vtk(tmp_path / "run.h5", f"{step}.npz")
        for i in range(step + 1):
            expected = array((2 + 3 * i,), "f8", i) if i % 2 == 0 else np.full(2 + 3 * i, np.nan)
            assert np.array_equal(seen[f"{i}/P/m"], expected, equal_nan=True), (step, i)
    plugin.finish()
