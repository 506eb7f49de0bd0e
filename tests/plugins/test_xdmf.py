# SPDX-License-Identifier: Apache-2.0
"""XDMF sidecars of the hdf5 store, judged by VTK's own reader."""
import json
import random
import sys
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from judges import vtk_says
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits
from nodes import Nodes, leat


def finish(plugin):
    """Ends the run and makes its sidecar; what `leat xdmf` says."""
    plugin.finish()
    done = leat("xdmf", plugin.folder / "run.h5")
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def vtk(path, name="out.npz"):
    """{name: array} of all steps; see xdmf_read.py."""
    out = path.parent / name
    done = vtk_says("xdmf_read.py", path, out, MALLOC_PERTURB_="85")  # what VTK does not set itself is noticed
    assert done.returncode == 0 and "rror" not in done.stderr, done.stdout + done.stderr
    return dict(np.load(out))


def global_block(plugin, number, shape, seed, **more):
    return plugin.block(number, shape, seed, position=[0] * len(shape), **{"global": shape}, **more)


def places(axes):
    """Points of x, y, z, as VTK counts them."""
    grids = np.meshgrid(*reversed(axes), indexing="ij")[::-1]
    found = np.zeros((grids[0].size, 3))
    for i, grid in enumerate(grids):
        found[:, i] = grid.ravel()
    return found


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_uniform_mesh_lies_where_it_is_said_to(tmp_path, dims, steps):
    cells, nodes = (3, 4, 5)[3 - dims:], (4, 5, 6)[3 - dims:]
    names = ["z", "y", "x"][3 - dims:]
    plugin = Plugin(tmp_path, [variable("t", "f8", names, **{"global": 1}, mesh=0),
                               variable("group/p", "i4", names, **{"global": 1}, mesh=0, nodal=1),
                               variable("k", "f4", names, **{"global": 1}, mesh=0, time_varying=0)],
                    meshes=[mesh("box", "uniform", dims, origin=[1., 2., 3.][:dims], spacing=[.5, .25, 2.][:dims])],
                    time_parameter=0)
    for step in range(steps):
        blocks = [global_block(plugin, 0, cells, step), global_block(plugin, 1, nodes, 10 + step)]
        plugin.must(10 * step, *blocks, *([global_block(plugin, 2, cells, 99)] if step == 0 else []),
                    parameters={"time": .1 * step})
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    assert same_bits(seen["time"], np.array([0., .1, .2][:steps]))
    axes = [[1, 2, 3][i] + np.arange(nodes[dims - 1 - i]) * [.5, .25, 2][i] for i in range(dims)]
    for step in range(steps):
        at_nodes, at_cells, centers = f"{step}/", f"{step}/", "C"
        if dims == 2:  # values of cells are points of their own
            at_nodes, at_cells, centers = f"{step}/box nodes/", f"{step}/box centres/", "P"
            assert seen[at_nodes + "image"].tolist() == [[6, 5, 1], [1, 2, 0], [.5, .25, 1]]
            assert seen[at_cells + "image"].tolist() == [[5, 4, 1], [1.25, 2.125, 0], [.5, .25, 1]]
        elif dims == 3:
            assert seen[f"{step}/image"].tolist() == [[6, 5, 4], [1, 2, 3], [.5, .25, 2]]
        else:
            assert same_bits(seen[f"{step}/points"], places(axes))
        assert same_bits(seen[at_cells + centers + "/t"], array(cells, "f8", step).ravel())
        assert same_bits(seen[at_nodes + "P/group_p"], array(nodes, "i4", 10 + step).ravel())
        assert same_bits(seen[at_cells + centers + "/k"], array(cells, "f4", 99).ravel())


