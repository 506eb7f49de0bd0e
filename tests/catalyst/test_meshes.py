# SPDX-License-Identifier: Apache-2.0
"""What a Catalyst script gets of each kind of mesh: its places, and the values that ranks wrote there. One run of two ranks has them all:
ParaView takes longer to start than all else."""
import json

import numpy as np
import pytest
from catalyst_run import draw


def array(*dims, start=0.0):
    return start + np.arange(np.prod(dims), dtype="f8").reshape(dims)


def give(folder, data, arrays, inputs, iteration=0):
    """What given.py was given of these inputs, and the log."""
    log = draw(folder, data, arrays, "given.py", attributes=f'args="{inputs}"')
    path = folder / f"given-{iteration}.json"
    assert path.exists() and "failed" not in log, log
    return json.loads(path.read_text()), log


DATA = """
<parameter name="speed" type="double" value="2.5"/><parameter name="t" type="double" value="0.5"/><time parameter="t"/>
<mesh name="m" type="uniform" origin="1,2" spacing="0.5,0.25"/>
<layout name="cells" type="double" dimensions="2,3" global="4,3" names="y,x"/>
<layout name="nodes" type="float" dimensions="5,4" global="5,4" names="y,x"/>
<layout name="faces" type="double" dimensions="4,4" global="4,4" names="y,x_face"/>
<variable name="c" layout="cells" mesh="m"/><variable name="n" layout="nodes" mesh="m" centering="nodal"/>
<variable name="f" layout="faces" mesh="m"/>

<mesh name="holed" type="uniform" origin="0,0" spacing="1,1"/>
<layout name="quarter" type="double" dimensions="2,2" global="4,4" names="y,x"/><variable name="corner" layout="quarter" mesh="holed"/>

<mesh name="haloed" type="uniform" origin="0,0" spacing="1,1"/>
<layout name="with_halo" type="double" dimensions="4,4" global="2,2" ghosts="1,1" names="y,x"/>
<variable name="inner" layout="with_halo" mesh="haloed"/>

<mesh name="centred" type="rectilinear" coordinates="cx,cy"/>
<layout name="cxs" type="double" dimensions="4" global="4" names="cx"/>
<layout name="cys" type="double" dimensions="2" global="2" names="cy"/>
<layout name="at_centres" type="double" dimensions="2,4" global="2,4" names="cy,cx"/>
<variable name="cx" layout="cxs" time-varying="false"/><variable name="cy" layout="cys" time-varying="false"/>
<variable name="at_centre" layout="at_centres" mesh="centred"/>

<mesh name="ring" type="curvilinear" coordinates="rx,ry"/>
<layout name="whole_ring" type="double" dimensions="3,4" global="3,4" names="r,phi"/>
<variable name="rx" layout="whole_ring"/><variable name="ry" layout="whole_ring"/><variable name="p" layout="whole_ring" mesh="ring"/>

<mesh name="pieces" type="curvilinear" coordinates="qx,qy"/><layout name="piece" type="double" dimensions="3,4" names="r,phi"/>
<variable name="qx" layout="piece"/><variable name="qy" layout="piece"/><variable name="q" layout="piece" mesh="pieces"/>

<layout name="points" type="double" dimensions="?,3" names="point,xyz"/><layout name="integers" type="int" dimensions="?"/>
<layout name="per_cell" type="double" dimensions="?" names="cell"/>
<mesh name="body" type="unstructured" coordinates="at" connectivity="ids" offsets="ends" types="shapes"/>
<variable name="at" layout="points"/><variable name="ids" layout="integers"/><variable name="ends" layout="integers"/>
<variable name="shapes" layout="integers"/><variable name="stress" layout="per_cell" mesh="body"/>
<variable name="v" layout="points" mesh="body" centering="nodal"/>

<mesh name="sheet" type="unstructured" coordinates="sheet_at" connectivity="sheet_ids" cells="triangle"/>
<variable name="sheet_at" layout="points"/><variable name="sheet_ids" layout="integers"/>
<variable name="sheet_stress" layout="per_cell" mesh="sheet"/><variable name="sheet_v" layout="points" mesh="sheet" centering="nodal"/>

<mesh name="cloud" type="points" coordinates="px,py"/><layout name="n" type="float" dimensions="?"/>
<variable name="px" layout="n"/><variable name="py" layout="n"/><variable name="charge" layout="n" mesh="cloud"/>

<mesh name="square" type="amr" levels="2" ratio="2" origin="0,0" spacing="1,1"/>
<layout name="patch" type="double" dimensions="2,2" names="y,x"/><variable name="dye" layout="patch" mesh="square"/>
"""
MESHES = ["m", "holed", "haloed", "centred", "ring", "pieces", "body", "sheet", "cloud", "square"]


