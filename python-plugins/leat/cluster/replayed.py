# SPDX-License-Identifier: Apache-2.0
"""Functions of the whole run on a stored one: several workers in this process, each with a part of the data, as so many servers would have
them."""
import uuid

from ..scripting.blocks import Block
from . import node
from .arrays import said_of
from .calls import FirstServer, wanted


class LocalCluster:
    """Of so many workers, without a network."""
    has_leat = True

    def __init__(self, nodes):
        import distributed
        self._cluster = distributed.LocalCluster(n_workers=nodes, threads_per_worker=1, processes=False, protocol="inproc://",
                                                 dashboard_address=None, memory_limit=0)
        self._client = distributed.Client(self._cluster)
        self.plans = {}

    def client(self):
        return self._client

    def workers(self):
        return set(self._cluster.scheduler.workers)

    def close_client(self):
        self._client.close()

    def close(self):
        self._client.close()
        self._cluster.close()


class _Part:
    """Of a StoredIteration, what one of several servers would have: blocks of its ranks, and rows of what a file has as a whole."""

    def __init__(self, iteration, server, servers):
        self._iteration, self._server, self._servers = iteration, server, servers

    def blocks(self, name):
        if not self._iteration.is_whole(name):
            blocks = self._iteration.blocks(name)
            return blocks[self._of(len(blocks))]
        whole = self._iteration.array(name).data
        rows = self._of(len(whole)) if whole.ndim else slice(0, int(self._server == 0))
        data = whole[rows] if whole.ndim else whole
        if rows.start == rows.stop:
            return []
        position = (rows.start, *(0,) * (whole.ndim - 1)) if whole.ndim else ()
        return [Block(self._server, 0, data.shape, position, ((0, 0),) * whole.ndim, data)]

    def global_extent(self, name):
        return self._iteration.array(name).data.shape if self._iteration.is_whole(name) else ()

    def _of(self, count):
        return slice(count * self._server // self._servers, count * (self._server + 1) // self._servers)


def call(script, function, iteration, context, nodes):
    """Raises what the function raises."""
    if script.cluster is None:
        script.cluster = LocalCluster(nodes)
    parts = {server: _Part(iteration, server, nodes) for server in range(nodes)}
    names = wanted(function, iteration)
    addresses, said = sorted(script.cluster.workers()), {}
    for server, part in parts.items():
        said[server] = {"server_token": uuid.uuid4().hex, "worker": {"address": addresses[server]}, "blocks": said_of(part, names),
                        "complete": bool(iteration.complete)}
        node.lend(said[server]["server_token"], part)
    try:
        FirstServer(function, iteration, context, script.cluster, said).call()
    finally:
        for each in said.values():
            node.end(each["server_token"])
