# SPDX-License-Identifier: Apache-2.0
"""Blocks without a place in a global array: which dimension they share, and where each lies, for runs of every kind."""
import pathlib
import re

import h5py
import netCDF4
import numpy as np
import pytest
import xarray
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits
from stored_blocks import stored_blocks

CELLS = ["z", "y", "x"]


def expect(path, name, wanted):
    """wanted: {row: {(rank, number): array}}"""
    with h5py.File(path) as file:
        for row, blocks in wanted.items():
            stored = stored_blocks(file, name, row)
            assert sorted(stored) == sorted(blocks), (name, row)
            for owner, block in blocks.items():
                assert same_bits(stored[owner], block), (name, row, owner)


def table_of(file, name):
    return file[name].attrs["leat_blocks"].decode()


class Told:
    """A plugin that is told blocks, and what the file must have."""

    def __init__(self, folder, variables, ranks=2, **more):
        self.folder, self.variables = folder, variables
        self.plugin, self.row, self.wanted = Plugin(folder, variables, ranks=ranks, **more), 0, {}

    def give(self, blocks, iteration=None):
        """blocks: {variable: {(rank, number): extents}}"""
        made = []
        for number in sorted(blocks):
            for (rank, block), extent in sorted(blocks[number].items()):
                seed = 1000 * self.row + 100 * rank + 10 * block + number
                made.append(self.plugin.block(number, extent, seed, rank=rank, block=block))
                name, dtype = self.variables[number]["name"], self.variables[number]["dtype"]
                row = self.wanted.setdefault(name, {}).setdefault(self.row, {})
                row[rank, block] = array(extent, dtype, seed).reshape(extent)
        self.plugin.must(self.row if iteration is None else iteration, *made)
        self.row += 1

    def check(self):
        for name, rows in self.wanted.items():
            expect(self.folder / "run.h5", name, {row: rows.get(row, {}) for row in range(self.row)})


def test_variables_with_the_same_blocks_share_a_dimension_and_values_select_each_other(tmp_path):
    told = Told(tmp_path, [variable("u", "f8", CELLS), variable("level", "i4", [])])
    owners = [(0, 0), (0, 1), (1, 0)]
    for row in range(3):
        told.give({0: {owner: (2, 3, 4) for owner in owners}, 1: {owner: () for owner in owners}})
        owners = owners + [(1, 1 + row)] if row == 0 else owners[1:]
    told.plugin.finish()
    told.check()
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf", mask_and_scale=False) as ds:
        assert ds.u.dims == ("block", *CELLS) and ds.level.dims == ("block",)
        assert set(ds.u.coords) == {"block_iteration", "block_rank", "block_number"}
        assert ds.block_iteration.values.tolist() == [0] * 3 + [1] * 4 + [2] * 3
        chosen = int(ds.level[4])
        picked = ds.u.where(ds.level == chosen, drop=True)
        assert picked.shape == (1, 2, 3, 4) and same_bits(picked.values[0], ds.u.values[4])


def test_the_code_of_the_page_selects_blocks(tmp_path):
    told = Told(tmp_path, [variable("u", "f8", CELLS), variable("level", "f4", [])])
    for row in range(3):
        told.give({0: {(r, 0): (2, 3, 4) for r in range(2)}, 1: {(r, 0): () for r in range(2)}}, iteration=10 * row)
    told.plugin.finish()
    page = (pathlib.Path(__file__).parents[2] / "docs/reference/files.md").read_text()
    (code,) = (block for block in re.findall("```python\n(.*?)```", page, re.DOTALL) if 'run["level"]' in block)
    with xarray.open_dataset(tmp_path / "run.h5", engine="netcdf4") as run:
        names = {"run": run.assign(level=("block", np.array([1, 2, 3, 1, 3, 2], "i4")))}
        exec(code, names)
        assert names["fine"].dims == ("block", *CELLS) and same_bits(names["fine"].values, run["u"].values[[2, 4]])
        assert same_bits(names["last"].values, run["u"].values[4:])


def test_a_block_that_one_variable_lacks_is_marked_and_the_others_keep_theirs(tmp_path):
    told = Told(tmp_path, [variable("a", "f4", ["x"]), variable("b", "f4", ["x"])])
    told.give({0: {(0, 0): (3,), (1, 0): (3,)}, 1: {(0, 0): (3,), (1, 0): (3,)}})
    told.give({0: {(0, 0): (3,)}, 1: {(0, 0): (3,), (1, 0): (3,)}})
    told.give({1: {(1, 0): (3,)}})
    told.give({0: {(0, 0): (3,), (1, 0): (3,), (1, 4): (3,)}, 1: {(0, 0): (3,)}})
    told.plugin.finish()
    told.check()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["a_stored"].attrs["flag_meanings"] in ("not_stored stored", b"not_stored stored")
        assert np.isnan(file["a"][3]).all(), "what nobody wrote is the fill value"


