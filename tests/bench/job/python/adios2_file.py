# SPDX-License-Identifier: Apache-2.0
"""ADIOS2 into BP5 files. The wheel of PyPI has no MPI: each rank writes a file of its own."""

import os

import adios2
import numpy as np


class Bp5:
    helper = None
    PARAMETERS = {}

    def __init__(self, plan, rank, ranks):
        self._adios = adios2.Adios()
        io = self._adios.declare_io("output")
        io.set_engine("BP5")
        io.set_parameters(self.PARAMETERS)
        self._path, self._durable = plan.folder / f"rank{rank}.bp", plan.durable
        self._engine = io.open(str(self._path), adios2.bindings.Mode.Write)
        values = plan.bytes // 8
        self._variable = io.define_variable("field", np.empty(1), [values], [0], [values])

    def write(self, iteration, field):
        self._engine.begin_step()
        self._engine.put(self._variable, field)
        self._engine.end_step()
        if self._durable:
            self.sync()

    def sync(self):
        """BP5 itself has no word for it."""
        for part in self._path.iterdir():
            file = os.open(part, os.O_RDONLY)
            os.fdatasync(file)
            os.close(file)

    def finish(self):
        self._engine.close()


class Bp5Async(Bp5):
    """A thread of ADIOS2 writes: it is made in end_step, and would inherit that the rank is bound to its core."""

    PARAMETERS = {"AsyncWrite": "On"}

    def __init__(self, plan, rank, ranks):
        if plan.durable:
            raise SystemExit("AsyncWrite has no way to say when an iteration is on the disk")
        super().__init__(plan, rank, ranks)
        self._own = os.sched_getaffinity(0)
        self._all = self._own | plan.helpers

    def write(self, iteration, field):
        os.sched_setaffinity(0, self._all)
        super().write(iteration, field)
        os.sched_setaffinity(0, self._own)
