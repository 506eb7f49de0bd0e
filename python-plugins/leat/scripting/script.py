# SPDX-License-Identifier: Apache-2.0
"""One script file: loaded, loaded anew, called; and what one of Leat's is."""
import collections
import linecache
import os
import sys
import sysconfig
import tokenize
import traceback
import types

from ..names import did_you_mean
from ..vtk.meshes import with_places
from .context import Context
from .coordinates import beside
from .declare import declarations_of

_LIBRARIES = tuple({path + os.sep for path in (*map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
                                               *(path for path in sys.path if path.endswith("-packages")))})
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_READ_ONLY_HINT = ("\nThe arrays of ds are read-only views of the simulation's memory: work on a copy, like "
                   "T = ds.temperature.copy()")


NO_FUNCTION = ("has no function for Leat: write def process(ds, ctx), or put @leat.on_iteration() above a function. A file "
               "that only helps others begins with \"_\"")


class ScriptError(Exception):
    """Something of a script went wrong; the text is the message, with the script's own lines. whole: all of the traceback."""

    def __init__(self, text, whole=""):
        super().__init__(text)
        self.whole = whole


class Function:
    """A declared function of a script, and what it remembers of earlier iterations. variables: what it asks for, None for all;
    beside: what says where those lie; events: names, some: it is due only where one of them happens."""
    may_keep = False  # arrays beyond its call, which become copies
    when_missing = " With @leat.on_iteration(incomplete=True) it is, and has fill values in their place"

    def __init__(self, declaration, variables, beside=(), events=()):
        self.declaration, self.variables, self.beside, self.events = declaration, variables, beside, events
        self._window = collections.deque()

    def given(self, iteration):
        """(what it is called with, function that ends that)."""
        return iteration.dataset(self.declaration.variables, self.declaration.arrays, self.products_of(iteration))

    def call(self, given, context):
        self.declaration.function(given, context)

    def call_with(self, iteration, context, given=None):
        """Raises what the function raises. What it was given has ended afterwards. given: given(iteration), where that is made already."""
        ds, end = given or self.given(iteration)
        given = None
        try:
            context._begin(self, ds)
            self.call(ds, context)
        finally:
            ds = None
            if end:
                end()

    def remember(self, iteration, ds, n):
        if not self._window or self._window[-1][0] != iteration:
            self._window.append((iteration, ds.copy(deep=True)))
        while len(self._window) > n:
            self._window.popleft()
        return [old for _, old in self._window]

    def is_due(self, iteration):
        names = iteration.names()
        if iteration.number % self.declaration.every or bool(self.declaration.products) != bool(iteration.products):
            return False
        if self.declaration.products and not self.products_of(iteration):
            return False
        if self.events and not any(event.name in self.events for event in iteration.events):
            return False
        if self.declaration.events and self.variables is None:
            return True
        return bool(names) if self.variables is None else all(v.name in names for v in self.variables if v.time_varying)

    def products_of(self, iteration):
        """{name: Product} of those that it takes, by the names that it asks for."""
        return {self.declaration.name_of(name): product for name, product in iteration.products.items() if self.declaration.takes(name)}


class ScriptFile:
    """Whoever it is written for: _read() says what is called. name: unique among the scripts. model: Model."""

    def __init__(self, name, path, model):
        self.name, self.path, self.model = name, path, model
        self.state = {}  # of the script, which leatd keeps when this process ends
        self.functions = []
        self.cluster = None  # of functions of the whole run
        self.module = f"leat_script_{name}"
        self.dask = None  # {"scheduler_file", "threads", "timeout"} of the user's own Dask scheduler
        self.said_state = False  # that the state cannot be kept over a restart
        self.said_missing = False  # that servers gave nothing to a reduction

    def load(self):
        """Reads the file, as it is now. ScriptError when it cannot be used; then the version from before stays."""
        try:
            functions = self._read()
        except ScriptError:
            raise
        except BaseException as error:  # a script may even call sys.exit
            raise ScriptError(*describe(error)) from None
        before = {f.declaration.name: f for f in self.functions}
        for function in functions:
            if function.declaration.name in before:
                function._window = before[function.declaration.name]._window
        self.functions = functions

    @property
    def labels_arrays(self):
        """Whether a function gets arrays that have names of dimensions and coordinates."""
        return False

    def _read(self):
        """The Functions of the file, as it is now. Raises whatever it raises."""
        raise NotImplementedError

    def close(self):
        """It is not called any more."""
        if self.cluster:
            self.cluster.close()

    def due(self, iteration):
        return [function for function in self.functions if function.is_due(iteration)]

    def call(self, iteration, services, take_back):
        """Calls what is due. Returns (context with what was made, "" or the message of what went wrong). take_back(): ends the views
        that were given away; returns the names of those that were kept."""
        context = Context(self, iteration, services)
        errors = []
        for function in self.due(iteration):
            errors.append(self._call_one(function, iteration, context, services))
            kept = take_back()
            if kept and not function.may_keep:
                errors.append(kept_message(function, kept, iteration.number))
        context._end()
        return context, "\n".join(error for error in errors if error)

    def _call_one(self, function, iteration, context, services):
        try:
            context._begin(function, None)
            if function.declaration.scope == "run":
                self._call_over_run(function, iteration, context, services)
            else:
                function.call_with(iteration, context)
            return ""
        except BaseException as error:
            message, whole = describe(error, iteration.names() if function.variables is None else [v.name for v in function.variables])
            context.traceback += whole
            traceback.clear_frames(error.__traceback__)  # they hold arrays
            return message
        finally:
            context._begin(None, None)

    def _call_over_run(self, function, iteration, context, services):
        services.call_over_run(self, function, iteration, context)