def arrays_of(rank):
    starts = {"qx": 0, "qy": 100, "q": 200}
    own = {("c", 0): array(2, 3, start=6 * rank), ("c", "position"): [2 * rank, 0],
           ("corner", 0): array(2, 2, start=4 * rank), ("corner", "position"): [2 * rank, 2 * rank],
           **{(name, 0): array(3, 4, start=start + 1000 * rank) for name, start in starts.items()},
           ("at", 0): array(5, 3, start=100 * rank), ("ids", 0): np.array([0, 1, 2, 3, 1, 2, 4], "i4"),
           ("ends", 0): np.array([0, 4, 7], "i4"),
           ("shapes", 0): np.array([9, 5], "i4"), ("stress", 0): array(2, start=10 * rank), ("v", 0): array(5, 3, start=rank),
           **{(name, 0): array(2 + rank, start=start).astype("f4") for name, start in (("px", 0), ("py", 10), ("charge", 20))},
           ("dye", 0): array(2, 2, start=4 * rank), ("square", "level"): [rank, 2 * rank, 2 * rank]}
    if rank == 0:
        own.update({("n", 0): array(5, 4).astype("f4"), ("f", 0): array(4, 4), ("inner", 0): array(4, 4),
                    ("cx", 0): np.array([0, 1, 3, 7.0]),
                    ("cy", 0): np.array([5, 6.0]), ("at_centre", 0): array(2, 4), ("rx", 0): array(3, 4), ("ry", 0): array(3, 4, start=100),
                    ("p", 0): array(3, 4, start=200), ("sheet_at", 0): array(4, 3), ("sheet_ids", 0): np.array([0, 1, 2, 1, 2, 3], "i4"),
                    ("sheet_stress", 0): array(2), ("sheet_v", 0): array(3, 3)})
    return own


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """({name of an input: what given.py was given of it, and more}, the log)."""
    return give(tmp_path_factory.mktemp("run"), DATA, [arrays_of(rank) for rank in range(2)], " ".join([*MESHES, "input"]))


def test_cells_and_nodes_of_a_uniform_mesh(given):
    told, log = given
    mesh = told["m"]
    assert mesh["kind"] == "vtkImageData" and mesh["C"] == {"c": list(range(12))} and mesh["P"] == {"n": list(range(20))}
    assert mesh["points"][0] == [1, 2, 0] and mesh["points"][-1] == [2.5, 3, 0] and mesh["F"]["speed"] == [2.5]
    assert told["parameters"] == ["speed=2.5", "t=0.5"] and told["time"] == 0.5 and told["iteration"] == 0
    assert 'variable "f" on mesh "m" is not given to ParaView: its values lie neither at the nodes' in log


def test_what_nobody_wrote_is_hidden(given):
    mesh = given[0]["holed"]
    hidden = np.array(mesh["C"]["vtkGhostType"]).reshape(4, 4)
    assert np.array_equal(hidden != 0, np.kron([[0, 1], [1, 0]], np.ones((2, 2))))
    values = np.array(mesh["C"]["corner"], float).reshape(4, 4)
    assert np.array_equal(values[:2, :2], array(2, 2)) and np.isnan(values[hidden != 0]).all()


def test_ghosts_are_left_out(given):
    assert given[0]["haloed"]["C"] == {"inner": [5, 6, 9, 10]}


