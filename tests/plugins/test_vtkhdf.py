# SPDX-License-Identifier: Apache-2.0
"""/VTKHDF in the files of the hdf5 store, judged by VTK's own reader."""
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from judges import environment, vtk_says
from leat_plugin import Plugin, array, mesh, variable
from leat_run import BUILD, same_bits

ROOT = pathlib.Path(__file__).parents[2]


def vtk(path, name="out.npz"):
    """{name: array} of all steps; see vtk_read.py."""
    out = path.parent / name
    done = vtk_says("vtk_read.py", path, out)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(np.load(out))


def global_block(plugin, number, shape, seed, **more):
    return plugin.block(number, shape, seed, position=[0] * len(shape), **{"global": shape}, **more)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_uniform_mesh_is_an_image_with_the_datasets_themselves(tmp_path, dims, steps):
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
                    parameters={"time": .5 * step})
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    assert seen["time"].tolist() == ([0., .5, 1.] if steps > 1 else [])
    for step in range(steps):
        assert seen[f"{step}/kind"] == "vtkImageData"
        whole = [n for n in reversed(nodes)] + [1] * (3 - dims)
        assert seen[f"{step}/image"][0].tolist() == whole
        assert seen[f"{step}/image"][1:, :dims].tolist() == [[1, 2, 3][:dims], [.5, .25, 2][:dims]]
        assert same_bits(seen[f"{step}/C/t"], array(cells, "f8", step).ravel())
        assert same_bits(seen[f"{step}/P/group_p"], array(nodes, "i4", 10 + step).ravel())
        assert same_bits(seen[f"{step}/C/k"], array(cells, "f4", 99).ravel())
    with h5py.File(tmp_path / "run.h5") as file:
        assert steps == 1 or file["VTKHDF/CellData/t"] == file["t"], "the same dataset by another name"


def centres(values):
    return np.asarray(values)[:-1] + .5


@pytest.mark.parametrize("kind", ["rectilinear", "curvilinear"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_structured_meshes_are_cells_between_their_nodes(tmp_path, kind, dims):
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
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    where = np.zeros((np.prod(nodes), 3))
    for i in range(dims):
        where[:, i] = (axes if kind == "curvilinear" else grids)[i].ravel()
    for step in range(3):
        assert same_bits(seen[f"{step}/points"], where)
        assert same_bits(seen[f"{step}/C/t"], array(cells, "f4", step).ravel())
        assert same_bits(seen[f"{step}/P/p"], array(nodes, "i8", 10 + step).ravel())
        assert (seen[f"{step}/types"] == {1: 3, 2: 9, 3: 12}[dims]).all()
        # The corners of each cell are around its centre.
        corners = seen[f"{step}/connectivity"].reshape(len(seen[f"{step}/types"]), -1)
        middle = np.stack([g.ravel()[corners] for g in np.meshgrid(*map(np.arange, nodes), indexing="ij")]).mean(-1)
        expected = np.meshgrid(*[centres(np.arange(n)) for n in nodes], indexing="ij")
        assert np.array_equal(middle, np.stack([e.ravel() for e in expected]))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["VTKHDF/CellData/t"].is_virtual and file["VTKHDF/Types"].shape == (np.prod(cells),)


@pytest.mark.parametrize("kind", ["uniform", "rectilinear"])
def test_an_array_that_outgrows_its_mesh_is_not_shown_any_more(tmp_path, kind):
    """VTK would show a part of it, as if that were all."""
    axes = [variable(name, "f8", [name], time_varying=0) for name in "xy"] if kind == "rectilinear" else []
    where = mesh("plate", "uniform", 2, spacing=[1., 1.]) if kind == "uniform" else mesh("plate", kind, 2, coordinates=[2, 3])
    plugin = Plugin(tmp_path, [variable(name, "f8", ["y", "x"], **{"global": 1}, mesh=0) for name in "tp"] + axes, meshes=[where])
    for step, rows in enumerate((3, 3, 5, 3)):
        once = [plugin.values(2 + i, np.arange(float(n))) for i, n in enumerate((5, 4))] if axes and step == 0 else []
        plugin.must(step, global_block(plugin, 0, (rows, 4), step), global_block(plugin, 1, (3, 4), 10 + step), *once)
    said = plugin.finish()
    assert said.count('variable "t" is not shown any more: its shape has changed') == 1 and '"p"' not in said
    seen = vtk(tmp_path / "run.h5")
    for step in range(4):
        assert same_bits(seen[f"{step}/C/p"].ravel(), array((3, 4), "f8", 10 + step).ravel()) and f"{step}/C/t" not in seen
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["t"][2], array((5, 4), "f8", 2)) and "t" not in file["VTKHDF/CellData"]


def test_coordinates_of_centres_give_points_and_no_invented_cells(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("lon", "f4", ["x"], time_varying=0), variable("lat", "f4", ["y"], time_varying=0)],
                    meshes=[mesh("earth", "rectilinear", 2, coordinates=[1, 2])])
    plugin.must(0, global_block(plugin, 0, (3, 4), 1), plugin.values(1, [0, 10, 20, 40]), plugin.values(2, [-50, 0, 50]))
    plugin.must(1, global_block(plugin, 0, (3, 4), 2))
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    assert same_bits(seen["1/P/t"], array((3, 4), "f8", 2).ravel()) and seen["1/counts"].tolist() == [12, 6]
    assert seen["0/points"][:5].tolist() == [[0, -50, 0], [10, -50, 0], [20, -50, 0], [40, -50, 0], [0, 0, 0]]


