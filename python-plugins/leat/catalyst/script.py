# SPDX-License-Identifier: Apache-2.0
"""A Catalyst script: executed once by ParaView, which then draws each iteration that its triggers want."""
import os

from ..scripting.foreign import ForeignScript
from ..scripting.frames import CRASH_FILE
from ..scripting.script import ScriptError, describe
from ..vtk.meshes import with_places
from . import header, inputs
from .pipeline import Pipeline, own_streams, start

_MOST_SAID = 20  # different texts of ParaView's


class CatalystScript(ForeignScript):
    """What it draws, and other extracts, go to <output>/<script>."""

    def __init__(self, *words):
        super().__init__(*words)
        self.variables = with_places(self.model, self.variables)
        self._pipeline = self._executed = None
        self._said = set()

    def _prepare(self):
        super()._prepare()
        if newer := self._header().newer_than(header.installed_version() or (0, 0)):
            self.log(newer)
        with own_streams():
            start(self.log, CRASH_FILE)

    def _read(self):
        functions = super()._read()
        if wrong := self._header().wrong():
            raise ScriptError(wrong)
        return functions

    def _call(self, iteration, context):
        with own_streams():
            self._draw(iteration)

    def _draw(self, iteration):
        if self._pipeline is None or self._executed is not self.code:
            self._execute_anew()
        time = iteration.number if iteration.time is None else iteration.time
        try:
            self._pipeline.process(time, iteration.number, inputs.names(self.model),
                                   lambda: inputs.made(iteration, self.variables, self._say),
                                   [f"{name}={value}" for name, value in iteration.parameters.items()])
        except BaseException:
            if not self._pipeline.is_executed:
                self._end_pipeline()  # its file is executed anew with the next iteration
            raise

    def _execute_anew(self):
        self._end_pipeline()
        self._executed = self.code
        self._pipeline = Pipeline(self.path, self._header().version, header.arguments(self.plan["args"]),
                                  os.path.join(self.setup["output"], self.name), self._say)

    def _end_pipeline(self):
        pipeline, self._pipeline = self._pipeline, None
        if pipeline:
            pipeline.end()

    def _header(self):
        return header.Header(self.path)

    def _say(self, text):
        """Once for each text: ParaView says the same at each iteration."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            self.log(text)

    def close(self):
        try:
            with own_streams():
                self._end_pipeline()
        except BaseException as error:
            raise ScriptError(*describe(error)) from None
        finally:
            super().close()
