# SPDX-License-Identifier: Apache-2.0
"""Pythons that have imported what takes long, once for a test file: each question is answered by a process forked from one that has
done nothing but import, so that it finds what it would in a Python of its own.

    warm(python, "xarray").run("print(sys.argv[1])", path)          code: as python -c
    warm(python, "xarray").run(HERE / "vtk_read.py", path)           file: as python vtk_read.py
"""
import functools
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile

_SERVER = r"""
import importlib, json, os, sys
os.set_inheritable(0, False)
for _name in sys.argv[1:]:
    importlib.import_module(_name)
_answers = os.fdopen(os.dup(1), "w")
_questions = os.fdopen(os.dup(0), "r")
for _line in _questions:
    _asked = json.loads(_line)
    _pid = os.fork()
    if _pid == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(_pid, 0)[1]), file=_answers, flush=True)
else:
    os._exit(0)
_questions.close(), _answers.close()
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for _number, _path in ((1, _asked["stdout"]), (2, _asked["stderr"])):
    os.dup2(os.open(_path, os.O_WRONLY | os.O_TRUNC), _number)
os.chdir(_asked["cwd"])
for _name in set(os.environ) - set(_asked["environment"]):
    del os.environ[_name]
os.environ.update(_asked["environment"])
sys.argv = _asked["argv"]
sys.path[0] = _asked["folder"]
exec(compile(_asked["code"], _asked["name"], "exec"), {"__name__": "__main__", "__file__": _asked["name"], "sys": sys})
"""


class Warm:
    def __init__(self, python, modules, environment):
        self._words = [str(python), "-c", _SERVER, *modules]
        self._environment, self._process = environment, None

    def run(self, code, *words, cwd=None, timeout=120):
        """A subprocess.CompletedProcess, with its output as text."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                             env={**os.environ, **self._environment})
        is_file = isinstance(code, pathlib.Path)
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            asked = {"code": code.read_text() if is_file else code, "name": str(code) if is_file else "<string>",
                     "folder": str(code.parent) if is_file else "", "argv": [str(code) if is_file else "-c", *map(str, words)],
                     "cwd": str(cwd or os.getcwd()), "environment": {**os.environ, **self._environment},
                     "stdout": out.name, "stderr": err.name}
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                os.killpg(self._process.pid, signal.SIGKILL)  # and the one that it has forked
                raise subprocess.TimeoutExpired(asked["argv"], timeout)
            answer = self._process.stdout.readline()
            assert answer, f"{self._words[0]} cannot import {self._words[3:]}"
            said = [pathlib.Path(file.name).read_text(errors="replace") for file in (out, err)]
            return subprocess.CompletedProcess([self._words[0], *asked["argv"]], int(answer), *said)


@functools.cache
def warm(python, *modules, **environment):
    """The one with these modules, and this in its environment; it ends with the pipe to this process."""
    return Warm(python, modules, environment)
