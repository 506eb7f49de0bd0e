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
        self._code = self._dask = self._damaris_data = self._environment = self._magic = None
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
        self.functions = [Function(declaration, [], self._variables, self.model.events_of(self.name))]  # taken where they are there

    def _prepare(self):
        for name in [each for each in os.environ if each.startswith(_OF_THE_JOB)]:
            del os.environ[name]
        if _MODULES not in sys.path:
            sys.path.insert(0, _MODULES)  # before that of an installed Damaris, which is linked with it
        if os.path.dirname(self.path) not in sys.path:
            sys.path.append(os.path.dirname(self.path))
        self._environment = data.environment(self._setup)
        self._magic = self._environment["simulation_magic_number"]
        name = f"{self._environment['simulation_name']}_{self._magic}_{data.SERVER}"
        self._dask = DaskWorker(self._plan.get("dask"), name, self._log)
        self._damaris_data = {"dask_env": self._dask.environment, "damaris_env": dict(self._environment)}

    def due(self, iteration):
        return [function for function in self.functions if function.is_due(iteration)]

    def call(self, iteration, services, take_back):
        """As Script.call(). An array that the script keeps, where Damaris would have taken its memory away, is a copy afterwards."""
        context, error = Context(self, iteration, services), ""
        if self.due(iteration):
            error = self._run(iteration, context)
            take_back()
        context._end()
        return context, error

    def _run(self, iteration, context):
        try:
            self._give(iteration)
            exec(self._code, self._namespace)
            return ""
        except BaseException as error:  # a script may even call sys.exit
            message, context.traceback = describe(error)
            traceback.clear_frames(error.__traceback__)
            return message
        finally:
            self._damaris_data.pop("iteration_data", None)

    def _give(self, iteration):
        from damaris4py import server
        now = data.iteration_data(iteration, self._variables, self._magic)
        server._take(self._environment, data.ranks_in(now))
        self._damaris_data["iteration_data"] = now
        self._namespace["DamarisData"] = self._damaris_data  # whatever the script has made of that name

    def close(self):
        if self._dask:
            self._dask.close()
