# SPDX-License-Identifier: Apache-2.0
"""Catalyst scripts with scope="run": the first server has what all have, in data objects like those of one node, and draws the same."""
import json
import re
import subprocess

import numpy as np
import pytest
from catalyst_run import BOX, config, draw, extract, image
from leat_run import BUILD
from test_exported import ATOMS, CENTRES
from test_meshes import DATA, MESHES, arrays_of
from test_scripts import put

RUN = 'scope="run"'
PLACES = [np.random.default_rng(rank).random((60, 3)).astype("f4") * 10 for rank in range(4)]


def temperature(iteration):
    """Another one in each cell."""
    z, y, x = np.meshgrid(*3 * [CENTRES], indexing="ij")
    return x + 0.3 * y * y + 0.1 * np.sin(4 * z + iteration)


def slabs(iterations=2, ranks=4):
    each = 16 // ranks
    own = [{("temperature", "position"): [each * rank, 0, 0]} for rank in range(ranks)]
    for rank, arrays in enumerate(own):
        for i in range(iterations):
            arrays["temperature", i] = temperature(i)[each * rank:each * (rank + 1)]
    return own


def with_atoms(iterations=2):
    ranks = slabs(iterations)
    for rank, arrays in enumerate(ranks):
        for i in range(iterations):
            arrays["x", i] = PLACES[rank][:30 + 5 * rank + i]
            arrays["atoms/type", i] = np.full(30 + 5 * rank + i, 1 + rank, "i4")
    return ranks


def drawn(folder, nodes):
    """({file name: path} of pictures and data, the log) of three scripts of ParaView's."""
    folder.mkdir()
    names = "slice", "contour", "particles"
    scripts = [f"exported/{name}.py" for name in names]
    log = draw(folder, BOX + ATOMS, with_atoms(), *scripts, parameters={"ranks": 4}, attributes=RUN, of_scripts='workers="1"', nodes=nodes)
    found = [path for path in folder.rglob("*") if path.suffix in (".png", ".vtp") and path.parent.name in names]
    assert len({path.parent.parent for path in found}) == 1, "one server alone draws"
    return {path.name: path for path in found}, log


def test_pictures_and_data_are_the_same_for_any_number_of_nodes(tmp_path):
    one, log = drawn(tmp_path / "1", 1)
    assert len(one) == 12 and "warning: script" not in log, log
    for nodes in (2, 4):
        several, log = drawn(tmp_path / str(nodes), nodes)
        assert several.keys() == one.keys() and "warning: script" not in log and "Traceback" not in log, log
        for name, path in one.items():
            if path.suffix == ".png":
                assert np.array_equal(image(path), image(several[name])), (name, nodes)
                continue
            (expected, got) = (extract(each, tmp_path) for each in (path, several[name]))
            assert expected.keys() == got.keys()
            for array in expected:
                assert np.array_equal(expected[array], got[array]) and expected[array].dtype == got[array].dtype, (name, array, nodes)


def test_each_kind_of_mesh_is_what_it_is_on_one_node(tmp_path):
    """All of what given.py was given, with points, cells, values, marks of holes, and names of blocks."""
    told = []
    for nodes in (1, 2):
        folder = tmp_path / str(nodes)
        folder.mkdir()
        names = " ".join([*MESHES, "input"])
        log = draw(folder, DATA, [arrays_of(rank) for rank in range(2)], "given.py", attributes=f'args="{names}" {RUN}', nodes=nodes)
        told.append(json.loads((folder / "given-0.json").read_text()))
        assert 'variable "f" on mesh "m" is not given to ParaView: its values lie neither at the nodes' in log
    for name in told[0]:
        assert str(told[0][name]) == str(told[1][name]), name  # texts: a NaN is none like itself


COARSE = BOX + ('<mesh name="coarse" type="uniform" origin="0,0,0" spacing="0.25,0.25,0.25"/>'
                '<variable name="fourth" expr="temperature" select="z=::4, y=::4, x=::4" store="none"/>'
                '<variable name="T4" expr="fourth" mesh="coarse" store-type="float" store="none"/>')
TELLS = '''
from vtkmodules.util.numpy_support import vtk_to_numpy
import json
source = PVTrivialProducer(registrationName="coarse")
def catalyst_execute(info):
    source.UpdatePipeline(info.time)
    data = source.GetClientSideObject().GetOutputDataObject(0)
    cells = data.GetCellData()
    told = {cells.GetArrayName(i): vtk_to_numpy(cells.GetArray(i)).tolist() for i in range(cells.GetNumberOfArrays())}
    with open(f"coarse-{info.timestep}.json", "w") as file:
        json.dump([data.GetClassName(), data.GetSpacing(), data.GetExtent(), told], file)
'''


