# SPDX-License-Identifier: Apache-2.0
"""What is wrong with scripts, before any run: for `leat check`.

Standard input: {"model": as lib/model/run_description.hpp makes it, "scripts": [{"path", "foreign": of one that is written for others
{"form", "every", "variables"}, else null}], "limit": seconds}. Standard output:
{"scripts": [{"path", "functions": [{"name", "line", "variables", "every", "products", "publishes", "events"}]}],
"diagnostics": [{"file", "line", "severity", "message"}]}; file is "" for what is wrong with the interpreter. Each
script is imported in a process of its own, all at once: what one does, or how long it takes, is nothing to the others.
"""
import faulthandler
import importlib.util
import json
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

from .interpreters import without
from .parent import die_with_parent


def main():
    die_with_parent()
    order = json.load(sys.stdin)
    json.dump(check(order["model"], order["scripts"], order.get("limit", 60)), sys.stdout)
    return 0


def check(model, scripts, limit):
    """What main() prints, as a dict."""
    found = _about_interpreter(scripts)
    if any(each["severity"] == "error" for each in found):
        return {"scripts": [], "diagnostics": found}
    children = [_start(model, script, limit) for script in scripts]
    until = time.monotonic() + limit
    looked_at = []
    for child in children:
        told = _result_of(child, until, limit)
        found += told["diagnostics"]
        looked_at.append({"path": child.path, "functions": told["functions"]})
    return {"scripts": looked_at, "diagnostics": found}


def _about_interpreter(scripts):
    try:
        from .datasets import xarray
    except ImportError as error:
        return [_diagnostic("", 0, without("NumPy", error, 'interpreter="{}" in <scripts>'))]
    if any(not script["foreign"] and not script.get("module") for script in scripts) and xarray() is None:
        return [_diagnostic("", 0, f"{sys.executable} has no xarray: functions get a dictionary of NumPy arrays. "
                            f"{sys.executable} -m pip install xarray gives them names of dimensions and coordinates", "note")]
    return []


def _diagnostic(file, line, message, severity="error"):
    return {"file": file, "line": line, "severity": severity, "message": message}


# ---- the process of one script ----


@dataclass
class _Child:
    path: str
    pid: int
    pipe: int
    crash: object  # file into which faulthandler writes where the code is


def _start(model, script, limit):
    reader, writer = os.pipe()
    crash = tempfile.TemporaryFile()
    pid = os.fork()
    if pid == 0:
        _be_child(model, script, limit, writer, crash)
    os.setpgid(pid, pid)  # here, so that it is so before anybody kills the group
    os.close(writer)
    return _Child(script["path"], pid, reader, crash)


def _be_child(model, script, limit, writer, crash):
    """Does not return, whatever the script does."""
    try:
        die_with_parent()
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):  # what scripts print is not for whoever reads the result
            os.dup2(nothing, standard)
        os.environ["MPLBACKEND"] = "Agg"
        faulthandler.enable(crash, all_threads=False)
        faulthandler.dump_traceback_later(0.9 * limit, file=crash)
        if script.get("module"):
            look = _look_at_module(model, script)
        else:
            look = _look_at_foreign(model, script) if script["foreign"] else _look_at(model, script["path"])
        told = json.dumps(look).encode()
        while told:
            told = told[os.write(writer, told):]
        os._exit(0)
    finally:
        os._exit(1)


def _look_at(model, path):
    """{"functions", "diagnostics"} of one script."""
    from .model import Model
    from .script import NO_FUNCTION, Script
    script = Script(os.path.splitext(os.path.basename(path))[0], path, Model.from_json(model))
    try:
        declarations = script.declarations()
    except BaseException as error:  # a script may even call sys.exit
        return {"functions": [], "diagnostics": [_why_not_executed(path, error)]}
    found = [] if declarations else [_diagnostic(path, 0, f"the script {NO_FUNCTION}")]
    for each in declarations:
        found += [_diagnostic(path, each.line, message) for message in _wrong_with(each, script.model)]
        if each.scope == "run":
            found.append(_diagnostic(path, each.line, _tasks_of(each, script.model), "note"))
    functions = [{"name": d.name, "line": d.line, "every": d.every,
                  "variables": None if d.variables is None else [str(v) for v in d.variables],
                  "products": d.products, "publishes": d.publishes, "events": d.events or script.model.events_of(script.name)}
                 for d in declarations]
    return {"functions": functions, "diagnostics": found}


def _look_at_foreign(model, script):
    """The same of one for others, which works at its top level: it is compiled, and not executed."""
    from .foreign import compiled
    try:
        compiled(script["path"])
    except Exception as error:
        return {"functions": [], "diagnostics": [_why_not_executed(script["path"], error)]}
    said = []
    if script["foreign"]["form"] == "catalyst":
        from ..catalyst.header import look_at
        errors, warnings = look_at(script["path"], script["foreign"])
        said = [_diagnostic(script["path"], 0, text, "warning") for text in warnings]
        if errors:
            return {"functions": [], "diagnostics": [_diagnostic(script["path"], 0, text) for text in errors]}
    if script["foreign"]["form"] == "deisa":
        found = [_diagnostic(script["path"], 0, f"{sys.executable} has no {package}: {sys.executable} -m pip install {package}")
                 for package, module in _OF_DEISA.items() if not _is_installed(module)]
        if found:
            return {"functions": [], "diagnostics": found}
    from .model import Model
    told, name = script["foreign"], os.path.splitext(os.path.basename(script["path"]))[0]
    try:
        for event in Model.from_json(model).events_of(name):
            Model.from_json(model).event(event, told["scope"])
    except LookupError as why:
        said.append(_diagnostic(script["path"], 0, why.args[0]))
    function = {"name": f"(for {told['form'].capitalize()})", "line": 0, "every": told["every"], "variables": told["variables"],
                "products": [], "publishes": [], "events": Model.from_json(model).events_of(name)}
    return {"functions": [function], "diagnostics": said}


