# SPDX-License-Identifier: Apache-2.0
"""Runs with staging nodes, all on this machine: each node, of the simulation or not, has a runtime folder of its own."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import h5py
from leat_run import BUILD, LIMIT, await_file, data, same_bits, xml
from nodes_run import NodesRun, environment_of
from stored_blocks import stored_blocks

PROGRAM = BUILD / "lib/leat/plugins/staging-node"
TWO, FOUR = [[0, 1], [2, 3]], [[0, 1], [2, 3], [4, 5], [6, 7]]
# Of everything: a global array with ghosts, blocks that stay by themselves, lists whose length varies, what is written once, a number.
DATA = """<parameter name="n" type="int" value="3"/><parameter name="x" type="double" value="0.5"/>
<parameter name="who" type="string" value="nobody"/>
<layout name="field" type="double" dimensions="4,n" global="2*{ranks},n" ghosts="1:1,0" names="y,x"/>
<layout name="row" type="int" dimensions="5" blocks="2"/><layout name="list" type="float" dimensions="?"/>
<layout name="one" type="int64" dimensions=""/>
<variable name="u" layout="field"/><variable name="own" layout="row"/><variable name="p" layout="list"/>
<variable name="c" layout="row" time-varying="false"/><variable name="s" layout="one"/>"""
STORE = '<store name="out" type="hdf5" at="staging"/>'


def staged(text, nodes=2, when_lost="node", more=""):
    """The XML of a run with so many staging nodes."""
    return text.replace("<buffer", f'<staging nodes="{nodes}" when-lost="{when_lost}"/>{more}<buffer')


def config(ranks, store=STORE, log="", **others):
    return xml(DATA.format(ranks=ranks), store=store, log=log, **others)


def count_of(rank, iteration):
    """Of the list of this rank."""
    return (7 * rank + 3 * iteration) % 6


def write_all(rank, iteration):
    if iteration == 0:
        rank.must("set_position", "u", 0, 2 * rank.number, 0)
        for block in (0, 1):
            rank.must("write", "c", block, 20, 900 + 10 * rank.number + block)
    rank.must("set_double", "x", iteration / 7)
    rank.must("set_string", "who", f"iteration-{iteration}")
    rank.must("write", "u", 0, 96, 1000 * iteration + rank.number)
    for block in (0, 1):
        rank.must("write", "own", block, 20, 1000 * iteration + 10 * rank.number + block)
    count = count_of(rank.number, iteration)
    rank.must("set_extent", "p", 0, count)
    rank.must("write", "p", 0, 4 * count, 1000 * iteration + 500 + rank.number)
    rank.must("write", "s", 0, 8, 1000 * iteration + 700 + rank.number)


def step(ranks, iterations):
    for iteration in iterations:
        for rank in ranks:
            write_all(rank, iteration)
        for rank in ranks:
            rank.end()


def expect(path, iterations, ranks, complete=True):
    """Every value, each once."""
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(iterations)
        if complete:
            assert "leat/iteration_complete" not in file or file["leat/iteration_complete"][:].all()
        for row, iteration in enumerate(iterations):
            for rank in range(ranks):
                own = file["u"][row][2 * rank:2 * rank + 2]
                assert same_bits(own, data(12, "f8", 1000 * iteration + rank).reshape(4, 3)[1:3]), (iteration, rank)
            expect_blocks(file, row, iteration, ranks)
        assert file["parameters/x"][:].tolist() == [iteration / 7 for iteration in iterations]
        texts = [bytes(row.tobytes()).rstrip(b"\0").decode() for row in file["parameters/who"][:]]
        assert texts == [f"iteration-{iteration}" for iteration in iterations]
        constants = stored_blocks(file, "c")
        assert all(same_bits(constants[r, b].ravel(), data(5, "i4", 900 + 10 * r + b)) for r in range(ranks) for b in (0, 1))


def expect_blocks(file, row, iteration, ranks):
    own, lists, ones = (stored_blocks(file, name, row) for name in ("own", "p", "s"))
    assert sorted(own) == [(rank, block) for rank in range(ranks) for block in (0, 1)]
    assert sorted(lists) == sorted(ones) == [(rank, 0) for rank in range(ranks)]
    for rank in range(ranks):
        for block in (0, 1):
            assert same_bits(own[rank, block].ravel(), data(5, "i4", 1000 * iteration + 10 * rank + block))
        assert same_bits(lists[rank, 0].ravel(), data(count_of(rank, iteration), "f4", 1000 * iteration + 500 + rank))
        assert same_bits(ones[rank, 0].ravel(), data(1, "i8", 1000 * iteration + 700 + rank))


class StagingNode:
    """One that runs."""

    def __init__(self, run, number):
        self.run, self.number = run, number
        self.runtime = run.runtimes / f"r-staging{number}"
        self.said = run.folder / f"staging{number}.err"
        self.was_killed = False
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM, self.run.config, "--number", str(self.number)], stdin=subprocess.DEVNULL,
                                        stderr=self.said.open("ab"), cwd=self.run.folder,
                                        env={**self.run.environment, "LEAT_RUNTIME_DIR": str(self.runtime)})
        await_file(self.run.folder / f"run.staging/{self.number}.card")

    def server(self):
        """The process id of its leatd."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            with contextlib.suppress(OSError):  # one that ends just now
                found = [pid for pid in self.run.staging_servers()
                         if f"LEAT_RUNTIME_DIR={self.runtime}".encode() in environment_of(pid)]
                if found:
                    return found[0]
            time.sleep(0.01)
        raise AssertionError(f"staging node {self.number} has no server")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def kill_as_a_whole(self):
        pid = self.server()
        self.was_killed = True
        os.kill(pid, signal.SIGSTOP)
        self.kill()
        os.kill(pid, signal.SIGKILL)

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def end(self, code=0):
        assert self.process.wait(LIMIT) == code, self.said.read_text()


