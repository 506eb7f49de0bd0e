# SPDX-License-Identifier: Apache-2.0
"""The process that runs scripts: takes orders from leatd (server/workers/script_worker.cpp) until it goes away."""
import faulthandler
import os
import pickle
import resource
import sys
import threading
import time
import types

from ..vtk.painter import Painter
from .frames import CONSTANTS, CRASH_FILE, SOCKET, Channel
from .parent import die_with_parent, outlive_warnings

_NICE = 5  # below leatd itself, with which it may share a core


def main():
    parent = os.getppid()
    die_with_parent()
    if os.getppid() != parent:  # it died before it could be asked for
        return 1
    outlive_warnings()
    faulthandler.enable(CRASH_FILE, all_threads=False)
    channel = Channel(SOCKET)
    setup, _ = channel.receive()
    try:
        import numpy
    except ImportError as error:
        from .interpreters import without
        channel.send({"cannot": without("NumPy", error, 'interpreter="{}" in <scripts>')})
        return 1
    resource.setrlimit(resource.RLIMIT_DATA, (setup["memory"], setup["memory"]))
    worker = Worker(setup, channel)
    os.register_at_fork(after_in_child=lambda: leave_to_parent(channel))
    os.nice(_NICE)
    channel.send({"numpy": numpy.__version__})
    return worker.serve()


def leave_to_parent(channel):
    """In a process that a script has forked: only its parent speaks to leatd. What this one prints goes to leatd's stderr."""
    channel.close()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


class LogStream:
    """print and warnings of scripts, line by line, for the server's log."""

    def __init__(self, log, level):
        self._log, self._level, self._line = log, level, ""
        self._writing = threading.Lock()

    def write(self, text):
        with self._writing:
            *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if line.strip():
                self._log(self._level, line)
        return len(text)

    def flush(self):
        pass

    def end_line(self):
        if self._line.strip():
            self._log(self._level, self._line)
        self._line = ""

    def isatty(self):
        return False


class Services:
    """What a Context needs of the world around."""

    def __init__(self, channel, model, output, has_all_ranks):
        self.model, self.has_all_ranks = model, has_all_ranks
        self._channel, self._output = channel, output
        self._place = self._servers = None
        self._painter = Painter(lambda text: self.log("warning", text), CRASH_FILE)

    def log(self, level, text):
        self._channel.send({"kind": "log", "level": level, "text": text})

    def set(self, parameter, value, scope):
        self._channel.send({"kind": "set", "parameter": parameter, "value": value, "scope": scope})

    def signal(self, event):
        self._channel.send({"kind": "signal", "event": event})

    def reduce(self, function, signature, columns, meanwhile=None):
        """See reductions.OneServer. Waits for the other servers, as long as the script's call may take. meanwhile(): done before that."""
        from .reductions import outcome_of
        told, parts = zip(*(column.words() for column in columns))
        answer, data = self._channel.ask({"kind": "reduce", "function": function, "signature": signature, "columns": list(told)}, *parts,
                                         meanwhile=meanwhile)
        return outcome_of(answer, data, columns)

    def place(self):
        """server, servers, is_first."""
        if self._place is None:
            answer, _ = self._channel.ask({"kind": "place"})
            self._place = types.SimpleNamespace(**{key: answer[key] for key in ("server", "servers", "is_first")})
        return self._place

    def servers(self):
        """How many the run has: the same as long as it lasts."""
        if self._servers is None:
            self._servers = self.place().servers
        return self._servers

    def contact(self):
        """With what a cluster of all servers secures its connections, in PEM, and addresses of this node."""
        answer, _ = self._channel.ask({"kind": "contact"})
        return types.SimpleNamespace(**{key: answer[key] for key in ("authority", "certificate", "key", "addresses")})

    def call_over_run(self, script, function, iteration, context):
        from ..cluster.calls import RunCall
        RunCall(script, function, iteration, context, self)()

    def call_begins(self):
        """Who lives may have changed since the last."""
        self._place = None

    def image(self, script, name, iteration, picture):
        from . import outputs
        return outputs.write_image(os.path.join(self._output, script), name, iteration, picture)

    def draw(self, wish, iteration):
        return self._painter.draw(wish, iteration, self.has_all_ranks)

    def draw_of_run(self, wish, iteration, gather, place):
        return self._painter.draw_of_run(wish, iteration, gather, place)


def _varying(variables):
    """Numbers of those that an iteration may bring; all others are there from the first on. None: all."""
    return None if variables is None else [v.number for v in variables if v.time_varying]


def _for_damaris():
    from ..damaris.script import DamarisScript
    return DamarisScript


def _for_deisa():
    from ..deisa.script import DeisaScript
    return DeisaScript


def _for_catalyst():
    from ..catalyst.script import CatalystScript
    return CatalystScript


_FOREIGN = {"damaris": _for_damaris, "deisa": _for_deisa, "catalyst": _for_catalyst}


