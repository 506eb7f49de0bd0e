# SPDX-License-Identifier: Apache-2.0
"""Runs one command to its very end, processes that it left behind included, and says what all of them used."""

import ctypes
import os
import signal
import subprocess
import tempfile
import time

_PR_SET_CHILD_SUBREAPER = 36
_OUTLIVES_S = 20  # what a command may leave running: a server that still writes


class Failed(Exception):
    """With what the command said."""


def run(command, limit_s=120, **how):
    """(standard output, processor seconds of the command and all its descendants)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become ours: they are waited for too
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            **how,
        )
        spent = _wait_for_all(process, time.monotonic() + limit_s)
        said = [(file.seek(0), file.read())[1] for file in (out, err)]
    if process.returncode != 0:
        raise Failed(
            f"{' '.join(map(str, command))}: exit status {process.returncode}\n{said[1][-2000:]}{said[0][-500:]}"
        )
    return said[0], spent


def _wait_for_all(process, deadline):
    spent, killed = 0.0, False
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return spent
        if pid:
            spent += used.ru_utime + used.ru_stime
            if pid == process.pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                deadline = min(deadline, time.monotonic() + _OUTLIVES_S)
        elif time.monotonic() < deadline:
            time.sleep(0.002)
        elif killed:
            raise Failed(f"{process.args}: left processes that do not end")
        else:
            _kill(process)
            killed, deadline = True, time.monotonic() + _OUTLIVES_S


def _kill(process):
    """The command's own session only; a server of Leat ends by itself when its ranks are dead."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
