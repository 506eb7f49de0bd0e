# SPDX-License-Identifier: Apache-2.0
"""A host "desk" that modules of a Run's graph are on: a folder of its own, where alone their programs are."""
import contextlib
import os
import pathlib
import signal
import subprocess

from graph_run import wait_until
from leat_run import BUILD, LIMIT, await_death

PROGRAM = BUILD / "bin/leatd"


def processes(*words):
    """Ids of those whose command line begins like this; the first word by the end of its path."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().decode().split("\0") if entry.name.isdigit() else [""]
            if line[0].endswith(str(words[0])) and line[1:len(words)] == [str(word) for word in words[1:]]:
                found.append(int(entry.name))
    return found


class Desk:
    """What joins a run there, as `leat graph join` does. log(): what it has said."""

    def __init__(self, run, name="desk", folder=None):
        self.run, self.name = run, name
        self.folder = pathlib.Path(folder or run.folder / name)
        self.folder.mkdir(exist_ok=True)
        self.process = None

    def join(self, *options, cards=None):
        """Returns at once. The card comes by whatever way the user likes; here it is the run's own."""
        words = [PROGRAM, "--graph-host", "join", cards or self.run.folder / "run.hosts", self.name, "--wait", str(LIMIT), *options]
        self.process = subprocess.Popen(words, cwd=self.folder, stderr=open(self.folder / "join.log", "ab"))
        return self

    def await_said(self, text, times=1):
        wait_until(lambda: self.log().count(text) >= times, f"{text} in {self.log()}")
        return self

    def log(self):
        path = self.folder / "join.log"
        return path.read_text() if path.exists() else ""

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def ended(self):
        """Its exit code, when the run is over."""
        return self.process.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()


def ways(run, module):
    """What leatd has started in the place of a module."""
    return [pid for pid in processes(PROGRAM, "--graph-host", "way-to-host", module) if _is_below(pid, run.servers())]


def _is_below(pid, parents):
    with contextlib.suppress(OSError):
        return int((pathlib.Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1]) in parents
    return False


def kill_way(run, module):
    (pid,) = ways(run, module)
    os.kill(pid, signal.SIGKILL)
    await_death(pid)


def listening_port(pid):
    """Of the first socket that this process listens at, as the system says."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    with open(f"/proc/{pid}/net/tcp") as table:
        for line in table.read().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                return int(words[1].partition(":")[2], 16)
    raise AssertionError("it listens nowhere")
