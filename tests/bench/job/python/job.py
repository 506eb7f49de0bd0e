#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job of ../job.cpp for ways of output that are Python's: the same arguments, the same work by the same C functions
(libleat_bench_work.so, argument work_library), the same result."""

import ctypes
import importlib
import json
import os
import pathlib
import resource
import sys
import time

import numpy as np
from page_pool import PagePool

# Each is a class in the module of its name.
METHODS = {
    "python-none": ("none", "Nothing"),
    "shared-memory": ("shared_memory_writer", "SharedMemoryWriter"),
    "adios2-bp5": ("adios2_file", "Bp5"),
    "adios2-bp5-async": ("adios2_file", "Bp5Async"),
    "adios2-sst": ("adios2_sst", "Sst"),
}


POOLED_AHEAD = 8  # as plan.hpp


class Plan:
    def __init__(self, arguments):
        given = dict(argument.split("=", 1) for argument in arguments)
        self.method, self.folder, self.result = given["method"], pathlib.Path(given["folder"]), given.get("result")
        self.warm_up, self.iterations = int(given.get("warm_up", 5)), int(given["iterations"])
        self.bytes, self.work = int(given["bytes"]), int(given["work"])
        self.durable = given.get("durable") == "1"
        self.cores = [int(n) for n in given.get("cores", "").split(",") if n]
        self.helpers = {int(n) for n in given.get("helpers", "").split(",") if n}
        self.work_library = given["work_library"]
        self.pool = given.get("pool")


class Work:
    """The C functions of ../work.hpp."""

    def __init__(self, path, count):
        self._library, self._count = ctypes.CDLL(path), ctypes.c_int64(count)
        self._base = np.empty(count)
        self._library.leat_bench_make_base(self._base.ctypes.data_as(ctypes.c_void_p), self._count)

    def compute(self, units):
        self._library.leat_bench_work(ctypes.c_int64(units))

    def fill(self, field, rank, ranks, iteration):
        numbers = (ctypes.c_int64(n) for n in (rank, ranks, iteration))
        self._library.leat_bench_fill(
            field.ctypes.data_as(ctypes.c_void_p), self._base.ctypes.data_as(ctypes.c_void_p), self._count, *numbers
        )


def helper_seconds(output):
    """Processor time of what works for this rank: a process of its own, or threads."""
    if output.helper is None:
        return time.process_time() - time.thread_time()
    return time.clock_gettime(
        ~output.helper << 3 | 2
    )  # the clock of that process, as clock_getcpuclockid(3) numbers it


def run_loop(plan, comm, output, work, field, pool):
    call_ns, iteration_ns, slept = [], [], 0
    helper = start = 0
    for i in range(plan.warm_up + plan.iterations):
        if i == plan.warm_up:
            comm.Barrier()
            helper, start = helper_seconds(output), time.perf_counter_ns()
        began = time.perf_counter_ns()
        pool.give_back(plan.bytes * comm.size)
        work.compute(plan.work)
        work.fill(field, comm.rank, comm.size, i)
        comm.Barrier()
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        called = time.perf_counter_ns()
        output.write(i, field)
        returned = time.perf_counter_ns()
        if i >= plan.warm_up:
            call_ns.append(returned - called)
            slept += resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
            iteration_ns.append(returned - began)
    comm.Barrier()
    return {
        "loop_s": (time.perf_counter_ns() - start) * 1e-9,
        "helper_s": helper_seconds(output) - helper,
        "switches": slept,
        "call_ns": call_ns,
        "iteration_ns": iteration_ns,
    }


def run(plan, comm):
    if plan.cores:
        os.sched_setaffinity(0, {plan.cores[comm.rank % len(plan.cores)]})
    module, name = METHODS[plan.method]
    make = getattr(importlib.import_module(module), name)
    pool = PagePool(plan.pool if comm.rank == 0 else None)
    pool.give_back(POOLED_AHEAD * plan.bytes * comm.size)
    comm.Barrier()
    cpu, began = time.process_time(), time.perf_counter()
    output = make(plan, comm.rank, comm.size)
    start_s = time.perf_counter() - began
    values = plan.bytes // 8
    measured = run_loop(plan, comm, output, Work(plan.work_library, values), np.ones(values), pool)
    began = time.perf_counter()
    output.finish()
    comm.Barrier()
    measured.update(start_s=start_s, finish_s=time.perf_counter() - began, cpu_s=time.process_time() - cpu)
    report(plan, comm, measured)


def report(plan, comm, own):
    all_ranks = comm.gather(own)
    if comm.rank != 0:
        return
    result = {key: max(each[key] for each in all_ranks) for key in ("start_s", "loop_s", "finish_s")}
    result |= {key: sum(each[key] for each in all_ranks) for key in ("cpu_s", "helper_s", "switches")}
    result |= {"call_ns": [ns for each in all_ranks for ns in each["call_ns"]], "iteration_ns": own["iteration_ns"]}
    pathlib.Path(plan.result).write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    from mpi4py import MPI  # starts MPI: not in processes that this one spawns

    run(Plan(sys.argv[1:]), MPI.COMM_WORLD)
