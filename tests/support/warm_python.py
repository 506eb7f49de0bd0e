# SPDX-License-Identifier: Apache-2.0
"""Pythons that have imported what takes long, once for a test file: each question is answered by a process forked from one that has
done nothing but import, so that it finds what it would in a Python of its own.

    warm(python, "xarray").run("print(sys.argv[1])", path)          code: as python -c
    warm(python, "xarray").run(HERE / "vtk_read.py", path)           file: as python vtk_read.py
    warm(python, "distributed").start(code, *words)                  a process that goes on meanwhile
"""
import functools
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile

# Of the words: the modules. A forked process leaves the loop.
_SERVER = r"""
import atexit, ctypes, importlib, json, os, signal, sys, traceback
for _name in sys.argv[1:]:
    importlib.import_module(_name)
_answers = os.fdopen(os.dup(1), "w")
_questions = os.fdopen(os.dup(0), "r")
_parent = os.getpid()
for _line in _questions:
    _asked = json.loads(_line)
    if "pid" in _asked:
        _pid, _flag = _asked["pid"], 0 if _asked["waits"] else os.WNOHANG
    else:
        _pid, _flag = os.fork(), 0
        if _pid == 0:
            break
    if _asked.get("goes_on"):
        print(_pid, file=_answers, flush=True)
        continue
    _ended, _status = os.waitpid(_pid, _flag)
    print(os.waitstatus_to_exitcode(_status) if _ended else None, file=_answers, flush=True)
else:
    os._exit(0)
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() != _parent:
    os._exit(1)
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
_status = 0
try:
    exec(compile(_asked["code"], _asked["name"], "exec"), {"__name__": "__main__", "__file__": _asked["name"], "sys": sys})
except SystemExit as _end:
    _status = _end.code if isinstance(_end.code, int) else int(_end.code is not None)
    if not isinstance(_end.code, (int, type(None))):
        print(_end.code, file=sys.stderr)
except BaseException:
    traceback.print_exc()
    _status = 1
atexit._run_exitfuncs()
sys.stdout.flush(), sys.stderr.flush()
os._exit(_status)  # without half a second for the end of each module
"""


class Started:
    """Like a subprocess.Popen."""

    def __init__(self, warm, pid):
        self._warm, self.pid, self.returncode = warm, pid, None

    def poll(self):
        return self._ended(waits=False)

    def wait(self):
        return self._ended(waits=True)

    def _ended(self, waits):
        if self.returncode is None:
            self.returncode = self._warm.ask({"pid": self.pid, "waits": waits}, 120)
        return self.returncode

    def kill(self, number=signal.SIGKILL):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.kill(signal.SIGTERM)


class Warm:
    def __init__(self, python, modules, environment):
        self._words = [str(python), "-c", _SERVER, *modules]
        self._environment, self._process = environment, None

    def run(self, code, *words, cwd=None, timeout=120):
        """A subprocess.CompletedProcess, with its output as text."""
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            asked = self._about(code, words, cwd, out.name, err.name)
            ended = self.ask(asked, timeout)
            said = [pathlib.Path(file.name).read_text(errors="replace") for file in (out, err)]
            return subprocess.CompletedProcess([self._words[0], *asked["argv"]], ended, *said)

    def start(self, code, *words, cwd=None):
        """What it says goes nowhere. It ends with this process at the latest."""
        return Started(self, self.ask({**self._about(code, words, cwd, os.devnull, os.devnull), "goes_on": True}, 120))

    def _about(self, code, words, cwd, stdout, stderr):
        is_file = isinstance(code, pathlib.Path)
        return {"code": code.read_text() if is_file else code, "name": str(code) if is_file else "<string>",
                "folder": str(code.parent) if is_file else "", "argv": [str(code) if is_file else "-c", *map(str, words)],
                "cwd": str(cwd or os.getcwd()), "environment": {**os.environ, **self._environment}, "stdout": stdout, "stderr": stderr}

    def ask(self, question, timeout):
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                             env={**os.environ, **self._environment})
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            os.killpg(self._process.pid, signal.SIGKILL)  # and what it has forked
            raise subprocess.TimeoutExpired(question.get("argv", "waiting"), timeout)
        answer = self._process.stdout.readline()
        assert answer, f"{self._words[0]} cannot import {self._words[3:]}"
        return json.loads(answer.replace("None", "null"))


@functools.cache
def warm(python, *modules, **environment):
    """The one with these modules, and this in its environment; it ends with the pipe to this process."""
    return Warm(python, modules, environment)
