# SPDX-License-Identifier: Apache-2.0
"""`leat dash` beside a run, and requests to it."""
import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time

from leat_run import BUILD, LIMIT, data, xml

SIZE = 12 * 10 * 8
FIELD = """<parameter name="dt" type="double" value="0.5"/>
<layout name="half" type="double" dimensions="6,10" global="12,10" names="y,x"/><variable name="u" layout="half" unit="K"/>"""
SCRIPT = """import leat
import numpy as np


@leat.on_iteration(variables=["u"])
def means(ds, ctx):
    ctx.scalar("number", 10 * ctx.iteration)
    if ctx.iteration % 5 == 0:
        ctx.image("picture", np.arange(12.0).reshape(3, 4))
"""


def config(**others):
    return xml(FIELD, store='<store name="out" type="hdf5"/>', log=f'<scripts interpreter="{sys.executable}"><script file="means.py" '
               'when-slow="wait"/></scripts><actions><event name="snap" scope="node"/></actions>', **others)


def write(run, iterations):
    for iteration in iterations:
        for rank in run.ranks:
            if iteration == 0:
                rank.must("set_position", "u", 0, 6 * rank.number, 0)
            rank.must("write", "u", 0, SIZE // 2, 100 * iteration + rank.number)
        for rank in run.ranks:
            rank.end()


def field_of(iteration):
    """What is stored of it."""
    return [data(60, "f8", 100 * iteration + rank).reshape(6, 10) for rank in (0, 1)]


class Dash:
    def __init__(self, run, *words):
        self.process = subprocess.Popen([BUILD / "bin/leat", "dash", run.session, "--interpreter", sys.executable, *words], cwd=run.folder,
                                        env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline() + ("" if "--socket" in words else self.process.stdout.readline())
        assert self.said, self.process.stderr.read()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", self.said + self.process.stdout.readline())
        self.port, self.token, self.address = int(found[1]), found[2], found[0]
        self.path = words[words.index("--socket") + 1] if "--socket" in words else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            assert self.process.wait(LIMIT) == 0, self.process.stderr.read()
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()

    def connect(self):
        if not self.path:
            return socket.create_connection(("127.0.0.1", self.port), LIMIT)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LIMIT)
        connection.connect(self.path)
        return connection

    def get(self, path, cookie=True, method="GET", host=None, body=None, **more):
        """(status, headers, body). more: headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        connection.sock = self.connect()
        headers = {"Cookie": f"leat={self.token if cookie is True else cookie}"} if cookie else {}
        with contextlib.closing(connection):
            connection.request(method, path, body, headers={**headers, **({"Host": host} if host else {}), **more})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def order(self, path, origin=None, cookie=True, **words):
        """(status, text) of what the page would send."""
        origin = {"Origin": origin or f"http://127.0.0.1:{self.port}"} if origin != "" else {}
        status, _, body = self.get(path, cookie, "POST", f"127.0.0.1:{self.port}", json.dumps(words), **origin)
        return status, body.decode()

    def json(self, path):
        status, _, body = self.get(path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def events(self):
        """A connection that has asked for them; it reads nothing by itself."""
        connection = self.connect()
        connection.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: leat={self.token}\r\n\r\n".encode())
        return connection

    def states(self):
        """The newest state of each run, once; {} where the page has no place for one more."""
        with self.events() as connection, connection.makefile("rb") as lines:
            for line in lines:
                if line.startswith(b"data: "):
                    return {each["session"]: each for each in json.loads(line[len("data: "):])}
        return {}

    def await_state(self, session, holds, what):
        until, state = time.monotonic() + LIMIT, None
        while time.monotonic() < until:
            state = self.states().get(session)
            if state and "status" in state and holds(state):
                return state
            time.sleep(0.05)
        raise AssertionError(f"waited in vain: {what}: {state}")
