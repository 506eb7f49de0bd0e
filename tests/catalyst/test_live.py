# SPDX-License-Identifier: Apache-2.0
"""ParaView's client connected to a run: what it does, and its death, are bounded by the rules of the script."""
import contextlib
import signal
import socket
import subprocess

from arrays_run import write_arrays
from catalyst_run import BOX, HERE, complaints, config, paraview_python
from control_run import wait_until
from test_faults import expect_all_stored
from test_scripts import arrays


@contextlib.contextmanager
def client(folder, what):
    """(port, function that waits for it to have said something, its process)."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    out = folder / "client.log"
    words = [paraview_python(), HERE / "live_client.py", str(port), what]
    process = subprocess.Popen(words, stdout=open(out, "w"), stderr=subprocess.STDOUT)

    def said(word):
        wait_until(lambda: word in out.read_text().splitlines(), f"{word}: {out.read_text()}")
    try:
        said("listening")
        yield port, said, process
    finally:
        process.kill()
        process.wait()


def live_script(folder, port):
    """As the dialog of File > Export Catalyst State makes it with Live Visualization."""
    text = (HERE / "exported/slice.py").read_text()
    with_live = f"options = catalyst.Options()\noptions.EnableCatalystLive = 1\noptions.CatalystLiveURL = 'localhost:{port}'\n"
    path = folder / "slice.py"
    path.write_text(text.replace("options = catalyst.Options()\n", with_live))
    return path


def pictures(folder):
    return sorted(int(path.stem[-6:]) for path in (folder / "run-scripts/slice").glob("*.png"))


def test_without_a_client_it_draws(tmp_path):
    log = write_arrays(tmp_path, config(BOX, live_script(tmp_path, 1)), arrays(3))
    assert pictures(tmp_path) == [0, 1, 2] and complaints(log) == []


def test_a_client_that_dies_while_connected_stops_nothing(tmp_path):
    with client(tmp_path, "die") as (port, said, process):
        text = config(BOX, live_script(tmp_path, port))

        def look(run, iteration):
            if iteration == 20:
                said("connected")
                assert process.wait() == -signal.SIGKILL
        log = write_arrays(tmp_path, text, arrays(30), look)
    expect_all_stored(tmp_path, 30)
    assert pictures(tmp_path)[-1] == 29, log  # VTK says in some runs that the socket is closed


def test_a_client_that_pauses_costs_iterations_of_that_script_only(tmp_path):
    with client(tmp_path, "pause") as (port, said, _):
        text = config(BOX, live_script(tmp_path, port), attributes='timeout="15s" failures="1"').replace('when-slow="wait"', "")

        def look(run, iteration):
            if iteration == 5:
                said("connected")
            if iteration == 20:
                wait_until(lambda: "not called any more" in (tmp_path / "rank0.err").read_text(), "the end of a call that is paused")
        log = write_arrays(tmp_path, text, arrays(30), look)
    expect_all_stored(tmp_path, 30)
    assert "it took longer than 15 s and was ended" in log and "skipped" in log, log