def test_variables_with_other_blocks_have_a_table_of_their_own(tmp_path):
    told = Told(tmp_path, [variable("u", "f8", ["x"]), variable("probe", "f8", []), variable("p", "f4", ["?atom"]),
                           variable("grid", "f4", ["node"], time_varying=0)])
    for row in range(3):
        told.give({0: {(r, b): (2,) for r in range(2) for b in range(3)}, 1: {(0, 0): ()},
                   2: {(0, 0): (row,), (1, 0): (2 * row,)}, **({3: {(0, 0): (4,), (1, 0): (4,)}} if row == 0 else {})})
    told.plugin.finish()
    for name in ("u", "probe", "p"):
        expect(tmp_path / "run.h5", name, told.wanted[name])
    with h5py.File(tmp_path / "run.h5") as file:
        assert {name: table_of(file, name) for name in ("u", "probe", "p", "grid")} == {
            "u": "block", "probe": "probe_block", "p": "p_block", "grid": "grid_block"}
        assert file["grid"].shape == (2, 4) and "grid_block_iteration" not in file


PARTICLES = [variable("atoms/x", "f8", ["?atom", "xyz"]), variable("atoms/kind", "i4", ["?atom"]), variable("mass", "f4", ["?atom"]),
             variable("p", "f4", ["?y", "?x"]), variable("q", "f8", ["?y", "?x"])]


def particles_of(row, without_mass=()):
    """Each rank has some atoms; block 1 of rank 1 has none in the first row."""
    owners = {(0, 0): 3 + row, (1, 0): 2, (1, 1): row}
    return {0: {o: (n, 3) for o, n in owners.items()}, 1: {o: (n,) for o, n in owners.items()},
            2: {o: (n,) for o, n in owners.items() if o not in without_mass},
            3: {o: (n, 2) for o, n in owners.items()}, 4: {o: (n, 2) for o, n in owners.items()}}


def dims_of(path):
    """{path of a variable: names of its dimensions}, as the netCDF library has them; without what lies in /leat."""
    with netCDF4.Dataset(path) as file:
        groups = [file, *(group for name, group in file.groups.items() if name not in ("leat", "VTKHDF"))]
        return {(group.path.strip("/") + "/" + name).lstrip("/"): variable.dimensions
                for group in groups for name, variable in group.variables.items()}


@pytest.mark.parametrize("kill_before", [None, 1, 2])
def test_variables_with_as_many_elements_in_each_block_share_their_dimension(tmp_path, kill_before):
    told = Told(tmp_path, PARTICLES, session="s1")
    for row in range(3):
        if row == kill_before:
            told.plugin.kill()
            told.plugin = Plugin(tmp_path, PARTICLES, ranks=2, session="s1", resumed=1)
        told.give(particles_of(row))
    told.plugin.finish()
    told.check()
    dims = dims_of(tmp_path / "run.h5")
    assert dims["atoms/x"] == ("atom", "xyz") and dims["atoms/kind"] == dims["mass"] == ("atom",)
    assert dims["p"] == dims["q"] == ("block_element",)
    with h5py.File(tmp_path / "run.h5") as file:
        for name in ("atoms/x", "atoms/kind", "mass"):
            assert file[name].dims[0][0] == file["atom"] and file[name].shape[0] == file["atom"].shape[0] == 21
    with xarray.open_dataset(tmp_path / "run.h5", engine="netcdf4", mask_and_scale=False) as ds, \
            xarray.open_dataset(tmp_path / "run.h5", engine="netcdf4", group="atoms", mask_and_scale=False) as atoms:
        chosen = int(atoms.kind[4])
        picked = atoms.x.where(atoms.kind == chosen, drop=True)
        assert picked.shape == (1, 3) and same_bits(picked.values[0], atoms.x.values[4])
        assert (ds.mass.where(atoms.kind == chosen, drop=True).values == ds.mass.values[4]).all()


