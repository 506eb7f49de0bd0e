# SPDX-License-Identifier: Apache-2.0
"""Slices of fields from files that are being written. They are read in a process of its own, which is ended when it does not answer: over a
damaged file the HDF5 library may crash or never come back."""
import json
import os
import subprocess
import sys
import threading

_ANSWER = 8.0  # seconds
_MOST_CELLS = 320  # in each direction


class NoField(Exception):
    """The text says why."""


class Reader:
    """The process, started when it is needed, and anew when it has died."""

    def __init__(self):
        self._process, self._lock = None, threading.Lock()

    def read(self, file, variable, axis, index):
        """(facts, bytes): the newest iteration of a variable in a file; of three dimensions the slice at `index` (-1: the middle) of
        `axis`. Bytes are float32, rows first, as facts["shape"] says. Raises NoField."""
        with self._lock:
            try:
                return self._ask({"file": file, "variable": variable, "axis": axis, "index": index})
            except (OSError, ValueError, EOFError):
                self.end()
                raise NoField(f"{file} could not be read within {_ANSWER:.0f} s, or crashes its reader") from None

    def end(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
        self._process = None

    def _ask(self, question):
        if self._process is None or self._process.poll() is not None:
            self.end()
            launcher = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "launch.py")
            self._process = subprocess.Popen([sys.executable, launcher, "fields"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        watch = threading.Timer(_ANSWER, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            if not line:
                raise EOFError
            facts = json.loads(line)
            if "error" in facts:
                raise NoField(facts["error"])
            data = self._process.stdout.read(facts["bytes"])
            if len(data) != facts["bytes"]:
                raise EOFError
            return facts, data
        finally:
            watch.cancel()


def main():
    """That process: a line of JSON for each question, and the data behind it."""
    from ..files import reading
    reading.prepare()
    why = reading.why_no_h5py()
    for line in sys.stdin.buffer:
        try:
            if why:
                raise NoField(why)
            facts, data = _slice(**json.loads(line))
        except Exception as error:
            facts, data = {"error": str(error) or type(error).__name__, "bytes": 0}, b""
        try:
            sys.stdout.buffer.write(json.dumps({**facts, "bytes": len(data)}).encode() + b"\n" + data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # nobody waits for it any more
            os._exit(0)


def _slice(file, variable, axis, index):
    import h5py
    import numpy as np
    with h5py.File(file, "r") as opened:
        data = opened[variable]
        rows = len(opened["iteration"]) if "iteration" in opened else data.shape[0]
        if rows == 0:
            raise NoField("nothing is stored yet")
        iteration = int(opened["iteration"][rows - 1]) if "iteration" in opened else rows - 1
        shape = data.shape[1:]
        if len(shape) not in (2, 3) or data.dtype.kind not in "iuf":
            raise NoField(f"{variable} is no field of two or three dimensions")
        axis = axis if 0 <= axis < len(shape) else 0
        place = [slice(None)] * len(shape)
        if len(shape) == 3:
            index = shape[axis] // 2 if not 0 <= index < shape[axis] else index
            place[axis] = index
        left = [d for d in range(len(shape)) if len(shape) == 2 or d != axis]
        for d in left:
            place[d] = slice(None, None, max(1, -(-shape[d] // _MOST_CELLS)))
        with np.errstate(all="ignore"):  # a number that float32 has no room for is infinite, and has no colour
            values = np.asarray(data[(rows - 1, *place)], dtype="f4")
        finite = values[np.isfinite(values)]
        facts = {"iteration": iteration, "shape": list(values.shape), "of": list(shape), "axis": axis,
                 "index": index if len(shape) == 3 else -1, "names": [str(data.dims[d + 1].label or "") for d in left],
                 "least": float(finite.min()) if finite.size else None, "largest": float(finite.max()) if finite.size else None}
        return facts, np.ascontiguousarray(values).tobytes()
