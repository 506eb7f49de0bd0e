# SPDX-License-Identifier: Apache-2.0
"""What a Catalyst script gets of each kind of mesh: its places, and the values that ranks wrote there."""
import json

import numpy as np
from catalyst_run import draw


def given(folder, data, arrays, inputs, iteration=0, **others):
    """What given.py was given of these inputs, and the log."""
    log = draw(folder, data, arrays, "given.py", attributes=f'args="{inputs}"', **others)
    path = folder / f"given-{iteration}.json"
    assert path.exists() and "failed" not in log, log
    return json.loads(path.read_text()), log


def array(*dims, start=0.0):
    return start + np.arange(np.prod(dims), dtype="f8").reshape(dims)


UNIFORM = ('<parameter name="speed" type="double" value="2.5"/>'
           '<mesh name="m" type="uniform" origin="1,2" spacing="0.5,0.25"/>'
           '<layout name="cells" type="double" dimensions="2,3" global="4,3" names="y,x"/>'
           '<layout name="nodes" type="float" dimensions="5,4" global="5,4" names="y,x"/>'
           '<layout name="faces" type="double" dimensions="4,4" global="4,4" names="y,x_face"/>'
           '<variable name="c" layout="cells" mesh="m"/><variable name="n" layout="nodes" mesh="m" centering="nodal"/>'
           '<variable name="f" layout="faces" mesh="m"/>')


def test_cells_and_nodes_of_a_uniform_mesh(tmp_path):
    told, log = given(tmp_path, UNIFORM, [
        {("c", 0): array(2, 3), ("c", "position"): [0, 0], ("n", 0): array(5, 4).astype("f4"), ("f", 0): array(4, 4)},
        {("c", 0): array(2, 3, start=6), ("c", "position"): [2, 0]}], "m")
    mesh = told["m"]
    assert mesh["kind"] == "vtkImageData" and mesh["C"] == {"c": list(range(12))} and mesh["P"] == {"n": list(range(20))}
    assert mesh["points"][0] == [1, 2, 0] and mesh["points"][-1] == [2.5, 3, 0] and mesh["F"]["speed"] == [2.5]
    assert told["parameters"] == ["speed=2.5"] and told["time"] == told["iteration"] == 0
    assert 'variable "f" on mesh "m" is not given to ParaView: its values lie neither at the nodes' in log


def test_what_nobody_wrote_is_hidden(tmp_path):
    layout = '<layout name="cells" type="double" dimensions="2,2" global="4,4" names="y,x"/><variable name="c" layout="cells" mesh="m"/>'
    told, _ = given(tmp_path, '<mesh name="m" type="uniform" origin="0,0" spacing="1,1"/>' + layout, [
        {("c", 0): array(2, 2), ("c", "position"): [0, 0]}, {("c", 0): array(2, 2, start=4), ("c", "position"): [2, 2]}], "m")
    hidden = np.array(told["m"]["C"]["vtkGhostType"]).reshape(4, 4)
    assert np.array_equal(hidden != 0, np.kron([[0, 1], [1, 0]], np.ones((2, 2))))
    values = np.array(told["m"]["C"]["c"], float).reshape(4, 4)
    assert np.array_equal(values[:2, :2], array(2, 2)) and np.isnan(values[hidden != 0]).all()


def test_ghosts_are_left_out(tmp_path):
    layout = '<layout name="cells" type="double" dimensions="4,4" global="2,2" ghosts="1,1" names="y,x"/>'
    mesh = '<mesh name="m" type="uniform" origin="0,0" spacing="1,1"/>'
    told, _ = given(tmp_path, mesh + layout + '<variable name="c" layout="cells" mesh="m"/>', [{("c", 0): array(4, 4)}], "m")
    assert told["m"]["C"] == {"c": [5, 6, 9, 10]}


AXES = ('<mesh name="m" type="rectilinear" coordinates="x,y"/><layout name="xs" type="double" dimensions="4" global="4" names="x"/>'
        '<layout name="ys" type="double" dimensions="{0}" global="{0}" names="y"/>'
        '<layout name="cells" type="double" dimensions="2,{1}" global="2,{1}" names="y,x"/>'
        '<variable name="x" layout="xs" time-varying="false"/><variable name="y" layout="ys" time-varying="false"/>'
        '<variable name="c" layout="cells" mesh="m"/>')