@pytest.mark.parametrize("kill_before", [None, 1, 2, 3])
@pytest.mark.parametrize("what", ["other", "lacking", "late"])
def test_a_variable_that_once_has_other_elements_gets_a_dimension_of_its_own(tmp_path, what, kill_before):
    told = Told(tmp_path, PARTICLES[:3], session="s1")
    for row in range(5):
        if row == kill_before:
            told.plugin.kill()
            told.plugin = Plugin(tmp_path, PARTICLES[:3], ranks=2, session="s1", resumed=1)
        blocks = particles_of(row, [(1, 0)] if what == "lacking" and row == 2 else ())
        if what == "other" and row == 2:
            blocks[2][0, 0] = (1,)
        if what == "late" and row == 2:
            del blocks[2]
        told.give({number: of for number, of in blocks.items() if number < 3})
    told.plugin.finish()
    told.check()
    dims = dims_of(tmp_path / "run.h5")
    assert dims["atoms/x"] == ("atom", "xyz") and dims["atoms/kind"] == ("atom",)
    assert dims["mass"] == ("mass_element",)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["mass"].dims[0].label == "atom"
        assert file["mass_element"].shape == file["mass"].shape != file["atom"].shape == (45,)


def test_elements_of_other_blocks_or_dimensions_are_not_shared(tmp_path):
    told = Told(tmp_path, [variable("ion", "f8", ["?n"]), variable("electron", "f8", ["?n"]), variable("other", "f8", ["?m"])])
    for _ in range(2):
        told.give({0: {(0, 0): (2,), (1, 0): (1,)}, 1: {(0, 0): (1,), (1, 0): (2,)}, 2: {(0, 0): (2,), (1, 0): (1,)}})
    told.plugin.finish()
    told.check()
    dims = dims_of(tmp_path / "run.h5")
    assert [dims[name] for name in ("ion", "electron", "other")] == [("n",), ("electron_element",), ("m",)]


def test_what_does_not_vary_in_time_shares_elements_till_it_comes_again_with_others(tmp_path):
    told = Told(tmp_path, [variable(name, "f8", ["?n"], time_varying=0) for name in "abc"] + [variable("u", "f8", [])], session="s1")
    told.give({n: {(0, 0): (2,), (1, 0): (1,)} for n in range(3)} | {3: {(0, 0): ()}})
    told.give({0: {(0, 0): (2,), (1, 0): (1,)}, 1: {(0, 0): (2,), (1, 0): (4,)}, 3: {(0, 0): ()}})
    told.plugin.kill()
    told.plugin = Plugin(tmp_path, told.variables, ranks=2, session="s1", resumed=1)
    told.give({0: {(0, 0): (2,), (1, 0): (1,)}, 3: {(0, 0): ()}})
    told.plugin.finish()
    dims = dims_of(tmp_path / "run.h5")
    assert dims["a"] == dims["c"] == ("n",) and dims["b"] == ("b_element",)
    for name, row in (("a", 2), ("b", 1), ("c", 0)):
        expect(tmp_path / "run.h5", name, {0: told.wanted[name][row]})


@pytest.mark.parametrize("kill_before", [1, 2, 3])
def test_a_writer_that_follows_goes_on_with_the_tables(tmp_path, kill_before):
    told = Told(tmp_path, [variable("u", "f8", ["x"]), variable("level", "i4", []), variable("p", "u2", ["?y", "?x"]),
                           variable("late", "f4", ["x"])], session="s1")
    for row in range(5):
        if row == kill_before:
            told.plugin.kill()
            told.plugin = Plugin(tmp_path, told.variables, ranks=2, session="s1", resumed=1)
        owners = [(r, b) for r in range(2) for b in range(1 + (row + r) % 3)]
        told.give({0: {o: (3 - (row == 3),) for o in owners}, 1: {o: () for o in owners}, 2: {o: (row, 2) for o in owners[1:]},
                   **({3: {owners[-1]: (3,)}} if row > 1 else {})})
    told.plugin.finish()
    told.check()


