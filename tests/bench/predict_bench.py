# SPDX-License-Identifier: Apache-2.0
"""What `leat predict` costs: processor time of an iteration of 65,536 ranks, while nothing interrupts them and among bursts that are not
synchronised, and memory of a rank. Prints JSON. predict_bench.py ITERATIONS"""
import json
import pathlib
import sys
import time
import tracemalloc

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))
from leat.planning.bursts import DrawnBursts  # noqa: E402
from leat.planning.simulation import Clocks, Costs, Machine  # noqa: E402

RANKS, COMPUTE_NS = 65536, 10_000_000


def measure(bursts_of, iterations):
    """(ns of an iteration, bytes of a rank), of computing and an all-reduce."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    bursts = bursts_of()
    clocks = Clocks(Costs(Machine(2500, 1500, 1000, 6, 0, 65535), 8), RANKS, 1, bursts)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    begin = time.process_time()
    for _ in range(iterations):
        clocks.compute(np.full(RANKS, COMPUTE_NS))
        clocks.all_reduce()
    return 1e9 * (time.process_time() - begin) / iterations, kept / RANKS


quiet, _ = measure(lambda: None, int(sys.argv[1]))
busy, kept_bytes = measure(lambda: DrawnBursts(40_000_000, 0.15, 2_000_000_000, None, 1, RANKS), int(sys.argv[1]))
print(json.dumps({"undisturbed_ns": quiet, "with_bursts_ns": busy, "bytes_per_rank": kept_bytes}))
