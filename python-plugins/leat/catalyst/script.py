# SPDX-License-Identifier: Apache-2.0
"""A Catalyst script: executed once by ParaView, which then draws each iteration that its triggers want. With scope="run" that is done on
the first server of the run, with what all have; the others have no ParaView."""
import os

from ..scripting import reductions
from ..scripting.foreign import ForeignScript
from ..scripting.frames import CRASH_FILE
from ..scripting.script import ScriptError, describe
from ..vtk.meshes import with_places
from . import header, inputs
from .pipeline import Pipeline, own_streams, start
from .whole import Meeting

_MOST_SAID = 20  # different texts of ParaView's


class CatalystScript(ForeignScript):
    """What it draws, and other extracts, go to <output>/<script>."""

    def __init__(self, *words):
        super().__init__(*words)
        self.scope = self.plan["scope"]
        self.variables = with_places(self.model, [v for v in self.variables if v.mesh] if self.scope == "run" else self.variables)
        self._pipeline = self._executed = None
        self._said, self._known, self._missing = set(), {}, []

    def _prepare(self):
        super()._prepare()
        if newer := self._header().newer_than(header.installed_version() or (0, 0)):
            self.log(newer)
        if self.scope == "node":
            self._start()

    def _start(self):
        with own_streams():
            start(self.log, CRASH_FILE)

    def _read(self):
        functions = super()._read()
        if wrong := self._header().wrong():
            raise ScriptError(wrong)
        for name in self.model.events_of(self.name):
            self.model.event(name, self.scope)
        return functions

    def _call_over_run(self, function, iteration, context, services):
        function.call_with(iteration, context)

    def _call(self, iteration, context):
        if self.scope == "run" and context.servers > 1:
            self._draw_run(iteration, context)
        else:
            self._draw(iteration, lambda: self._alone(iteration, context))

    def _alone(self, iteration, context):
        """Of a server that has not met the others of the run, and is all servers that it knows of."""
        if self.scope == "run" and not context._services.has_all_ranks:
            self._pipeline.note = "without the data of other servers"
            self._say("this server goes on without the other servers of the run: its pictures are drawn without their data")
        return iteration

    def _draw_run(self, iteration, context):
        self.said_missing = True  # here it is said otherwise

        def ask(what, data):
            return context._ask(["whole", what], [reductions.Said(data)])["columns"][0]
        meeting = Meeting(iteration, self.variables, ask, context.servers, context.server, self._known, self.setup["memory"])
        if meeting.is_without_this:
            self._say("the run goes on without this server, and so do its pictures")
            return
        if not meeting.is_first:
            meeting.lend()
            return

        def whole():
            found = meeting.whole()
            self._say_missing(meeting, iteration.number, context.servers)
            context._services.log("debug", f"iteration {iteration.number}: {meeting.came} bytes came from {_others(meeting)}")
            return found
        try:
            meeting.expect_room()
            self._draw(iteration, whole)
        finally:
            meeting.decline()

    def _say_missing(self, meeting, number, servers):
        """In the picture, and in the log where it was otherwise before."""
        self._pipeline.note = ""
        if meeting.missing:
            self._pipeline.note = f"without the data of server {', '.join(map(str, meeting.missing))} (of {servers})"
        if meeting.missing != self._missing:
            self._missing = meeting.missing
            self.log(f"iteration {number} is drawn {self._pipeline.note or 'with the data of all servers again'}")

    def _draw(self, iteration, make_whole):
        self._start()  # which the other servers of a run never do
        with own_streams():
            self._process(iteration, make_whole)

    def _process(self, iteration, make_whole):
        if self._pipeline is None or self._executed is not self.code:
            self._execute_anew()
        time = iteration.number if iteration.time is None else iteration.time
        try:
            self._pipeline.process(time, iteration.number, inputs.names(self.model),
                                   lambda: inputs.made(make_whole(), self.variables, self._say),
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


def _others(meeting):
    return "1 other server" if len(meeting.given) == 1 else f"{len(meeting.given)} other servers"
