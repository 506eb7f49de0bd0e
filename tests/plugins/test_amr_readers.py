# SPDX-License-Identifier: Apache-2.0
"""Readers of files with amr meshes: xarray with leat.amr, the view of several nodes, leat merge, leat ls, leat xdmf."""
import json
import pathlib
import sys

import h5py
import numpy as np
import pytest
import xarray
from nodes import leat as command
from stored_blocks import stored_blocks
from test_amr import CELLS, ORIGIN, SPACING, Told, amr, patched, patches_of, vtk
from test_vtkhdf_views import Both

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))
import leat.amr  # noqa: E402, F401  registers ds.leat

FREE = ["?z", "?y", "?x"]


def finest_of(patches, level, ratio):
    """By the definition, cell by cell of the finest level: {place: value of the finest block there}, then means."""
    top = max(of for of, *_ in patches)
    cells = {}
    for of, low, values in sorted(patches, key=lambda patch: patch[0]):
        step = ratio ** (top - of)
        for at in np.ndindex(values.shape):
            for inside in np.ndindex((step,) * values.ndim):
                cells[tuple((np.add(low, at)) * step + inside)] = values[at]
    step, sums = ratio ** (top - level) if top > level else 1, {}
    for place, value in cells.items():
        if top >= level:
            sums.setdefault(tuple(np.floor_divide(place, step)), []).append(value)
        else:
            for inside in np.ndindex((ratio ** (level - top),) * len(place)):
                sums[tuple(np.multiply(place, ratio ** (level - top)) + inside)] = [value]
    return {place: np.mean(values) for place, values in sums.items()}


@pytest.mark.parametrize("ratio", [2, 3])
@pytest.mark.parametrize("cells", [["y", "x"], ["?y", "?x"]])
def test_a_covering_grid_has_the_finest_values_averaged_and_coarse_ones_where_there_is_nothing_finer(tmp_path, cells, ratio):
    rng = np.random.default_rng(7)
    told = Told(tmp_path, [patched("u", "i4", cells), patched("v", "f8", cells)], dims=2, ratio=ratio)
    for _ in range(2):
        coarse = {(b % 2, b): (0, (4 * b, 4), (4, 4)) for b in range(3)}
        finer = {(b % 2, 10 + b): (1 + b % 2, tuple(map(int, rng.integers(0, 9, 2))), (4, 4)) for b in (0, 1)}
        told.give({**coarse, **finer, (0, 30): (3, (40, 40), (4, 4))})
    told.plugin.finish()
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as ds:
        for level in (0, 1, 2):
            grid = ds.leat.uniform(level=level)
            assert grid["u"].dims == ("iteration", "y", "x") and grid.iteration.values.tolist() == [0, 1]
            for row in range(2):
                wanted = {}
                patches = [(of, low, told.values["u"][row][owner]) for of, owner, low, _ in told.in_order(row)]
                wanted = finest_of(patches, level, ratio)
                low = np.min(list(wanted), 0)
                found = grid["u"].sel(iteration=row).values
                for place, value in wanted.items():
                    at = tuple(np.subtract(place, np.round((np.array([grid.y[0], grid.x[0]]) - ORIGIN[:2][::-1])
                                                           / np.array(SPACING[:2][::-1]) * ratio ** level - .5).astype(int)))
                    assert found[at] == pytest.approx(value, rel=1e-12), (row, level, place, low)
                assert np.isfinite(found).sum() == len(wanted)
            one = ds.leat.uniform(level=level, iteration=1)
            assert one["u"].dims == ("y", "x") and np.array_equal(one["u"], grid["u"].sel(iteration=1), equal_nan=True)


def test_a_level_of_a_dataset_has_its_blocks_of_all_variables(tmp_path):
    told = Told(tmp_path, [patched("u", "f8"), patched("n", "i4", FREE), patched("w", "i4", FREE)])
    for row in range(3):
        told.give(patches_of(row), only={2: [o for o in patches_of(row) if o != (0, 0)]})
    told.plugin.finish()
    with xarray.open_dataset(tmp_path / "run.h5", engine="netcdf4") as ds:
        for level in range(3):
            one = ds.leat.on_level(level)
            of = [(row, owner) for row in range(3) for each, owner, *_ in told.in_order(row) if each == level]
            assert one.sizes["block"] == len(of) and (one.block_level == level).all()
            for i, (row, owner) in enumerate(of):
                assert np.array_equal(one["u"].values[i], told.values["u"][row][owner], equal_nan=True)
            for name in ("n", "w"):
                values = [told.values[name][row][owner].ravel() for row, owner in of if owner in told.values[name].get(row, {})]
                assert np.array_equal(one[name].values, np.concatenate(values)), (level, name)
        with pytest.raises(ValueError, match="no variables on an amr mesh"):
            ds.drop_vars(["u", "n", "w"]).leat.uniform()


@pytest.mark.parametrize("cells", [CELLS, FREE])
def test_the_view_and_the_merged_file_of_several_nodes_are_those_of_one_server(tmp_path, cells):
    both = Both(tmp_path, [patched("u", "f8", cells), patched("v", "f4", cells)], [[0, 2], [1, 3]], meshes=[amr()])
    told = Told(tmp_path / "unused", both.several.plugins[0].variables, ranks=4) if (tmp_path / "unused").mkdir() is None else None
    for row in range(4):
        patches = {(2 * r + (b + row) % 2, b): patch for (r, b), patch in (patches_of(row) or patches_of(0)).items()}
        both.must(row, *told.blocks(patches, row))
    told.row = 4
    view, merged, one = both.finish()
    told.plugin.kill()
    for path in (view, merged, one):
        told.check(path=path)
        told.check_vtk(path=path)


def test_leat_ls_and_leat_xdmf_say_what_is_there(tmp_path):
    told = Told(tmp_path, [patched("u", "f8")])
    for row in range(2):
        told.give(patches_of(row))
    told.plugin.finish()
    said = json.loads(command("ls", "--json", "run.h5", cwd=tmp_path).stdout)
    assert [v["name"] for v in said["variables"]] == ["u"] and said["others"] == []
    assert said["vtkhdf"] == [{"name": "VTKHDF", "type": "OverlappingAMR", "arrays": ["u"]}]
    done = command("xdmf", "run.h5", cwd=tmp_path)
    assert 'mesh "m": XDMF has no levels of blocks; VTK and ParaView see them in /VTKHDF' in done.stdout + done.stderr, done
    with h5py.File(tmp_path / "run.h5") as file:
        assert len(stored_blocks(file, "u", 1)) == len(patches_of(1))
    assert vtk(tmp_path / "run.h5")["0/kind"] == "vtkOverlappingAMR"
