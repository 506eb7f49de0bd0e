# SPDX-License-Identifier: Apache-2.0
"""A plugin at work without a server; see plugin_driver.cpp."""
import json
import signal
import subprocess

import numpy as np
from leat_run import BUILD, data

# Names of lib/base/scalar_types.def, as numpy and as numbers of the ABI.
TYPES = {"i1": 1, "i2": 2, "i4": 3, "i8": 4, "u1": 5, "u2": 6, "u4": 7, "u8": 8, "f4": 9, "f8": 10, "c8": 11, "c16": 12,
         "S1": 13}


def variable(name, dtype, dims, **more):
    """dims: a name, or (name, low, high) with ghosts, or "?name" for one that varies, or a dictionary of all that."""
    described = []
    for d in dims:
        if isinstance(d, dict):
            described.append(d)
        elif isinstance(d, tuple):
            described.append({"name": d[0], "low": d[1], "high": d[2]})
        else:
            described.append({"name": d.lstrip("?"), "varying": int(d.startswith("?"))})
    return {"name": name, "type": TYPES[dtype], "dims": described, "dtype": dtype, **more}


def mesh(name, kind, dims, **more):
    """kind: a name of enum leat_mesh_kind. coordinates, connectivity, ...: numbers of variables."""
    kinds = ["uniform", "rectilinear", "curvilinear", "unstructured", "points", "amr"]
    return {"name": name, "kind": 1 + kinds.index(kind), "dims": dims, **more}


class Plugin:
    def __init__(self, folder, variables, plugin="hdf5", wrapper=(), begin=True, **more):
        """wrapper: words in front of the command, like strace's. begin=False: the process waits for begin() and answer().
        more: simulation, session, options, meshes, resumed=1, ..."""
        self.folder, self.variables = folder, variables
        path = BUILD / "lib/leat/plugins" / f"{plugin}.so"
        self.process = subprocess.Popen([*wrapper, BUILD / "bin/plugin_driver", path], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.opened, self.run = "", {"variables": variables, **more}
        if begin:
            self.begin()
            self.opened = self.answer()

    def begin(self):
        self.send(self.run)

    def send(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def answer(self):
        """The error text of a call; "" for success."""
        reply = json.loads(self.process.stdout.readline())
        assert (reply["code"] != 0) == bool(reply["error"]), reply
        return reply["error"]

    def block(self, number, extent, seed, rank=0, block=0, **more):
        """raw: bytes in place of those that `seed` makes."""
        dtype = self.variables[number]["dtype"]
        size = int(np.prod(extent, dtype=np.int64)) * np.dtype(dtype).itemsize
        return {"variable": number, "rank": rank, "block": block, "extent": list(extent), "seed": seed, "bytes": size, **more}

    def smooth_block(self, number, extent, smooth, **more):
        """One of smooth_array(), with a NaN at the place `nan` where that is given."""
        return self.block(number, extent, 0, smooth=smooth, single=int(self.variables[number]["dtype"] == "f4"), **more)

    def values(self, number, array, **more):
        """A block of these values, of the variable's type."""
        array = np.asarray(array, self.variables[number]["dtype"])
        return self.block(number, array.shape, 0, raw=list(array.tobytes()), **more)

    def start_iteration(self, number, *blocks, complete=1, parameters=None, waiting=0):
        """And does not wait for its answer()."""
        self.send({"call": "iteration", "iteration": number, "blocks": list(blocks), "complete": complete,
                   "parameters": parameters or {}, "waiting": waiting})

    def iteration(self, number, *blocks, **more):
        """parameters: {name: number, text, or None where it has no value}; "n" is an integer, "s" a text, others are real.
        waiting: iterations behind this one."""
        self.start_iteration(number, *blocks, **more)
        return self.answer()

    def must(self, number, *blocks, **more):
        error = self.iteration(number, *blocks, **more)
        assert not error, error

    def result(self, name, dtype, dims, extent, seed, **more):
        size = int(np.prod(extent, dtype=np.int64)) * np.dtype(dtype).itemsize
        return {"name": name, "type": TYPES[dtype], "dims": dims, "extent": list(extent), "seed": seed, "bytes": size, **more}

    def results(self, source, number, *results):
        """What a script made of an iteration."""
        self.send({"call": "results", "source": source, "iteration": number, "results": list(results)})
        return self.answer()

    def limit(self, size):
        self.send({"call": "limit", "bytes": size})

    def close(self, is_told=True):
        """What close() said, and the warnings of the whole run. is_told=False: its input is closed already."""
        if is_told:
            self.process.stdin.close()
        error = self.answer() if not self.opened else ""
        warnings = self.process.stderr.read()
        self.process.wait(60)
        assert self.process.returncode >= 0, "the plugin crashed"
        self.process.stdout.close()
        self.process.stderr.close()
        return error, warnings

    def finish(self, **more):
        error, warnings = self.close(**more)
        assert not error, error
        return warnings

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def array(extent, dtype, seed):
    return data(int(np.prod(extent, dtype=np.int64)), dtype, seed).reshape(extent)


def smooth_array(extent, dtype, smooth):
    return (smooth + np.arange(np.prod(extent)) % 1000 / 1000).astype(dtype).reshape(extent)
