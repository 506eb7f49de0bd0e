# SPDX-License-Identifier: Apache-2.0
"""/VTKHDF in the view of several nodes and in the merged file: VTK reads of them what it reads of the file of one server."""
import pathlib
import shutil

import h5py
import numpy as np
import pytest
from judges import vtk_says
from leat_plugin import Plugin, mesh, variable
from nodes import Nodes, leat
from test_views import DECOMPOSITIONS, NODES, grid
from test_vtkhdf import MIXED_MESH, field_blocks, mixed_blocks, mixed_variables, vtk


class Both:
    """The same blocks for servers on several nodes, and for one with all ranks."""

    def __init__(self, folder, variables, nodes, **each):
        self.nodes, self.folder = nodes, folder
        self.several = Nodes(folder / "several", variables, nodes, simulation="run", **each)
        (folder / "one").mkdir()
        self.one = Plugin(folder / "one", variables, simulation="run", ranks=sum(map(len, nodes)), session="s1", **each)
        assert not self.one.opened

    def must(self, number, *blocks, lost=(), **more):
        """lost: nodes that miss the iteration, as places."""
        blocks = sorted(blocks, key=lambda b: (b["variable"], b["rank"], b["block"]))
        self.several.must(number, *blocks, but=lost, **more)
        gone = [rank for place in lost for rank in self.nodes[place]]
        self.one.must(number, *[b for b in blocks if b["rank"] not in gone], **more)

    def finish(self):
        """The view, the merged file, the file of the one."""
        assert not self.several.finish() and not self.one.finish()
        return self.files()

    def files(self):
        view, merged, one = (self.folder / name / "run.h5" for name in ("several", ".", "one"))
        done = leat("merge", view, merged, "--force")
        assert done.returncode == 0, done.stderr
        return view, merged, one