class Script(ScriptFile):
    """One of Leat's: it declares its functions."""

    @property
    def labels_arrays(self):
        return any(function.declaration.arrays in (None, "xarray") for function in self.functions)

    def _read(self):
        return self._functions_of(self.declarations())

    def declarations(self):
        """Executes the file, as it is now. Raises whatever it raises."""
        with tokenize.open(self.path) as file:
            source = file.read()
        code = compile(source, self.path, "exec")
        linecache.checkcache(self.path)
        module = types.ModuleType(self.module)
        module.__file__ = self.path
        sys.modules[module.__name__] = module  # pickle and dataclasses look for it
        folder = os.path.dirname(self.path)
        if folder not in sys.path:
            sys.path.append(folder)  # last: a script called statistics.py must not hide Python's own
        return declarations_of(lambda: exec(code, module.__dict__), module.__dict__)

    def _functions_of(self, declarations):
        if not declarations:
            raise ScriptError(f"{self.path} {NO_FUNCTION}")
        functions = []
        for each in declarations:
            if wrong := each.wrong_arguments():
                raise ScriptError(f"{each.place}: {wrong}")
            try:
                variables = None if each.variables is None else self.model.components(each.variables)
                events = each.events or self.model.events_of(self.name)
                for name in events:
                    self.model.event(name, each.scope)
            except LookupError as error:
                raise ScriptError(f"{each.place}: {error.args[0]}") from None
            places = {v.name: v for v in with_places(self.model, variables or ())}  # which ctx.picture draws them at
            others = {name: self.model.by_name[name] for name in beside(self.model, [v.name for v in variables or ()])}
            functions.append(Function(each, variables, [v for v in {**places, **others}.values() if v not in (variables or ())], events))
        return functions


def kept_message(function, names, iteration):
    listed = ", ".join(f'"{name}"' for name in names)
    return (f"{function.declaration.place}: {function.declaration.name} keeps an array of {listed} of iteration {iteration} beyond "
            "its call, while its memory is the simulation's again. It was copied this time; keep a copy of your own, like "
            "ds[name].copy(), or use ctx.window(n)")


def describe(error, variables=()):
    """(a traceback of the user's own frames, and a hint where one helps; the whole one, without the frames of Leat). variables: names of
    those that the function has."""
    told = traceback.TracebackException.from_exception(error)
    _keep_frames(told, lambda frame: not frame.filename.startswith(_OWN + os.sep))
    whole = "".join(told.format()).rstrip("\n")
    _keep_frames(told, _is_users)
    _cut_what_libraries_caught(told)
    text = "".join(told.format()).rstrip("\n")
    if isinstance(error, SyntaxError):
        text = "".join(told.format_exception_only()).rstrip("\n").lstrip()
    if isinstance(error, ValueError) and ("read-only" in str(error) or "destination is a view" in str(error)):
        text += _READ_ONLY_HINT
    if name := _missing_in_dataset(error):
        text += f'\nThis function has no variable "{name}"{did_you_mean(name, variables)}'
    return text, whole


def _keep_frames(told, wanted):
    for part in _chain(told):
        part.stack = traceback.StackSummary.from_list([frame for frame in part.stack if wanted(frame)])


def _cut_what_libraries_caught(told):
    """An error within a library that became another one there: of no use where no line of it is the user's."""
    for part in _chain(told):
        if part.__cause__ is None and part.__context__ is not None and not part.__context__.stack:
            part.__context__ = None


def _missing_in_dataset(error):
    """The name that ds[name] was asked for in vain; "" of other errors, as of a dict of the user's own."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    where = last.tb_frame.f_code.co_filename if last else ""
    is_of_dataset = isinstance(error, KeyError) and (f"{os.sep}xarray{os.sep}" in where or where.startswith(_OWN + os.sep))
    return error.args[0] if is_of_dataset and error.args and isinstance(error.args[0], str) else ""


def _is_users(frame):
    """Not of a library, and not of Python itself."""
    return not frame.filename.startswith((*_LIBRARIES, "<frozen ", "<__array_function__ "))


def _chain(told):
    while told is not None:
        yield told
        told = told.__cause__ or told.__context__
