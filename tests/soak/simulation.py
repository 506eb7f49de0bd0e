# SPDX-License-Identifier: Apache-2.0
"""The simulation that is disturbed: soak_rank processes of one session, and the server that they start."""
import contextlib
import functools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import uuid

import h5py
from leat_run import BUILD
from world import WORLDS

LIMIT = 120.0  # no run of seconds takes that long, however busy the machine is
SHM = pathlib.Path("/dev/shm")
# A server that was killed this often without having stored anything is left alone until it has: Leat gives up after 16.
MOST_FRUITLESS = 6

XML = """<simulation name="run">
  <architecture><dedicated cores="1"/><buffer size="{buffer}" timeout="{timeout}s"/></architecture>
  <data>
    <parameter name="ranks" type="int" value="{ranks}"/>
    <parameter name="step" type="int"/><parameter name="filler" type="int"/>
    <layout name="small" type="int64" dimensions="8"/><variable name="small" layout="small"/>
    <layout name="large" type="float" dimensions="16384"/><variable name="large" layout="large"/>
    <layout name="ragged" type="uint16" dimensions="?"/><variable name="ragged" layout="ragged"/>
    <layout name="grid" type="double" dimensions="6+2,20" global="6*ranks,20" ghosts="1:1,0" names="y,x"/>
    <variable name="grid" layout="grid"/>
    <layout name="leased" type="uint8" dimensions="4096"/><variable name="leased" layout="leased"/>
    <layout name="vectors" type="float" dimensions="?,3" names="atom,xyz"/><variable name="position" layout="vectors"/>
    <layout name="kinds" type="int16" dimensions="?" names="atom"/><variable name="kind" layout="kinds"/>
    <mesh name="gas" type="amr" ratio="2" origin="0,0" spacing="1,1"/>
    <layout name="square" type="double" dimensions="4,4" names="row,column"/><variable name="patch" layout="square" mesh="gas"/>
    <layout name="any" type="int" dimensions="?,?" names="row,column"/><variable name="piece" layout="any" mesh="gas"/>
  </data>
  <storage><store name="out" type="hdf5" folder="out"/></storage>
  {more}
</simulation>
"""

SCRIPTS = '<scripts interpreter="{python}" workers="2"><folder path="analysis" when-slow="wait"/></scripts>'


def processes_of(runtime):
    """{pid: command line} of all living processes that have this runtime folder."""
    mark = b"LEAT_RUNTIME_DIR=" + str(runtime).encode()
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    return found