def test_a_curvilinear_mesh_may_move(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("x", "f8", ["y", "x"]), variable("y", "f8", ["y", "x"])],
                    meshes=[mesh("m", "curvilinear", 2, coordinates=[1, 2])])
    y, x = np.meshgrid(np.arange(3.), np.arange(4.), indexing="ij")
    for step in range(4):
        moved = [] if step == 2 else [plugin.values(1, x + step), plugin.values(2, y * (1 + step))]
        plugin.must(step, global_block(plugin, 0, (2, 3), step), *moved)
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    for step, of in enumerate([0, 1, 1, 3]):  # it stays where it is in the third
        expected = np.stack([(x + of).ravel(), (y * (1 + of)).ravel(), np.zeros(12)], 1)
        assert same_bits(seen[f"{step}/points"], expected)
        assert same_bits(seen[f"{step}/C/t"], array((2, 3), "f8", step).ravel())


# Two blocks of mixed cells: a triangle and a quad; a quad.
MIXED = {0: dict(x=[0, 1, 1, 0, 2], y=[0, 0, 1, 1, .5], c=[1, 4, 2, 0, 1, 2, 3], o=[0, 3, 7], t=[5, 9]),
         1: dict(x=[5, 6, 6, 5], y=[0, 0, 1, 1], c=[0, 1, 2, 3], o=[0, 4], t=[9])}


def mixed_variables(moving, types="u1"):
    still = {} if moving else {"time_varying": 0}
    return [variable("x", "f8", ["?n"], **still), variable("y", "f8", ["?n"], **still),
            variable("c", "i4", ["?ids"], **still), variable("o", "i8", ["?ends"], **still),
            variable("kinds", types, ["?cells"], **still), variable("p", "f8", ["?cells"], mesh=0),
            variable("v", "f4", ["?n", "xyz"], mesh=0, nodal=1)]


def mixed_blocks(plugin, ranks, shift=0.):
    return [plugin.values(i, np.array(MIXED[r][name]) + (shift if name == "x" else 0), rank=r)
            for i, name in enumerate("xycot") for r in ranks]


MIXED_MESH = [mesh("mixed", "unstructured", 2, coordinates=[0, 1], connectivity=2, offsets=3, types=4)]


def field_blocks(plugin, step, ranks):
    return [plugin.block(5, (len(MIXED[r]["t"]),), 10 * step + r, rank=r) for r in ranks] + \
           [plugin.block(6, (len(MIXED[r]["x"]), 3), 100 + 10 * step + r, rank=r) for r in ranks]


def expect_mixed(seen, step, ranks, shift=0.):
    points = np.concatenate([np.stack([np.array(MIXED[r]["x"]) + shift, MIXED[r]["y"], np.zeros(len(MIXED[r]["x"]))], 1)
                             for r in ranks])
    assert same_bits(seen[f"{step}/points"], points)
    assert seen[f"{step}/types"].tolist() == [t for r in ranks for t in MIXED[r]["t"]]
    begin = np.cumsum([0] + [len(MIXED[r]["x"]) for r in ranks])
    assert seen[f"{step}/connectivity"].tolist() == [c + b for r, b in zip(ranks, begin) for c in MIXED[r]["c"]]


