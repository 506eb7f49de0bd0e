# SPDX-License-Identifier: Apache-2.0
"""ctx.picture(scope="run"): one picture of what several servers have, the same for any number of them."""
import os
import signal

import numpy as np
import pytest
from arrays_run import write_arrays
from control_run import wait_until
from judges import environment
from leat_run import xml
from picture_run import coloured, debians_python, image

RANKS, SIDE = 4, 12
DATA = f"""
<mesh name="cube" type="uniform" origin="0,0,0" spacing="0.1,0.1,0.1" unit="m"/>
<layout name="slab" type="double" dimensions="{SIDE // RANKS},{SIDE},{SIDE}" global="{SIDE},{SIDE},{SIDE}" names="z,y,x"/>
<layout name="nodes" type="double" dimensions="{SIDE // RANKS},{SIDE},{SIDE}" global="{SIDE},{SIDE},{SIDE}" names="z,y,x"/>
<variable name="T" layout="slab" mesh="cube" unit="K"/>
<mesh name="atoms" type="points" coordinates="at"/><layout name="places" type="double" dimensions="?,3"/>
<layout name="of_each" type="double" dimensions="?"/>
<variable name="at" layout="places"/><variable name="mass" layout="of_each" mesh="atoms"/>
"""
SCRIPT = '''
import leat

@leat.on_iteration()
def draw(ds, ctx):
    path = ctx.picture("slice", "T", axis="x", name="across", scope="run", size=(400, 300), range=(0, 40))
    assert (path is not None) == ctx.is_first, path
    ctx.picture("slice", "T", axis="z", at=0.25, name="of_one", scope="run", size=(400, 300))
    ctx.picture("particles", "mass", name="particles", scope="run", size=(400, 300), radius=0.05)
    ctx.picture("contour", "T", name="contour", scope="run", size=(300, 300), values=[15.0], edges=True)
    for wrong in ({"kind": "volume"}, {"scope": "all"}, {"axis": "z", "at": 77}):
        try:
            ctx.picture(**{"kind": "slice", "variable": "T", "name": "wrong", "scope": "run", **wrong})
        except ValueError as error:
            ctx.log("REFUSED", error)
'''


FIRST_ALONE = SCRIPT.partition('    ctx.picture("slice", "T", axis="z"')[0]


def values():
    z, y, x = np.mgrid[:SIDE, :SIDE, :SIDE]
    return x + 2.0 * y + z


def by_rank(steps=1):
    ranks, each = [], SIDE // RANKS
    rng = np.random.default_rng(3)
    for rank in range(RANKS):
        arrays = {("T", "position"): np.array([rank * each, 0, 0])}
        for step in range(steps):
            count = 5 + rank
            at = rng.random((count, 3)) + [0, 0, rank * 0.3]
            arrays |= {("T", step): values()[rank * each:(rank + 1) * each], ("at", step): at,
                       ("mass", step): rng.random(count)}
        ranks.append(arrays)
    return ranks


def drawn(folder, python, nodes, script=SCRIPT, after=None, steps=1):
    folder.mkdir()
    (folder / "draws.py").write_text(script)
    scripts = f'<scripts interpreter="{python}"><script file="draws.py" when-slow="wait" failures="99"/></scripts><log level="debug"/>'
    log = write_arrays(folder, xml(DATA, log=scripts), by_rank(steps), after, nodes=nodes)
    return log, {path.name: path for path in folder.rglob("*.png") if not path.is_symlink()}


@pytest.mark.parametrize("vtk", ["debian", "pypi"])
def test_the_picture_is_the_same_for_any_number_of_nodes(tmp_path, vtk):
    python = debians_python() if vtk == "debian" else environment() / "bin/python"
    log, alone = drawn(tmp_path / "one", python, 1)
    assert "Traceback" not in log and sorted(alone) == [f"{name}-000000.png" for name in ("across", "contour", "of_one", "particles")], log
    for line in ('"volume", scope="run"', "scope='all'", 'z = 77 does not go through "T", which lies from 0 to 1.2'):
        assert line in log, log
    for nodes in (2, 4):
        log, several = drawn(tmp_path / str(nodes), python, nodes)
        assert "Traceback" not in log and several.keys() == alone.keys(), log
        for name, path in alone.items():
            one, all_ = image(path), image(several[name])
            if name.startswith("contour"):  # values at nodes are the middles of cells that one server has
                assert np.mean(coloured(one) != coloured(all_)) < 0.05
            else:
                assert np.array_equal(one, all_), (name, nodes, np.argwhere((one != all_).any(-1))[:5])
    plate = image(alone["across-000000.png"])
    assert coloured(plate).mean() > 0.2, "the whole plane is there"


DIFFERENT = '''
import leat

@leat.on_iteration()
def draw(ds, ctx):
    ctx.picture("slice", "T", axis="x" if ctx.is_first else "y", scope="run")
'''


def test_servers_that_ask_for_different_pictures_are_told_so(tmp_path):
    log, pictures = drawn(tmp_path / "run", debians_python(), 2, DIFFERENT)
    assert "servers of the run ask for different pictures: Wish(kind='slice', variable='T', axis='x'" in log and not pictures, log


def test_a_server_that_dies_costs_pictures_and_nothing_else(tmp_path):
    def kill(run, iteration):
        if iteration == 1:
            wait_until(lambda: list(run.folder.rglob("across-000001.png")), "two pictures")
            os.kill(run.server_of(1), signal.SIGKILL)
    log, pictures = drawn(tmp_path / "run", debians_python(), 2, FIRST_ALONE, kill, steps=5)
    assert {"across-000000.png", "across-000004.png"} <= pictures.keys(), (sorted(pictures), log)
    first, last = image(pictures["across-000000.png"]), image(pictures["across-000004.png"])
    assert np.array_equal(first[40:], last[40:]) and not np.array_equal(first[:40], last[:40]), "the titles differ alone"
