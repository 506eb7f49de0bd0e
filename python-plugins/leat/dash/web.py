# SPDX-License-Identifier: Apache-2.0
"""The page's server, of Python's own http.server: one static page, what it shows as JSON, changes as server-sent events
(https://html.spec.whatwg.org/multipage/server-sent-events.html), and two orders: a parameter, an event.

Who asks must have the token, once in the address, then in a cookie; a request whose Host is another name than loopback's is refused, so
that a page from elsewhere cannot ask through the user's browser. Browsers send the cookie for pages of other ports of this machine too: so
an order counts only with the Origin of this page. Connections are counted, and no read or write of one waits for longer than 15 s."""
import hmac
import json
import os
import socket
import socketserver
import stat
import threading
import time
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from .. import control
from .fields import NoField, Reader
from .runs import NoOrder

_PATIENCE, _MOST_CONNECTIONS = 15.0, 128
_PERIOD, _BEAT = 0.25, 5.0  # seconds: between looks for changes, after which one is sent in any case
_MOST_POINTS, _MOST_ORDER = 600, 1 << 16  # bytes of an order
_POLICY = "default-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Page:
    """What is served. read_only: nothing can be set or signalled."""

    def __init__(self, runs, token, read_only=False):
        self.runs, self.token, self.read_only, self.fields = runs, token, read_only, Reader()
        self.places, self.ended = threading.BoundedSemaphore(_MOST_CONNECTIONS), threading.Event()
        with open(os.path.join(os.path.dirname(__file__), "page.html"), "rb") as file:
            self.html = file.read().replace(b"<body>", b'<body class="read-only">' if read_only else b"<body>")

    def end(self):
        self.ended.set()
        self.runs.end()
        self.fields.end()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_):
        """Who goes away in the midst of an answer is no news."""


class _SocketServer(_Server):
    address_family = socket.AF_UNIX


def serve_on_port(page, port):
    return _Server(("127.0.0.1", port), _handler(page))


def serve_on_socket(page, path):
    """A socket that is left from before is replaced; nothing else is."""
    before = os.umask(0o177)
    try:
        if _is_left(path):
            os.unlink(path)
        return _SocketServer(path, _handler(page))
    finally:
        os.umask(before)


