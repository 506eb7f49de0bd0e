# SPDX-License-Identifier: Apache-2.0
"""What ctx.picture lacks, and what dies while it draws, costs that picture or that iteration of the script and nothing else."""
import json
import os
import pathlib
import signal

import numpy as np
import pytest
from arrays_run import write_arrays
from control_run import wait_until
from leat_run import xml
from picture_run import debians_python
from without_xarray import without_xarray  # noqa: F401

GRID = ('<mesh name="m" type="uniform" origin="0,0" spacing="1,1"/><layout name="cells" type="double" dimensions="4,4" global="4,4"/>'
        '<variable name="u" layout="cells" mesh="m"/>')
TELL = '''
import leat, os, sys, time

@leat.on_iteration(variables=["u"])
def draw(ds, ctx):
'''


@pytest.fixture(autouse=True)
def without_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)


def run(folder, code, iterations=1, python=None, after=None, head=""):
    """The log of a run whose script has this body."""
    (folder / "draws.py").write_text(head + TELL + "".join(f"    {line}\n" for line in code.strip().splitlines()))
    scripts = (f'<scripts interpreter="{python or debians_python()}"><script file="draws.py" when-slow="wait"/></scripts>'
               '<log level="debug"/>')
    values = {("u", i): np.arange(16.0).reshape(4, 4) for i in range(iterations)}
    return write_arrays(folder, xml(GRID, log=scripts), [values], after)


def pictures(folder):
    return sorted(int(path.stem[-6:]) for path in (folder / "run-scripts/draws").glob("u-slice-*.png"))


def xvfb_of(run):
    (found,) = [path for path in pathlib.Path("/proc").glob("[0-9]*") if is_xvfb_of(path, run)]
    return int(found.name)


def is_xvfb_of(path, run):
    try:
        return (path / "cmdline").read_bytes().split(b"\0")[0].endswith(b"Xvfb") and os.readlink(path / "cwd") == str(run.folder)
    except OSError:
        return False


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists() or "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text(),
               "its end")


def test_an_x_server_that_dies_between_two_pictures_is_replaced(tmp_path):
    def after(run, iteration):
        wait_until(lambda: iteration in pictures(tmp_path), "the picture")
        if iteration == 1:
            kill(xvfb_of(run))
    log = run(tmp_path, 'ctx.picture("slice", "u")', 4, after=after)
    assert pictures(tmp_path) == [0, 1, 2, 3], log
    assert "the X server that VTK drew by has ended: another one was started" in log and "FAILED" not in log, log


def test_an_x_server_that_dies_while_it_draws_costs_one_iteration(tmp_path):
    def after(run, iteration):
        if iteration == 1:
            wait_until((tmp_path / "draws now").exists, "the second picture")
            kill(xvfb_of(run))
            (tmp_path / "draws now").unlink()
    log = run(tmp_path, '''
from leat.vtk import canvas
look = canvas.Canvas._look
def wait(self):
    open("draws now", "w").close()
    while os.path.exists("draws now"): time.sleep(0.01)
    look(self)
canvas.Canvas._look = wait if ctx.iteration == 1 else look
ctx.picture("slice", "u")
''', 3, after=after)
    assert pictures(tmp_path) == [0, 2], log
    assert 'script "draws", iteration 1: ' in log and "because the X server that VTK drew by has ended" in log and "1 FAILED" in log, log


def test_a_crash_after_a_picture_is_said_with_its_place(tmp_path):
    log = run(tmp_path, 'ctx.picture("slice", "u")\nif ctx.iteration == 1: import ctypes; ctypes.string_at(0)', 3)
    assert pictures(tmp_path) == [0, 1, 2] and "killed by signal 11" in log and "draws.py" in log and "1 FAILED" in log, log


@pytest.mark.parametrize("missing", ["vtkmodules", "matplotlib"])
def test_without_what_draws_it_is_said_what_to_install(tmp_path, missing):
    log = run(tmp_path, 'ctx.picture("slice", "u")', head=f"import sys\nsys.modules['{missing}'] = None\n")
    assert f"cannot import {missing}" in log, log
    assert "ctx.picture needs VTK and matplotlib" in log and "python3-paraview, python3-matplotlib and xvfb" in log, log


def test_without_any_x_server_it_is_said_what_to_do(tmp_path):
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nPATH=/nowhere exec {debians_python()} "$@"\n')
    bare.chmod(0o755)
    log = run(tmp_path, 'ctx.picture("slice", "u")', python=bare)
    assert "this VTK draws through an X server, and there is neither a DISPLAY nor the program Xvfb: install it" in log, log


def test_what_is_not_there_to_be_drawn_is_said(tmp_path):
    log = run(tmp_path, '''
try:
    kept[0].picture("slice", "u")
except RuntimeError as error:
    print(error)
kept[:] = [ctx]
try:
    ctx.picture("slice", "v")
except LookupError as error:
    print(error)
''', 2, head="kept = [None]\n".replace("None", "type('None', (), {'picture': lambda *words: None})()"))
    assert "ctx.picture after the function that ctx was given to has returned" in log and 'there is no variable "v"' in log, log
    assert "FAILED" not in log


def test_each_server_draws_what_it_has_and_nothing_where_a_plane_misses_that(tmp_path):
    """Two servers, as in a run on two nodes: the lower half and the upper half of a box."""
    box = ('<mesh name="m" type="uniform" origin="0,0,0" spacing="1,1,1"/><layout name="half" type="double" dimensions="2,4,4" '
           'global="4,4,4"/><variable name="u" layout="half" mesh="m"/>')
    (tmp_path / "draws.py").write_text(TELL + '''    import json
    path = ctx.picture("slice", "u", at=3)
    with open(f"told-{ctx.server}.json", "w") as file:
        json.dump(str(path), file)
''')
    scripts = f'<scripts interpreter="{debians_python()}"><script file="draws.py" when-slow="wait"/></scripts><log level="debug"/>'
    text = xml(box, log=scripts).replace("<dedicated", '<dedicated servers="2"').replace('cores="1"', 'cores="2"')
    ranks = [{("u", 0): np.full((2, 4, 4), float(rank)), ("u", "position"): [2 * rank, 0, 0]} for rank in range(2)]
    log = write_arrays(tmp_path, text, ranks)
    told = [json.loads((tmp_path / f"told-{server}.json").read_text()) for server in range(2)]
    assert told[0] == "None" and told[1].endswith("u-slice-000000.png") and pathlib.Path(told[1]).exists(), log
    assert "FAILED" not in log
