# SPDX-License-Identifier: Apache-2.0
"""Files that are written for others: a file as it is, executed whole, in the place of functions that it declares."""
import linecache
import os
import sys
import tokenize
import types

from .declare import Declaration
from .script import Function, ScriptFile

# Of the job that the simulation is in: with them a script that uses MPI would take itself for one of its ranks.
_OF_THE_JOB = ("PMIX_", "PMI_", "PRTE_", "PALS_", "MPI_LOCAL", "HYDI_", "HYDRA_", "OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess",
               "OMPI_MCA_pmix", "OMPI_UNIVERSE_SIZE", "OMPI_APP_CTX", "OMPI_NUM_APP_CTX", "OMPI_FIRST_RANKS", "OMPI_FILE_LOCATION")


def compiled(path):
    """The file, as it is now."""
    with tokenize.open(path) as file:
        source = file.read()
    linecache.checkcache(path)
    return compile(source, path, "exec")


class FileFunction(Function):
    """The file in the place of a function: it takes an iteration, and keeps of it what it likes. call(iteration, context)."""
    may_keep, when_missing = True, ""

    def __init__(self, script, call):
        code = types.FunctionType(script.code, {}, script.name)  # whose name and place stand in messages
        super().__init__(Declaration(code, [], script.plan["every"], scope=script.scope), [], script.variables,
                         script.model.events_of(script.name))  # variables are taken where they are there
        self._call = call

    def given(self, iteration):
        return iteration, None

    def call(self, given, context):
        self._call(given, context)


class ForeignScript(ScriptFile):
    """plan: {"form", "every", "variables"}, and more of that form. setup: of the worker. log(text): warnings. scope: of the function
    that _call() is; modules: a folder with what the file imports."""
    scope, modules = "node", None

    def __init__(self, name, path, model, plan, setup, log):
        super().__init__(name, path, model)
        self.plan, self.setup, self.log = plan, setup, log
        self.variables = [model.by_name[each] for each in plan["variables"]]
        self.namespace = {"__name__": "__main__", "__file__": path}  # so that functions go to Dask's workers by value
        self.code = None

    def _read(self):
        is_first, self.code = self.code is None, compiled(self.path)
        if is_first:
            self._prepare()
        return [FileFunction(self, self._call)]

    def _prepare(self):
        """Once, before anything of the file is executed."""
        for name in [each for each in os.environ if each.startswith(_OF_THE_JOB)]:
            del os.environ[name]
        if self.modules and self.modules not in sys.path:
            sys.path.insert(0, self.modules)  # before what is installed
        if os.path.dirname(self.path) not in sys.path:
            sys.path.append(os.path.dirname(self.path))

    def _call(self, iteration, context):
        raise NotImplementedError
