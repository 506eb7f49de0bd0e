# SPDX-License-Identifier: Apache-2.0
"""append="true" in files with /VTKHDF, in which steps, parts and offsets go with the iterations that are cut off; see test_append.py."""
import os

import h5py
import numpy as np
import pytest
from h5_compare import expect_same
from leat_plugin import Plugin, mesh, variable
from leat_run import same_bits
from test_vtkhdf import MIXED_MESH, field_blocks, global_block, mixed_blocks, mixed_variables

LAST = 9
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], float)


def still(plugin, i, is_first):
    return [*(mixed_blocks(plugin, [0, 1]) if is_first else []), *field_blocks(plugin, i, [0, 1])]


def changing(plugin, i, _):
    ranks = [[0, 1], [1], [], [0, 1], [0]][i % 5]
    return [*mixed_blocks(plugin, ranks, i), *field_blocks(plugin, i, ranks)]


def tets(moves):
    def blocks(plugin, i, is_first):
        made = []
        for rank in range(2):
            if moves or is_first:
                made.append(plugin.values(0, CORNERS + rank + (i if moves else 0), rank=rank))
        for rank in range(2):
            if moves or is_first:
                made.append(plugin.values(1, [[0, 1, 2, 3], [1, 2, 3, 4]][:1 + (i + rank) % 2 if moves else 2], rank=rank))
        return made + [plugin.block(2, (1 + (i + rank) % 2 if moves else 2,), 10 * i + rank, rank=rank) for rank in range(2)]
    return blocks


def tet_variables(moves):
    varies = {} if moves else {"time_varying": 0}
    return [variable("p", "f8", ["?n", "xyz"], **varies), variable("c", "i8", ["?cells", "k"], **varies),
            variable("s", "f8", ["?cells"], mesh=0)]


def particles(plugin, i, _):
    return [plugin.block(number, (3 * i % 4 + rank, 3) if number == 0 else (3 * i % 4 + rank,), 100 * i + 10 * number + rank, rank=rank)
            for number in range(2) for rank in range(2)]


def patches(plugin, i, _):
    """Of three levels, which come and go."""
    varies = plugin.variables[0]["dims"][0]["varying"]
    told = {(rank, block): ((rank + block + i) % 3, [4 * block, 2 * rank], (4, 2 + block * varies))
            for rank in range(2) for block in range(1 + (i + rank) % 3)}
    return [plugin.block(number, extents, 100 * i + 10 * number + 3 * rank + block, rank=rank, block=block, level=level, position=low)
            for number in range(2) for (rank, block), (level, low, extents) in sorted(told.items())]


def patches_and_more(plugin, i, is_first):
    return [*patches(plugin, i, is_first), global_block(plugin, 2, (3, 4), i)]


def several(plugin, i, is_first):
    axes = [plugin.values(2 + n, np.linspace(0, 1, size) ** 2) for n, size in enumerate((5, 4))] if is_first else []
    fields = [global_block(plugin, 0, (3, 4), i)] + ([global_block(plugin, 1, (3, 4), 50 + i)] if i > 2 else [])
    return fields + axes


AMR = {"origin": [1., 2.], "spacing": [.5, .25], "ratio": 2}
FIELD = {"global": 1}
CASES = {
    "still": (still, mixed_variables(False), MIXED_MESH), "changing": (changing, mixed_variables(True), MIXED_MESH),
    "still tets": (tets(False), tet_variables(False),
                   [mesh("tets", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=10)]),
    "moving tets": (tets(True), tet_variables(True),
                    [mesh("tets", "unstructured", 3, coordinates=[0], connectivity=1, cell_type=10)]),
    "particles": (particles, [variable("x", "f8", ["?n", "xyz"]), variable("m", "f4", ["?n"], mesh=0, nodal=1)],
                  [mesh("atoms", "points", 3, coordinates=[0])]),
    "amr": (patches, [variable("u", "f8", ["y", "x"], mesh=0), variable("v", "f4", ["y", "x"], mesh=0)], [mesh("m", "amr", 2, **AMR)]),
    "amr beside a grid": (patches_and_more, [variable("u", "f8", ["y", "x"], mesh=1), variable("v", "f4", ["y", "x"], mesh=1),
                                             variable("t", "f8", ["j", "i"], **FIELD, mesh=0)],
                          [mesh("box", "uniform", 2, origin=[0., 0.], spacing=[1., 1.]), mesh("m", "amr", 2, **AMR)]),
    "amr of all sizes": (patches, [variable("u", "f8", ["?y", "?x"], mesh=0), variable("v", "f4", ["?y", "?x"], mesh=0)],
                         [mesh("m", "amr", 2, **AMR)]),
    "several": (several, [variable("t", "f8", ["y", "x"], **FIELD, mesh=0), variable("k", "f8", ["y", "x"], **FIELD, mesh=1),
                          variable("a", "f8", ["a"], time_varying=0), variable("b", "f8", ["b"], time_varying=0)],
                [mesh("box", "uniform", 2, origin=[0., 0.], spacing=[1., 1.]), mesh("grid", "rectilinear", 2, coordinates=[2, 3])])}


def run(folder, case, session, iterations):
    blocks, variables, meshes = CASES[case]
    folder.mkdir(exist_ok=True)
    plugin = Plugin(folder, variables, meshes=meshes, ranks=2, session=session, options={"append": "true"}, time_parameter=0)
    assert not plugin.opened, plugin.opened
    for i in iterations:
        plugin.must(i, *blocks(plugin, i, i == iterations[0]), parameters={"time": i / 8})
    return plugin.finish()


@pytest.mark.parametrize("case", CASES)
def test_steps_of_meshes_are_those_of_a_run_that_was_not_interrupted(tmp_path, case):
    run(tmp_path / "whole", case, "one", range(LAST))
    for end, first in ((4, 4), (7, 3), (5, 0)):
        folder = tmp_path / f"{end}-{first}"
        run(folder, case, "one", range(end))
        run(folder, case, "two", range(first, LAST))
        expect_same(folder / "run.h5", tmp_path / "whole/run.h5", but=["session"])
        assert os.listdir(folder) == ["run.h5"]


@pytest.mark.parametrize("case", ["amr", "amr of all sizes", "amr beside a grid"])
def test_a_run_that_stores_no_patch_leaves_their_boxes_as_they_are(tmp_path, case):
    run(tmp_path / "whole", case, "one", range(4))
    run(tmp_path / "parts", case, "one", range(4))
    blocks, variables, meshes = CASES[case]
    for session, iterations in (("two", []), ("three", [4]), ("four", [5, 6])):
        plugin = Plugin(tmp_path / "parts", variables, meshes=meshes, ranks=2, session=session, options={"append": "true"},
                        time_parameter=0)
        for i in iterations:
            others = [global_block(plugin, 2, (3, 4), i)] if len(variables) > 2 and i > 4 else []
            plugin.must(i, *others, parameters={"time": i / 8})
        plugin.finish()
    with h5py.File(tmp_path / "whole/run.h5") as one, h5py.File(tmp_path / "parts/run.h5") as parts:
        found = {}
        one["VTKHDF"].visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        for name, values in found.items():
            assert same_bits(values, parts["VTKHDF"][name][()]), name
