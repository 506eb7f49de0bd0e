# SPDX-License-Identifier: Apache-2.0
"""A script for Damaris: the whole file is executed at each iteration that is due, with DamarisData in its namespace, which lasts."""
import pathlib

from ..scripting.foreign import ForeignScript
from . import data
from .dask_worker import DaskWorker


class DamarisScript(ForeignScript):
    """An array that the script keeps, where Damaris would have taken its memory away, is a copy afterwards."""
    modules = str(pathlib.Path(__file__).parent / "modules")  # before an installed Damaris, which is linked with it

    def __init__(self, *words):
        super().__init__(*words)
        self._dask = self._damaris_data = self._environment = self._magic = None

    def _prepare(self):
        super()._prepare()
        self._environment = data.environment(self.setup)
        self._magic = self._environment["simulation_magic_number"]
        name = f"{self._environment['simulation_name']}_{self._magic}_{data.SERVER}"
        self._dask = DaskWorker(self.dask, name, self.log)
        self._damaris_data = {"dask_env": self._dask.environment, "damaris_env": dict(self._environment)}

    def _call(self, iteration, context):
        try:
            self._give(iteration)
            exec(self.code, self.namespace)
        finally:
            self._damaris_data.pop("iteration_data", None)

    def _give(self, iteration):
        from damaris4py import server
        now = data.iteration_data(iteration, self.variables, self._magic)
        server._take(self._environment, data.ranks_in(now))
        self._damaris_data["iteration_data"] = now
        self.namespace["DamarisData"] = self._damaris_data  # whatever the script has made of that name

    def close(self):
        if self._dask:
            self._dask.close()
