# SPDX-License-Identifier: Apache-2.0
"""multiprocessing.shared_memory: two slots, and a process that writes what is in them, one for each rank."""

import multiprocessing
import os
from multiprocessing import shared_memory

import numpy as np
from plain_file import PlainFile

SLOTS = 2


def serve(name, bytes_, path, durable, helpers, free, full):
    """Writes slot after slot, until the byte behind them says that this is the end."""
    os.sched_setaffinity(0, helpers)
    memory = shared_memory.SharedMemory(name)
    file = PlainFile(path, bytes_, durable)
    iteration = 0
    for _ in range(SLOTS):
        free.release()
    while full.acquire() and memory.buf[SLOTS * bytes_] == 0:
        at = iteration % SLOTS * bytes_
        file.write(iteration, memory.buf[at : at + bytes_])
        iteration += 1
        free.release()
    memory.close()


class SharedMemoryWriter:
    def __init__(self, plan, rank, ranks):
        spawn = multiprocessing.get_context("spawn")  # a fork would copy MPI's state
        self._memory = shared_memory.SharedMemory(create=True, size=SLOTS * plan.bytes + 1)
        self._slots = np.ndarray((SLOTS, plan.bytes // 8), buffer=self._memory.buf)
        self._slots[:] = 1  # touched: warm
        self._free, self._full = spawn.Semaphore(0), spawn.Semaphore(0)
        self._end = SLOTS * plan.bytes
        self._process = spawn.Process(
            target=serve,
            args=(
                self._memory.name,
                plan.bytes,
                plan.folder / f"rank{rank}.bin",
                plan.durable,
                plan.helpers,
                self._free,
                self._full,
            ),
        )
        self._process.start()
        self.helper = self._process.pid
        self._free.acquire()  # it has started, which takes a second
        self._free.release()

    def write(self, iteration, field):
        self._free.acquire()
        self._slots[iteration % SLOTS] = field
        self._full.release()

    def finish(self):
        for _ in range(SLOTS):
            self._free.acquire()  # all are written
        self._memory.buf[self._end] = 1
        self._full.release()
        self._process.join()
        if self._process.exitcode != 0:
            raise RuntimeError("the writer failed")
        self._slots = None
        self._memory.close()
        self._memory.unlink()