def vtk_of_each(*paths, cwd=None):
    """What vtk() returns, for each."""
    outs = [f"{path}.npz" for path in paths]
    words = [word for pair in zip(paths, outs) for word in pair]
    done = vtk_says("vtk_read.py", *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return [dict(np.load(pathlib.Path(cwd or ".") / out)) for out in outs]


def expect_same(got, wanted, kinds=()):
    assert len(wanted) > 3 and {str(v) for k, v in wanted.items() if k.endswith("kind")} >= set(kinds)
    assert sorted(got) == sorted(wanted)
    for name in wanted:
        assert got[name].dtype == wanted[name].dtype and got[name].shape == wanted[name].shape, name
        assert got[name].tobytes() == wanted[name].tobytes(), name


def expect_same_for_vtk(*files, kinds=()):
    """The view, the merged file, the file of one server."""
    view, merged, one = vtk_of_each(*files)
    expect_same(view, one, kinds)
    expect_same(merged, one, kinds)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("places", ["blocks", "irregular", "holes"])
def test_an_image(tmp_path, places, steps):
    names = {"global": 1, "mesh": 0}
    run = Both(tmp_path, [variable("t", "f8", [("y", 1, 1), ("x", 1, 1)], **names),
                          variable("g/p", "i4", ["y", "x"], **names, nodal=1),
                          variable("k", "f4", ["y", "x"], **names, time_varying=0), variable("rare", "f8", ["y", "x"], **names)],
               NODES["in turn"], time_parameter=0, meshes=[mesh("box", "uniform", 2, origin=[1., 2.], spacing=[.5, .25])])
    places = DECOMPOSITIONS[places]
    for i in range(steps):
        blocks = grid(run.one, 0, places, 1 if len(places) == 4 else 0, iteration=i)
        if len(places) == 3:  # no ghosts then
            blocks = [b | {"extent": [e + 2 for e in b["extent"]], "bytes": 8 * (b["extent"][0] + 2) * (b["extent"][1] + 2)}
                      for b in blocks]
        blocks += [run.one.block(1, (13, 11), 50 + i, rank=2, position=[0, 0], **{"global": [13, 11]})]
        blocks += grid(run.one, 2, places, 0) if i == 0 else grid(run.one, 3, places, 0, iteration=i)
        run.must(10 * i, *blocks, parameters={"t": 0.25 * i})
    expect_same_for_vtk(*run.finish(), kinds=["vtkImageData"])


@pytest.mark.parametrize("kind, moving", [("rectilinear", 0), ("curvilinear", 0), ("curvilinear", 1)])
def test_cells_between_coordinates(tmp_path, kind, moving):
    places = DECOMPOSITIONS["blocks"]
    of = (lambda axis: ["y", "x"]) if kind == "curvilinear" else (lambda axis: [axis])
    run = Both(tmp_path, [variable("t", "f4", ["y", "x"], **{"global": 1}, mesh=0),
                          variable("x", "f8", of("x"), **{"global": 1}, time_varying=moving),
                          variable("y", "f8", of("y"), **{"global": 1}, time_varying=moving),
                          variable("whole", "f8", ["j", "i"], **{"global": 1}, mesh=0)], NODES["in a row"],
               meshes=[mesh("m", kind, 2, coordinates=[1, 2])])
    for i in range(4):
        blocks = grid(run.one, 0, places, 0, iteration=i)
        blocks += [run.one.block(3, (11, 9), 7 + i, rank=3, position=[0, 0], **{"global": [11, 9]})]  # cells
        if i == 0 or moving and i != 2:
            for number, axis in ((1, 1), (2, 0)):
                if kind == "curvilinear":
                    blocks += grid(run.one, number, places, 0, iteration=50 * number + i)
                else:
                    blocks += [run.one.block(number, ((6, 5)[axis],), 100 * number + at[axis], rank=rank, position=[at[axis]],
                                             **{"global": [(12, 10)[axis]]}) for (rank, _), at in places.items()]
        run.must(i, *blocks)
    expect_same_for_vtk(*run.finish(), kinds=["vtkUnstructuredGrid"])


@pytest.mark.parametrize("nodes", [[[0], [1]], [[0, 3], [1, 2]]], ids=["a rank each", "in turn"])
@pytest.mark.parametrize("moving", [False, True])
def test_an_unstructured_mesh_of_which_a_node_may_be_lost(tmp_path, moving, nodes):
    run = Both(tmp_path, mixed_variables(moving), nodes, meshes=MIXED_MESH)
    for step in range(5):
        blocks = field_blocks(run.one, step, [0, 1])
        if moving or step == 0:
            blocks += mixed_blocks(run.one, [0, 1], step)
        run.must(step, *blocks, lost=[1] if step == 3 else [])
    expect_same_for_vtk(*run.finish(), kinds=["vtkUnstructuredGrid"])


def test_cells_of_one_shape(tmp_path):
    run = Both(tmp_path, [variable("p", "f8", ["?n", "xyz"]), variable("c", "i8", ["?cells", "k"]),
                          variable("s", "f8", ["?cells"], mesh=0)], [[1], [0, 2]],
               meshes=[mesh("tets", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=10)])
    corners, cells = np.arange(15.).reshape(5, 3) ** 2, [[[0, 1, 2, 3], [1, 2, 3, 4]], [[0, 1, 2, 3]], [[4, 3, 2, 1]]]
    for step in range(3):
        run.must(step, *[b for r in range(3) for b in (run.one.values(0, corners + r + step, rank=r),
                                                       run.one.values(1, cells[(r + step) % 3], rank=r),
                                                       run.one.block(2, (len(cells[(r + step) % 3]),), 10 * step + r, rank=r))])
    expect_same_for_vtk(*run.finish())


def particles(run, step, ranks=range(4)):
    sizes = {r: (3 * r + 2 * step) % 5 for r in ranks}
    return [run.one.values(i, np.arange(n) + 100. * step + 10 * r + i, rank=r) for i in range(3) for r, n in sizes.items()] + \
           [run.one.block(3, (n,), 10 * step + r, rank=r) for r, n in sizes.items()]


PARTICLES = [variable(c, "f8", ["?n"]) for c in "xyz"] + [variable("m", "i4", ["?n"], mesh=0)]
ATOMS = [mesh("atoms", "points", 3, coordinates=[0, 1, 2])]


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES.keys())
def test_particles_that_come_and_go_and_a_lost_node(tmp_path, nodes):
    run = Both(tmp_path, PARTICLES + [variable("e", "f8", []), variable("rare", "f8", ["?n", "c"], mesh=0)], nodes, meshes=ATOMS)
    for step in range(6):
        blocks = particles(run, step) if step != 2 else []  # nothing of the mesh
        blocks += [run.one.block(4, (), step, rank=r) for r in range(4)]
        if step == 4:
            blocks += [run.one.block(5, (b["extent"][0], 3), 7 + b["rank"], rank=b["rank"])
                       for b in particles(run, step) if b["variable"] == 0]
        run.must(2 * step, *blocks, lost=[1] if step == 3 else [])
    expect_same_for_vtk(*run.finish(), kinds=["vtkPolyData"])