@pytest.mark.parametrize("types", ["u1", "i4"])
def test_an_unstructured_mesh_of_several_ranks_is_stored_once(tmp_path, types):
    plugin = Plugin(tmp_path, mixed_variables(False, types), meshes=MIXED_MESH, ranks=2)
    for step in range(3):
        plugin.must(step, *(mixed_blocks(plugin, [0, 1]) if step == 0 else []), *field_blocks(plugin, step, [0, 1]))
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    for step in range(3):
        expect_mixed(seen, step, [0, 1])
        assert same_bits(seen[f"{step}/C/p"], np.concatenate([array((2,), "f8", 10 * step), array((1,), "f8", 10 * step + 1)]))
        assert same_bits(seen[f"{step}/P/v"], np.concatenate([array((5, 3), "f4", 100 + 10 * step),
                                                              array((4, 3), "f4", 101 + 10 * step)]))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["VTKHDF/NumberOfPoints"][:].tolist() == [5, 4], "one part for each block, once"


def test_an_unstructured_mesh_may_change_and_be_away(tmp_path):
    plugin = Plugin(tmp_path, mixed_variables(True) + [variable("more", "f8", ["x"], **{"global": 1}, mesh=0)],
                    meshes=MIXED_MESH, ranks=2)
    ranks = [[0, 1], [1], [], [1, 0], [0]]
    for step, of in enumerate(ranks):
        fields = field_blocks(plugin, step, sorted(of)) if step != 3 else field_blocks(plugin, step, [0])
        plugin.must(step, *mixed_blocks(plugin, sorted(of), step), *fields, global_block(plugin, 7, (2,), 0))
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    for step, of in enumerate(ranks):
        if not of:
            assert seen[f"{step}/counts"].tolist() == [0, 0]
            continue
        expect_mixed(seen, step, sorted(of), step)
        if step == 3:  # half of the field is missing: none of it is taken for the mesh's
            assert np.isnan(seen["3/C/p"]).all() and len(seen["3/C/p"]) == 3 and np.isnan(seen["3/P/v"]).all()
        else:
            assert same_bits(seen[f"{step}/C/p"], np.concatenate(
                [array((len(MIXED[r]["t"]),), "f8", 10 * step + r) for r in sorted(of)]))


@pytest.mark.parametrize("moving", [0, 1])
def test_cells_of_one_shape_need_no_offsets_and_types(tmp_path, moving):
    still = {} if moving else {"time_varying": 0}
    plugin = Plugin(tmp_path, [variable("p", "f8", ["?n", "xyz"], **still), variable("c", "i8", ["?cells", "k"], **still),
                               variable("s", "f8", ["?cells"], mesh=0)], ranks=2,
                    meshes=[mesh("tets", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=10)])
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], float)
    cells = {0: [[0, 1, 2, 3], [1, 2, 3, 4]], 1: [[0, 1, 2, 3]]}
    for step in range(3):
        grid = [plugin.values(0, corners + r + step * moving, rank=r) for r in (0, 1)] + \
               [plugin.values(1, cells[r], rank=r) for r in (0, 1)]
        plugin.must(step, *(grid if moving or step == 0 else []),
                    *[plugin.block(2, (len(cells[r]),), 10 * step + r, rank=r) for r in (0, 1)])
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    for step in range(3):
        assert seen[f"{step}/types"].tolist() == [10] * 3
        assert seen[f"{step}/connectivity"].tolist() == [0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8]
        assert same_bits(seen[f"{step}/points"], np.concatenate([corners + step * moving, corners + 1 + step * moving]))
        assert same_bits(seen[f"{step}/C/s"], np.concatenate([array((2,), "f8", 10 * step), array((1,), "f8", 10 * step + 1)]))


@pytest.mark.parametrize("together", [False, True])
def test_particles_come_and_go(tmp_path, together):
    where = [variable("xyz", "f4", ["?n", "c"])] if together else [variable(c, "f8", ["?n"]) for c in "xyz"]
    count = len(where)
    plugin = Plugin(tmp_path, where + [variable("m", "i4", ["?n"], mesh=0), variable("f", "f8", ["?n", "c"], mesh=0)], ranks=2,
                    meshes=[mesh("atoms", "points", 3, coordinates=list(range(count)))])
    sizes = [{0: 3, 1: 2}, {0: 0, 1: 4}, {}, {0: 1, 1: 1}]
    for step, of in enumerate(sizes):
        blocks = [plugin.values(i, np.arange(n * (3 if together else 1)).reshape((n, 3) if together else (n,))
                                + 100 * step + 10 * r + i, rank=r) for i in range(count) for r, n in of.items()]
        fields = [plugin.block(count, (n,), 10 * step + r, rank=r) for r, n in of.items()]
        rare = [plugin.block(count + 1, (n, 3), 50 + r, rank=r) for r, n in of.items() if step == 3]
        plugin.must(step, *blocks, *fields, *rare)
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    assert seen["time"].tolist() == [0, 1, 3], "nothing of the mesh was written in iteration 2"
    for step, row in enumerate([0, 1, 3]):
        of = sizes[row]
        assert seen[f"{step}/counts"].tolist() == [sum(of.values())] * 2
        expected = [np.arange(n * 3).reshape(n, 3) + 100 * row + 10 * r if together else
                    np.stack([np.arange(n) + 100 * row + 10 * r + i for i in range(3)], 1) for r, n in of.items()]
        assert np.array_equal(seen[f"{step}/points"], np.concatenate(expected))
        assert same_bits(seen[f"{step}/P/m"], np.concatenate([array((n,), "i4", 10 * row + r) for r, n in of.items()]))
    assert same_bits(seen["2/P/f"], np.concatenate([array((1, 3), "f8", 50), array((1, 3), "f8", 51)]))
    assert np.isnan(seen["0/P/f"]).all() and seen["0/P/f"].shape == (5, 3)


