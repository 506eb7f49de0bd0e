# SPDX-License-Identifier: Apache-2.0
"""Watch and steer a running session of yours on this node. Needs nothing but Python.

    import leat.control
    with leat.control.connect("heat") as c:
        print(c.status()["iteration_done"])
        c.set("dt", 0.25)
        for event in c.subscribe("stored", "dropped"):
            print(event["event"], event["iteration"])

The names of sessions are what `leat ls` shows, or $LEAT_SESSION. docs/reference/leat-ctl.md says what each answer has.

No call waits longer than `timeout`, but a loop over subscribe(), which waits for events. When the server was killed, and
another one goes on for it, questions go to that one, and a loop over subscribe() goes on with it, after an event
"reconnected": what happened in between is not told.
"""
import fcntl
import json
import os
import socket
import struct
import time

from ._verbs import Verbs

VERSION = 1
_MOST_MESSAGE = 16 << 20
_RETRY_SECONDS = 0.05

__all__ = ["Connection", "ConnectionLost", "Error", "Refused", "connect", "sessions"]


class Error(Exception):
    """Something did not work; its text says what, and what to do."""


class Refused(Error):
    """The server does not do that."""


class ConnectionLost(Error):
    """There is no server, it does not answer in time, or it has ended. Of an order it is not known whether it was carried out."""


def _runtime_folder():
    return os.environ.get("LEAT_RUNTIME_DIR") or f"/tmp/leat-{os.geteuid()}"


def sessions():
    """Names of your sessions on this node that have a control channel."""
    try:
        names = os.listdir(_runtime_folder())
    except OSError:
        return []
    return sorted(name.removesuffix(".control") for name in names if name.endswith(".control"))


def connect(session=None, timeout=10.0):
    """A Connection to the server of a session, or of the one run of a simulation of that name; `timeout` is that of its calls, in
    seconds."""
    session = session or os.environ.get("LEAT_SESSION")
    if not session:
        known = sessions()
        raise Error(f"say which session: {', '.join(known) if known else 'none runs on this node'}")
    if session not in sessions():
        named = _runs_of(session, timeout)
        if len(named) > 1:
            raise Error(f"several sessions are runs of {session}: say which: {', '.join(named)}")
        session = (named or [session])[0]
    connection = Connection(session, timeout)
    connection._channel(time.monotonic() + timeout)
    return connection


def _runs_of(simulation, timeout):
    """Sessions whose XML has this <simulation name="...">: of each run that of its first server."""
    found = []
    for name in sessions():
        try:
            with Connection(name, timeout) as connection:
                status = connection.status()
        except Error:
            continue
        if status.get("simulation") == simulation and status.get("server") == 0:
            found.append(name)
    return found


def _is_locked(path):
    """Only looks; takes nothing."""
    try:
        with open(path, "rb") as file:
            whole = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            return struct.unpack("hhqqi", fcntl.fcntl(file, fcntl.F_OFD_GETLK, whole))[0] != fcntl.F_UNLCK
    except OSError:
        return False


def lives(session):
    """Somebody has the segment of this session of yours on this node: its server and each rank hold a lock on it."""
    prefix = f"leat-{os.geteuid()}-{session}-"
    return any(_is_locked(f"/dev/shm/{name}") for name in os.listdir("/dev/shm") if name.startswith(prefix))


class _Channel:
    """One socket: lines of JSON in both directions."""

    def __init__(self, path, deadline):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.input = bytearray()
        try:
            self._connect(path, deadline)
        except OSError:
            self.socket.close()
            raise

    def _connect(self, path, deadline):
        while True:
            self._limit(deadline)
            try:
                return self.socket.connect(path)
            except BlockingIOError:  # many wait there already
                time.sleep(_RETRY_SECONDS)

    def _limit(self, deadline):
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError("the server does not answer in time")
        self.socket.settimeout(left)

    def send(self, message, deadline):
        self._limit(deadline)
        self.socket.sendall(json.dumps({"leat_control": VERSION, **message}, allow_nan=False).encode() + b"\n")

    def receive(self, deadline):
        """The next message."""
        while b"\n" not in self.input:
            self._limit(deadline)
            some = self.socket.recv(1 << 16)
            if not some or len(self.input) > _MOST_MESSAGE:
                raise ConnectionResetError("the server has ended, or has closed the connection")
            self.input += some
        line, _, rest = self.input.partition(b"\n")
        self.input = rest
        message = json.loads(line)
        if message.get("leat_control") != VERSION:
            raise Error(f"the server speaks version {message.get('leat_control')} of the control channel, this package {VERSION}: "
                        "use both of one release of Leat")
        return message

    def close(self):
        self.socket.close()