def test_fewer_particles_than_iterations(tmp_path):
    run = Both(tmp_path, PARTICLES, NODES["in a row"], meshes=ATOMS)
    for step in range(6):
        sizes = {0: 1 if step in (0, 4) else 0, 3: 0}
        run.must(step, *[run.one.block(i, (n,), 10 * step + i, rank=r) for i in range(4) for r, n in sizes.items()])
    view, merged, one = run.finish()
    expect_same_for_vtk(view, merged, one)
    assert vtk(view)["time"].tolist() == list(range(6))


@pytest.mark.parametrize("mesh_at, fields_from, everything_from", [(0, 2, 0), (2, 3, 0), (1, 1, 1)])
def test_a_mesh_that_is_written_once_before_its_fields(tmp_path, mesh_at, fields_from, everything_from):
    run = Both(tmp_path, mixed_variables(False) + [variable("e", "f8", [])], [[0], [1]], meshes=MIXED_MESH)
    for step in range(5):
        blocks = [run.one.block(7, (), step, rank=r) for r in (0, 1)]
        blocks += mixed_blocks(run.one, [0, 1]) if step == mesh_at else []
        blocks += field_blocks(run.one, step, [0, 1]) if step >= fields_from else []
        run.must(step, *blocks, lost=[0] if step < everything_from else [])
    view, merged, one = run.finish()
    expect_same_for_vtk(view, merged, one)
    assert vtk(view)["time"].tolist() == sorted({mesh_at, *range(fields_from, 5)})


def test_as_many_particles_of_each_rank(tmp_path):
    run = Both(tmp_path, [variable(c, "f8", ["n"]) for c in "xy"] + [variable("m", "f8", ["n"], mesh=0)], NODES["in turn"],
               meshes=[mesh("atoms", "points", 2, coordinates=[0, 1])])
    for step in range(3):
        run.must(step, *[run.one.block(i, (4,), 10 * step + 3 * i + r, rank=r) for i in range(3) for r in range(4)])
    expect_same_for_vtk(*run.finish())


def collection(folder, **more):
    return Both(folder, PARTICLES + [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=1)], NODES["in turn"],
                meshes=ATOMS + [mesh("a plate", "uniform", 2, spacing=[1., 1.])], time_parameter=0, **more)


def write_collection(run, step, **more):
    run.must(step, *particles(run, step), *grid(run.one, 3 + 1, DECOMPOSITIONS["pencils"], 0, iteration=step),
             parameters={"t": None if step == 1 else .5 * step}, **more)


