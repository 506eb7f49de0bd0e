# SPDX-License-Identifier: Apache-2.0
"""Blocks on amr meshes: where each lies, in which order, and that VTK's own reader sees each patch of each level."""
import subprocess

import h5py
import numpy as np
import pytest
import xarray
from judges import vtk_says
from leat_plugin import Plugin, array, mesh, variable
from leat_run import BUILD, same_bits
from stored_blocks import stored_blocks

CELLS = ["z", "y", "x"]
ORIGIN, SPACING = [1., 2., 3.], [.5, .25, 2.]


def vtk(path, name="out.npz"):
    """{name: array} of all steps; see vtk_read.py."""
    out = path.parent / name
    done = vtk_says("vtk_read.py", path, out)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(np.load(out))


def amr(dims=3, ratio=2, **more):
    return mesh("m", "amr", dims, origin=ORIGIN[:dims], spacing=SPACING[:dims], ratio=ratio, **more)


def patched(name, dtype, dims=CELLS, **more):
    return variable(name, dtype, dims, mesh=0, **more)


class Told:
    """A plugin that is told patches, and what the file must have of them."""

    def __init__(self, folder, variables, ranks=2, dims=3, ratio=2, meshes=(), **more):
        self.folder, self.variables, self.dims, self.ratio = folder, variables, dims, ratio
        self.more = {"ranks": ranks, "meshes": [amr(dims, ratio), *meshes], **more}
        self.plugin, self.row = Plugin(folder, variables, **self.more), 0
        self.patches, self.values, self.iterations = {}, {}, []

    def blocks(self, patches, row, only=None):
        """patches: {(rank, block): (level, low, extents)}, of all variables on the mesh; only: {variable: owners}. Returns what the
        plugin is told, and notes what must be there."""
        made = []
        for number, described in enumerate(self.variables):
            for (rank, block), (level, low, extents) in sorted(patches.items()):
                if described.get("mesh") != 0 or (only and (rank, block) not in only.get(number, patches)):
                    continue
                ghosts = [(d.get("low", 0), d.get("high", 0)) for d in described["dims"]]
                whole = tuple(n + a + b for n, (a, b) in zip(extents, ghosts))
                seed = 10000 * row + 1000 * rank + 10 * block + number
                made.append(self.plugin.block(number, whole, seed, rank=rank, block=block, level=level, position=list(low)))
                own = array(whole, described["dtype"], seed)[tuple(slice(a, a + n) for n, (a, b) in zip(extents, ghosts))]
                self.values.setdefault(described["name"], {}).setdefault(row, {})[rank, block] = own
                self.patches.setdefault(row, {})[rank, block] = (level, tuple(low), tuple(extents))
        return made

    def give(self, patches, iteration=None, more=(), only=None):
        made = self.blocks(patches, self.row, only)
        self.iterations.append(self.row if iteration is None else iteration)
        self.plugin.must(self.iterations[-1], *made, *more)
        self.row += 1

    def resume(self):
        self.plugin.kill()
        self.plugin = Plugin(self.folder, self.variables, resumed=1, **self.more)

    def in_order(self, row):
        """Patches of a row, as they must lie there: [(level, owner, low, extents)]"""
        return sorted((level, owner, low, extents) for owner, (level, low, extents) in self.patches.get(row, {}).items())

    def check(self, rows=None, path=None):
        rows = self.row if rows is None else rows
        with h5py.File(path or self.folder / "run.h5") as file:
            for row in range(rows):
                for name, of in self.values.items():
                    wanted = of.get(row, {})
                    stored = stored_blocks(file, name, row) if name in file else {}
                    assert sorted(stored) == sorted(wanted), (name, row)
                    assert all(same_bits(stored[owner], wanted[owner]) for owner in wanted), (name, row)
            if self.values and rows:
                self.check_table(file, rows)

    def check_table(self, file, rows):
        name = next(name for name in self.values if name in file)
        table = file[name].attrs["leat_blocks"].decode()
        wanted = [each for row in range(rows) for each in self.in_order(row)]
        assert file[f"{table}_level"][:].tolist() == [level for level, *_ in wanted]
        owners = zip(file[f"{table}_rank"][:].tolist(), file[f"{table}_number"][:].tolist())
        assert list(owners) == [owner for _, owner, *_ in wanted]
        assert [tuple(low) for low in file[f"{table}_lo"][:].tolist()] == [low for _, _, low, _ in wanted]
        notes = file[f"{table}_level"].attrs
        assert (notes["leat_mesh"], notes["leat_ratio"]) == (b"m", self.ratio)
        assert notes["leat_origin"].tolist() == ORIGIN[:self.dims][::-1]

    def check_vtk(self, rows=None, names=None, path=None):
        """Of as many rows, in each of which there is something."""
        rows = self.row if rows is None else rows
        seen = vtk(path or self.folder / "run.h5")
        assert len(seen["time"]) == (rows if rows > 1 else 0)
        for row in range(rows):
            assert seen[f"{row}/kind"] == "vtkOverlappingAMR"
            for level in range(int(seen[f"{row}/levels"])):
                self.check_level(seen, row, level, names or self.values)
            assert all(level < seen[f"{row}/levels"] for level, *_ in self.in_order(row))

    def check_level(self, seen, row, level, names):
        here = [each for each in self.in_order(row) if each[0] == level]
        missing = [0] * (3 - self.dims)
        if not here:
            if self.in_order(row):  # VTK (9.7.2) reads what nobody has written where a level has no patch: see amr.cpp
                self.check_stand_in(seen, row, level, names)
            return
        low = np.array([[*low[::-1], *missing] for _, _, low, _ in here])
        high = np.array([[*(np.add(low, extents)[::-1] - 1), *missing] for _, _, low, extents in here])
        assert seen[f"{row}/{level}/boxes"].tolist() == np.hstack([low, high]).tolist()
        hidden = seen.get(f"{row}/{level}/C/vtkGhostType", np.zeros(0, int)) & 8
        wanted = self.refined(row, here, int(seen[f"{row}/levels"]))
        assert hidden.astype(bool).tolist() == wanted, "cells under finer ones are hidden, and no others"
        spacing = np.array([s / self.ratio**level for s in SPACING[:self.dims]])
        assert np.allclose(seen[f"{row}/{level}/spacings"][:, :self.dims], spacing, rtol=1e-15)
        assert np.allclose(seen[f"{row}/{level}/origins"][:, :self.dims], ORIGIN[:self.dims] + low[:, :self.dims] * spacing, rtol=1e-15)
        for name in names:
            wanted = np.concatenate([self.values[name][row][owner].ravel() for _, owner, *_ in here])
            assert same_bits(seen[f"{row}/{level}/C/{name}"], wanted), (row, level, name)


    def stand_in(self, row, level):
        """(owner, low, extents) of the box that stands in for a level without patches: it divides the first cell of the level before."""
        before = [each for each in self.in_order(row) if each[0] < level]
        if not before:
            first, owner, low, _ = self.in_order(row)[0]
            return owner, [at // self.ratio**(first - level) for at in low], [1] * self.dims
        of, owner, low, _ = next(each for each in before if each[0] == before[-1][0])
        return owner, [at * self.ratio**(level - of) for at in low], [self.ratio] * self.dims

    def check_stand_in(self, seen, row, level, names):
        owner, low, extents = self.stand_in(row, level)
        missing = [0] * (3 - self.dims)
        assert seen[f"{row}/{level}/boxes"].tolist() == [[*low[::-1], *missing, *(np.add(low, extents)[::-1] - 1).tolist(), *missing]]
        for name in names:
            first = self.values[name][row][owner].ravel()[:1]
            assert same_bits(seen[f"{row}/{level}/C/{name}"], np.repeat(first, np.prod(extents))), (row, level, name)

    def refined(self, row, patches, levels):
        """For each cell of patches of one level, whether one of the next level covers it."""
        covered, level = [], patches[0][0]
        if self.dims < 3:  # VTK hides none
            return [False] * sum(np.prod(extents) for *_, extents in patches)
        finer = [(low, extents) for of, _, low, extents in self.in_order(row) if of == level + 1]
        if not finer and level + 1 < levels:
            finer = [self.stand_in(row, level + 1)[1:]]
        finer = [(-(-np.array(low) // self.ratio), np.add(low, extents) // self.ratio) for low, extents in finer]
        for _, _, low, extents in patches:
            cells = np.zeros(extents, bool)
            for begin, end in finer:
                cells[tuple(slice(max(0, b - at), max(0, e - at)) for b, e, at in zip(begin, end, low))] = True
            covered += cells.ravel().tolist()
        return covered


# Blocks come, vanish and change level; level 1 comes later than level 0 and 2; levels have none at times; row 4 has nothing at all.
def patches_of(row, dims=3, size=4):
    extents = (size,) * dims
    at = lambda i: tuple(size * (i >> d & 1) for d in range(dims))  # noqa: E731  a place of eight
    coarse = {(i % 2, i // 2): (0, at(i), extents) for i in range(4 - row % 2)}
    return [coarse, {**coarse, (1, 7): (2, at(3), extents)},
            {(1, 0): (1, at(1), extents), (0, 5): (1, at(2), extents), (0, 1): (0, at(0), extents)},
            {(0, 0): (2, at(1), extents), (1, 0): (1, at(5), extents)}, {}, coarse][row % 6]


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("kind", ["fixed", "free", "ghosts", "half_free"])
def test_patches_of_all_levels_are_where_they_were_said_to_be(tmp_path, kind, dims):
    names = CELLS[3 - dims:]
    cells = {"fixed": names, "free": ["?" + name for name in names], "ghosts": [(name, 2, 1) for name in names],
             "half_free": ["?" + names[0], *names[1:]]}[kind]
    told = Told(tmp_path, [patched("u", "f8", cells), patched("g/p", "i4", cells), patched("v", "f4", names)], dims=dims)
    rows = [row for row in range(6) if patches_of(row, dims)]
    for row in rows:
        told.give(patches_of(row, dims), iteration=10 * row)
    told.plugin.finish()
    told.check()
    told.values["g_p"] = told.values["g/p"]
    told.check_vtk(names=["u", "g_p", "v"])
    with h5py.File(tmp_path / "run.h5") as file:
        assert len({file[name].attrs["leat_blocks"] for name in ("u", "g/p", "v")}) == 1, "one table for all on the mesh"
        group = file["VTKHDF"]
        assert group["Level1/AMRBox"] == group["Level0/AMRBox"] and group["Level2/CellData/u"] == group["Level0/CellData/u"]
        cells, shown = file["u"].size, group["Level1/CellData/u"]
        assert shown.ndim == 1 and same_bits(shown[len(shown) - cells:], file["u"][:].ravel())
        assert group["Steps/leat_stand_ins/u"].size <= len(shown) - cells < 200


def test_levels_that_always_have_patches_are_the_dataset_itself(tmp_path):
    free, size = ["?z", "?y", "?x"], (4, 2, 6)
    told = Told(tmp_path, [patched("u", "f8", free), patched("v", "f4")])
    for row in range(4):
        told.give({(r, b): (b % 3, (4 * b + 2 * row, 0, 6 * r), size) for r in range(2) for b in range(3 + row)})
    told.plugin.finish()
    told.check()
    told.check_vtk()
    with h5py.File(tmp_path / "run.h5") as file:
        assert all(file[f"VTKHDF/Level{level}/CellData/u"] == file["u"] for level in range(3))
        coarse, fine = (file[f"VTKHDF/Level{level}/CellData/v"] for level in (0, 2))
        assert fine == coarse and coarse.size == file["v"].size
        assert "leat_stand_ins" not in file["VTKHDF/Steps"]


def test_iterations_without_blocks_on_the_mesh_and_a_run_without_any(tmp_path):
    told = Told(tmp_path, [patched("u", "f8"), variable("t", "f8", [])])
    told.give({}, more=[told.plugin.block(1, (), 1)])
    told.give(patches_of(0), more=[told.plugin.block(1, (), 1)])
    told.give({}, more=[told.plugin.block(1, (), 1)])
    told.give(patches_of(3))
    told.plugin.finish()
    told.check()
    seen = vtk(tmp_path / "run.h5")
    assert seen["time"].tolist() == [1, 3], "nothing of the mesh was written in the others"
    told.check_level(seen | {key.replace("1/", "3/", 1): seen[key] for key in seen if key.startswith("1/")}, 3, 2, ["u"])
    (tmp_path / "none").mkdir()
    none = Told(tmp_path / "none", [patched("u", "f8"), variable("t", "f8", [])])
    none.give({}, more=[none.plugin.block(1, (), 1)])
    none.plugin.finish()
    with h5py.File(tmp_path / "none/run.h5") as file:
        assert "VTKHDF" not in file and "u" not in file


def test_blocks_of_other_sizes_in_each_iteration(tmp_path):
    rng = np.random.default_rng(3)
    told = Told(tmp_path, [patched("u", "f8", ["?z", "?y", "?x"])], ratio=4)
    for _ in range(5):
        told.give({(int(r), b): (int(rng.integers(0, 3)), tuple(map(int, rng.integers(-5, 50, 3))), tuple(map(int, rng.integers(1, 7, 3))))
                   for b in range(4) for r in range(2)})
    told.plugin.finish()
    told.check()
    told.check_vtk()


def test_blocks_that_a_variable_lacks_are_fill_values_where_blocks_have_one_size(tmp_path):
    told = Told(tmp_path, [patched("u", "f8"), patched("late", "f8"), patched("some", "f8")], ranks=1)
    for row in range(3):
        told.give(patches_of(0), only={1: [] if row < 2 else [(0, 0), (1, 0), (0, 1), (1, 1)], 2: [(0, 1)]})
    told.plugin.finish()
    told.check()
    told.check_vtk(names=["u"])
    seen = vtk(tmp_path / "run.h5")
    assert np.isnan(seen["0/0/C/late"]).all() and same_bits(
        seen["2/0/C/late"], np.concatenate([told.values["late"][2][o].ravel() for _, o, *_ in told.in_order(2)]))
    where = [owner for _, owner, *_ in told.in_order(1)].index((0, 1))
    some = seen["1/0/C/some"].reshape(-1, 64)
    assert same_bits(some[where], told.values["some"][1][0, 1].ravel()) and np.isnan(np.delete(some, where, 0)).all()


def test_what_cannot_be_shown_of_a_mesh_is_said_and_not_shown_wrong(tmp_path):
    free = ["?z", "?y", "?x"]
    told = Told(tmp_path, [patched("u", "f8", free), patched("z", "c16", free), patched("lacks", "f8", free), patched("stops", "f8", free),
                           patched("sizes", "f8")], infos=1)
    for row in range(3):
        told.give(patches_of(0), only={2: [(0, 0)], 3: [(0, 0), (0, 1), (1, 0), (1, 1)][:4 if row < 2 else 3], 4: [(0, 0)]})
    told.patches[3] = {}
    blocks = told.blocks(patches_of(0), 3, {2: [], 3: [], 4: []})
    told.plugin.must(3, *blocks, told.plugin.block(4, (2, 4, 4), 1, rank=0, block=0, level=0, position=[0, 0, 0]))
    told.row = 4
    told.values["sizes"][3] = {(0, 0): array((2, 4, 4), "f8", 1)}
    said = told.plugin.finish()
    told.check()
    assert 'variable "z" is not shown: VTK has no complex numbers' in said
    assert 'variable "lacks" is not shown: in step 0 it has not all blocks of its mesh, or others' in said
    assert 'variable "stops" is not shown any more: in step 2 it has not all blocks' in said
    assert 'variable "sizes" is not shown any more: its blocks have different sizes: give it a layout with "?"' in said
    told.check_vtk(names=["u"])
    with h5py.File(tmp_path / "run.h5") as file:
        assert list(file["VTKHDF/Level0/CellData"]) == ["u"]


@pytest.mark.parametrize("first", ["amr", "other"])
def test_an_amr_mesh_is_shown_alone(tmp_path, first):
    flat = mesh("flat", "uniform", 2, spacing=[1., 1.])
    told = Told(tmp_path, [patched("u", "f8"), variable("t", "f8", ["y", "x"], mesh=1, **{"global": 1})], meshes=[flat], infos=1)
    other = told.plugin.block(1, (3, 4), 5, position=[0, 0], **{"global": [3, 4]})
    for row in range(3):
        told.give({} if first == "other" and row == 0 else patches_of(0), more=[other])
    said = told.plugin.finish()
    told.check()
    hidden, shown = ("flat", "m") if first == "amr" else ("m", "flat")
    assert f'mesh "{hidden}" is not shown: VTK shows an amr mesh alone, and "{shown}" is shown' in said
    if first == "amr":
        told.check_vtk()
    else:
        assert same_bits(vtk(tmp_path / "run.h5")["2/C/t"], array((3, 4), "f8", 5).ravel())


def test_a_block_without_a_level_or_at_none_is_an_error_and_costs_that_block_only(tmp_path):
    told = Told(tmp_path, [patched("u", "f8")])
    good = told.blocks({(0, 0): (0, (0, 0, 0), (4, 4, 4))}, 0)
    for more, why in (({}, 'it has no level of the mesh "m": leat_set_level() says which'),
                      ({"level": -1, "position": [0, 0, 0]}, "its level is -1, and there are 0 to 63"),
                      ({"level": 64, "position": [0, 0, 0]}, "its level is 64")):
        assert why in told.plugin.iteration(told.row, *good, told.plugin.block(0, (4, 4, 4), 1, rank=1, **more))
        told.patches[told.row], told.values["u"][told.row] = told.patches[0], told.values["u"][0]
        told.row += 1
    told.plugin.finish()
    told.check()
    told.check_vtk()


def test_places_that_vtk_has_no_room_for_are_stored_and_said(tmp_path):
    told = Told(tmp_path, [patched("u", "f8")])
    told.give({(0, 0): (40, (2**41, 0, -5), (4, 4, 4))})
    told.give(patches_of(1))
    told.give(patches_of(2))
    said = told.plugin.finish()
    told.check()
    assert "/VTKHDF does not show iteration 0" in said and "VTK has 32 bits for places of cells" in said
    assert vtk(tmp_path / "run.h5")["time"].tolist() == [1, 2]


@pytest.mark.parametrize("low", [(2**31, 0, 0), (0, 0, -2**31 - 1)])
def test_a_place_that_the_table_has_no_room_for_is_an_error_and_costs_that_block_only(tmp_path, low):
    told = Told(tmp_path, [patched("u", "f8")])
    told.give({(0, 0): (0, (0, 0, 0), (4, 4, 4)), (0, 1): (30, (2**31 - 1, 0, -2**31), (4, 4, 4))})
    good = told.blocks({(0, 0): (0, (4, 0, 0), (4, 4, 4))}, 1)
    said = told.plugin.iteration(1, *good, told.plugin.block(0, (4, 4, 4), 1, rank=1, level=1, position=list(low)))
    assert "block 0 of rank 1: the largest number that the table of blocks has room for is 2147483647" in said
    told.row += 1
    told.plugin.finish()
    told.check()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["block_lo"].dtype == "i4"


@pytest.mark.parametrize("cells", [CELLS, ["?z", "?y", "?x"]])
def test_vtk_sees_each_step_while_the_file_grows_and_a_killed_run_goes_on(tmp_path, cells):
    told = Told(tmp_path, [patched("u", "f8", cells), patched("v", "f4", cells)], session="s1")
    for row in range(9):
        if row in (2, 3, 6):
            told.resume()
        told.give(patches_of(row) or patches_of(row + 1))
        told.check_vtk()
    told.plugin.finish()
    told.check()
    told.check_vtk()


def test_a_variable_in_another_order_of_numbers_than_of_arrival_does_not_change_what_was_shown(tmp_path):
    told = Told(tmp_path, [patched("small", "f8", ["?z", "?y", "?x"]), patched("u", "f8")], session="s1")
    told.give(patches_of(0), only={0: []})
    told.give(patches_of(0))
    told.resume()
    told.give(patches_of(1))
    told.plugin.finish()
    told.check()
    told.check_vtk(names=["u"])


@pytest.mark.parametrize("moment", range(30, 190, 8))
@pytest.mark.parametrize("cells", [CELLS, ["?z", "?y", "?x"]])
def test_a_writer_that_is_killed_at_any_write_leaves_whole_patches_and_the_next_goes_on(tmp_path, moment, cells):
    wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=pwrite64,pwritev:signal=KILL:when={moment}"]
    variables = [patched("u", "f8", cells), patched("late", "f4", cells)]
    told = Told(tmp_path, variables, session="s1", wrapper=wrapper)
    told.more.pop("wrapper")

    def next_row(row):
        patches = patches_of(row) or patches_of(5)
        told.give(patches, only={1: [] if row < 2 and cells == CELLS else patches})
    try:
        while told.row < 7:
            next_row(told.row)
    except (ValueError, OSError):  # no answer
        pass
    told.plugin.kill()
    path, rows = tmp_path / "run.h5", 0
    if path.exists():
        done = subprocess.run([BUILD / "bin/leat", "recover", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with h5py.File(path) as file:
            rows = len(file["iteration"])
            steps = file["VTKHDF/Steps"].attrs["NSteps"] if "VTKHDF" in file else 0
        assert told.row <= rows <= told.row + 1 and steps == rows
        told.check(rows)
    told.plugin, told.row = Plugin(tmp_path, variables, resumed=1, **told.more), rows
    while told.row < 7:
        next_row(told.row)
    assert "cannot be continued" not in told.plugin.finish()
    told.check()
    if moment % 24 == 6:  # VTK takes a second to start
        told.check_vtk(names=["u"])


def test_tools_end_on_files_that_grow_and_on_finished_ones(tmp_path):
    told = Told(tmp_path, [patched("u", "f8"), patched("v", "f8", ["?z", "?y", "?x"])])
    for row in (0, 1, 2):
        told.give(patches_of(row))
    for moment in ("grows", "is whole"):
        if moment == "is whole":
            told.plugin.finish()
        for tool in ("ncdump", "h5dump", "h5ls"):
            words = {"h5ls": ["-r"]}.get(tool, [])
            done = subprocess.run([tool, *words, "run.h5"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, (moment, tool, done.stderr)
            assert len(done.stdout) < 1 << 20
        with h5py.File(tmp_path / "run.h5") as file:
            shown, cells = file["VTKHDF/Level0/CellData/u"], file["u"].size
            assert shown.size == cells + 128, "and the room for what stands in"


def test_xarray_selects_levels_by_coordinates(tmp_path):
    told = Told(tmp_path, [patched("u", "f8"), patched("v", "f4")])
    for row in range(3):
        told.give(patches_of(row))
    told.plugin.finish()
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf", mask_and_scale=False) as ds:
        assert ds.u.dims == ds.v.dims == ("block", *CELLS)
        assert set(ds.u.coords) == {"block_iteration", "block_rank", "block_number", "block_level"}
        fine = ds.u.where(ds.block_level == 2, drop=True)
        assert fine.shape == (1, 4, 4, 4) and same_bits(fine.values[0], told.values["u"][1][1, 7])
        assert ds.block_lo.dims == ("block", "block_axis")
