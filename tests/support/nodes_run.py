# SPDX-License-Identifier: Apache-2.0
"""A run on several nodes, which are one machine here: each has a runtime folder of its own, by which servers are found, so
that each starts its own server, under one session name."""
import copy
import pathlib
import time

from leat_run import LIMIT, Rank, Run


def environment_of(pid):
    return (pathlib.Path("/proc") / str(pid) / "environ").read_bytes().split(b"\0")


class NodesRun(Run):
    """nodes: lists of ranks. each: environments of their own. runtimes: where the nodes' runtime folders are; None: in `folder`."""

    def __init__(self, folder, text, nodes, environment=None, each=(), runtimes=None):
        super().__init__(folder, text, ranks=0, environment=environment)
        self.nodes, size = nodes, sum(map(len, nodes))
        self.all_runtimes = [pathlib.Path(runtimes or folder) / f"r-node{n}" for n in range(len(nodes))]
        self.ranks = [None] * size
        common = self.environment
        for number, (runtime, node) in enumerate(zip(self.all_runtimes, nodes)):
            self.environment = {**common, "LEAT_RUNTIME_DIR": str(runtime), **(each[number] if each else {})}
            for rank in node:
                self.ranks[rank] = Rank(self, rank)

    def init(self):
        for node in self.nodes:
            for place, rank in enumerate(node):
                self.ranks[rank].start("init_ranks", self.config, self.session, rank, len(self.ranks), place, len(node))
        for rank in self.ranks:
            answer = rank.result()
            assert answer.ok, answer
        return self.ranks

    def server_of(self, node):
        """Process id of the server of this node."""
        (pid,) = [pid for pid in self.servers() if f"LEAT_RUNTIME_DIR={self.all_runtimes[node]}".encode() in environment_of(pid)]
        return pid

    def on(self, node):
        """The run as a command on this node sees it."""
        seen = copy.copy(self)
        seen.runtime = self.all_runtimes[node]
        seen.environment = {**self.environment, "LEAT_RUNTIME_DIR": str(seen.runtime)}
        return seen

    def check_nothing_left(self):
        assert not self.segments()
        until = time.monotonic() + LIMIT  # a server that has stored what a killed run had in memory may be about to end
        while left := [path for runtime in self.all_runtimes for path in runtime.iterdir()]:
            assert time.monotonic() < until, left
            time.sleep(0.01)
