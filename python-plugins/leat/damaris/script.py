# SPDX-License-Identifier: Apache-2.0
"""A script for Damaris in the place of one for Leat: scripting.script.Script with the same functions."""
import linecache
import os
import pathlib
import sys
import tokenize
import traceback
import types

from ..scripting.context import Context
from ..scripting.declare import Declaration
from ..scripting.script import Function, ScriptError, describe
from . import data
from .dask_worker import DaskWorker

_MODULES = str(pathlib.Path(__file__).parent / "modules")
# Of the job that the simulation is in: with them a script that uses MPI would take itself for one of its ranks.
_OF_THE_JOB = ("PMIX_", "PMI_", "PRTE_", "PALS_", "MPI_LOCAL", "HYDI_", "HYDRA_", "OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess",
               "OMPI_MCA_pmix", "OMPI_UNIVERSE_SIZE", "OMPI_APP_CTX", "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_FILE_LOCATION")


def compiled(path):
    """The file, as it is now."""
    with tokenize.open(path) as file:
        source = file.read()
    linecache.checkcache(path)
    return compile(source, path, "exec")


class DamarisScript:
    """The whole file is executed at each iteration that is due, with DamarisData in its namespace, which lasts. plan: {"every",
    "variables", "dask"}. setup: of the worker. log(text): warnings."""

    def __init__(self, name, path, model, plan, setup, log):
        self.name, self.path, self.model = name, path, model
        self.state, self.said_state = {}, False
        self._plan, self._setup, self._log = plan, setup, log
        self._variables = [model.by_name[each] for each in plan["variables"]]
        self._namespace = {"__name__": "__main__", "__file__": path}  # so that functions go to Dask's workers by value
        self._code = self._dask = self._damaris_data = None
        self.functions = []

    def load(self):
        """Reads the file, as it is now. ScriptError when it cannot be used; then the version from before stays."""
        try:
            self._code = compiled(self.path)
        except Exception as error:
            raise ScriptError(*describe(error)) from None
        if self._damaris_data is None:
            self._prepare()
        declaration = Declaration(types.FunctionType(self._code, {}, self.name), [], self._plan["every"])
        self.functions = [Function(declaration, [], self._variables)]  # taken where they are there

    def _prepare(self):
        for name in [each for each in os.environ if each.startswith(_OF_THE_JOB)]:
            del os.environ[name]
        for folder in (_MODULES, os.path.dirname(self.path)):
            if folder not in sys.path:
                sys.path.append(folder)
        environment = data.environment(self._setup)
        magic = environment["simulation_magic_number"]
        name = f"{environment['simulation_name']}_{magic}_{data.SERVER}"
        self._dask = DaskWorker(self._plan.get("dask"), name, self._log)
        self._damaris_data = {"dask_env": self._dask.environment, "damaris_env": environment}
        self._namespace["DamarisData"] = self._damaris_data

    def due(self, iteration):
        return [function for function in self.functions if iteration.number % function.declaration.every == 0]

    def call(self, iteration, services, take_back):
        """As Script.call(). An array that the script keeps, where Damaris would have taken its memory away, is a copy afterwards."""
        context, error = Context(self, iteration, services), ""
        if self.due(iteration):
            error = self._run(iteration, context)
            take_back()
        context._end()
        return context, error

    def _run(self, iteration, context):
        from damaris4py import server
        now = data.iteration_data(iteration, self._variables, self._damaris_data["damaris_env"]["simulation_magic_number"])
        self._damaris_data["iteration_data"] = now
        self._dask.ensure()
        server._take(self._damaris_data["damaris_env"], data.ranks_in(now))
        try:
            exec(self._code, self._namespace)
            return ""
        except BaseException as error:  # a script may even call sys.exit
            message, context.traceback = describe(error)
            traceback.clear_frames(error.__traceback__)
            return message
        finally:
            self._damaris_data.pop("iteration_data", None)

    def close(self):
        if self._dask:
            self._dask.close()