@pytest.mark.parametrize("kind", ["rectilinear", "curvilinear"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_structured_meshes(tmp_path, kind, dims):
    nodes = (3, 4, 5)[3 - dims:]
    cells = tuple(n - 1 for n in nodes)
    names = ["z", "y", "x"][3 - dims:]
    axes = [np.linspace(0, 1, n) ** 2 for n in reversed(nodes)]  # x, y, z
    grids = np.meshgrid(*reversed(axes), indexing="ij")[::-1]
    if kind == "curvilinear":
        axes = [g + .1 * np.sin(sum(grids)) for g in grids]
    coordinates = [variable(f"c{i}", "f8", names if kind == "curvilinear" else ["n"], time_varying=0) for i in range(dims)]
    plugin = Plugin(tmp_path, [variable("t", "f4", names, **{"global": 1}, mesh=0),
                               variable("p", "i8", names, **{"global": 1}, mesh=0, nodal=1), *coordinates],
                    meshes=[mesh("m", kind, dims, coordinates=[2 + i for i in range(dims)])])
    for step in range(3):
        blocks = [global_block(plugin, 0, cells, step), global_block(plugin, 1, nodes, 10 + step)]
        plugin.must(step, *blocks, *([plugin.values(2 + i, axes[i]) for i in range(dims)] if step == 0 else []))
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    where = np.zeros((np.prod(nodes), 3))
    for i in range(dims):
        where[:, i] = (axes if kind == "curvilinear" else grids)[i].ravel()
    for step in range(3):
        at_nodes, at_cells, centers = f"{step}/", f"{step}/", "C"
        if (kind, dims) == ("rectilinear", 2):  # values of cells are points of their own
            at_nodes, at_cells, centers = f"{step}/m nodes/", f"{step}/m centres/", "P"
            assert same_bits(seen[at_cells + "points"], places([(a[1:] + a[:-1]) / 2 for a in axes]))
        assert same_bits(seen[at_nodes + "points"], where)
        assert same_bits(seen[at_cells + centers + "/t"], array(cells, "f4", step).ravel())
        assert same_bits(seen[at_nodes + "P/p"], array(nodes, "i8", 10 + step).ravel())
        if dims == 1:
            assert seen[f"{step}/connectivity"].tolist() == [0, 1, 1, 2, 2, 3, 3, 4]


def test_coordinates_of_centres_give_points(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("lon", "f4", ["x"], time_varying=0), variable("lat", "f4", ["y"], time_varying=0)],
                    meshes=[mesh("earth", "rectilinear", 2, coordinates=[1, 2])])
    plugin.must(0, global_block(plugin, 0, (3, 4), 1), plugin.values(1, [0, 10, 20, 40]), plugin.values(2, [-50, 0, 50]))
    plugin.must(1, global_block(plugin, 0, (3, 4), 2))
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    assert same_bits(seen["1/P/t"], array((3, 4), "f8", 2).ravel())
    assert np.array_equal(seen["0/points"], places([[0, 10, 20, 40], [-50, 0, 50]]))


@pytest.mark.parametrize("kind", ["rectilinear", "curvilinear"])
def test_a_mesh_may_move(tmp_path, kind):
    curvilinear = kind == "curvilinear"
    dims = (["y", "x"], ["y", "x"]) if curvilinear else (["i"], ["j"])
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("x", "f8", dims[0]), variable("y", "f4", dims[1])],
                    meshes=[mesh("m", kind, 2, coordinates=[1, 2])])
    y, x = np.meshgrid(np.arange(3.), np.arange(4.), indexing="ij") if curvilinear else (np.arange(3.), np.arange(4.))
    shape = (2, 3) if curvilinear else (3, 4)
    for step in range(4):
        moved = [] if step == 2 else [plugin.values(1, x + step), plugin.values(2, y * (1 + step))]
        plugin.must(step, global_block(plugin, 0, shape, step), *moved)
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    for step, of in enumerate([0, 1, 1, 3]):  # it stays where it is in the third
        at = np.stack([(x + of).ravel(), (y * (1 + of)).ravel(), np.zeros(12)], 1) if curvilinear else places([x + of, y * (1 + of)])
        assert np.array_equal(seen[f"{step}/points"], at)
        assert same_bits(seen[f"{step}/{'C' if curvilinear else 'P'}/t"], array(shape, "f8", step).ravel())


# VTK's number of each shape that XDMF has too, and the points of a cell.
SHAPES = {1: 1, 3: 2, 4: 3, 5: 3, 7: 5, 9: 4, 10: 4, 12: 8, 13: 6, 14: 5, 21: 3, 22: 6, 23: 8, 24: 10, 25: 20, 26: 15, 27: 13}


