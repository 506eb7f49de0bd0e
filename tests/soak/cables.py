# SPDX-License-Identifier: Apache-2.0
"""Nodes of one machine: where the system lets us, each has a host name, a /dev/shm, mounts and a network of its own, and a cable
that can be cut. Elsewhere each is a runtime folder, and cables cannot be cut."""
import contextlib
import os
import pathlib
import signal
import subprocess

from simulation import processes_of, send

NETWORK = "10.78.0"
_HOLDER = """mount -t tmpfs -o mode=1777 tmpfs /dev/shm && echo {name} >/proc/sys/kernel/hostname && ip link set lo up && echo ready \
&& exec sleep infinity"""

_SWITCH = "ip link add bridge0 type bridge && ip link set bridge0 up && echo ready && exec sleep infinity"


def _made(words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def parent_of(pid):
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


class Holder:
    """A process that keeps namespaces there."""

    def __init__(self, kinds, command):
        self.process = subprocess.Popen(["unshare", *kinds, "sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.is_ready = self.process.stdout.readline() == b"ready\n"

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Node:
    def __init__(self, number, folder):
        self.number, self.folder = number, pathlib.Path(folder)
        self.runtime = self.folder / f"r{number}"
        self.holder, self.prefix, self.name = None, [], None
        self.has_small_disk = self.is_read_only = False
        self.recovered = ""  # what leat recover said

    def hold(self):
        self.name = f"soak{self.number}"
        self.holder = Holder(["--mount", "--uts", "--net", "--propagation", "private"], _HOLDER.format(name=self.name))
        self.prefix = ["nsenter", "--target", str(self.holder.process.pid), "--mount", "--uts", "--net", f"--wdns={self.folder}"]
        return self.holder.is_ready

    def environment(self):
        own = {"LEAT_INTERFACE": "eth0"} if self.holder else {}
        return {**os.environ, **own, "LEAT_RUNTIME_DIR": str(self.runtime)}

    def do(self, *words):
        return _made([*self.prefix, *words]).returncode == 0

    def seen(self, path):
        """Where a path of this node is found from outside."""
        if not self.holder:
            return pathlib.Path(path)
        return pathlib.Path(f"/proc/{self.holder.process.pid}/root{path}")

    def servers(self):
        """Without processes that they have forked and that are no other program yet."""
        found = [pid for pid, words in processes_of(self.runtime).items() if words[0].endswith("leatd")]
        return [pid for pid in found if parent_of(pid) not in found]

    # ---- its disk

    def give_small_disk(self, path, megabytes):
        path.mkdir(parents=True, exist_ok=True)
        self.has_small_disk = bool(self.holder) and self.do("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path))

    def fill(self, path):
        """Others take all that is free."""
        with contextlib.suppress(OSError), open(self.seen(path) / "others", "wb") as filler:
            while True:
                filler.write(bytes(1 << 16))
                filler.flush()

    def free(self, path):
        with contextlib.suppress(OSError):
            (self.seen(path) / "others").unlink()

    def enlarge_disk(self, path):
        if self.has_small_disk:
            self.do("mount", "-o", "remount,size=256m", str(path))

    def make_read_only(self, path):
        self.is_read_only = bool(self.holder) and self.do("mount", "--bind", str(path), str(path)) and \
            self.do("mount", "-o", "remount,bind,ro", str(path))
        return self.is_read_only

    def make_writable(self, path):
        if self.is_read_only:
            self.do("umount", "--lazy", str(path))
        self.is_read_only = False


class Nodes:
    def __init__(self, folder, count):
        self.all = [Node(number, folder) for number in range(count)]
        self.switch, self.has_network = None, False

    def __enter__(self):
        with contextlib.suppress(OSError):
            self.switch = Holder(["--net"], _SWITCH)
            self.has_network = self.switch.is_ready and all(node.hold() and self.connect(node) for node in self.all)
        if not self.has_network:
            self.give_back()
        return self

    def connect(self, node):
        return self.on_switch("ip", "link", "add", node.name, "type", "veth", "peer", "name", "eth0", "netns",
                              str(node.holder.process.pid)) and \
            self.on_switch("ip", "link", "set", node.name, "master", "bridge0", "up") and \
            node.do("ip", "addr", "add", f"{NETWORK}.{node.number + 1}/24", "dev", "eth0") and node.do("ip", "link", "set", "eth0", "up")

    def on_switch(self, *words):
        return _made(["nsenter", "--target", str(self.switch.process.pid), "--net", *words]).returncode == 0

    def cut(self, node, how):
        if how == "cable":
            self.on_switch("ip", "link", "set", node.name, "down")
        elif how == "interface":
            node.do("ip", "link", "set", "eth0", "down")
        elif how == "silent":
            self.on_switch("ip", "link", "set", node.name, "nomaster")
        else:  # one way, to one other node
            other = (node.number + 1) % len(self.all)
            node.do("ip", "route", "add", "blackhole", f"{NETWORK}.{other + 1}/32")

    def mend(self, node, how):
        if how == "cable":
            self.on_switch("ip", "link", "set", node.name, "up")
        elif how == "interface":
            node.do("ip", "link", "set", "eth0", "up")
        elif how == "silent":
            self.on_switch("ip", "link", "set", node.name, "master", "bridge0")
        else:
            other = (node.number + 1) % len(self.all)
            node.do("ip", "route", "del", "blackhole", f"{NETWORK}.{other + 1}/32")

    def give_back(self):
        for node in self.all:
            if node.holder:
                node.holder.end()
            node.holder, node.prefix, node.name = None, [], None
        if self.switch:
            self.switch.end()
        self.switch = None

    def __exit__(self, *_):
        for node in self.all:
            for pid in processes_of(node.runtime):
                send(pid, signal.SIGKILL)
        self.give_back()


WAYS_TO_CUT = ("cable", "interface", "silent", "one way")