class StagingRun(NodesRun):
    def __init__(self, folder, text, nodes, staging=2, environment=None):
        # Paths of sockets are short, and names of sessions longer here.
        self.runtimes = pathlib.Path(tempfile.mkdtemp(prefix="nodes-"))
        super().__init__(folder, text, nodes, environment={"LEAT_INTERFACE": "lo", **(environment or {})}, runtimes=self.runtimes)
        self.staging = [StagingNode(self, number) for number in range(staging)]

    def __exit__(self, kind, *_):
        try:
            super().__exit__(kind, *_)
        finally:
            for node in self.staging:
                if node.process.poll() is None:
                    node.process.send_signal(signal.SIGCONT)
                    node.kill()
            for pid in self.staging_servers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.runtimes, ignore_errors=True)

    def server_of(self, node):
        """One may just take over from another."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            with contextlib.suppress(ValueError, OSError):
                return super().server_of(node)
            time.sleep(0.01)
        raise AssertionError(f"no server on node {node}")

    def staging_servers(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                if f"{self.session}-staging".encode() in words and words.split(b"\0")[0].endswith(b"leatd"):
                    found.append(int(entry.name))
        return found

    def check_nothing_left(self):
        """What a node that was killed as a whole has in memory is stored by `leat recover` there."""
        for node in self.staging:
            if node.process.poll() is None:
                node.end()
            if node.was_killed:
                done = subprocess.run([BUILD / "bin/leat", "recover"], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT,
                                      env={**self.environment, "LEAT_RUNTIME_DIR": str(node.runtime)}, check=False)
                assert done.returncode == 0, done.stdout + done.stderr
        super().check_nothing_left()

    def log(self):
        """What all servers have said, those of staging nodes too."""
        return super().log() + "".join(node.said.read_text() for node in self.staging)

    def warnings(self):
        return [line for line in self.log().splitlines() if re.search(r"(warning|error):", line) and "no core is free" not in line]

    def await_stored(self, iterations):
        """All staging nodes have stored so many."""
        until, wanted, found = time.monotonic() + LIMIT, len(self.staging), []
        while time.monotonic() < until and len(found) < wanted:
            found = []
            for path in [*self.folder.glob("run.parts/*/rank*.h5"), self.folder / "run.h5"]:
                with contextlib.suppress(OSError, KeyError), h5py.File(path) as file:
                    if len(file["iteration"]) >= iterations:
                        found.append(path)
            time.sleep(0.05)
        assert len(found) >= wanted, (iterations, found)

    def parts(self):
        return sorted(path.name for path in self.folder.glob("run.parts/*/rank*.h5"))
