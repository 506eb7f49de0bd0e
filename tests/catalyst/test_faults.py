# SPDX-License-Identifier: Apache-2.0
"""Whatever a Catalyst script or its X server does costs that script's iteration and nothing else: real kills, real memory."""
import os
import pathlib
import signal

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from catalyst_run import BOX, config, draw, paraview_python
from control_run import wait_until
from test_scripts import arrays, lines, put

BAD = '''
import ctypes, os
def tell(*words):
    with open("told.txt", "a") as file:
        print(*words, file=file)
def catalyst_execute(info):
    tell(info.timestep)
    if info.timestep == 1:
        {}
'''
DRAWN = '''
view = CreateRenderView(ViewSize=[20, 10])
Show(PVTrivialProducer(registrationName="box"), view)
png = CreateExtractor("PNG", view, registrationName="p").Writer
png.FileName, png.ImageResolution = "p_{timestep}.png", [20, 10]
'''


def expect_all_stored(folder, count):
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(count)) and file["leat/iteration_complete"][:].all()
        assert np.array_equal(file["temperature"][:, 0, 0, 0], np.arange(count))


@pytest.mark.parametrize("how, said", [
    ("os.abort()", "killed by signal 6"), ("ctypes.string_at(0)", "killed by signal 11"), ("os._exit(7)", "ended with status 7"),
    ("os.kill(os.getpid(), 9)", "killed by signal 9"), ("while True: pass", "it took longer than"),
    ("x = []\n        while True: x.append(bytes(1 << 24))", "MemoryError"),
    ("from paraview.vtk import vtkDoubleArray; vtkDoubleArray().SetNumberOfTuples(1 << 40)", "killed by signal 6")])
def test_a_script_that_aborts_hangs_or_eats_memory(tmp_path, how, said):
    put(tmp_path, BAD.format(how))
    limit = 20 if "pass" in how else 60
    log = draw(tmp_path, BOX, arrays(4), tmp_path / "pipe.py", attributes=f'timeout="{limit}s"', of_scripts='memory="1GiB"')
    expect_all_stored(tmp_path, 4)
    assert lines(tmp_path) == ["0", "1", "2", "3"], log
    assert 'script "pipe", iteration 1: ' in log and said in log and "1 FAILED" in log, log


def processes(run):
    """{process id: command} of all that has a mark of this session's worker."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"LEAT_WORKER=" in (path / "environ").read_bytes() and os.readlink(path / "cwd") == str(run.folder):
                found[int(path.name)] = (path / "cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
    return found


def xvfb_of(run):
    (pid,) = [pid for pid, name in processes(run).items() if name.endswith("Xvfb")]
    return pid


def without_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)


def picture(folder, number):
    return folder / f"run-scripts/pipe/p_{number}.png"


def kill_and_wait(pid):
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), "its end")


def test_an_x_server_that_dies_is_replaced(tmp_path, monkeypatch):
    without_display(monkeypatch)
    put(tmp_path, DRAWN + "def catalyst_execute(info):\n    if info.timestep == 2: CreateRenderView(ViewSize=[20, 10])\n")

    def kill(run, iteration):
        wait_until(picture(tmp_path, iteration).exists, "the picture")
        if iteration == 1:
            kill_and_wait(xvfb_of(run))
    log = write_arrays(tmp_path, config(BOX, tmp_path / "pipe.py"), arrays(4), kill)
    expect_all_stored(tmp_path, 4)
    assert "has ended: another one was started" in log and "FAILED" not in log, log


def test_what_needs_an_x_server_that_has_died_costs_one_iteration_and_is_said(tmp_path, monkeypatch):
    without_display(monkeypatch)
    put(tmp_path, DRAWN + """
import os, time
def catalyst_execute(info):
    if info.timestep != 1: return
    open("comes", "w").close()
    while os.path.exists("comes"): time.sleep(0.01)
    Render(CreateRenderView())
""")

    def kill(run, iteration):
        if iteration == 1:
            wait_until((tmp_path / "comes").exists, "the call")
            kill_and_wait(xvfb_of(run))
            (tmp_path / "comes").unlink()
    log = write_arrays(tmp_path, config(BOX, tmp_path / "pipe.py"), arrays(3), kill)
    expect_all_stored(tmp_path, 3)
    assert "because the X server that ParaView drew by has ended" in log, log
    assert "1 FAILED" in log and 'script "pipe", iteration 1: ' in log, log
    assert [picture(tmp_path, i).exists() for i in (0, 2)] == [True, True], log


@pytest.mark.parametrize("who", ["worker", "leatd"])
def test_no_x_server_outlives_a_kill(tmp_path, monkeypatch, who):
    without_display(monkeypatch)
    put(tmp_path, DRAWN)
    seen = []

    def kill(run, iteration):
        if iteration == 0:
            wait_until(picture(tmp_path, 0).exists, "the first picture")
            seen.extend(processes(run))
            x = xvfb_of(run)
            worker = next(pid for pid, name in processes(run).items() if pid != x and "python" in name)
            os.kill(worker if who == "worker" else run.server(), signal.SIGKILL)
            wait_until(lambda: not any(alive(pid) for pid in seen), "the end of all that was there")
    log = write_arrays(tmp_path, config(BOX, tmp_path / "pipe.py"), arrays(3), kill)
    expect_all_stored(tmp_path, 3)
    assert len(seen) >= 2 and picture(tmp_path, 2).exists(), log


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_display_that_does_not_answer_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":4242")
    put(tmp_path, DRAWN)
    log = draw(tmp_path, BOX, arrays(1), tmp_path / "pipe.py")
    assert "DISPLAY=:4242 does not answer: ParaView draws by an Xvfb of its own" in log and picture(tmp_path, 0).exists(), log


def test_without_any_x_server_it_is_said_what_to_do(tmp_path, monkeypatch):
    without_display(monkeypatch)
    put(tmp_path, DRAWN)
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nPATH=/nowhere exec {paraview_python()} "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr("catalyst_run.paraview_python", lambda: bare)
    log = draw(tmp_path, BOX, arrays(2), tmp_path / "pipe.py")
    assert "there is neither a DISPLAY nor the program Xvfb: install it" in log and "FAILED" in log, log
    expect_all_stored(tmp_path, 2)


def test_another_user_may_not_connect_to_its_x_server(tmp_path, monkeypatch):
    """Who has no cookie is refused: xlib of another process, with the display's number and no authority."""
    without_display(monkeypatch)
    put(tmp_path, DRAWN + '''
import os, subprocess, sys
code = "import ctypes; x = ctypes.CDLL('libX11.so.6'); x.XOpenDisplay.restype = ctypes.c_void_p; print(bool(x.XOpenDisplay(None)))"
for authority in (os.environ["XAUTHORITY"], "/dev/null"):
    with open("told.txt", "a") as file:
        file.write(subprocess.run([sys.executable, "-c", code], env={**os.environ, "XAUTHORITY": authority}, capture_output=True, text=True,
                                  close_fds=False, pass_fds=[int(os.environ["XAUTHORITY"].rpartition("/")[2])]).stdout)
''')
    draw(tmp_path, BOX, arrays(1), tmp_path / "pipe.py")
    assert lines(tmp_path) == ["True", "False"]