@pytest.mark.parametrize("shape", SHAPES)
def test_cells_of_each_shape(tmp_path, shape):
    ids = SHAPES[shape]
    flat = shape not in (4, 7)  # as a list, or with a dimension of the points of a cell
    plugin = Plugin(tmp_path, [variable("p", "f8", ["?n", "xyz"], time_varying=0),
                               variable("c", "i4", ["?ids"] if flat else ["?cells", "k"], time_varying=0),
                               variable("s", "f8", ["?cells"], mesh=0)],
                    meshes=[mesh("m", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=shape)])
    cells = np.array([np.arange(ids), np.arange(ids) + 2])
    points = np.random.default_rng(shape).random((ids + 2, 3))
    plugin.must(0, plugin.values(0, points), plugin.values(1, cells.ravel() if flat else cells), plugin.block(2, (2,), 5))
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    block = "0/" if "0/kind" in seen else "0/rank 0/"
    # Readers call a cell of one point, or a line of two, by the name of those that may have more.
    assert seen[block + "types"].tolist() == [{1: 2, 3: 4}.get(shape, shape)] * 2
    assert seen[block + "connectivity"].tolist() == cells.ravel().tolist()
    assert same_bits(seen[block + "points"], points) and same_bits(seen[block + "C/s"], array((2,), "f8", 5))


@pytest.mark.parametrize("moving", [0, 1])
def test_cells_of_several_ranks_are_a_grid_each(tmp_path, moving):
    still = {} if moving else {"time_varying": 0}
    plugin = Plugin(tmp_path, [variable("p", "f4", ["?n", "xyz"], **still), variable("c", "i8", ["?cells", "k"], **still),
                               variable("s", "f8", ["?cells"], mesh=0), variable("v", "f4", ["?n", "xyz"], mesh=0, nodal=1)],
                    ranks=2, meshes=[mesh("tets", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=10)])
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], "f4")
    cells = {0: [[0, 1, 2, 3], [1, 2, 3, 4]], 1: [[0, 1, 2, 4]]}
    for step in range(3):
        grid = [plugin.values(0, corners + r + step * moving, rank=r) for r in (0, 1)] + \
               [plugin.values(1, cells[r], rank=r) for r in (0, 1)]
        plugin.must(step, *(grid if moving or step == 0 else []),
                    *[plugin.block(2, (len(cells[r]),), 10 * step + r, rank=r) for r in (0, 1) if (r, step) != (1, 2)],
                    *[plugin.block(3, (5, 3), 50 + 10 * step + r, rank=r) for r in (0, 1)])
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    for step in range(3):
        for r in (0, 1):
            at = f"{step}/rank {r}/"
            assert seen[at + "types"].tolist() == [10] * len(cells[r])
            assert seen[at + "connectivity"].tolist() == np.ravel(cells[r]).tolist()
            assert same_bits(seen[at + "points"], corners + np.float32(r + step * moving))
            assert same_bits(seen[at + "P/v"], array((5, 3), "f4", 50 + 10 * step + r))
            if step < 2:
                assert same_bits(seen[at + "C/s"], array((len(cells[r]),), "f8", 10 * step + r))
            else:  # one rank's are missing: none is taken for the mesh's, nor any of the step before
                assert at + "C/s" not in seen


@pytest.mark.parametrize("form", ["together", "axes", "flat", "line"])
def test_particles_come_and_go(tmp_path, form):
    dims = {"together": 3, "axes": 3, "flat": 2, "line": 1}[form]
    where = [variable("xyz", "f4", ["?n", "c"])] if form == "together" else [variable(c, "f8", ["?n"]) for c in "xyz"[:dims]]
    count = len(where)
    plugin = Plugin(tmp_path, where + [variable("m", "i4", ["?n"], mesh=0), variable("f", "f8", ["?n", "c"], mesh=0)], ranks=2,
                    meshes=[mesh("atoms", "points", dims, coordinates=list(range(count)))])
    sizes = [{0: 3, 1: 2}, {0: 0, 1: 4}, {}, {0: 1, 1: 1}, {0: 0, 1: 0}, {0: 2}]
    for step, of in enumerate(sizes):
        blocks = [plugin.values(i, np.arange(n * (3 if count == 1 and dims == 3 else 1)).reshape((n, 3) if form == "together" else (n,))
                                + 100 * step + 10 * r + i, rank=r) for i in range(count) for r, n in of.items()]
        fields = [plugin.block(count, (n,), 10 * step + r, rank=r) for r, n in of.items()]
        rare = [plugin.block(count + 1, (n, 3), 50 + r, rank=r) for r, n in of.items() if step == 3]
        plugin.must(step, *blocks, *fields, *rare)
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    assert seen["time"].tolist() == [0, 1, 3, 4, 5], "nothing of the mesh was written in iteration 2"
    for step, row in enumerate([0, 1, 3, 4, 5]):
        of = {r: n for r, n in sizes[row].items() if n > 0}
        if not of:
            assert seen[f"{step}/counts"].tolist() == [1, 0], "a point that no cell shows"
            continue
        assert seen[f"{step}/counts"].tolist() == [sum(of.values())] * 2
        at = [np.arange(n * 3).reshape(n, 3) + 100 * row + 10 * r if form == "together" else
              np.stack([(np.arange(n) + 100 * row + 10 * r + i) * (i < dims) for i in range(3)], 1) for r, n in of.items()]
        assert np.array_equal(seen[f"{step}/points"], np.concatenate(at))
        assert same_bits(seen[f"{step}/P/m"], np.concatenate([array((n,), "i4", 10 * row + r) for r, n in of.items()]))
        assert (f"{step}/P/f" in seen) == (row == 3)
    assert same_bits(seen["2/P/f"], np.concatenate([array((1, 3), "f8", 50), array((1, 3), "f8", 51)]))