class Worker:
    def __init__(self, setup, channel):
        from . import iteration
        from .model import Model
        from .views import SharedMemories
        self._iterations = iteration
        self._channel, self._output, self._setup = channel, setup["output"], setup
        self._model = Model.from_json(setup)
        self._memories = SharedMemories(setup["segment"], CONSTANTS)
        self._services = Services(channel, self._model, self._output, setup["has_all_ranks"])
        self._scripts, self._tables, self._timeouts = {}, {}, {}
        self._iteration = None
        sys.stdout = LogStream(self._services.log, "info")
        sys.stderr = LogStream(self._services.log, "warning")

    def serve(self):
        orders = {"load": self._load, "unload": self._unload, "run": self._run}
        while True:
            order = self._channel.receive()
            if order is None:
                for name in list(self._scripts):
                    self._unload({"script": name}, b"")
                return 0
            head, data = order
            answer, *parts = orders[head["kind"]](head, data)
            sys.stdout.end_line()
            sys.stderr.end_line()
            self._channel.send({"kind": "answer", **answer}, *parts)

    def _load(self, head, data):
        from .script import ScriptError
        name = head["script"]
        script = self._scripts.get(name)
        if script is None:
            script = self._scripts[name] = self._made(head)
            script.dask = head.get("dask")
            self._timeouts[name] = head["timeout"]
            if head["fresh"]:
                from .outputs import put_aside
                put_aside(self._table_path(name))
            if data:
                script.state = pickle.loads(bytes(data))
        try:
            script.load()
            if script.labels_arrays:
                from .datasets import xarray
                xarray()  # takes its time: not at the first call
            error = whole = ""
        except ScriptError as why:
            error, whole = str(why) + ("\nThe version from before is kept." if script.functions else ""), why.whole
        except Exception as why:  # its state cannot be read back, for example
            error, whole = f"{type(why).__name__}: {why}", ""
        functions = [{"every": f.declaration.every, "variables": _varying(f.variables), "beside": _varying(f.beside),
                      "name": f.declaration.name, "products": f.declaration.products, "publishes": f.declaration.publishes,
                      "scope": f.declaration.scope,
                      "events": [list(self._model.events).index(name) for name in f.events]} for f in script.functions]
        return ({"functions": functions, "error": error, "whole": whole},)

    def _made(self, head):
        what = head["script"], head["path"], self._model
        if plan := head.get("foreign"):
            made = _FOREIGN[plan["form"]]()
            return made(*what, plan, self._setup, lambda text: self._services.log("warning", text))
        from .script import Script
        return Script(*what)

    def _unload(self, head, _):
        from .script import ScriptError
        error = whole = ""
        try:
            if script := self._scripts.get(head["script"]):  # not in a process that came after the one that had it
                script.close()
        except ScriptError as why:
            error, whole = str(why), why.whole
        for kept in (self._scripts, self._tables, self._timeouts):
            kept.pop(head["script"], None)
        return ({"error": error, "whole": whole},)

    def _run(self, head, data):
        if self._iteration is None or self._iteration.number != head["iteration"]:
            self._iteration = self._iterations.LiveIteration(self._model, head, data, self._memories)
        else:
            self._iteration.take(head, data)
        script = self._scripts[head["script"]]
        timeout = self._timeouts[script.name]
        began = time.monotonic()
        faulthandler.dump_traceback_later(timeout, file=CRASH_FILE)
        self._services.call_begins()
        context, error = script.call(self._iteration, self._services, self._take_back)
        faulthandler.cancel_dump_traceback_later()
        if time.monotonic() - began >= timeout:
            os.ftruncate(CRASH_FILE, 0)
        error = "\n".join(filter(None, [error, self._hand_over(script, context)]))
        return {"error": error, "whole": context.traceback}, self._pickled_state(script)

    def _table_path(self, name):
        return os.path.join(self._output, name + ".csv")

    def _take_back(self):
        return self._memories.take_back()

    def _hand_over(self, script, context):
        """Scalars to the table, all results to the server. Returns "" or what went wrong."""
        self._send_results(context)
        if not context.scalars:
            return ""
        from .outputs import Table
        try:
            if script.name not in self._tables:
                self._tables[script.name] = Table(self._table_path(script.name))
            self._tables[script.name].add(context.iteration, context.scalars)
            return ""
        except OSError as why:
            return f"cannot write the table of its scalars: {why}"

    def _send_results(self, context):
        from .outputs import results_of
        told, parts, offset = [], [], 0
        for name, array, dims, units in results_of(context):
            told.append({"name": name, "type": array.dtype.name, "unit": units, "dimensions": dims,
                         "extents": list(array.shape), "offset": offset, "bytes": array.nbytes})
            parts.append(array.reshape(-1).view("u1"))
            offset += array.nbytes
        if told:
            self._channel.send({"kind": "results", "arrays": told}, *parts)

    def _pickled_state(self, script):
        if not script.state:
            return b""
        try:
            return pickle.dumps(script.state, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as why:
            if not script.said_state:
                self._services.log("warning", f"ctx.state cannot be kept over a restart of the process: {why}")
                script.said_state = True
            return b""
