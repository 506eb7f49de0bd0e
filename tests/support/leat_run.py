# SPDX-License-Identifier: Apache-2.0
"""A run of a simulation under a test's control: real processes, one call at a time.

    with Run(tmp_path, XML, ranks=2) as run:
        a, b = run.init()
        a.write("t", data)
        ...
        run.finalize()

Every call's answer is an Answer(status, error, value). At the end of the `with` the run must have left nothing behind:
no process, no shared memory, no file in the runtime folder.
"""
import contextlib
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass

import numpy as np

BUILD = pathlib.Path(os.environ.get("LEAT_BUILD", pathlib.Path(__file__).parents[2] / "build"))
# The longest that anything in a test may take; reached only when something hangs.
LIMIT = 60.0
# `leat ls` and `leat xdmf` start the python3 of PATH: that of these tests, which has h5py.
os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"


@dataclass
class Answer:
    status: str
    error: str = ""
    value: object = None

    @property
    def ok(self):
        return self.status == "LEAT_OK"


def data(count, dtype, seed):
    """The array of `count` elements that leat_rank writes for `seed`: any bits, NaNs included."""
    size = count * np.dtype(dtype).itemsize
    place = np.arange(1, (size + 7) // 8 + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        words = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + place * np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(29)
    return np.frombuffer(words.tobytes()[:size], dtype=dtype)


def same_bits(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


class Rank:
    def __init__(self, run, number, environment=None):
        self.run, self.number = run, number
        self.process = subprocess.Popen([*run.prefix, BUILD / "bin" / "leat_rank"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(run.folder / f"rank{number}.err", "wb"), cwd=run.folder,
                                        env={**run.environment, **(environment or {})})

    def start(self, *words):
        """Sends a call and does not wait for its end; result() does."""
        self.process.stdin.write((" ".join(str(w) for w in words) + "\n").encode())
        self.process.stdin.flush()

    def must_all(self, calls):
        """Many calls that return LEAT_OK, a thousand at a time: so many answers fit into a pipe."""
        for begin in range(0, len(calls), 1000):
            some = calls[begin:begin + 1000]
            self.process.stdin.write("".join(" ".join(str(w) for w in words) + "\n" for words in some).encode())
            self.process.stdin.flush()
            for words in some:
                assert json.loads(self.process.stdout.readline())["status"] == "LEAT_OK", words

    def has_answered(self):
        """Within a third of a second."""
        return bool(select.select([self.process.stdout], [], [], 0.3)[0])

    def result(self, limit=LIMIT):
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        assert ready, f"rank {self.number} hangs"
        line = self.process.stdout.readline()
        assert line, f"rank {self.number} is dead"
        answer = json.loads(line)
        assert answer["status"] != "TEST_ERROR", answer
        return Answer(answer["status"], answer.get("error", ""), answer.get("value"))

    def call(self, *words):
        self.start(*words)
        return self.result()

    def must(self, *words):
        answer = self.call(*words)
        assert answer.ok, (words, answer)
        return answer

    def init(self):
        return self.call("init_ranks", self.run.config, self.run.session, self.number, len(self.run.ranks))

    def write(self, variable, bytes_, seed, block=0):
        return self.call("write", variable, block, bytes_, seed)

    def end(self):
        return self.must("end_iteration")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stderr(self):
        return (self.run.folder / f"rank{self.number}.err").read_text()

    def stop_process(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()


def await_death(pid):
    """A process that is dying has no command line any more, and still holds its locks, as long as one of its threads is there."""
    until, process = time.monotonic() + LIMIT, pathlib.Path("/proc") / str(pid)
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while (process / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX" or len(list((process / "task").iterdir())) > 1:
            assert time.monotonic() < until, f"{pid} does not die"
            time.sleep(0.001)


def await_file(path, limit=LIMIT):
    until = time.monotonic() + limit
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not come"
        time.sleep(0.002)


class Run:
    def __init__(self, folder, xml, ranks=1, environment=None, name="run", prefix=()):
        """prefix: words in front of the command line of each rank."""
        self.folder = pathlib.Path(folder)
        self.prefix = prefix
        self.session = f"test-{uuid.uuid4().hex[:12]}"
        self.config = f"{name}.xml"
        (self.folder / self.config).write_text(xml)
        self.runtime = self.folder / f"r-{name}"
        self.environment = {**os.environ, "LEAT_RUNTIME_DIR": str(self.runtime), **(environment or {})}
        self.known_servers = set()
        self.ranks = []
        for number in range(ranks):
            self.ranks.append(Rank(self, number))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for rank in self.ranks:
            rank.stop_process()
        if kind is None:
            self.await_end()
            self.check_nothing_left()
            assert not re.search("(warning|error): (warning|error)[:,]", self.log()), "the log says its level itself: " + self.log()
        for pid in self.servers():
            os.kill(pid, signal.SIGKILL)

    def init(self):
        """leat_init on all ranks, as a launcher would: at the same time."""
        for rank in self.ranks:
            rank.start("init_ranks", self.config, self.session, rank.number, len(self.ranks))
        for rank in self.ranks:
            answer = rank.result()
            assert answer.ok, answer
        return self.ranks

    def finalize(self, ranks=None):
        """leat_finalize on all ranks at the same time; their answers."""
        ranks = self.ranks if ranks is None else ranks
        for rank in ranks:
            rank.start("finalize")
        return [rank.result() for rank in ranks]

    def finish(self):
        """finalize, with every answer LEAT_OK."""
        for answer in self.finalize():
            assert answer.ok, answer

    def servers(self):
        """Process ids of this session's leatd, zombies excluded, and those that it forks and that are no other program yet."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if self.session.encode() in words and words[0].endswith(b"leatd"):
                    found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
        servers = [pid for pid, parent in found.items() if parent not in found]
        self.known_servers.update(servers)
        return servers

    def server(self):
        (pid,) = self.servers()
        return pid

    def kill_all(self):
        """Ranks and server, so that no rank starts another server in between."""
        server = self.server()
        os.kill(server, signal.SIGSTOP)
        for rank in self.ranks:
            rank.kill()
        os.kill(server, signal.SIGKILL)
        self.await_end()

    def await_end(self, limit=LIMIT):
        until = time.monotonic() + limit
        while self.servers():
            assert time.monotonic() < until, f"leatd of {self.session} does not end"
            time.sleep(0.01)
        for pid in self.known_servers:
            await_death(pid)

    def segments(self):
        return [p for p in pathlib.Path("/dev/shm").iterdir() if self.session in p.name]

    def check_nothing_left(self):
        assert not self.segments()
        # That a rank never came is noted for when it does; the sweep of a later start removes it.
        left = [p for p in self.runtime.iterdir() if p.suffix != ".late"] if self.runtime.exists() else []
        assert not left, left

    def log(self):
        """What leatd said; it writes to the standard error of the rank that started it, or to the <log file>."""
        return "".join(rank.stderr() for rank in self.ranks)


def xml(data_xml, buffer="16MiB", timeout="10s", store='<store name="out" type="hdf5"/>', name="run", log="", cores=1):
    return f"""<simulation name="{name}">
  <architecture><dedicated cores="{cores}"/><buffer size="{buffer}" timeout="{timeout}"/></architecture>
  <data>{data_xml}</data>
  <storage>{store}</storage>
  {log}
</simulation>
"""