def test_fewer_particles_than_iterations(tmp_path):
    plugin = Plugin(tmp_path, [variable("x", "f8", ["?n"]), variable("m", "f8", ["?n"], mesh=0)],
                    meshes=[mesh("atoms", "points", 1, coordinates=[0])])
    sizes = [0, 1, 0, 0, 2, 0]
    for step, n in enumerate(sizes):
        plugin.must(step, plugin.block(0, (n,), step), plugin.block(1, (n,), 10 + step))
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    # A step without particles has a point, and no cell that would show it.
    assert [seen[f"{step}/counts"].tolist() for step in range(6)] == [[max(1, n), n] for n in sizes]


@pytest.mark.parametrize("kind", ["points", "curvilinear"])
def test_coordinates_of_several_types_lose_nothing(tmp_path, kind):
    dims = ["?n"] if kind == "points" else ["z", "y", "x"]
    shape = (24,) if kind == "points" else (2, 3, 4)
    more = {} if kind == "points" else {"global": 1, "nodal": 1}
    plugin = Plugin(tmp_path, [variable("x", "f4", dims), variable("y", "f8", dims), variable("z", "i4", dims),
                               variable("t", "f8", dims, mesh=0, **more)], meshes=[mesh("m", kind, 3, coordinates=[0, 1, 2])])
    rng = np.random.default_rng(3)
    at = [rng.random(shape, "f4"), rng.random(shape), rng.integers(-2 ** 31, 2 ** 31, shape).astype("i4")]
    place = {"position": [0] * 3, "global": shape} if more else {}
    plugin.must(0, *[plugin.values(i, at[i]) for i in range(3)], plugin.block(3, shape, 1, **place))
    finish(plugin)
    assert same_bits(vtk(tmp_path / "run.xmf")["0/points"], np.stack([a.ravel().astype("f8") for a in at], 1))


def test_particles_of_ranks_that_have_as_many_each(tmp_path):
    plugin = Plugin(tmp_path, [variable(c, "f8", ["n"]) for c in "xy"] + [variable("m", "f8", ["n"], mesh=0)], ranks=3,
                    meshes=[mesh("atoms", "points", 2, coordinates=[0, 1])])
    for step in range(2):
        plugin.must(step, *[plugin.block(i, (4,), 10 * step + 3 * i + r, rank=r) for i in range(3) for r in range(3)])
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    for step in range(2):
        of = [np.concatenate([array((4,), "f8", 10 * step + 3 * i + r) for r in range(3)]) for i in range(3)]
        assert same_bits(seen[f"{step}/points"], np.stack([of[0], of[1], np.zeros(12)], 1))
        assert same_bits(seen[f"{step}/P/m"], of[2])


TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def test_each_type_and_number_of_components(tmp_path):
    columns = {1: ["?n"], 2: ["?n", "c"], 3: ["?n", "c"], 4: ["?n", "c"], 6: ["?n", "c"], 9: ["?n", "c", "d"], 12: ["?n", "c", "d"]}
    shapes = {1: (5,), 2: (5, 2), 3: (5, 3), 4: (5, 4), 6: (5, 6), 9: (5, 3, 3), 12: (5, 4, 3)}
    cases = [(t, k) for t in TYPES for k in columns]
    plugin = Plugin(tmp_path, [variable("x", "f8", ["?n"])] + [variable(f"{t}_{k}", t, columns[k], mesh=0) for t, k in cases],
                    meshes=[mesh("atoms", "points", 1, coordinates=[0])])
    plugin.must(0, plugin.block(0, (5,), 1), *[plugin.block(1 + i, shapes[k], 10 + i) for i, (t, k) in enumerate(cases)])
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    for i, (t, k) in enumerate(cases):
        wanted = array((5, k) if k > 1 else (5,), t, 10 + i)
        if k == 2 and t not in ("i8", "u8"):  # drawn as arrows
            wanted = np.concatenate([wanted, np.zeros((5, 1), t)], 1)
        if t == "u8":  # readers know no such
            wanted = np.minimum(wanted, 2 ** 63 - 1).astype("i8")
        assert same_bits(seen[f"0/P/{t}_{k}"].astype(wanted.dtype), wanted) and seen[f"0/P/{t}_{k}"].itemsize == wanted.itemsize, (t, k)


