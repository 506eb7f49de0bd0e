# SPDX-License-Identifier: Apache-2.0
"""cluster_submit.py WORKERS TURNS: how long Dask takes for the chunks of two variables of so many servers, from the first to the
last one that is there; in one process, without a network. Prints JSON."""

import json
import pathlib
import sys
import time
import uuid

import dask
import distributed
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python-plugins"))
from leat.cluster import node  # noqa: E402
from leat.cluster.calls import FirstServer  # noqa: E402
from leat.cluster.replayed import LocalCluster  # noqa: E402
from leat.scripting.blocks import Block  # noqa: E402

SHAPE = (4, 1024)


class Lent:
    """Of an iteration, the block of one server."""

    def __init__(self, server):
        data = np.zeros(SHAPE)
        self._block = Block(server, 0, data.shape, (SHAPE[0] * server, 0), ((0, 0),) * 2, data)

    def blocks(self, name):
        return [self._block]


def measure(cluster, workers):
    said = {}
    for server, address in zip(range(workers), sorted(cluster.workers())):
        said[server] = {"server_token": uuid.uuid4().hex, "worker": {"address": address}}
        node.lend(said[server]["server_token"], Lent(server))
    first = FirstServer(None, None, None, cluster, said)
    tasks = {(f"{name}-{uuid.uuid4().hex}", server, 0): (server, name, {"kind": "box", "low": (SHAPE[0] * server, 0), "shape": SHAPE})
             for name in "uv" for server in said}
    began = time.monotonic_ns()
    futures = list(first._submit(tasks, False).values())
    distributed.wait(futures)
    took = time.monotonic_ns() - began
    assert all(future.status == "finished" for future in futures)
    first._release()
    return took


def main(workers, turns):
    found = {"dask": dask.__version__, "workers": workers, "ns": []}
    if workers:
        cluster = LocalCluster(workers)
        measure(cluster, workers)
        for _ in range(turns):
            time.sleep(0.2)
            found["ns"].append(measure(cluster, workers))
        cluster.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
