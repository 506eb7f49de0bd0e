# SPDX-License-Identifier: Apache-2.0
"""What a terminal gets to see of a command, and commands that live in one."""
import contextlib
import fcntl
import os
import pty
import shlex
import struct
import subprocess
import termios
import time
import uuid

LIMIT = 60.0  # as leat_run has it


def on_a_terminal(columns, *words, cwd, **environment):
    """Everything that the command says to a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(words, cwd=cwd, env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment}, stdout=follower,
                          stderr=follower):
        os.close(follower)
        seen = b""
        try:
            while part := os.read(leader, 4096):
                seen += part
        except OSError:  # how a terminal ends on Linux
            pass
    os.close(leader)
    return seen.decode().replace("\r\n", "\n")


class Tmux:
    """A program in a terminal of a given size, by tmux: keys go in, the screen is read as text."""

    def __init__(self, command, folder, environment, width=80, height=24):
        self.server = ["tmux", "-L", f"leat-{uuid.uuid4().hex[:12]}", "-f", "/dev/null"]
        self.environment = {**environment, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        line = "trap : INT; " + shlex.join(str(word) for word in command) + '; echo "exit code $?"; read wait'
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(folder), "sh", "-c", line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")

    def tmux(self, *words):
        return subprocess.run([*self.server, *words], env=self.environment, capture_output=True, text=True, check=True,
                              timeout=LIMIT).stdout

    def keys(self, *names):
        """As tmux calls them: Enter, Escape, Down, q."""
        self.tmux("send-keys", *names)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def rows(self):
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def screen(self):
        return "\n".join(self.rows())

    def await_text(self, *texts):
        """The screen, as soon as it has all of them, wherever their words are broken into rows."""
        until = time.monotonic() + LIMIT
        while not all(" ".join(text.split()) in " ".join((screen := self.screen()).split()) for text in texts):
            assert time.monotonic() < until, f"waited in vain for {texts}; the screen is\n{screen}"
            time.sleep(0.02)
        return screen
