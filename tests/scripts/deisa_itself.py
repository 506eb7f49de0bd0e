# SPDX-License-Identifier: Apache-2.0
"""deisa_itself.py N: analysis.py as deisa-dask runs it, in one process: a cluster, a Bridge that sends N iterations, the analysis."""
import os
import pathlib
import runpy
import sys
import threading
import time

import numpy as np
from deisa.dask import Bridge
from distributed import Client, Event, LocalCluster


class Alone:
    """A communicator of one."""

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1

    def gather(self, value, root=0):
        return [value]

    def bcast(self, value, root=0):
        return value

    def barrier(self):
        pass

    def Split(self, color, key=0):
        return Alone()

    def Free(self):
        pass


def simulate(iterations):
    extent = np.load("u-0.npy").shape
    bridge = Bridge(Alone(), {name: {"global_shape": extent, "chunk_shape": extent, "chunk_position": (0, 0)} for name in "uv"})
    Event("deisa_wait", client=bridge.client).wait()  # the analysis executes callbacks: else deisa-dask 0.6.3 loses the first ones
    for iteration in range(iterations):
        for path in map(pathlib.Path, (f"u-{iteration}.npy", f"v-{iteration}.npy")):
            if path.exists():
                bridge.send(path.name[0], np.load(path), timestep=iteration)
                time.sleep(0.5)  # callbacks of deisa-dask overtake each other
    bridge.close(timestep=iterations)


if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster):
        os.environ["DEISA_DASK_SCHEDULER_ADDRESS"] = cluster.scheduler_address
        simulation = threading.Thread(target=simulate, args=[int(sys.argv[1])])
        simulation.start()
        runpy.run_path("analysis.py", run_name="__main__")
        simulation.join()
