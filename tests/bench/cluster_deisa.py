# SPDX-License-Identifier: Apache-2.0
"""cluster_deisa.py RANKS WARM_UP ITERATIONS ROWS WIDTH: what deisa-dask itself takes from the moment when bridges begin to send an
iteration to the callback: a bridge for each rank and as many workers, each a process. Prints the nanoseconds as JSON."""

import json
import multiprocessing
import os
import sys
import time


class Star:
    """A communicator of processes: rank 0 has a pipe to each."""

    def __init__(self, rank, size, ends):
        self._rank, self._size, self._ends = rank, size, ends

    def Get_rank(self):
        return self._rank

    def Get_size(self):
        return self._size

    def gather(self, value, root=0):
        if self._rank:
            self._ends[0].send(value)
            return None
        return [value, *(end.recv() for end in self._ends)]

    def bcast(self, value, root=0):
        if self._rank:
            return self._ends[0].recv()
        for end in self._ends:
            end.send(value)
        return value

    def barrier(self):
        self.gather(None)
        self.bcast(None)

    def Split(self, color, key=0):
        return self

    def Free(self):
        pass


def simulate(comm, address, words, began, called):
    import numpy as np
    from deisa.dask import Bridge
    from distributed import Event
    warm_up, iterations, rows, width = words
    os.environ["DEISA_DASK_SCHEDULER_ADDRESS"] = address
    shape = rows * comm.Get_size(), width
    bridge = Bridge(comm, {"u": {"global_shape": shape, "chunk_shape": (rows, width), "chunk_position": (comm.Get_rank(), 0)}})
    if comm.Get_rank() == 0:
        Event("deisa_wait", client=bridge.client).wait()
    data = np.random.default_rng(comm.Get_rank()).random((rows, width))
    for i in range(warm_up + iterations):
        comm.barrier()
        if comm.Get_rank() == 0:
            began[i] = time.monotonic_ns()
        bridge.send("u", data, timestep=i)
        if comm.Get_rank() == 0:
            until = time.monotonic() + 30
            while called[i] == 0 and time.monotonic() < until:
                time.sleep(0.02)
    bridge.close(timestep=warm_up + iterations)


def main(ranks, warm_up, *words):
    iterations = words[0]
    context = multiprocessing.get_context("spawn")
    began, called = (context.Array("q", warm_up + iterations, lock=False) for _ in range(2))
    from deisa.dask import Deisa
    from distributed import Client, LocalCluster
    pipes = [context.Pipe() for _ in range(ranks - 1)]
    comms = [Star(0, ranks, [a for a, _ in pipes]), *(Star(r + 1, ranks, [b]) for r, (_, b) in enumerate(pipes))]
    with LocalCluster(n_workers=ranks, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster):
        os.environ["DEISA_DASK_SCHEDULER_ADDRESS"] = cluster.scheduler_address
        rest = cluster.scheduler_address, (warm_up, *words), began, called
        bridges = [context.Process(target=simulate, args=(comm, *rest)) for comm in comms]
        [bridge.start() for bridge in bridges]
        deisa = Deisa()

        @deisa.register("u")
        def latest(us):
            at = time.monotonic_ns()
            us[-1].sum().compute()
            called[us[-1].t] = at

        deisa.execute_callbacks()
        [bridge.join() for bridge in bridges]
    print(json.dumps([called[i] - began[i] for i in range(warm_up, warm_up + iterations)]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