def test_a_rectilinear_mesh_whose_axes_are_nodes(tmp_path):
    arrays = {("x", 0): np.array([0, 1, 3, 7.0]), ("y", 0): np.array([0, 1, 2.0]), ("c", 0): array(2, 3), ("c", 1): array(2, 3, start=9)}
    told, _ = given(tmp_path, AXES.format(3, 3), [arrays], "m input", iteration=1)
    assert told["m"]["kind"] == "vtkRectilinearGrid" and told["m"]["C"] == {"c": list(range(9, 15))} and told["m"]["P"] == {}
    assert told["m"]["points"][:4] == [[x, 0, 0] for x in (0, 1, 3, 7)] and told["input"] == told["m"]


def test_a_rectilinear_mesh_whose_axes_are_centres(tmp_path):
    arrays = {("x", 0): np.array([0, 1, 3, 7.0]), ("y", 0): np.array([5, 6.0]), ("c", 0): array(2, 4)}
    told, _ = given(tmp_path, AXES.format(2, 4), [arrays], "m")
    assert told["m"]["P"] == {"c": list(range(8))} and told["m"]["points"][4] == [0, 6, 0]


RING = ('<mesh name="m" type="curvilinear" coordinates="x,y"/><layout name="ring" type="double" dimensions="3,4" {}names="r,phi"/>'
        '<variable name="x" layout="ring"/><variable name="y" layout="ring"/><variable name="p" layout="ring" mesh="m"/>')


def test_a_curvilinear_mesh(tmp_path):
    arrays = {(name, 0): array(3, 4, start=start) for name, start in (("x", 0), ("y", 100), ("p", 200))}
    told, _ = given(tmp_path, RING.format('global="3,4" '), [arrays], "m")
    assert told["m"]["kind"] == "vtkStructuredGrid" and told["m"]["P"] == {"p": list(range(200, 212))}
    assert told["m"]["points"] == [[i, 100 + i, 0] for i in range(12)]


def test_blocks_without_a_global_shape_are_grids_of_their_own(tmp_path):
    starts = {"x": 0, "y": 100, "p": 200}
    ranks = [{(name, 0): array(3, 4, start=start + 1000 * rank) for name, start in starts.items()} for rank in range(2)]
    told, _ = given(tmp_path, RING.format(""), ranks, "m")
    assert told["m"]["kind"] == "vtkMultiBlockDataSet" and told["m"]["names"] == ["rank 0 block 0", "rank 1 block 0"]
    for rank, block in enumerate(told["m"]["blocks"]):
        assert block["P"] == {"p": [1000 * rank + 200 + i for i in range(12)]}
        assert block["points"][1] == [1000 * rank + 1, 1000 * rank + 101, 0]


BODY = ('<layout name="points" type="double" dimensions="?,3" names="point,xyz"/><layout name="integers" type="int" dimensions="?"/>'
        '<layout name="per_cell" type="double" dimensions="?" names="cell"/>'
        '<layout name="flow" type="double" dimensions="?,3" names="point,xyz"/>'
        '<variable name="at" layout="points"/><variable name="ids" layout="integers"/>{}'
        '<variable name="stress" layout="per_cell" mesh="body"/><variable name="v" layout="flow" mesh="body" centering="nodal"/>')


def test_an_unstructured_mesh_of_several_ranks(tmp_path):
    data = ('<mesh name="body" type="unstructured" coordinates="at" connectivity="ids" offsets="ends" types="shapes"/>' +
            BODY.format('<variable name="ends" layout="integers"/><variable name="shapes" layout="integers"/>'))
    cells = {("ids", 0): [0, 1, 2, 3, 1, 2, 4], ("ends", 0): [0, 4, 7], ("shapes", 0): [9, 5]}
    ranks = [{("at", 0): array(5, 3, start=100 * rank), **{key: np.array(values, "i4") for key, values in cells.items()},
              ("stress", 0): array(2, start=10 * rank), ("v", 0): array(5, 3, start=rank)} for rank in range(2)]
    told, _ = given(tmp_path, data, ranks, "body")
    body = told["body"]
    assert body["kind"] == "vtkUnstructuredGrid" and body["types"] == [9, 5, 9, 5]
    assert body["cells"] == [[0, 1, 2, 3], [1, 2, 4], [5, 6, 7, 8], [6, 7, 9]]
    assert body["C"] == {"stress": [0, 1, 10, 11]} and body["P"]["v"][5] == [1, 2, 3] and body["points"][5] == [100, 101, 102]


