# SPDX-License-Identifier: Apache-2.0
"""ADIOS2's SST: a stream to a process that reads it and writes a file, one for each rank."""

import os
import pathlib
import subprocess
import sys

import adios2
import numpy as np
from plain_file import PlainFile

PARAMETERS = {"MarshalMethod": "BP5", "QueueLimit": "2", "QueueFullPolicy": "Block", "RendezvousReaderCount": "1"}


class Sst:
    def __init__(self, plan, rank, ranks):
        self._stream = str(plan.folder / f"rank{rank}")
        self._adios = adios2.Adios()
        io = self._adios.declare_io("output")
        io.set_engine("SST")
        io.set_parameters(PARAMETERS)
        own = os.sched_getaffinity(0)
        # Both the reader and this side's threads inherit.
        os.sched_setaffinity(0, plan.helpers)
        self._reader = subprocess.Popen(
            [sys.executable, __file__, self._stream, str(plan.bytes), str(int(plan.durable))]
        )
        self.helper = self._reader.pid
        self._engine = io.open(self._stream, adios2.bindings.Mode.Write)
        os.sched_setaffinity(0, own)
        values = plan.bytes // 8
        self._variable = io.define_variable("field", np.empty(1), [values], [0], [values])

    def write(self, iteration, field):
        self._engine.begin_step()
        self._engine.put(self._variable, field)
        self._engine.end_step()

    def finish(self):
        self._engine.close()
        if self._reader.wait() != 0:
            raise RuntimeError("the reader failed")


def read(stream, bytes_, durable):
    io = adios2.Adios().declare_io("input")
    io.set_engine("SST")
    io.set_parameters(PARAMETERS)
    engine = io.open(stream, adios2.bindings.Mode.Read)
    file, field = PlainFile(pathlib.Path(stream + ".bin"), bytes_, durable), np.empty(bytes_ // 8)
    iteration = 0
    while engine.begin_step() == adios2.bindings.StepStatus.OK:
        engine.get(io.inquire_variable("field"), field)
        engine.end_step()
        file.write(iteration, field)
        iteration += 1
    engine.close()


if __name__ == "__main__":
    read(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1")
