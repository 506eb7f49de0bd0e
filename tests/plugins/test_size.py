# SPDX-License-Identifier: Apache-2.0
"""A file is not much larger than its data, however many variables, blocks and iterations they are in: cells of the bench's
table, sections/size.py."""
import json
import pathlib
import subprocess
import sys

import h5py
import pytest
from leat_plugin import Plugin, mesh, variable
from leat_run import BUILD

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "bench"))
from harness.sections.size import Cell, run  # noqa: E402

REACHED = [
    Cell("scalar", 1, 1, 1, 8), Cell("scalar", 1, 1, 1000, 8), Cell("scalar", 100, 1, 10, 8), Cell("scalar", 5000, 1, 10, 8),
    Cell("single", 1, 1, 10, 4096), Cell("single", 100, 1, 10, 8), Cell("single", 100, 1, 10, 4096), Cell("global", 1, 4, 1, 8),
    Cell("global", 5000, 1, 10, 8), Cell("global", 100, 4, 100, 8), Cell("global", 100, 4, 10, 4096), Cell("global", 16, 4, 3, 65536),
    Cell("part", 1, 4, 10, 8), Cell("part", 20, 100, 10, 8), Cell("part", 100, 4, 10, 4096), Cell("part", 1, 4, 10, 1 << 20),
    Cell("amr", 1, 3301, 1, 4096), Cell("amr", 5, 500, 5, 4096), Cell("amr", 1, 8, 100, 4096),
    Cell("scalar", 1, 1, 10, 8, parameters=100), Cell("scalar", 1, 1, 10, 8, parameters=5000),
]


@pytest.mark.parametrize("cell", REACHED, ids=Cell.words)
def test_a_file_is_not_much_larger_than_its_data(tmp_path, cell):
    facts = run(cell, tmp_path / "run")
    assert facts["data"] < facts["bytes"] <= facts["allowed"]


@pytest.mark.parametrize("cell", [Cell("single", 100, 1, 1, 8), Cell("part", 100, 4, 10, 8)], ids=Cell.words)
def test_what_is_larger_is_so_by_the_structures_of_each_variable(tmp_path, cell):
    facts = run(cell, tmp_path / "run")
    assert facts["bytes"] < facts["data"] + 100 * 7 * 1024 + 64 * 1024


def test_a_small_file_with_steps_for_vtk_is_small(tmp_path):
    plugin = Plugin(tmp_path, [variable("u", "f8", ["y", "x"], mesh=0, **{"global": 1})],
                    meshes=[mesh("m", "uniform", 2, origin=[0, 0], spacing=[1, 1])])
    for i in range(3):
        plugin.must(i, plugin.block(0, (4, 5), i, position=[0, 0], **{"global": [4, 5]}))
    plugin.finish()
    assert (tmp_path / "run.h5").stat().st_size < 64 << 10


def test_leat_ls_counts_all_of_the_file(tmp_path):
    run(Cell("global", 20, 4, 10, 1024, parameters=2), tmp_path / "run", tmp_path / "kept.h5")
    said = subprocess.run([BUILD / "bin/leat", "ls", "--json", "kept.h5"], cwd=tmp_path, capture_output=True, text=True, check=True)
    space = json.loads(said.stdout)["space"]
    with h5py.File(tmp_path / "kept.h5") as file:
        values = [d for d in file.values() if isinstance(d, h5py.Dataset) and "leat_layout" in d.attrs]
        values += list(file["parameters"].values())
        assert len(values) == 22 and space["values"] == sum(d.nbytes for d in values)
        assert space["room"] >= sum(d.id.get_storage_size() - d.nbytes for d in values)
    assert sum(space.values()) == (tmp_path / "kept.h5").stat().st_size
    assert space["structures"] > 22 * 500 and space["tables"] > 0 and space["rest"] < 100 << 10


def test_scales_list_all_that_they_name(tmp_path):
    """Also what comes later, and by a server that goes on with the file. HDF5 asks both sides."""
    variables = [variable(name, "f8", ["x"]) for name in "abc"]
    for resumed in (0, 1):
        plugin = Plugin(tmp_path, variables, resumed=resumed)
        for i in (2 * resumed, 2 * resumed + 1):
            plugin.must(i, *(plugin.block(n, (3,), i) for n in range(1 + i // 2 + (i > 0))))
        plugin.kill() if not resumed else plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for name in "abc":
            for d, scale in enumerate(("iteration", "x")):
                assert h5py.h5ds.is_attached(file[name].id, file[scale].id, d), (name, scale)
        assert len(file["x"].attrs["REFERENCE_LIST"]) == 3