def test_cells_of_one_shape(tmp_path):
    data = '<mesh name="body" type="unstructured" coordinates="at" connectivity="ids" cells="triangle"/>' + BODY.format("")
    told, _ = given(tmp_path, data, [{("at", 0): array(4, 3), ("ids", 0): np.array([0, 1, 2, 1, 2, 3], "i4"), ("stress", 0): array(2),
                                      ("v", 0): array(3, 3)}], "body")
    assert told["body"]["cells"] == [[0, 1, 2], [1, 2, 3]] and told["body"]["types"] == [5, 5] and told["body"]["P"] == {}


def test_particles_with_an_array_for_each_axis(tmp_path):
    data = ('<mesh name="cloud" type="points" coordinates="x,y"/><layout name="n" type="float" dimensions="?"/>'
            '<variable name="x" layout="n"/><variable name="y" layout="n"/><variable name="q" layout="n" mesh="cloud"/>')
    starts = {"x": 0, "y": 10, "q": 20}
    ranks = [{(name, 0): array(2 + rank, start=start).astype("f4") for name, start in starts.items()} for rank in range(2)]
    told, _ = given(tmp_path, data, ranks, "cloud")
    cloud = told["cloud"]
    assert cloud["points"] == [[0, 10, 0], [1, 11, 0], [0, 10, 0], [1, 11, 0], [2, 12, 0]] and cloud["P"] == {"q": [20, 21, 20, 21, 22]}
    assert cloud["cells"] == [[i] for i in range(5)]


def test_patches_of_levels(tmp_path):
    data = ('<mesh name="square" type="amr" levels="2" ratio="2" origin="0,0" spacing="1,1"/>'
            '<layout name="patch" type="double" dimensions="2,2" names="y,x"/><variable name="dye" layout="patch" mesh="square"/>')
    told, _ = given(tmp_path, data, [{("dye", 0): array(2, 2), ("square", "level"): [0, 0, 0]},
                                     {("dye", 0): array(2, 2, start=4), ("square", "level"): [1, 2, 2]}], "square")
    (coarse,), (fine,) = told["square"]["levels"]
    assert told["square"]["kind"] == "vtkOverlappingAMR" and coarse["C"]["dye"] == [0, 1, 2, 3] and fine["C"]["dye"] == [4, 5, 6, 7]
    assert coarse["points"][-1] == [2, 2, 0] and fine["points"][0] == [1, 1, 0] and fine["points"][-1] == [2, 2, 0]
    assert coarse["C"]["vtkGhostType"] == [0, 0, 0, 8], "the cell under the finer patch: REFINEDCELL"


def test_several_meshes_are_blocks_of_input(tmp_path):
    data = ('<parameter name="t" type="double" value="0.5"/><time parameter="t"/>'
            '<mesh name="m" type="uniform" origin="0" spacing="1"/><mesh name="cloud" type="points" coordinates="x"/>'
            '<layout name="line" type="double" dimensions="3" global="3"/><layout name="n" type="float" dimensions="?,3"/>'
            '<variable name="u" layout="line" mesh="m"/><variable name="x" layout="n"/><variable name="z" layout="line"/>')
    told, _ = given(tmp_path, data, [{("u", 0): array(3), ("x", 0): array(2, 3).astype("f4"), ("z", 0): array(3)}], "input m")
    assert told["input"]["names"] == ["m", "cloud"] and told["input"]["blocks"][0] == told["m"] and told["time"] == 0.5
    assert told["input"]["blocks"][1]["points"] == [[0, 1, 2], [3, 4, 5]]