def _look_at_module(model, script):
    """Of a graph, which was checked when its plan was written, maybe for another XML."""
    from ..names import did_you_mean
    from .model import Model
    told, known = script["module"], Model.from_json(model)
    wrong = []
    for name in [port["variable"] for port in told["inputs"] if "variable" in port]:
        try:
            known.variable(name)
        except LookupError as error:
            wrong.append(error.args[0])
    steered = [name for port in told["outputs"] for name in port.get("steers", [])]
    wrong += [f'there is no parameter "{name}" in the XML{did_you_mean(name, known.parameters)}' for name in steered
              if name not in known.parameters]
    if shutil.which(told["run"][0]) is None:
        wrong.append(f'there is no program "{told["run"][0]}"')
    file = script["path"].rsplit(", module ", 1)[0]
    function = {"name": "(module)", "line": 0, "every": max([port.get("every", 1) for port in told["inputs"]], default=1),
                "variables": [port["variable"] for port in told["inputs"] if "variable" in port],
                "products": [source for port in told["inputs"] for source in port.get("sources", [])],
                "publishes": [port["port"] for port in told["outputs"]], "events": []}
    return {"functions": [function], "diagnostics": [_diagnostic(file, 0, f'module "{told["name"]}": {text}') for text in wrong]}


def _tasks_of(declaration, model):
    """Of an iteration: what a scheduler has to do before the function computes anything. Source of the time: Dask's documentation, "about
    1ms of overhead for each task"; docs.dask.org, Best Practices."""
    count = len(model.variables if declaration.variables is None else declaration.variables)
    each, many = ("block", "blocks") if declaration.chunks == "block" else ("server", "servers")
    return (f"{declaration.name} is of the whole run: {count} task{'' if count == 1 else 's'} of Dask for each {each} and iteration, some "
            f"{count} ms of its scheduler: {count * 0.064:.2g} s an iteration with 64 {many}, {count} s with 1,000")


_OF_DEISA = {"deisa-core": "deisa.core", "dask[distributed]": "distributed"}


def _is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def _wrong_with(declaration, model):
    from .datasets import xarray
    if wrong := declaration.wrong_arguments():
        yield wrong
    for name in declaration.variables or []:
        try:
            model.components([name])
        except LookupError as error:
            yield error.args[0]
    for name in declaration.events:
        try:
            model.event(name, declaration.scope)
        except LookupError as error:
            yield error.args[0]
    if declaration.arrays == "dask" and not _is_installed("distributed"):
        yield f'arrays="dask": {sys.executable} has no distributed: {sys.executable} -m pip install "dask[distributed]"'
    if declaration.arrays == "xarray" and xarray() is None:
        yield f'arrays="xarray": {sys.executable} has no xarray: {sys.executable} -m pip install xarray'


def _why_not_executed(path, error):
    if isinstance(error, SyntaxError) and error.filename == path:
        return _diagnostic(path, error.lineno or 0, error.msg)
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, ModuleNotFoundError):
        text += f"; install it for {sys.executable}, the interpreter of <scripts>"
    return _diagnostic(path, _line_in(path, error), text)


def _line_in(path, error):
    """The innermost line of the script that the error came through; 0 for none."""
    line, at = 0, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    return line


# ---- what becomes of it ----


def _result_of(child, until, limit):
    """What _look_at of the child says, or why it says nothing."""
    told = _read_until(child.pipe, until)
    if told is None:
        os.killpg(child.pid, signal.SIGKILL)  # with what it may have started
    _, status = os.waitpid(child.pid, 0)
    if told is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 and told:
        return json.loads(told)
    if told is None:
        why = (f"it was not imported within {limit:g} s: does it work at its top level? Work belongs into the function, "
               "or under if __name__ == \"__main__\"")
    else:
        why = f"importing it {_end_of(status)}"
    return {"functions": [], "diagnostics": [_diagnostic(child.path, _line_of_crash(child), why)]}


def _read_until(pipe, until):
    """All that comes till the other side closes; None when that is too late."""
    told = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        part = os.read(pipe, 65536)
        if not part:
            return told
        told += part


def _line_of_crash(child):
    child.crash.seek(0)
    found = re.search(rf'File "{re.escape(child.path)}", line (\d+)', child.crash.read().decode("utf-8", "replace"))
    return int(found[1]) if found else 0


def _end_of(status):
    if os.WIFSIGNALED(status):
        return f"crashed Python: it was killed by signal {os.WTERMSIG(status)} ({signal.strsignal(os.WTERMSIG(status))})"
    return f"ended Python with status {os.WEXITSTATUS(status)}"