def test_a_rectilinear_mesh_whose_axes_are_nodes_is_the_only_input(tmp_path):
    """In a run without other meshes and without <time>."""
    axes = ('<mesh name="m" type="rectilinear" coordinates="x,y"/><layout name="xs" type="double" dimensions="4" global="4" names="x"/>'
            '<layout name="ys" type="double" dimensions="3" global="3" names="y"/>'
            '<layout name="cells" type="double" dimensions="2,3" global="2,3" names="y,x"/>'
            '<variable name="x" layout="xs" time-varying="false"/><variable name="y" layout="ys" time-varying="false"/>'
            '<variable name="c" layout="cells" mesh="m"/>')
    arrays = {("x", 0): np.array([0, 1, 3, 7.0]), ("y", 0): np.array([0, 1, 2.0]), ("c", 0): array(2, 3), ("c", 1): array(2, 3, start=9)}
    told, _ = give(tmp_path, axes, [arrays], "m input", iteration=1)
    assert told["m"]["kind"] == "vtkRectilinearGrid" and told["m"]["C"] == {"c": list(range(9, 15))} and told["m"]["P"] == {}
    assert told["m"]["points"][:4] == [[x, 0, 0] for x in (0, 1, 3, 7)] and told["input"] == told["m"]
    assert told["time"] == told["iteration"] == 1 and told["parameters"] == []


def test_a_rectilinear_mesh_whose_axes_are_centres(given):
    mesh = given[0]["centred"]
    assert mesh["P"] == {"at_centre": list(range(8))} and mesh["points"][4] == [0, 6, 0]


def test_a_curvilinear_mesh(given):
    ring = given[0]["ring"]
    assert ring["kind"] == "vtkStructuredGrid" and ring["P"] == {"p": list(range(200, 212))}
    assert ring["points"] == [[i, 100 + i, 0] for i in range(12)]


def test_blocks_without_a_global_shape_are_grids_of_their_own(given):
    pieces = given[0]["pieces"]
    assert pieces["kind"] == "vtkMultiBlockDataSet" and pieces["names"] == ["rank 0 block 0", "rank 1 block 0"]
    for rank, block in enumerate(pieces["blocks"]):
        assert block["P"] == {"q": [1000 * rank + 200 + i for i in range(12)]}
        assert block["points"][1] == [1000 * rank + 1, 1000 * rank + 101, 0]


def test_an_unstructured_mesh_of_several_ranks(given):
    body = given[0]["body"]
    assert body["kind"] == "vtkUnstructuredGrid" and body["types"] == [9, 5, 9, 5]
    assert body["cells"] == [[0, 1, 2, 3], [1, 2, 4], [5, 6, 7, 8], [6, 7, 9]]
    assert body["C"] == {"stress": [0, 1, 10, 11]} and body["P"]["v"][5] == [1, 2, 3] and body["points"][5] == [100, 101, 102]


def test_cells_of_one_shape(given):
    sheet = given[0]["sheet"]
    assert sheet["cells"] == [[0, 1, 2], [1, 2, 3]] and sheet["types"] == [5, 5] and sheet["P"] == {}
    assert sheet["C"] == {"sheet_stress": [0, 1]}


def test_particles_with_an_array_for_each_axis(given):
    cloud = given[0]["cloud"]
    assert cloud["points"] == [[0, 10, 0], [1, 11, 0], [0, 10, 0], [1, 11, 0], [2, 12, 0]]
    assert cloud["P"] == {"charge": [20, 21, 20, 21, 22]}
    assert cloud["cells"] == [[i] for i in range(5)]


def test_patches_of_levels(given):
    square = given[0]["square"]
    (coarse,), (fine,) = square["levels"]
    assert square["kind"] == "vtkOverlappingAMR" and coarse["C"]["dye"] == [0, 1, 2, 3] and fine["C"]["dye"] == [4, 5, 6, 7]
    assert coarse["points"][-1] == [2, 2, 0] and fine["points"][0] == [1, 1, 0] and fine["points"][-1] == [2, 2, 0]
    assert coarse["C"]["vtkGhostType"] == [0, 0, 0, 8], "the cell under the finer patch: REFINEDCELL"


def test_several_meshes_are_blocks_of_input(given):
    told, _ = given
    assert told["input"]["names"] == MESHES
    for name, block in zip(MESHES[:-1], told["input"]["blocks"]):
        assert str(block) == str(told[name]), name  # texts: a NaN is none like itself
    patches = told["input"]["blocks"][-1]
    assert patches["blocks"] == sum(told["square"]["levels"], []) and patches["names"] == ["level 0 patch 0", "level 1 patch 0"]