def test_several_blocks_of_one_rank_are_a_grid_each(tmp_path):
    plugin = Plugin(tmp_path, [variable("p", "f8", ["?n", "xyz"]), variable("c", "i8", ["?cells", "k"]),
                               variable("s", "f8", ["?cells"], mesh=0)],
                    meshes=[mesh("m", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=5)])
    points = np.arange(9.).reshape(3, 3)
    for step in range(2):
        plugin.must(step, *[plugin.values(0, points + b, block=b) for b in (0, 1)],
                    *[plugin.values(1, [[0, 2, 1]], block=b) for b in (0, 1)],
                    *[plugin.block(2, (1,), 10 * step + b, block=b) for b in (0, 1)])
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    for step in range(2):
        for b, name in enumerate(["rank 0", "rank 0 block 1"]):
            assert same_bits(seen[f"{step}/{name}/points"], points + b)
            assert same_bits(seen[f"{step}/{name}/C/s"], array((1,), "f8", 10 * step + b))


def test_an_unstructured_mesh_may_be_away(tmp_path):
    plugin = Plugin(tmp_path, [variable("p", "f8", ["?n", "xyz"]), variable("c", "i8", ["?cells", "k"]),
                               variable("s", "f8", ["?cells"], mesh=0)],
                    meshes=[mesh("m", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=5)])
    points = np.arange(9.).reshape(3, 3)
    for step in range(4):
        n = step % 2  # without cells, and with one
        plugin.must(step, plugin.values(0, points), plugin.values(1, np.arange(3 * n).reshape(n, 3)), plugin.block(2, (n,), step))
    finish(plugin)
    seen = vtk(tmp_path / "run.xmf")
    assert seen["time"].tolist() == [0, 1, 2, 3]
    assert [seen[f"{step}/counts"].tolist() for step in range(4)] == [[1, 0], [3, 1]] * 2
    for step in (1, 3):
        assert same_bits(seen[f"{step}/points"], points) and same_bits(seen[f"{step}/C/s"], array((1,), "f8", step))


def several(folder, **more):
    return Plugin(folder, [variable("x", "f8", ["?n"]), variable("y", "f8", ["?n"]), variable("m", "f8", ["?n"], mesh=0),
                           variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=1),
                           variable("lon", "f8", ["i"], time_varying=0), variable("u", "f8", ["i"], **{"global": 1}, mesh=2)],
                  meshes=[mesh("atoms", "points", 2, coordinates=[0, 1]), mesh("a plate", "uniform", 2, spacing=[1., 1.]),
                          mesh("line", "rectilinear", 1, coordinates=[4])], **more)


def write_several(plugin, step):
    n = 2 + step
    line = [global_block(plugin, 5, (4,), 40 + step)] if step >= 2 else []
    first = [plugin.values(4, [0, 1, 4, 9])] if step == 2 else []
    plugin.must(step, *[plugin.block(i, (n,), 10 * i + step) for i in range(3)], global_block(plugin, 3, (3, 4), 30 + step),
                *first, *line)


def expect_several(seen, steps):
    assert seen["time"].tolist() == list(range(steps))
    for step in range(steps):
        assert same_bits(seen[f"{step}/atoms/P/m"], array((2 + step,), "f8", 20 + step))
        assert same_bits(seen[f"{step}/a plate/P/t"], array((3, 4), "f8", 30 + step).ravel())
        if steps > 2 and step >= 2:
            assert same_bits(seen[f"{step}/line/P/u"], array((4,), "f8", 40 + step))
        elif steps > 2:
            assert np.isnan(seen[f"{step}/line/P/u"]).all() and len(seen[f"{step}/line/P/u"]) == 4