@pytest.mark.parametrize("compression", ["none", "deflate:1"])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_run_that_begins_with_one_block_may_have_more_later(tmp_path, resumed, compression):
    told = Told(tmp_path, [variable("a", "i4", ["x"]), variable("s", "f8", []), variable("other", "f4", ["x"])], ranks=1, session="s1",
                options={"compression": compression})
    for row in range(2):
        told.give({0: {(0, 0): (3,)}, 1: {(0, 0): ()}, 2: {(0, 0): (3,)}}, iteration=10 * row)
    told.give({1: {(0, 0): ()}, 2: {(0, 0): (3,)}}, iteration=20)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["a"].shape == (3, 3) and file["a"].dims[0][0].name == "/iteration"
    if resumed:
        told.plugin.kill()
        told.plugin = Plugin(tmp_path, told.variables, ranks=1, session="s1", resumed=1, options={"compression": compression})
    told.give({0: {(0, 0): (3,), (0, 1): (3,)}, 1: {(0, 0): (), (0, 1): ()}, 2: {(0, 0): (3,)}}, iteration=30)
    if resumed:
        told.plugin.kill()
        told.plugin = Plugin(tmp_path, told.variables, ranks=1, session="s1", resumed=1, options={"compression": compression})
    told.give({0: {(0, 7): (3,)}, 1: {(0, 0): ()}, 2: {(0, 0): (3,)}}, iteration=40)
    told.plugin.finish()
    told.check()
    with xarray.open_dataset(tmp_path / "run.h5", engine="netcdf4") as ds:
        assert ds.a.dims[0] == ds.s.dims[0] == "block" and ds.other.dims[0] == "iteration"
        assert ds.block_iteration.values.tolist() == [0, 10, 20, 30, 30, 40, 40]


def test_a_mesh_that_showed_one_block_shows_it_no_more_when_there_are_several(tmp_path):
    plugin = Plugin(tmp_path, [variable("T", "f8", ["y", "x"], mesh=0)], ranks=1,
                    meshes=[mesh("plate", "uniform", 2, origin=[0, 0, 0], spacing=[1, 1, 1])])
    for i in range(2):
        plugin.must(i, plugin.block(0, (3, 4), i))
    with h5py.File(tmp_path / "run.h5") as file:
        assert "T" in file["VTKHDF/CellData"]
    plugin.must(2, plugin.block(0, (3, 4), 7), plugin.block(0, (3, 4), 8, block=1))
    said = plugin.finish()
    assert '"T" is not shown any more: it has many blocks now' in said, said
    with h5py.File(tmp_path / "run.h5") as file:
        assert "T" not in file["VTKHDF/CellData"]


def test_blocks_smaller_than_the_first_fill_a_part_of_their_place_and_larger_ones_make_it_larger(tmp_path):
    told = Told(tmp_path, [variable("u", "f8", ["y", "x"])])
    told.give({0: {(0, 0): (3, 4), (1, 0): (3, 4)}})
    told.give({0: {(0, 0): (3, 4), (1, 0): (2, 4)}})
    told.give({0: {(0, 0): (3, 6), (1, 0): (3, 4)}})
    told.give({0: {(0, 0): (0, 0), (1, 0): (3, 4)}})
    told.plugin.finish()
    told.check()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["u_extent"][:].tolist() == [[3, 4], [3, 4], [3, 4], [2, 4], [3, 6], [3, 4], [0, 0], [3, 4]]


def test_places_are_made_for_the_largest_of_the_first_blocks(tmp_path):
    told = Told(tmp_path, [variable("u", "f8", ["y", "x"])])
    for _ in range(3):
        told.give({0: {(0, 0): (0, 0), (0, 1): (1, 50), (1, 0): (40, 30)}})
    told.plugin.finish()
    told.check()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["u"].shape == (9, 40, 50) and file["u"].chunks[1:] == (40, 50)


def test_what_does_not_vary_in_time_may_come_in_pieces_and_again(tmp_path):
    plugin = Plugin(tmp_path, [variable("x", "f8", ["node"], time_varying=0), variable("t", "f8", [])], ranks=3)
    plugin.must(0, plugin.block(0, (5,), 1, rank=1), plugin.block(1, (), 1))
    plugin.must(1, plugin.block(0, (5,), 2, rank=0), plugin.block(0, (4,), 3, rank=2), plugin.block(1, (), 1))
    plugin.must(2, plugin.block(0, (5,), 9, rank=1), plugin.block(1, (), 1))
    plugin.finish()
    expect(tmp_path / "run.h5", "x", {0: {(0, 0): array((5,), "f8", 2), (1, 0): array((5,), "f8", 9), (2, 0): array((4,), "f8", 3)}})


def test_a_number_that_the_table_has_no_room_for_is_an_error_and_costs_that_block_only(tmp_path):
    plugin = Plugin(tmp_path, [variable("u", "f8", ["x"])], ranks=2)
    error = plugin.iteration(0, plugin.block(0, (3,), 1, block=5), plugin.block(0, (3,), 2, block=2**31))
    assert "block 2147483648 of rank 0" in error and "2147483647" in error
    plugin.finish()
    expect(tmp_path / "run.h5", "u", {0: {(0, 5): array((3,), "f8", 1)}})