@pytest.mark.parametrize("steps", [1, 4])
def test_several_meshes(tmp_path, steps):
    run = collection(tmp_path)
    for step in range(steps):
        write_collection(run, step)
    files = run.finish()
    expect_same_for_vtk(*files, kinds=["vtkPolyData", "vtkImageData"])
    # From another folder, by a relative name, and after view and parts have moved together.
    shutil.move(files[0].parent, tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    expect_same(*vtk_of_each("../moved/run.h5", "../one/run.h5", cwd=tmp_path / "elsewhere"))


def test_when_all_were_killed_vtk_sees_what_was_committed(tmp_path):
    run = collection(tmp_path)
    for step in range(3):
        write_collection(run, step)
    seen = vtk(tmp_path / "several/run.h5")  # the view that is there while the run goes on
    assert seen["time"].tolist() in ([], [0, 1], [0, 1, 1]) and "0/atoms/points" in seen
    for plugin in run.several.plugins:
        plugin.kill()
    run.one.finish()
    done = leat("recover", tmp_path / "several/run.h5")
    assert done.returncode == 0, done.stderr
    expect_same_for_vtk(*run.files())
    assert not list((tmp_path / "several").glob(".*")), "nothing is left behind"


def test_a_part_of_an_older_leat_has_a_view_as_it_had(tmp_path):
    run = collection(tmp_path)
    write_collection(run, 0)
    view, _, _ = run.finish()
    for part in view.parent.rglob("rank*.h5"):
        with h5py.File(part, "a") as file:
            del file.attrs["leat_run"]
    assert leat("view", view).returncode == 0
    with h5py.File(view) as file:
        assert "VTKHDF" not in file and file["t"].shape == (1, 12, 10)
    assert leat("merge", view, tmp_path / "m.h5").returncode == 0


def test_what_is_left_out_is_said_by_who_asks_for_the_view(tmp_path):
    run = Both(tmp_path, [variable(name, dtype, ["y", "x"], **{"global": 1}, mesh=0) for name, dtype in (("t", "f8"), ("z", "c16"))],
               NODES["in a row"], meshes=[mesh("plate", "uniform", 2, spacing=[1., 1.])], infos=1)
    for number in (0, 1):
        run.must(number, *grid(run.one, 0, DECOMPOSITIONS["blocks"], 0), *grid(run.one, 1, DECOMPOSITIONS["blocks"], 0))
    why = '/VTKHDF, mesh "plate": variable "z" is not shown: VTK has no complex numbers\n'
    assert run.several.finish().count("run.h5: " + why) == 2, "each server says it, when it ends"
    run.one.finish()
    view = run.files()[0]
    for verb, words in (("view", [view]), ("merge", [view, tmp_path / "m.h5"])):
        done = leat(verb, *words)
        assert done.returncode == 0
        assert done.stderr == f"leat {verb}: {why}"


def test_variables_called_vtkhdf_are_merged(tmp_path):
    run = Both(tmp_path, [variable("VTKHDF/t", "f8", ["y", "x"], **{"global": 1}, mesh=0)], NODES["in a row"],
               meshes=[mesh("plate", "uniform", 2, spacing=[1., 1.])])
    run.must(0, *grid(run.one, 0, DECOMPOSITIONS["blocks"], 0))
    files = run.finish()
    values = []
    for path in files:
        with h5py.File(path) as file:
            values.append(file["VTKHDF/t"][:].tobytes())
            assert "Type" not in file["VTKHDF"].attrs
    assert values[0] == values[1] == values[2]


def test_the_view_with_it_is_less_than_a_hundredth_of_the_data(tmp_path):
    variables = PARTICLES + [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=1)]
    run = Nodes(tmp_path / "n", variables, NODES["in a row"],
                meshes=ATOMS + [mesh("plate", "uniform", 2, spacing=[1., 1.])])
    places = {(r, 0): (64 * r, 0, 64, 256) for r in range(4)}
    for i in range(60):
        run.must(i, *[run.block(k, (4000 + (7 * i + r) % 50,), i, rank=r) for k in range(4) for r in range(4)],
                 *grid(run, 4, places, 0, iteration=i, shape=(256, 256)))
    run.finish()
    parts = sum(p.stat().st_size for p in (tmp_path / "n").rglob("rank*.h5"))
    view = (tmp_path / "n/run.h5").stat().st_size
    with h5py.File(tmp_path / "n/run.h5") as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 60
    assert view < parts / 100, (view, parts)
