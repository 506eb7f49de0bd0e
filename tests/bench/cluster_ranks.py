# SPDX-License-Identifier: Apache-2.0
"""Ranks of the comparison of Leat with deisa-dask, which both have: processes that begin each iteration together, when nobody else has
anything to do, and go on when the function has had it."""

import multiprocessing
import time

_LIMIT_S = 60
context = multiprocessing.get_context("spawn")


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


def comms_of(ranks):
    pipes = [context.Pipe() for _ in range(ranks - 1)]
    return [Star(0, ranks, [a for a, _ in pipes]), *(Star(r + 1, ranks, [b]) for r, (_, b) in enumerate(pipes))]


def iterate(comm, count, times, write):
    """write(i) on all ranks at one time. times: {"began", "called", "done"}, arrays that all processes share; who is called sets two."""
    for i in range(count):
        comm.barrier()
        if comm.Get_rank() == 0:
            times["began"][i] = time.monotonic_ns()
        write(i)
        if comm.Get_rank() == 0:
            await_set(times["done"], i)
            time.sleep(0.05)  # what follows the function's end is not of the next iteration


def await_set(times, i):
    until = time.monotonic() + _LIMIT_S
    while times[i] == 0:
        if time.monotonic() > until:
            raise SystemExit(f"the function is not called with iteration {i}")
        time.sleep(0.02)
