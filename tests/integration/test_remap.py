# SPDX-License-Identifier: Apache-2.0
"""examples/remap: every frame, turned, in the order in which they came, under each way to run it."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from leat_run import BUILD, LIMIT

XML = (pathlib.Path(__file__).parents[2] / "examples/remap/remap.xml").read_text()
FRAMES, ROWS, COLUMNS = 12, 96, 70


@pytest.mark.parametrize("dedicated", ['place="thread"', 'place="process"', 'place="thread" mode="sync"', 'place="thread" mode="auto"',
                                       'place="none"', 'place="none" mode="auto"'])
def test_frames_are_turned(tmp_path, dedicated):
    frames = np.random.default_rng(1).random((FRAMES, ROWS, COLUMNS), "f4")
    frames.tofile(tmp_path / "frames.bin")
    (tmp_path / "remap.xml").write_text(XML.replace('place="thread"', dedicated))
    done = subprocess.run([BUILD / "bin/remap", "remap.xml", "frames.bin", str(ROWS), str(COLUMNS)], cwd=tmp_path, capture_output=True,
                          text=True, timeout=LIMIT, env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    assert done.returncode == 0 and "nothing lost" in done.stderr, done.stdout + done.stderr
    cube = np.fromfile(tmp_path / "remap.raw/cube.bin", "f4").reshape(FRAMES, COLUMNS, ROWS)
    assert (cube.transpose(0, 2, 1) == frames).all()
    report = json.loads((tmp_path / "remap.report.json").read_text())
    assert report["iterations"] == FRAMES
    if dedicated != 'place="thread" mode="auto"':
        assert report["synchronous"] == (dedicated not in ('place="thread"', 'place="process"')) and report["mode"] is None


def test_what_is_not_there_is_said(tmp_path):
    (tmp_path / "remap.xml").write_text(XML)
    done = subprocess.run([BUILD / "bin/remap", "remap.xml", "none.bin", "4", "4"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "cannot read frames of 4 x 4 from none.bin" in done.stderr
