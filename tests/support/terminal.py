# SPDX-License-Identifier: Apache-2.0
"""What a terminal gets to see of a command."""
import fcntl
import os
import pty
import struct
import subprocess
import termios


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
