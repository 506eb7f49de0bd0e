# SPDX-License-Identifier: Apache-2.0
"""The X server that VTK draws by, where its build cannot draw without one and the user has none: Xvfb, which has no screen. It
ends with this process. When it dies, another one takes its place; what still needs the dead one ends this process: Xlib knows no way to go
on."""
import ctypes
import os
import secrets
import select
import shutil
import signal
import struct
import subprocess

_START_SECONDS = 20
_WILD = 65535  # FamilyWild of libXau: the cookie is for any address
_METHOD = b"MIT-MAGIC-COOKIE-1"
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class NoDisplay(Exception):
    """There is none, and why."""


def is_needed():
    """Whether the VTK of this process draws through X; one with EGL or OSMesa does not. Connects to nothing."""
    import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  makes windows
    from vtkmodules.vtkRenderingCore import vtkRenderWindow
    return vtkRenderWindow().GetClassName() == "vtkXOpenGLRenderWindow"


class Display:
    """One for the process: the user's own where that answers, else an Xvfb. who: draws by it, for messages. last_words: descriptor for
    what to say when it dies."""

    def __init__(self, who, log, last_words):
        self._server, self._who, self._log = None, who, log
        name = os.environ.get("DISPLAY", "")
        if not name or not _answers():
            if name:
                log(f"DISPLAY={name} does not answer: {who} draws by an Xvfb of its own")
            self._start()
        self._end_with_it(last_words)

    def ensure(self):
        """To be called before anything is drawn. False: another one was started, and no window of the one before may be touched."""
        if self._server and self._server.poll() is not None:
            self._log(f"the X server that {self._who} drew by has ended: another one was started")
            self._start()
            return False
        return True

    def _start(self):
        program = shutil.which("Xvfb")
        if not program:
            raise NoDisplay(f"this {self._who} draws through an X server, and there is neither a DISPLAY nor the program Xvfb: install it "
                            f"(Debian: apt install xvfb), or use a {self._who} that draws without one (EGL or OSMesa)")
        cookies = _file_of_cookies()  # memory of ours, which the server inherits: nothing lies on the disk
        reader, writer = os.pipe()
        words = [program, "-displayfd", str(writer), "-auth", f"/proc/self/fd/{cookies}", "-nolisten", "tcp", "-noreset",
                 "-screen", "0", "16x16x24"]
        self._server = subprocess.Popen(words, pass_fds=[writer, cookies], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, preexec_fn=_end_with_parent)
        os.close(writer)
        number = _read_line(reader)
        os.close(reader)
        if not number:
            self._server.kill()
            said = self._server.communicate()[1].decode(errors="replace").strip()
            raise NoDisplay(f"Xvfb did not start within {_START_SECONDS} s: {said or 'it said nothing'}")
        self._server.stderr.close()
        os.environ.update(DISPLAY=f":{number}", XAUTHORITY=f"/proc/self/fd/{cookies}")
        if not _answers():
            raise NoDisplay(f"Xvfb has started as DISPLAY=:{number}, and refuses connections")

    def _end_with_it(self, last_words):
        """Xlib ends the process in any case; here it says why."""
        def ends(_):
            os.write(last_words, f"because the X server that {self._who} drew by has ended\n".encode())
            os._exit(1)
        self._handler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(ends)  # kept as long as Xlib has it
        _xlib().XSetIOErrorHandler(self._handler)


def _end_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # at which it removes its socket


def _file_of_cookies():
    """Descriptor of an Xauthority file with one cookie: with it this process, and no other user, may connect."""
    parts = b"", b"", _METHOD, secrets.token_bytes(16)  # address, number of the display, what the last one is, the cookie
    file = os.memfd_create("leat-xauthority")
    os.write(file, struct.pack(">H", _WILD) + b"".join(struct.pack(">H", len(part)) + part for part in parts))
    return file


def _read_line(descriptor):
    text = b""
    while not text.endswith(b"\n") and select.select([descriptor], [], [], _START_SECONDS)[0]:
        part = os.read(descriptor, 64)
        if not part:
            break
        text += part
    return text.decode().strip()


def _xlib():
    library = ctypes.CDLL("libX11.so.6")
    library.XOpenDisplay.restype = ctypes.c_void_p
    library.XCloseDisplay.argtypes = [ctypes.c_void_p]
    return library


def _answers():
    xlib = _xlib()
    display = xlib.XOpenDisplay(None)
    if display:
        xlib.XCloseDisplay(display)
    return bool(display)