def test_servers_send_what_the_xml_selects_and_the_script_takes(tmp_path):
    put(tmp_path, TELLS)
    log = draw(tmp_path, COARSE, slabs(), tmp_path / "pipe.py", parameters={"ranks": 4}, nodes=4, attributes=f'{RUN} variables="T4"')
    for i in range(2):
        kind, spacing, extent, arrays = json.loads((tmp_path / f"coarse-{i}.json").read_text())
        assert (kind, spacing, extent) == ("vtkImageData", 3 * [0.25], [0, 4, 0, 4, 0, 4]), log
        assert arrays == {"T4": temperature(i)[::4, ::4, ::4].astype("f4").reshape(-1).tolist()}
    (sent,) = set(map(int, re.findall(r"iteration \d+: (\d+) bytes came from 3 other servers", log)))
    assert 3 * 64 <= sent < 1024, "4 x 4 floats of each of three, not 1024 doubles"


AXES = ('<mesh name="m" type="rectilinear" coordinates="x,y"/><layout name="xs" type="double" dimensions="40" global="80" names="x"/>'
        '<layout name="ys" type="double" dimensions="3" global="3" names="y"/>'
        '<layout name="cells" type="double" dimensions="3,40" global="3,80" names="y,x"/>'
        '<variable name="x" layout="xs" time-varying="false"/><variable name="y" layout="ys" time-varying="false"/>'
        '<variable name="c" layout="cells" mesh="m"/>')


def test_what_does_not_vary_in_time_is_sent_once(tmp_path):
    ranks = [{("x", "position"): [40 * rank], ("x", 0): np.arange(40.0) + 40 * rank, ("y", 0): np.arange(3.0),
              ("c", "position"): [0, 40 * rank], **{("c", i): np.full((3, 40), i + 10.0 * rank) for i in range(3)}} for rank in range(2)]
    told = {}
    for nodes in (1, 2):
        folder = tmp_path / str(nodes)
        folder.mkdir()
        log = draw(folder, AXES, ranks, "given.py", attributes=f'args="m" {RUN}', nodes=nodes)
        told[nodes] = [json.loads((folder / f"given-{i}.json").read_text()) for i in range(3)]
    assert told[1] == told[2], log
    sent = list(map(int, re.findall(r"iteration \d+: (\d+) bytes came from 1 other server", log)))
    assert len(sent) == 3 and sent[1] == sent[2] <= sent[0] - 8 * 40, sent


SKIPS = '''
def catalyst_execute(info):
    with open("told.txt", "a") as file: print(info.timestep, file=file)
options = catalyst.Options()
options.GlobalTrigger = "TimeStep"
options.GlobalTrigger.Frequency = 2
'''


def test_nothing_is_sent_for_iterations_that_the_script_does_not_want(tmp_path):
    put(tmp_path, SKIPS)
    log = draw(tmp_path, BOX, slabs(4, 2), tmp_path / "pipe.py", parameters={"ranks": 2}, nodes=2, attributes=RUN)
    assert (tmp_path / "told.txt").read_text().split() == ["0", "2"], log
    assert re.findall(r"iteration (\d+): \d+ bytes came from", log) == ["0", "2"], log


def test_more_than_there_is_memory_for_is_said_before_it_is_sent(tmp_path):
    put(tmp_path, "1 / 1\n")
    big = ('<mesh name="m" type="uniform" origin="0" spacing="1"/><layout name="l" type="double" dimensions="4000000" global="8000000" '
           'names="x"/><variable name="v" layout="l" mesh="m"/>')
    ranks = [{("v", "position"): [4000000 * rank], ("v", 0): np.zeros(4000000)} for rank in range(2)]
    log = draw(tmp_path, big, ranks, tmp_path / "pipe.py", attributes=RUN, nodes=2, buffer="64MiB", of_scripts='memory="100MiB"')
    assert "takes 122 MiB on the first one, and the process of a script may have 100 MiB: name what is drawn" in log, log
    assert "bytes came from" not in log


EVENT = '<actions><event name="snap" script="pipe" scope="{}"/></actions>'


@pytest.mark.parametrize("scope", ["node", "run"])
def test_check_says_who_draws(tmp_path, scope):
    path = put(tmp_path, "")
    (tmp_path / "run.xml").write_text(config(BOX, path, attributes=f'scope="{scope}"'))

    def check(*words):
        return subprocess.run([BUILD / "bin/leat", "check", "run.xml", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    said = "each of the 4 servers draws the part that its own ranks wrote"
    several = check("--ranks", "8", "--per-node", "2")
    assert (said in several.stdout + several.stderr) == (scope == "node"), several
    assert "servers draws the part" not in check("--ranks", "4").stdout
    text = config(BOX, path, attributes='scope="run"').replace("</simulation>", EVENT.format(scope) + "</simulation>")
    (tmp_path / "run.xml").write_text(text)
    refused = check()
    assert (refused.returncode == 0) == (scope == "run"), refused.stdout + refused.stderr
