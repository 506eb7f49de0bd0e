# SPDX-License-Identifier: Apache-2.0
"""cluster_deisa.py RANKS WARM_UP ITERATIONS ROWS WIDTH: what deisa-dask itself takes from the moment when bridges begin to send an
iteration to the callback: a bridge for each rank and as many workers, each a process. Prints the nanoseconds as JSON."""

import json
import os
import sys
import time

from cluster_ranks import comms_of, context, iterate


def simulate(comm, address, words, times):
    import numpy as np
    from deisa.dask import Bridge
    from distributed import Event
    count, rows, width = words
    os.environ["DEISA_DASK_SCHEDULER_ADDRESS"] = address
    shape = rows * comm.Get_size(), width
    bridge = Bridge(comm, {"u": {"global_shape": shape, "chunk_shape": (rows, width), "chunk_position": (comm.Get_rank(), 0)}})
    if comm.Get_rank() == 0:
        Event("deisa_wait", client=bridge.client).wait()
    data = np.random.default_rng(comm.Get_rank()).random((rows, width))
    iterate(comm, count, times, lambda i: bridge.send("u", data, timestep=i))
    bridge.close(timestep=count)


def main(ranks, warm_up, iterations, rows, width):
    count = warm_up + iterations
    times = {name: context.Array("q", count, lock=False) for name in ("began", "called", "done")}
    from deisa.dask import Deisa
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=ranks, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster):
        os.environ["DEISA_DASK_SCHEDULER_ADDRESS"] = cluster.scheduler_address
        words = cluster.scheduler_address, (count, rows, width), times
        bridges = [context.Process(target=simulate, args=(comm, *words)) for comm in comms_of(ranks)]
        [bridge.start() for bridge in bridges]
        deisa = Deisa()

        @deisa.register("u")
        def latest(us):
            times["called"][us[-1].t] = time.monotonic_ns()
            us[-1].sum().compute()
            times["done"][us[-1].t] = time.monotonic_ns()

        deisa.execute_callbacks()
        [bridge.join() for bridge in bridges]
    told = {"from_write_ns": "called", "to_result_ns": "done"}
    print(json.dumps({name: [times[end][i] - times["began"][i] for i in range(warm_up, count)] for name, end in told.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
