# SPDX-License-Identifier: Apache-2.0
"""An analysis for deisa-dask: its file is executed once, on the first server of the run; the other servers lend it their arrays."""
import pathlib

from ..scripting.foreign import ForeignScript
from ..scripting.script import ScriptError, describe


class DeisaScript(ForeignScript):
    """state: {"iteration": that of its last call}."""
    scope, modules = "run", str(pathlib.Path(__file__).parent / "modules")  # before an installed deisa-dask

    def __init__(self, *words):
        super().__init__(*words)
        self._analysis = self._executed = None

    def _call(self, whole, context):
        try:
            from .analysis import Analysis
        except ModuleNotFoundError as error:
            if error.name not in ("deisa", "deisa.core"):
                raise
            raise ImportError('form="deisa": deisa-core is not installed in this Python: pip install deisa-core') from None
        is_changed = self._executed is not self.code
        if self._analysis is None or (is_changed and self._analysis.has_failed):
            if "iteration" in self.state:
                self.log(f'the process that executed it ended after iteration {self.state["iteration"]}: it is executed anew from its '
                         "beginning, and windows begin anew")
            self._executed = self.code
            self._analysis = Analysis(lambda: exec(self._executed, dict(self.namespace)), self.model, self.plan["variables"], self.log)
        elif is_changed:
            self._executed = self.code
            self.log("the file has changed: that counts in the next run, since it is executed once")
        self.state = {"iteration": whole.number}
        self._analysis.deliver(whole, context)

    def close(self):
        try:
            if self._analysis:
                self._analysis.end()
        except BaseException as error:
            raise ScriptError(*describe(error)) from None
        finally:
            super().close()