def send(pid, which):
    """True when the process was there to get the signal."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, which)
        return True
    return False


class Simulation:
    def __init__(self, folder, chance, ranks=2, iterations=60, pause=0.01, buffer="16MiB", timeout=20, more="", prefix=(),
                 filler=0):
        """prefix: words in front of the command line of each rank."""
        self.folder, self.chance = pathlib.Path(folder), chance
        self.prefix = prefix
        self.iterations, self.pause, self.timeout = iterations, pause, timeout
        self.filler = filler  # events of each iteration that fill the rings
        (self.folder / "out").mkdir(parents=True, exist_ok=True)
        (self.folder / "run.xml").write_text(XML.format(ranks=ranks, buffer=buffer, timeout=timeout, more=more))
        self.session = f"soak-{uuid.UUID(int=chance.getrandbits(128)).hex[:10]}-{os.getpid()}"
        self.world = chance.randrange(WORLDS)
        self.runtime = self.folder / "runtime"
        self.ranks = [None] * ranks
        self.killed = set()  # ranks
        self.kills = self.stops = self.server_kills = self.server_stops = 0
        self.fruitless, self.stored_then = 0, 0
        self.hung = []

    # ---- life ----

    def start(self, numbers=None):
        environment = {**os.environ, "LEAT_RUNTIME_DIR": str(self.runtime), "SOAK_FILLER": str(self.filler),
                       "SOAK_WORLD": str(self.world)}
        for number in range(len(self.ranks)) if numbers is None else numbers:
            words = ["run.xml", self.session, number, len(self.ranks), self.iterations, int(self.pause * 1e6),
                     f"rank{number}.said"]
            with open(self.folder / f"rank{number}.err", "ab") as log:
                self.ranks[number] = subprocess.Popen([*self.prefix, BUILD / "bin" / "soak_rank", *map(str, words)], cwd=self.folder,
                                                      env=environment, stderr=log, stdin=subprocess.DEVNULL)
        return self

    def begun(self):
        """Waits until every rank has ended an iteration: leat_init says itself when its server dies."""
        while self.runs() and not all(self.has_ended_one(n) for n in range(len(self.ranks))):
            time.sleep(0.005)
        return self

    def has_ended_one(self, number):
        path = self.folder / f"rank{number}.said"
        return path.exists() and "\nend 0 " in path.read_text()

    def runs(self):
        return any(rank.poll() is None for rank in self.ranks)

    def goes_on_for(self, seconds):
        """Waits; False when the simulation has ended before."""
        until = time.monotonic() + seconds
        while self.runs() and time.monotonic() < until:
            time.sleep(min(0.005, max(0, until - time.monotonic())))
        return self.runs()

    def finish(self):
        """Waits for all; what does not end hangs, and is killed."""
        until = time.monotonic() + LIMIT
        while (self.runs() or self.others()) and time.monotonic() < until:
            time.sleep(0.01)
        for pid, words in processes_of(self.runtime).items():
            self.hung.append(f"{' '.join(words)} ({where(pid)})")
            send(pid, signal.SIGKILL)
        for rank in self.ranks:
            rank.wait()
        return self

    def others(self):
        """Processes of this session that are no ranks."""
        mine = {rank.pid for rank in self.ranks}
        return {pid: words for pid, words in processes_of(self.runtime).items() if pid not in mine}

    def servers(self):
        return [pid for pid, words in self.others().items() if words[0].endswith("leatd")]

    def workers(self):
        return [pid for pid, words in self.others().items() if any(w.endswith("launch.py") for w in words)]

    def log(self):
        return "".join((self.folder / f"rank{n}.err").read_text(errors="replace") for n in range(len(self.ranks))
                       if (self.folder / f"rank{n}.err").exists())

    # ---- disturbances ----

    def stored(self):
        """Iterations in the file, which can be opened at any moment but the one that failure-model.md names."""
        with contextlib.suppress(OSError, KeyError):
            with h5py.File(self.folder / "out" / "run.h5", locking=False) as file:
                return len(file["iteration"])
        return 0

    def kill_server(self):
        if self.fruitless >= MOST_FRUITLESS and not self.await_progress():
            return
        for pid in self.servers():
            done = send(pid, signal.SIGKILL)
            self.kills += done
            self.server_kills += done
            self.fruitless += done

    def await_progress(self):
        while self.stored() <= self.stored_then:
            if not self.goes_on_for(0.02):
                return False
        self.stored_then, self.fruitless = self.stored(), 0
        return True

    def stop_server(self, seconds, go_on=True):
        pids = [pid for pid in self.servers() if send(pid, signal.SIGSTOP)]
        self.stops += len(pids)
        self.server_stops += len(pids)
        self.goes_on_for(seconds)
        for pid in pids if go_on else []:
            send(pid, signal.SIGCONT)

    def kill_rank(self, number):
        if self.ranks[number].poll() is None:
            self.killed.add(number)
            self.kills += send(self.ranks[number].pid, signal.SIGKILL)
            self.ranks[number].wait()

    def stop_rank(self, number, seconds):
        rank = self.ranks[number]
        if rank.poll() is None and send(rank.pid, signal.SIGSTOP):
            self.stops += 1
            time.sleep(seconds)
            send(rank.pid, signal.SIGCONT)

    def kill_worker(self):
        workers = self.workers()
        if workers:
            self.kills += send(self.chance.choice(sorted(workers)), signal.SIGKILL)

    def kill_all(self):
        """Every process, again and again until there is none: one that was just being started comes late."""
        victims = list(processes_of(self.runtime))
        self.chance.shuffle(victims)
        while victims:
            self.kills += sum(send(pid, signal.SIGKILL) for pid in victims)
            for rank in self.ranks:
                rank.poll()
            victims = list(processes_of(self.runtime))
        self.killed = set(range(len(self.ranks)))

    # ---- what is left ----

    def leftovers(self):
        """What lies about now, by name."""
        left = [p.name for p in SHM.iterdir() if self.session in p.name]
        # That a rank did not come is noted for a day.
        left += [p.name for p in self.runtime.iterdir() if p.suffix != ".late"] if self.runtime.exists() else []
        left += [f"process {' '.join(words)}" for words in processes_of(self.runtime).values()]
        return left + [p.name for p in (self.folder / "out").rglob("*") if re.search(r"\.(part|journal)$", p.name)]

    def clean(self):
        """As the next start on the node does. A server of another lane may be doing it already."""
        until = time.monotonic() + LIMIT
        while True:
            subprocess.run([BUILD / "bin" / "leat", "clean"], env={**os.environ, "LEAT_RUNTIME_DIR": str(self.runtime)},
                           capture_output=True, timeout=LIMIT, check=False)
            if not self.leftovers() or time.monotonic() > until:
                return
            time.sleep(0.05)

    def await_drained(self):
        """A server of another lane may have been the one that began to store it, and have been killed with its lane."""
        until = time.monotonic() + LIMIT
        while self.left_on_node() and time.monotonic() < until:
            subprocess.run([BUILD / "bin" / "leat", "recover"], env={**os.environ, "LEAT_RUNTIME_DIR": str(self.runtime)},
                           capture_output=True, timeout=LIMIT, check=False)
            time.sleep(0.02)

    def left_on_node(self):
        left = [p for p in SHM.iterdir() if self.session in p.name]
        return left + (list(self.runtime.iterdir()) if self.runtime.exists() else [])

    def recover(self):
        """As the next run in the folder does: finishes a commit of the file in the midst of which it was killed."""
        subprocess.run([BUILD / "bin" / "leat", "recover", self.folder / "out" / "run.h5"], capture_output=True,
                       timeout=LIMIT, check=False)


def where(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/wchan").read_text()
    return "?"


def with_scripts(folder, code):
    """For Simulation(more=...): a script of this code."""
    (folder / "analysis").mkdir(parents=True)
    (folder / "analysis" / "soaked.py").write_text(code)
    return SCRIPTS.format(python=sys.executable)


@functools.cache
def results_without_leat(ranks, iterations, world):
    """What the ranks compute when nobody takes their output; the same for all runs of this size and world."""
    return [alone(number, ranks, iterations, world) for number in range(ranks)]


def alone(number, ranks, iterations, world):
    done = subprocess.run([BUILD / "bin" / "soak_rank", "none", "none", str(number), str(ranks), str(iterations), "0",
                           "/dev/stdout"], env={**os.environ, "LEAT": "off", "SOAK_WORLD": str(world)}, capture_output=True,
                          text=True, check=True)
    return re.search(r"^result (\d+)$", done.stdout, re.M)[1]


def chance_of(seed, *what):
    """The dice of one run: the same for the same seed, scenario and turn."""
    return random.Random(f"{seed} {what}")