class Connection(Verbs):
    """Questions to, and orders for, the server of one session: methods of Verbs, and subscribe()."""

    def __init__(self, session, timeout=10.0):
        self.session, self.timeout = session, timeout
        self._open = None
        self._closed = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it; a loop over subscribe() has a connection of its own."""
        self._closed = True
        self._drop()

    def subscribe(self, *events, follow=True):
        """Events of iterations, as they happen, until the run has ended; all of them when none is named.

        Each is a dict with "event" ("open", "complete", "stored", "failed", "dropped", "steered", "signalled", "closing", "ended"), "time"
        in seconds since 1970, and mostly "iteration". With `follow`, when a server is killed, its successor is waited for, which
        begins with an event "reconnected".
        """
        arguments = {"events": list(events)} if events else {}
        channel = self._subscribed(arguments, time.monotonic() + self.timeout)
        return self._events(channel, arguments, follow)

    # ---- how ----

    def _events(self, channel, arguments, follow):
        try:
            while True:
                try:
                    event = channel.receive(None)
                except OSError as error:
                    channel.close()
                    channel = self._successor(arguments, follow, error)
                    event = {"leat_control": VERSION, "event": "reconnected", "time": time.time()}
                if "event" not in event:
                    raise ConnectionLost(event.get("error", "the server has closed the connection"))
                yield event
                if event["event"] == "ended":
                    return
                if event["event"] == "overrun":
                    raise ConnectionLost(event["error"])
        finally:
            channel.close()

    def _successor(self, arguments, follow, error):
        """A server that goes on begins with the next call of a rank, which may be long in coming: as long as a rank lives."""
        while follow and lives(self.session):
            try:
                return self._subscribed(arguments, time.monotonic() + self.timeout)
            except ConnectionLost:
                time.sleep(_RETRY_SECONDS)
        raise ConnectionLost(f"session {self.session}: {error}") from error

    def _subscribed(self, arguments, deadline):
        channel = self._new_channel(deadline)
        try:
            self._reply(channel, {"request": "subscribe", **arguments}, deadline)
        except BaseException:
            channel.close()
            raise
        return channel

    def _new_channel(self, deadline):
        path = os.path.join(_runtime_folder(), f"{self.session}.control")
        try:
            return _Channel(path, deadline)
        except (FileNotFoundError, ConnectionRefusedError):
            known = ", ".join(sessions())
            raise ConnectionLost(f"no server of a session {self.session!r} listens on this node"
                                 + (f"; there are: {known}" if known else "")) from None
        except OSError as error:
            raise ConnectionLost(f"the server of session {self.session} does not answer: {error}") from error

    def _channel(self, deadline):
        if self._closed:
            raise Error("this connection is closed")
        if self._open is None:
            self._open = self._new_channel(deadline)
        return self._open

    def _drop(self):
        if self._open is not None:
            self._open.close()
        self._open = None

    def _ask(self, request):
        """A question may be asked twice: the server may have been followed by another one, or have closed an idle connection."""
        deadline = time.monotonic() + self.timeout
        was_open = self._open is not None
        try:
            return self._reply(self._channel(deadline), {"request": request}, deadline)
        except ConnectionLost:
            self._drop()
            if not was_open or time.monotonic() >= deadline:
                raise
        return self._reply(self._channel(deadline), {"request": request}, deadline)

    def _order(self, request, **arguments):
        """An order is given once. Over a new connection, so that it cannot be lost with an old one. Arguments that are None are not
        given."""
        arguments = {name: value for name, value in arguments.items() if value is not None}
        self._drop()
        deadline = time.monotonic() + self.timeout
        return self._reply(self._channel(deadline), {"request": request, **arguments}, deadline)

    def _reply(self, channel, message, deadline):
        try:
            channel.send(message, deadline)
            reply = channel.receive(deadline)
            while "event" in reply:
                reply = channel.receive(deadline)
        except OSError as error:
            if channel is self._open:
                self._drop()
            raise ConnectionLost(f"session {self.session}: {error}") from error
        if not reply.get("ok"):
            raise Refused(reply.get("error", "the server has refused it"))
        return reply.get("result")