@pytest.mark.parametrize("steps", [1, 4])
def test_several_meshes_are_a_collection(tmp_path, steps):
    plugin = several(tmp_path)
    for step in range(steps):
        write_several(plugin, step)
    finish(plugin)
    expect_several(vtk(tmp_path / "run.xmf"), steps)


def test_times_that_readers_cannot_tell_apart(tmp_path):
    for name, times in (("same", [0., 1., 1.]), ("near", [0., 1e-17, 2e-17]), ("none", [None, None, None]),
                        ("odd", [5., float("nan"), 7.]), ("good", [.1, .2, .7])):
        (tmp_path / name).mkdir()
        plugin = Plugin(tmp_path / name, [variable("t", "f8", ["x"], **{"global": 1}, mesh=0)], time_parameter=0,
                        meshes=[mesh("m", "uniform", 1, spacing=[1.])])
        for step, at in enumerate(times):
            plugin.must(10 * step, global_block(plugin, 0, (4,), step), parameters={"time": at} if at == at else {})
        said = finish(plugin)
        seen = vtk(tmp_path / name / "run.xmf")
        assert seen["time"].tolist() == (times if name == "good" else [0, 10, 20]), name
        assert ("numbers of iterations stand for them" in said) == (name in ("same", "near", "odd"))


def test_what_xdmf_cannot_say_is_left_out_and_said(tmp_path):
    mixed = [variable("px", "f8", ["?n"], time_varying=0), variable("c", "i4", ["?ids"], time_varying=0),
             variable("o", "i4", ["?ends"], time_varying=0), variable("k", "u1", ["?cells"], time_varying=0),
             variable("s", "f8", ["?cells"], mesh=1)]
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("z", "c16", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("face", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("a:b", "f8", ["y", "x"], **{"global": 1}, mesh=0)] + mixed,
                    meshes=[mesh("plate", "uniform", 2, spacing=[1., 1.]),
                            mesh("body", "unstructured", 1, coordinates=[4], connectivity=5, offsets=6, types=7)])
    for step in range(2):
        plugin.must(step, global_block(plugin, 0, (3, 4), 1), global_block(plugin, 1, (3, 4), 2), global_block(plugin, 2, (3, 5), 3),
                    global_block(plugin, 3, (3, 4), 3),
                    *([plugin.values(4, [0, 1, 2]), plugin.values(5, [0, 1, 2]), plugin.values(6, [0, 2, 3]),
                       plugin.values(7, [3, 1])] if step == 0 else []), plugin.block(8, (2,), 4))
    said = [line for line in finish(plugin).splitlines() if line.startswith("  without the ")]
    assert len(said) == 4
    for part in ('"z": VTK has no complex numbers', '"face": its shape (3, 5) is neither', '"a:b": its name has a ":"',
                 'mesh "body": XDMF wants the shape of each cell'):
        assert sum(part in line for line in said) == 1, (part, said)
    seen = vtk(tmp_path / "run.xmf")
    assert same_bits(seen["1/P/t"], array((3, 4), "f8", 1).ravel()) and "1/P/face" not in seen and "1/body/counts" not in seen


def references(path):
    """Names of HDF5 files in a sidecar, and its number of steps."""
    root = xml.parse(path).getroot()
    names = {item.text.split(":/")[0] for item in root.iter("DataItem") if item.get("Format") == "HDF"}
    return names, len(root.find("Domain/Grid"))


def test_the_sidecar_can_be_made_while_the_run_goes_on(tmp_path):
    plugin = several(tmp_path)
    for step in range(3):
        write_several(plugin, step)
        assert leat("xdmf", tmp_path / "run.h5").returncode == 0
        assert references(tmp_path / "run.xmf") == ({"run.h5"}, step + 1)
        expect_several(vtk(tmp_path / "run.xmf"), step + 1)
    plugin.kill()
    assert leat("xdmf", tmp_path / "run.h5").returncode == 0
    expect_several(vtk(tmp_path / "run.xmf"), 3)
    assert not list(tmp_path.glob(".run.xmf*"))


