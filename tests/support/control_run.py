# SPDX-License-Identifier: Apache-2.0
"""Programs at the control channel of a Run: well-behaved ones, and such as are not."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

from leat_run import BUILD, LIMIT

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))

DATA = """<parameter name="dt" type="double" value="0.5"/><parameter name="n" type="int" value="8"/>
<parameter name="title" type="string"/>
<layout name="cells" type="double" dimensions="n,4" names="y,x"/>
<variable name="u" layout="cells" unit="K" description="temperature"/>"""
SIZE = 8 * 4 * 8


def write(ranks, iterations):
    for i in iterations:
        for rank in ranks:
            assert rank.write("u", SIZE, i).ok
            rank.end()


def wait_until(condition, what):
    until = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.01)
    return found


class Peer:
    """A socket at the control channel; bytes as they are."""

    def __init__(self, run):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(run.runtime / f"{run.session}.control"))  # waits where many do
        self.socket.settimeout(LIMIT)
        self.input = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, message):
        self.socket.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next message, or None at the end."""
        while b"\n" not in self.input:
            try:
                some = self.socket.recv(1 << 16)
            except (ConnectionResetError, BrokenPipeError):
                some = b""
            if not some:
                return None
            self.input += some
        line, _, self.input = self.input.partition(b"\n")
        return json.loads(line)

    def ask(self, request, **arguments):
        self.send({"leat_control": 1, "request": request, **arguments})
        while "event" in (message := self.receive()):
            pass
        return message

    def all(self):
        """All that comes until the end."""
        messages = []
        while (message := self.receive()) is not None:
            messages.append(message)
        return messages


def ctl(run, *arguments, code=0, session=None):
    """`leat ctl SESSION ...`; its standard output, or with code != 0 all that it says."""
    done = subprocess.run([BUILD / "bin/leat", "ctl", session or run.session, *map(str, arguments)], capture_output=True, text=True,
                          cwd=run.folder, env=run.environment, timeout=LIMIT)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stdout + done.stderr


def connect(run, timeout=LIMIT, session=None):
    import leat.control
    os.environ["LEAT_RUNTIME_DIR"] = str(run.runtime)
    return leat.control.connect(session or run.session, timeout)
