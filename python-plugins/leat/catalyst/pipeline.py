# SPDX-License-Identifier: Apache-2.0
"""ParaView in this process, and one script of Catalyst at work in it."""
import contextlib
import faulthandler
import os
import re
import sys

from ..vtk.process import heard, keep_to_cores

_is_started, _display = False, None
# The first time step at 0; a script that leaves to ParaView how often it draws.
_HARMLESS = re.compile(r"New time step is not after last time step|missing Catalyst 'options'")
_active = None  # the Pipeline whose script is at work
_owners = {}    # {id of a view: Pipeline}


class PipelineError(Exception):
    """ParaView could not do what the script wants, and said no more than this."""


class ScriptEnds(Exception):
    """The script wants to end the process that it shares with others."""


def start(log, last_words):
    """Once for the process. log(text): for warnings. last_words: descriptor that tells why the process died."""
    global _is_started, _display
    if _is_started:
        return
    # A ParaView that has MPI is one process alone here: Open MPI would start a server of its own beside it.
    os.environ["OMPI_MCA_ess_singleton_isolated"] = "1"
    keep_to_cores()
    from paraview.catalyst import bridge, v2_internals
    bridge.initialize()
    faulthandler.disable()
    faulthandler.enable(last_words, all_threads=False)  # VTK's logger has put handlers of its own there
    v2_internals._get_active_arguments = lambda: _active.arguments if _active else []
    v2_internals._get_execute_parameters = lambda: _active.parameters if _active else []
    _note_before(v2_internals, "do_catalyst_execute")
    _is_started = True
    from ..vtk.display import Display, is_needed
    _display = Display("ParaView", log, last_words) if is_needed() else None


class Pipeline:
    """A script: imported with the first inputs that it gets, and executed with each. path: of the file. folder: where extracts go.
    arguments: what catalyst.get_args() returns. say(text): what ParaView says of errors that do not stop the script."""

    def __init__(self, path, version, arguments, folder, say):
        from paraview.modules.vtkPVPythonCatalyst import vtkCPPythonScriptPipeline, vtkCPPythonScriptV2Pipeline
        self.arguments, self.parameters = arguments, []
        self._folder, self._say, self._is_legacy = os.path.abspath(folder), say, version == 1
        self.is_executed = False  # the file, to its end
        self.note = ""  # what stands in its pictures, beside what the script draws
        self._note_source = None
        self._before = _proxies()
        with self._at_work(), own_streams():
            self._pipeline = vtkCPPythonScriptPipeline() if self._is_legacy else vtkCPPythonScriptV2Pipeline()
            if not self._pipeline.Initialize(path):
                raise PipelineError("ParaView could not load it")
            if self._is_legacy:
                from paraview import coprocessing
                _note_before(coprocessing.CoProcessor, "WriteImages")

    def process(self, time, iteration, names, make_inputs, parameters):
        """names: of the inputs. make_inputs(): {name: its VTK data object}; called when the script wants this iteration. parameters:
        what catalyst.get_execute_params() returns."""
        from paraview.modules.vtkPVCatalyst import vtkCPDataDescription
        description = vtkCPDataDescription()
        description.SetTimeData(time, iteration)
        for name in names:
            description.AddInput(name)
        self.parameters = parameters
        with self._at_work():
            if not self._pipeline.RequestDataDescription(description):
                return
            for name, grid in make_inputs().items():
                given = description.GetInputDescriptionByName(name)
                given.SetGrid(grid)
                if hasattr(grid, "GetExtent"):
                    given.SetWholeExtent(grid.GetExtent())
            if not self._pipeline.CoProcess(description):
                raise PipelineError("ParaView could not execute it")
        self.is_executed = True

    def write_note(self):
        """Into all views, before they are drawn."""
        from paraview import simple
        if not self.note and self._note_source is None:
            return
        source, view = simple.GetActiveSource(), simple.GetActiveView()
        if self._note_source is None:
            self._note_source = simple.Text(registrationName="leat note")
        self._note_source.Text = self.note
        for each in [each for each in simple.GetRenderViews() if _owners.get(each.SMProxy.GetGlobalID(), self) is self]:
            shown = simple.Show(self._note_source, each)
            shown.WindowLocation, shown.Color, shown.FontSize, shown.Bold = "Lower Center", [0.8, 0.0, 0.0], 14, 1
        simple.SetActiveSource(source)
        simple.SetActiveView(view)

    def _own_views(self):
        """What it has made, of several scripts in one process."""
        from paraview import servermanager
        for each in servermanager.GetRenderViews():
            _owners.setdefault(each.SMProxy.GetGlobalID(), self)

    def end(self):
        """Writes what comes at the end, like Cinema's table, and removes all that the script has made in ParaView's session."""
        with self._at_work():
            self._pipeline.Finalize()
        for view in [view for view, owner in _owners.items() if owner is self]:
            del _owners[view]
        for key in _proxies() - self._before:
            _remove(*key)

    @contextlib.contextmanager
    def _at_work(self):
        """Raises what the script raises."""
        global _active
        if _display:
            _display.ensure()
        os.makedirs(self._folder, exist_ok=True)
        os.environ["PARAVIEW_OVERRIDE_EXTRACTS_OUTPUT_DIRECTORY"] = self._folder
        raised, hook, leave, here = [], sys.excepthook, sys.exit, os.getcwd()
        sys.exit = _no_exit
        sys.excepthook = lambda kind, error, traceback: raised.append(error)
        _active = self
        if self._is_legacy:
            os.chdir(self._folder)  # where those write what they make
        try:
            with heard(lambda text, is_error: _HARMLESS.search(text) or self._say(text)):
                yield
        except PipelineError as error:
            raise (raised or [error])[0] from None
        finally:
            self._own_views()
            os.chdir(here)
            sys.exit, sys.excepthook, _active = leave, hook, None
        if raised:
            raise raised[0]


def _note_before(owner, name):
    """The note of the Pipeline at work is written before owner.name is called."""
    call = getattr(owner, name)
    if getattr(call, "has_note", False):
        return

    def noted(*words, **named):
        _active.write_note()
        return call(*words, **named)
    noted.has_note = True
    setattr(owner, name, noted)


def _no_exit(code=None):
    """In the place of sys.exit: of a SystemExit ParaView makes the end of the process, before anybody hears of it."""
    raise ScriptEnds(f"it has called sys.exit({'' if code is None else repr(code)}), which ends no process here")


@contextlib.contextmanager
def own_streams():
    """ParaView puts its own in the place of Python's, at some of its imports and when it first executes a script."""
    streams = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _proxies():
    """{(group, name)} of all that there is in ParaView's session."""
    from paraview import servermanager
    found = servermanager.ProxyIterator()
    return {(found.GetGroup(), found.GetKey()) for _ in found}


def _remove(group, name):
    from paraview import servermanager
    servermanager.ProxyManager().SMProxyManager.UnRegisterProxy(group, name, servermanager.ProxyManager().GetProxy(group, name).SMProxy)