def test_visit_finds_steps_and_times_while_the_file_grows(tmp_path):
    """Where VisIt's reader looks for them, and by the name of the first step for the mesh; source: visit-dav/visit 3.4,
    databases/Xdmf/avtXdmfFileFormat.C, its constructor and SetCurrentGrid(). The values are read by VTK."""
    plugin = Plugin(tmp_path, [variable("t", "f8", ["z", "y", "x"], **{"global": 1}, mesh=0)], time_parameter=0,
                    meshes=[mesh("box", "uniform", 3, spacing=[1., 1., 1.])])
    for step in range(4):
        plugin.must(10 * step, global_block(plugin, 0, (3, 4, 5), step), parameters={"time": .25 * step})
        assert leat("xdmf", tmp_path / "run.h5").returncode == 0
        root = xml.parse(tmp_path / "run.xmf").getroot()
        first = root.find("Domain/Grid")
        assert (first.get("GridType"), first.get("CollectionType"), first.find("Time")) == ("Collection", "Temporal", None)
        assert len(root.findall("Domain/Grid/Grid")) == step + 1
        for number in range(step + 1):
            grid = root.find(f"Domain/Grid/Grid[{number + 1}]")
            assert float(grid.find("Time").get("Value")) == .25 * number and grid.get("Name") == f"box[{10 * number}]"
            assert grid.find("Topology").get("TopologyType") == "3DCoRectMesh" and grid.find("Attribute").get("Name") == "t"
        seen = vtk(tmp_path / "run.xmf")
        assert same_bits(seen[f"{step}/C/t"], array((3, 4, 5), "f8", step).ravel())
    plugin.finish()


def test_a_sidecar_that_cannot_be_made_is_said_with_what_to_do(tmp_path):
    plugin = several(tmp_path)
    for step in range(3):
        write_several(plugin, step)
    plugin.finish()
    (tmp_path / "run.xmf").write_text("something of the user's")
    done = leat("xdmf", tmp_path / "run.h5")
    assert done.returncode == 1 and "run.xmf is there, and is not the sidecar of run.h5: move it away" in done.stderr
    assert (tmp_path / "run.xmf").read_text() == "something of the user's"
    (tmp_path / "run.xmf").unlink()
    (tmp_path / "run.xmf").mkdir()
    assert leat("xdmf", tmp_path / "run.h5").returncode == 1 and not list(tmp_path.glob(".run.xmf*"))
    for name, options in (("empty", {}), ("a:b", {"file": "a:b.h5"})):
        (tmp_path / name).mkdir()
        plugin = Plugin(tmp_path / name, [variable("t", "f8", ["x"], mesh=0 if options else -1)], options=options,
                        meshes=[mesh("m", "uniform", 1, spacing=[1.])])
        plugin.must(0, plugin.block(0, (4,), 1))
        plugin.finish()
        said = leat("xdmf", tmp_path / name / options.get("file", "run.h5")).stderr
        assert ('XDMF cannot refer to a:b.h5: its name has a ":"' if options else "nothing that is on a mesh") in said, said
        assert not list((tmp_path / name).glob("*.xmf"))


def test_nothing_is_written_through_a_link(tmp_path):
    plugin = several(tmp_path)
    write_several(plugin, 0)
    plugin.finish()
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "run.xmf").symlink_to("theirs")
    assert leat("xdmf", tmp_path / "run.h5").returncode == 1
    assert (tmp_path / "theirs").read_text() == "theirs" and (tmp_path / "run.xmf").is_symlink()


def test_several_commands_may_make_one_sidecar_at_once(tmp_path):
    plugin = several(tmp_path)
    for step in range(20):
        write_several(plugin, step)
    plugin.finish()
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda _: leat("xdmf", tmp_path / "run.h5"), range(6)))
    assert [(one.returncode, one.stderr) for one in made] == [(0, "")] * 6
    assert references(tmp_path / "run.xmf") == ({"run.h5"}, 20)
    assert not list(tmp_path.glob(".run.xmf*"))