def _is_left(path):
    """A socket, and nobody listens there."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as tried:
            tried.connect(path)
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


def _handler(page):
    return type("Handler", (_Handler,), {"page": page})


class _Handler(BaseHTTPRequestHandler):
    page = None
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "leat", ""

    def handle(self):
        if not self.page.places.acquire(blocking=False):
            self.connection.sendall(b"HTTP/1.1 503 Too many connections\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        try:
            super().handle()
        finally:
            self.page.places.release()

    def log_message(self, *_):
        """Not into the terminal."""

    def address_string(self):
        return "here"

    def do_GET(self):
        address = urlsplit(self.path)
        words = {name: each[-1] for name, each in parse_qs(address.query).items()}
        if not self._is_here():
            return self._refuse(403, "this page answers to 127.0.0.1 and localhost alone")
        if address.path == "/favicon.ico":
            return self._answer(204, b"", "image/png")
        if address.path == "/" and "token" in words:
            return self._let_in(words["token"])
        if not self._may(self._cookie()):
            return self._refuse(401, "open the address that leat dash has printed: it has the token")
        answer = {"/": self._page, "/events": self._events, "/scalars": self._scalars, "/picture": self._picture,
                  "/field": self._field}.get(address.path)
        return answer(words) if answer else self._refuse(404, "there is no such thing")

    def do_POST(self):
        order = {"/set": self._set, "/signal": self._signal}.get(self.path)
        if not self._is_here() or not self._is_own():
            return self._refuse(403, "orders come from the page of leat dash alone, at 127.0.0.1 or localhost")
        if not self._may(self._cookie()):
            return self._refuse(401, "open the address that leat dash has printed: it has the token")
        if not order:
            return self._refuse(404, "there is no such order")
        if self.page.read_only:
            return self._refuse(403, "leat dash was started with --read-only")
        words = self._words()
        if words is None:
            return self._refuse(400, 'an order is a JSON object of texts, like {"run": "S", "parameter": "dt", "value": "0.25"}')
        run = self._run(words)
        if not run:
            return self._refuse(404, "there is no such run")
        try:
            return self._answer(200, order(run, words).encode(), "text/plain; charset=utf-8")
        except (NoOrder, control.Refused) as why:
            return self._refuse(409, str(why))
        except control.Error as why:
            return self._refuse(504, str(why))

    # ---- who may ----

    def _is_here(self):
        name = self.headers.get("Host", "")
        return name.rsplit(":", 1)[0] in _LOOPBACK or name in _LOOPBACK

    def _cookie(self):
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get("leat")
        except CookieError:
            return ""
        return cookie.value if cookie else ""

    def _is_own(self):
        """Whoever sends no Origin is no browser."""
        return self.headers.get("Origin") == f"http://{self.headers.get('Host', '')}"

    def _may(self, token):
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.page.token.encode())

    def _let_in(self, token):
        if not self._may(token):
            return self._refuse(401, "this is not the token of this page: open the address that leat dash has printed")
        return self._answer(303, b"", "text/plain", {"Location": "/", "Set-Cookie": f"leat={self.page.token}; HttpOnly; SameSite=Strict"})

    # ---- answers ----

    def _answer(self, code, data, kind, headers=None):
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), "Cache-Control": "no-store",
                            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Security-Policy": _POLICY,
                            **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _refuse(self, code, why):
        self._answer(code, why.encode() + b"\n", "text/plain; charset=utf-8", {"Connection": "close"})
        self.close_connection = True

    def _json(self, what):
        self._answer(200, json.dumps(what).encode(), "application/json")

    def _page(self, _):
        self._answer(200, self.page.html, "text/html; charset=utf-8")

    def _run(self, words):
        return self.page.runs.get(words.get("run", ""))

    def _scalars(self, words):
        run = self._run(words)
        return self._json(run.scalars(_MOST_POINTS)) if run else self._refuse(404, "there is no such run")

    def _picture(self, words):
        run = self._run(words)
        number = words.get("iteration", "")
        data = run.picture(words.get("name", ""), int(number)) if run and number.isdigit() and len(number) < 19 else None
        return self._answer(200, data, "image/png") if data is not None else self._refuse(404, "there is no such picture")

    def _field(self, words):
        """A line of JSON, and the values behind it."""
        run = self._run(words)
        if not run:
            return self._refuse(404, "there is no such run")
        files = run.state().get("files", [])
        file = words.get("file", files[0] if files else "")
        try:
            if file not in files:
                raise NoField("no store of this run writes HDF5 files here, or none has begun")
            axis, index = (_small(words.get(each, "")) for each in ("axis", "index"))
            facts, data = self.page.fields.read(file, words.get("variable", ""), axis, index)
        except NoField as why:
            facts, data = {"error": str(why)}, b""
        return self._answer(200, json.dumps(facts).encode() + b"\n" + data, "application/octet-stream")

    def _words(self):
        """{name: text} of an order; None for anything else."""
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or len(size) > 6 or int(size) > _MOST_ORDER:
            return None
        try:
            words = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            return None
        return words if isinstance(words, dict) and all(isinstance(each, str) for each in words.values()) else None

    def _set(self, run, words):
        return run.set(words.get("parameter", ""), words.get("value", ""))

    def _signal(self, run, words):
        return run.signal(words.get("event", ""))

    def _events(self, _):
        """Until the browser goes. What has changed since it has read the last one is sent as one."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        last, at = "", 0.0
        while not self.page.ended.wait(_PERIOD):
            text = json.dumps([each.state() for each in self.page.runs.all()])
            if text != last or time.monotonic() - at > _BEAT:
                self.wfile.write(f"data: {text}\n\n".encode())
                last, at = text, time.monotonic()


def _small(text):
    return int(text) if text.isdigit() and len(text) < 10 else -1
