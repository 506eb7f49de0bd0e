# SPDX-License-Identifier: Apache-2.0
"""Scripts with scope="run" on staging nodes: these are the servers that meet, and draw what one node draws."""
import sys

import numpy as np
from arrays_run import write_arrays
from judges import ROOT
from staging_run import StagingRun, staged

sys.path.insert(0, str(ROOT / "tests/catalyst"))

from catalyst_run import BOX, config, image  # noqa: E402
from test_of_run import slabs  # noqa: E402
from test_of_run_faults import PIPE  # noqa: E402

PICTURE = """import leat


@leat.on_iteration(variables=["temperature"])
def look(ds, ctx):
    ctx.picture("slice", "temperature", axis="x", scope="run")
"""
COUNT = 3


def drawn(folder, where):
    """{name: picture} of a script of ParaView's and one of Python; on two staging nodes of four ranks, or beside the simulation."""
    folder.mkdir()
    (folder / "pipe.py").write_text("# script-version: 2.0\nfrom paraview.simple import *\n" + PIPE)
    (folder / "look.py").write_text(PICTURE)
    text = config(BOX.replace('type="int" value="1"', 'type="int" value="4"'), folder / "pipe.py",
                  attributes=f'scope="run" at="{where}"', timeout="30s")
    text = text.replace("</scripts>", f'<script file="look.py" at="{where}" when-slow="wait"/></scripts>')
    runs = []

    def make(folder, text, nodes):
        runs.append(StagingRun(folder, text, nodes, 2))
        return runs[-1]
    if where == "node":
        log = write_arrays(folder, text, slabs(COUNT))
    else:
        try:
            log = write_arrays(folder, staged(text, 2), slabs(COUNT), nodes=2, make=make)
            log += runs[0].log()
        finally:
            runs[0].__exit__(None, None, None)
    return {path.name: image(path) for path in folder.rglob("*.png")}, log


def test_the_pictures_are_those_of_one_node(tmp_path):
    wanted, _ = drawn(tmp_path / "node", "node")
    found, log = drawn(tmp_path / "staging", "staging")
    assert found.keys() == wanted.keys() and len(wanted) == 2 * COUNT + 1, log  # and the latest
    for name, picture in wanted.items():
        assert np.array_equal(picture, found[name]), name
    assert "without" not in log, log