def test_a_python_without_h5py_says_what_to_install(tmp_path):
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without packages
    (tmp_path / "python").chmod(0o755)
    for interpreter, said in ((tmp_path / "python", "cannot import h5py"),
                              ("nopython", 'no program "nopython": install Python 3 with h5py')):
        done = leat("xdmf", "run.h5", "--interpreter", interpreter, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr.startswith("leat xdmf: ") and said in done.stderr and "--interpreter" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("bytes_", [1, 5, 40])
def test_a_damaged_file_is_no_crash_of_the_command(tmp_path, bytes_):
    """A few that stay; `make soak` has others."""
    plugin = several(tmp_path)
    for step in range(3):
        write_several(plugin, step)
    plugin.finish()
    whole, dice = (tmp_path / "run.h5").read_bytes(), random.Random(bytes_)
    for _ in range(3):
        damaged = bytearray(whole)
        for _ in range(bytes_):
            damaged[dice.randrange(len(whole))] = dice.randrange(256)
        (tmp_path / "run.h5").write_bytes(damaged)
        done = leat("xdmf", tmp_path / "run.h5")
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
        assert (done.returncode == 1) == any(line.startswith("leat xdmf: ") for line in done.stderr.splitlines()), done


def test_leat_xdmf_makes_the_sidecar_of_any_file(tmp_path):
    plugin = several(tmp_path, options={"file": "a&b <c>.h5"})
    for step in range(3):
        write_several(plugin, step)
    plugin.finish()
    other = Plugin(tmp_path, [variable("t", "f8", ["x"], **{"global": 1})], options={"file": "none.h5"})
    other.must(0, global_block(other, 0, (4,), 1))
    other.finish()
    done = leat("xdmf", tmp_path / "a&b <c>.h5")
    assert done.returncode == 0 and done.stdout == f"{tmp_path}/a&b <c>.xmf: 3 steps\n", done.stderr
    expect_several(vtk(tmp_path / "a&b <c>.xmf"), 3)
    done = leat("xdmf", "--json", tmp_path / "none.h5", tmp_path / "no.h5", tmp_path / "a&b <c>.h5")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"sidecar": f"{tmp_path}/a&b <c>.xmf", "steps": 3, "left_out": []}
    assert "none.h5 has nothing that is on a mesh" in done.stderr and "no.h5 cannot be opened" in done.stderr
    assert leat("xdmf").returncode == 2


def expect_same(got, wanted):
    got, wanted = vtk(got), vtk(wanted, "wanted.npz")
    assert sorted(got) == sorted(wanted) and len(wanted) > 8
    for name in wanted:
        assert same_bits(got[name], wanted[name]), name


def write_on_nodes(target, only, step):
    """Of all ranks, or of `only`."""
    blocks = [target.block(i, (2 + r + step,), 100 * i + 10 * step + r, rank=r) for i in range(3) for r in range(4)]
    blocks += [target.block(3, (3, 2), 500 + 10 * step + r, rank=r, position=[0, 2 * r], **{"global": [3, 8]}) for r in range(4)]
    blocks += [target.block(4, (9,), 7, rank=r) for r in range(4) if step == 0]
    blocks += [target.block(5, (2,), 700 + 10 * step + r, rank=r, position=[2 * r], **{"global": [8]}) for r in range(4)]
    target.must(step, *[block for block in sorted(blocks, key=lambda b: (b["variable"], b["rank"])) if block["rank"] in only])


def test_that_of_a_view_shows_what_that_of_one_server_does(tmp_path):
    variables = [variable("x", "f8", ["?n"]), variable("y", "f8", ["?n"]), variable("m", "f8", ["?n"], mesh=0),
                 variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=1), variable("lon", "f8", ["i"], time_varying=0),
                 variable("u", "f8", ["i"], **{"global": 1}, mesh=2)]
    meshes = [mesh("atoms", "points", 2, coordinates=[0, 1]), mesh("a plate", "uniform", 2, spacing=[1., 1.]),
              mesh("line", "rectilinear", 1, coordinates=[4])]
    several_nodes = Nodes(tmp_path / "several", variables, [[0, 2], [1, 3]], simulation="run", meshes=meshes)
    (tmp_path / "one").mkdir()
    one = Plugin(tmp_path / "one", variables, simulation="run", ranks=4, session="s1", meshes=meshes)
    for step in range(3):
        write_on_nodes(several_nodes, range(4), step)
        write_on_nodes(one, range(4), step)
    assert not several_nodes.finish() and not one.finish()
    view = tmp_path / "several/run.h5"
    for path in (view, tmp_path / "one/run.h5"):
        done = leat("xdmf", path)
        assert done.returncode == 0 and done.stdout == f"{path.with_suffix('.xmf')}: 3 steps\n", done
    assert references(view.with_suffix(".xmf")) == ({"run.h5"}, 3)
    expect_same(view.with_suffix(".xmf"), tmp_path / "one/run.xmf")
    done = leat("merge", view, tmp_path / "merged.h5")
    assert done.returncode == 0 and leat("xdmf", tmp_path / "merged.h5").returncode == 0
    expect_same(tmp_path / "merged.xmf", tmp_path / "one/run.xmf")