def test_particles_of_ranks_that_have_as_many_each(tmp_path):
    plugin = Plugin(tmp_path, [variable(c, "f8", ["n"]) for c in "xy"] + [variable("m", "f8", ["n"], mesh=0)], ranks=3,
                    meshes=[mesh("atoms", "points", 2, coordinates=[0, 1])])
    for step in range(2):
        plugin.must(step, *[plugin.block(i, (4,), 10 * step + 3 * i + r, rank=r) for i in range(3) for r in range(3)])
    plugin.finish()
    seen = vtk(tmp_path / "run.h5")
    for step in range(2):
        of = [np.concatenate([array((4,), "f8", 10 * step + 3 * i + r) for r in range(3)]) for i in range(3)]
        assert same_bits(seen[f"{step}/points"], np.stack([of[0], of[1], np.zeros(12)], 1))
        assert same_bits(seen[f"{step}/P/m"], of[2])


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
    assert seen["time"].tolist() == (list(range(steps)) if steps > 1 else [])
    for step in range(steps):
        assert same_bits(seen[f"{step}/atoms/P/m"], array((2 + step,), "f8", 20 + step))
        assert same_bits(seen[f"{step}/a_plate/C/t"], array((3, 4), "f8", 30 + step).ravel())
        if steps > 2 and step >= 2:
            assert same_bits(seen[f"{step}/line/P/u"], array((4,), "f8", 40 + step))
        elif steps > 2:
            assert np.isnan(seen[f"{step}/line/P/u"]).all() and len(seen[f"{step}/line/P/u"]) == 4


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_several_meshes_are_a_collection_with_the_same_steps(tmp_path, steps):
    plugin = several(tmp_path)
    for step in range(steps):
        write_several(plugin, step)
    plugin.finish()
    expect_several(vtk(tmp_path / "run.h5"), steps)


def test_the_file_shows_each_step_while_it_grows_and_a_killed_run_goes_on(tmp_path):
    plugin = several(tmp_path)
    for step in range(5):
        if step in (1, 3):
            plugin.kill()
            plugin = several(tmp_path, resumed=1)
            assert not plugin.opened
        write_several(plugin, step)
        expect_several(vtk(tmp_path / "run.h5", f"{step}.npz"), step + 1)
    plugin.finish()
    expect_several(vtk(tmp_path / "run.h5"), 5)


def test_what_cannot_be_shown_is_left_out_and_said(tmp_path):
    plugin = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("z", "c16", ["y", "x"], **{"global": 1}, mesh=0),
                               variable("face", "f8", ["y", "x"], **{"global": 1}, mesh=0)],
                    meshes=[mesh("plate", "uniform", 2, spacing=[1., 1.])], infos=1)
    for step in range(2):
        plugin.must(step, global_block(plugin, 0, (3, 4), 1), global_block(plugin, 1, (3, 4), 2),
                    global_block(plugin, 2, (3, 5), 3))
    said = plugin.finish()
    assert 'variable "z" is not shown: VTK has no complex numbers' in said
    assert 'variable "face" is not shown: it has values for (3, 5) cells, and others on the mesh for (3, 4)' in said
    assert said.count("is not shown") == 2
    with h5py.File(tmp_path / "run.h5") as file:
        assert list(file["VTKHDF/CellData"]) == ["t"] and "face" in file


