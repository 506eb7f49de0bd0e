# SPDX-License-Identifier: Apache-2.0
"""Whatever a Catalyst script or its X server does costs that script's iteration and nothing else: real kills, real memory."""
import os
import pathlib
import signal

import h5py
import numpy as np
from arrays_run import write_arrays
from catalyst_run import BOX, config, draw, errors_in, paraview_python
from control_run import wait_until
from test_scripts import arrays, lines, put

# What a script does in iteration 1, 2, ..., and what the log says of it. Those that end its process make ParaView start anew.
# Other ways to end are tried in tests/scripts/test_isolation.py.
BAD = [("os.abort()", "killed by signal 6"), ("eat()", "MemoryError"),
       ("from paraview.vtk import vtkDoubleArray; vtkDoubleArray().SetNumberOfTuples(1 << 40)", "killed by signal 6")]
DOES = '''
import ctypes, os
def tell(*words):
    with open("told.txt", "a") as file:
        print(*words, file=file)
def eat():
    x = []
    while True: x.append(bytes(1 << 24))
def catalyst_execute(info):
    tell(info.timestep)
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


def doing(each):
    """A script that does so in iteration 1, 2, ..."""
    return DOES + "".join(f"    if info.timestep == {number}: {how}\n" for number, how in enumerate(each, 1))


def test_a_script_that_aborts_or_eats_memory_loses_those_iterations(tmp_path):
    put(tmp_path, doing([how for how, _ in BAD]))
    count = len(BAD) + 2
    log = draw(tmp_path, BOX, arrays(count), tmp_path / "pipe.py", attributes='timeout="60s" failures="9"', of_scripts='memory="1GiB"')
    expect_all_stored(tmp_path, count)
    assert lines(tmp_path) == [str(i) for i in range(count)] and f"{len(BAD)} FAILED" in log, log
    for number, (_, said) in enumerate(BAD, 1):
        assert said in errors_in(log, "pipe", number), log


def test_a_script_that_hangs_is_ended(tmp_path):
    put(tmp_path, DOES + "    while info.timestep == 1: pass\n")
    log = draw(tmp_path, BOX, arrays(3), tmp_path / "pipe.py", attributes='timeout="20s"')
    expect_all_stored(tmp_path, 3)
    assert lines(tmp_path) == ["0", "1", "2"], log
    assert 'script "pipe", iteration 1: ' in log and "it took longer than" in log and "1 FAILED" in log, log


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


def test_no_x_server_outlives_a_kill_of_its_worker_or_of_leatd(tmp_path, monkeypatch):
    without_display(monkeypatch)
    put(tmp_path, DRAWN)

    def kill(run, iteration):
        if iteration == 2:
            return
        wait_until(picture(tmp_path, iteration).exists, "the picture")
        seen = list(processes(run))
        x = xvfb_of(run)
        worker = next(pid for pid, name in processes(run).items() if pid != x and "python" in name)
        os.kill(worker if iteration == 0 else run.server(), signal.SIGKILL)
        wait_until(lambda: not any(alive(pid) for pid in seen), "the end of all that was there")
        assert len(seen) >= 2
    log = write_arrays(tmp_path, config(BOX, tmp_path / "pipe.py"), arrays(3), kill)
    expect_all_stored(tmp_path, 3)
    assert picture(tmp_path, 2).exists(), log


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