def test_names_that_variables_have_are_theirs(tmp_path):
    told = Told(tmp_path, [variable("block", "f8", ["x"]), variable("block_rank", "i4", []), variable("block_count", "i4", ["block"]),
                           variable("g/u", "f4", ["?n"])])
    for _ in range(2):
        told.give({0: {(r, 0): (2,) for r in range(2)}, 1: {(r, 0): () for r in range(2)}, 2: {(r, 0): (4,) for r in range(2)},
                   3: {(r, 0): (r,) for r in range(2)}})
    told.plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        table = table_of(file, "block")
        assert table not in ("block", "block_rank") and file[f"{table}_rank"][:].tolist() == [0, 1] * 2
        assert all(table_of(file, name) == table for name in ("block_rank", "block_count", "g/u"))
    told.check()


@pytest.mark.parametrize("dtype", ["f8", "u1"])
def test_thousands_of_small_blocks_are_stored_bit_for_bit_in_hardly_more_than_their_size(tmp_path, dtype):
    rng, count, rows = np.random.default_rng(1), 1500, 3
    plugin = Plugin(tmp_path, [variable("u", dtype, CELLS)], ranks=4)
    owners = {row: sorted({(int(r), int(b)) for r, b in zip(rng.integers(0, 4, count), rng.integers(0, 600, count))})
              for row in range(rows)}
    for row in range(rows):
        plugin.must(row, *(plugin.block(0, (8, 8, 8), 7 * i + row, rank=r, block=b) for i, (r, b) in enumerate(owners[row])))
    plugin.finish()
    expect(tmp_path / "run.h5", "u", {row: {o: array((8, 8, 8), dtype, 7 * i + row) for i, o in enumerate(owners[row])} for row in owners})
    blocks = sum(map(len, owners.values()))
    data = blocks * 512 * np.dtype(dtype).itemsize
    assert (tmp_path / "run.h5").stat().st_size <= 1.05 * data + 200 * blocks + 65536 + 65536


KILLED = [variable("u", "f8", ["x"]), variable("level", "i4", []), variable("p", "u2", ["?y", "?x"]), variable("late", "f4", ["x"]),
          variable("probe", "f8", []), variable("x", "f8", ["node"], time_varying=0),
          variable("kind", "i4", ["?y", "?x"]), variable("atom", "f8", ["?n"]), variable("mass", "f4", ["?n"])]


def blocks_of(row):
    owners = [(r, b) for r in range(2) for b in range(1 + (row + r) % 3)]
    return {0: {o: (30 - (row == 3),) for o in owners}, 1: {o: () for o in owners}, 2: {o: (row, 2) for o in owners[1:]},
            **({3: {owners[-1]: (3,)}} if row > 1 else {}), 4: {(0, 0): ()}, **({5: {(r, 0): (5,) for r in range(2)}} if row == 0 else {}),
            6: {o: (row, 2) for o in owners[1:]}, 7: {o: (o[1] + 1,) for o in owners},
            8: {o: (o[1] + 1 + (row == 4),) for o in owners}}


@pytest.mark.parametrize("moment", range(21, 149, 8))
def test_a_writer_that_is_killed_at_any_write_leaves_whole_blocks_and_the_next_goes_on(tmp_path, moment):
    wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=pwrite64,pwritev:signal=KILL:when={moment}"]
    told = Told(tmp_path, KILLED, session="s1", wrapper=wrapper)
    try:
        while told.row < 8:
            told.give(blocks_of(told.row))
    except (ValueError, OSError):  # no answer
        pass
    told.plugin.kill()
    path = tmp_path / "run.h5"
    rows = 0
    if path.exists():
        with h5py.File(path) as file:
            rows = len(file["iteration"])
        assert told.row <= rows <= told.row + 1, "what was said to be stored is there"
    for name, wanted in told.wanted.items():
        if name != "x" and rows:
            expect(path, name, {row: wanted.get(row, {}) for row in range(rows) if any(r < rows for r in wanted)})
    told.plugin, told.row = Plugin(tmp_path, KILLED, ranks=2, session="s1", resumed=1), rows
    while told.row < 8:
        told.give(blocks_of(told.row))
    assert "cannot be continued" not in told.plugin.finish()
    del told.wanted["x"]
    told.check()
    expect(path, "x", {0: {(r, 0): array((5,), "f8", 100 * r + 5) for r in range(2)}})
