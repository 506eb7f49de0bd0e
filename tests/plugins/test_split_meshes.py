# SPDX-License-Identifier: Apache-2.0
"""Meshes of a run with split="2": VTK, h5py and xarray read of the view what they read of the file of a run without, and of each file its
part of that."""
import re

import h5py
import pytest
import xarray
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits
from nodes import leat
from test_amr import Told, patched, patches_of
from test_split import pieces, seen_in
from test_views import DECOMPOSITIONS, grid
from test_vtkhdf import MIXED_MESH, field_blocks, mixed_blocks, mixed_variables
from test_vtkhdf_views import ATOMS, PARTICLES, expect_same, particles, vtk_of_each

STEPS = 5
GLOBAL = {"global": 1}


class Both:
    """The same blocks for a run in pieces and for one in one file."""

    def __init__(self, folder, variables, ranks=4, **each):
        self.folder, self.variables = folder, variables
        for name in ("split", "whole"):
            (folder / name).mkdir()
        self.split = Plugin(folder / "split", variables, ranks=ranks, options={"split": "2"}, **each)
        self.one = Plugin(folder / "whole", variables, ranks=ranks, **each)
        assert not self.split.opened and not self.one.opened

    def must(self, number, *blocks, **more):
        blocks = sorted(blocks, key=lambda b: (b["variable"], b["rank"], b.get("block", 0)))
        for run in (self.split, self.one):
            run.must(number, *blocks, **more)

    def finish(self):
        assert not self.split.finish() and not self.one.finish()
        return self.folder / "split/run.h5", self.folder / "whole/run.h5"


def expect_same_for_vtk(view, whole):
    files = [*pieces(view.parent).values()]
    assert len(files) == (STEPS + 1) // 2
    of_view, of_whole, *of_pieces = vtk_of_each(view, whole, *files)
    expect_same(of_view, of_whole)
    for number, seen in enumerate(of_pieces):
        for name, found in seen.items():
            step = re.match(r"(\d+)/(.*)", name)
            if step:
                wanted = of_whole[f"{int(step[1]) + 2 * number}/{step[2]}"]
                assert same_bits(found, wanted), (number, name)
        times = of_whole["time"][2 * number:2 * number + 2]  # of a single step VTK says no time
        assert same_bits(seen["time"], times) or len(times) == 1, number


@pytest.mark.parametrize("kind", ["uniform", "rectilinear", "curvilinear"])
def test_structured_meshes_and_their_coordinates(tmp_path, kind):
    places = DECOMPOSITIONS["blocks"]
    of = (lambda axis: ["y", "x"]) if kind == "curvilinear" else (lambda axis: [axis])
    variables = [variable("u", "f8", [("y", 1, 1), ("x", 1, 1)], mesh=0, **GLOBAL), variable("t", "f4", ["y", "x"], mesh=0, **GLOBAL)]
    if kind == "uniform":
        meshes = [mesh("m", kind, 2, origin=[1.0, 2.0], spacing=[0.5, 0.25], unit="m")]
    else:
        meshes = [mesh("m", kind, 2, coordinates=[2, 3])]
        variables += [variable(axis, "f8", of(axis), time_varying=0, **GLOBAL) for axis in "xy"]
    run = Both(tmp_path, variables, meshes=meshes)
    for i in range(STEPS):
        blocks = grid(run.one, 0, places, 1, iteration=i) + grid(run.one, 1, places, 0, iteration=i)
        for number, axis in ((2, 1), (3, 0)) if i == 0 and kind != "uniform" else ():
            if kind == "curvilinear":
                blocks += grid(run.one, number, places, 0, iteration=50 * number)
            else:
                blocks += [run.one.block(number, ((6, 5)[axis],), 100 * number + at[axis], rank=rank, position=[at[axis]],
                                         **{"global": [(12, 10)[axis]]}) for (rank, _), at in places.items()]
        run.must(i, *blocks)
    view, whole = run.finish()
    got, wanted = seen_in(view), seen_in(whole)
    assert got == wanted
    for path in [view, *pieces(view.parent).values()]:
        with xarray.open_dataset(path) as opened, xarray.open_dataset(whole) as one:
            assert set(opened["u"].coords) == set(one["u"].coords) and opened["u"].dims == one["u"].dims
            for axis in "yx":
                assert axis not in one.variables or same_bits(opened[axis].values, one[axis].values)
    expect_same_for_vtk(view, whole)


@pytest.mark.parametrize("moving", [False, True])
def test_unstructured_meshes(tmp_path, moving):
    run = Both(tmp_path, mixed_variables(moving), 2, meshes=MIXED_MESH)
    for step in range(STEPS):
        run.must(step, *field_blocks(run.one, step, [0, 1]), *(mixed_blocks(run.one, [0, 1], step) if moving or step == 0 else []))
    view, whole = run.finish()
    expect_same_for_vtk(view, whole)


def test_particles(tmp_path):
    run = Both(tmp_path, PARTICLES + [variable("e", "f8", [])], meshes=ATOMS)
    for step in range(STEPS):
        run.must(step, *particles(run, step), *[run.one.block(4, (), step, rank=r) for r in range(4)])
    view, whole = run.finish()
    expect_same_for_vtk(view, whole)


def test_patches_on_levels(tmp_path):
    run = Told(tmp_path, [patched("a", "f8"), patched("b", "i4")], options={"split": "2"})
    for row in (0, 1, 2, 3, 5):
        run.give(patches_of(row))
    run.plugin.finish()
    run.check()
    run.check_vtk()
    assert [seen["0/kind"] for seen in vtk_of_each(*pieces(tmp_path).values())] == ["vtkOverlappingAMR"] * 3


def test_a_constant_that_is_written_anew_is_that_of_the_last_file(tmp_path):
    variables = [variable("a", "f8", ["x"], **GLOBAL), variable("x", "f8", ["x"], time_varying=0, **GLOBAL),
                 variable("k", "i4", ["n"], time_varying=0)]
    run = Both(tmp_path, variables, 2)
    for i in range(STEPS):
        blocks = [run.one.block(0, (4,), 10 * i + r, rank=r, position=[4 * r], **{"global": [8]}) for r in (0, 1)]
        if i in (0, 3):
            blocks += [run.one.block(1, (4,), 70 + i + r, rank=r, position=[4 * r], **{"global": [8]}) for r in (0, 1)]
            blocks += [run.one.block(2, (3,), 90 + i + r, rank=r) for r in (0, 1)]
        run.must(i, *blocks)
    view, whole = run.finish()
    with h5py.File(view) as got, h5py.File(whole) as wanted:
        for name in ("a", "x", "k"):
            assert same_bits(got[name][()], wanted[name][()]), name
    with h5py.File([*pieces(view.parent).values()][0]) as first:
        assert not same_bits(first["x"][:], h5py.File(whole)["x"][:])


def test_many_files_are_one_view(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], options={"split": "1"}, ranks=2)
    for i in range(200):
        plugin.must(i, *[plugin.block(0, (3,), 10 * i + r, rank=r) for r in (0, 1)])
    plugin.finish()
    assert len(pieces(tmp_path)) == 200
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [*range(200)] and file["a"].shape == (400, 3)
        assert all(same_bits(file["a"][2 * i + r], array((3,), "f8", 10 * i + r)) for i in range(200) for r in (0, 1))
    done = leat("ls", tmp_path / "run.h5")
    assert 'view of     200 files, split="1": ' in done.stdout and len(done.stdout) < 4000, done.stdout