def test_nothing_is_made_without_a_mesh_and_in_the_part_of_one_of_several_servers(tmp_path):
    for name, pattern, more in (("none", "run.h5", {}), ("view", "run.parts/*/rank*.h5", {"node_ranks": 1, "ranks": 2})):
        (tmp_path / name).mkdir()
        plugin = Plugin(tmp_path / name, [variable("t", "f8", ["x"], **{"global": 1}, mesh=0 if more else -1)],
                        meshes=[mesh("m", "uniform", 1, spacing=[1.])] if more else [], **more)
        plugin.must(0, global_block(plugin, 0, (4,), 1))
        plugin.finish()
        file = next((tmp_path / name).glob(pattern))
        with h5py.File(file) as opened:
            assert "VTKHDF" not in opened


def test_the_python_of_the_how_to_reads_a_file(tmp_path):
    plugin = Plugin(tmp_path, [variable("temperature", "f8", ["y", "x"], **{"global": 1}, mesh=0)], time_parameter=0,
                    meshes=[mesh("plate", "uniform", 2, spacing=[.1, .1])], options={"file": "run.vtkhdf"})
    for step in range(3):
        plugin.must(step, global_block(plugin, 0, (3, 4), step), parameters={"time": .5 * step})
    page = (ROOT / "docs/how-to/paraview.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.S)[1] + "\nimport numpy; numpy.save('seen.npy', temperature)\n"
    subprocess.run([environment() / "bin/python", "-c", code], cwd=tmp_path, check=True)  # while the run goes on
    plugin.finish()
    assert same_bits(np.load(tmp_path / "seen.npy"), array((3, 4), "f8", 1).ravel())


def rows_and_steps(path):
    """Rows of the file, of which VTK sees each, and no more."""
    with h5py.File(path) as file:
        rows = len(file["iteration"])
        if "VTKHDF" not in file:
            return rows, 0
        for name in ("atoms", "a_plate"):
            if name in file["VTKHDF"]:
                steps = file[f"VTKHDF/{name}/Steps"]
                assert steps.attrs["NSteps"] == len(steps["Values"]) == len(steps["leat_row"]) == rows
        return rows, file["VTKHDF/Steps"].attrs["NSteps"]


def killed_at(folder, number):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        plugin = several(folder, wrapper=["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                                          f"inject=pwrite64:signal=KILL:when={number}"])
        for step in range(4):
            write_several(plugin, step)
        plugin.finish()
        return False
    except (AssertionError, OSError, ValueError):
        return True


def test_killed_at_any_write_vtk_sees_the_iterations_that_are_in_the_file(tmp_path):
    seen, number = set(), 1
    while killed_at(tmp_path / "run", number):
        path = tmp_path / "run/run.h5"
        if path.exists():
            done = subprocess.run([BUILD / "bin/leat", "recover", path], capture_output=True, text=True)
            assert done.returncode == 0, (number, done.stderr)
            rows, steps = rows_and_steps(path)
            assert rows == steps, number
            if rows not in seen and rows > 0:  # VTK takes a second to start
                expect_several(vtk(path), rows)
            seen.add(rows)
        number += 5
    assert seen == {0, 1, 2, 3, 4}


def test_a_mesh_is_shown_alone_till_another_one_comes(tmp_path):
    variables = [variable("a", "f8", ["y", "x"], mesh=0, **{"global": 1}), variable("b", "f8", ["y", "x"], mesh=1, **{"global": 1})]
    meshes = [mesh(name, "uniform", 2, origin=[0., 0.], spacing=[1., 1.]) for name in ("first", "second")]
    plugin = Plugin(tmp_path, variables, meshes=meshes)
    for step in range(5):
        if step == 3:  # and a server that goes on takes it up as it is
            plugin.kill()
            plugin = Plugin(tmp_path, variables, meshes=meshes, resumed=1)
        plugin.must(step, *(global_block(plugin, number, (2, 3), 10 * step + number) for number in range(1 + (step > 1))))
        if step == 1:
            with h5py.File(tmp_path / "run.h5") as file:
                assert file["VTKHDF"].attrs["Type"] == b"ImageData" and "CellData" in file["VTKHDF"]
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["VTKHDF"].attrs["Type"] == b"MultiBlockDataSet" and "VTKHDF_" not in file
        assert list(file["VTKHDF/Assembly"]) == ["first", "second"] and "CellData" in file["VTKHDF/first"]
        assert set(file["VTKHDF/Steps"].attrs) == {"NSteps", "Type", "Version"} and not list(file["VTKHDF/Steps"])
    seen = vtk(tmp_path / "run.h5")
    assert seen["time"].tolist() == [0, 1, 2, 3, 4]
    for step in range(5):
        assert same_bits(seen[f"{step}/first/C/a"], array((6,), "f8", 10 * step))
        if step > 1:
            assert same_bits(seen[f"{step}/second/C/b"], array((6,), "f8", 10 * step + 1))
