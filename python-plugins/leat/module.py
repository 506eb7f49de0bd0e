# SPDX-License-Identifier: Apache-2.0
"""A module of a graph: a program that Leat starts, and that has a turn for each iteration of its inputs.

    import leat.module as module

    while module.wait():
        u = module.get("u")                          # a read-only NumPy array, not a copy where that can be
        module.put("profile", u.mean(axis=0), dims=("x",), unit="K")

wait() ends the turn before: what get() gave is the simulation's memory again then. Arrays that are kept become copies; `del u` before
wait() spares that, where u is large. What put() takes is read by all who are connected, and must not be changed any more. One thread
of the program does all this; it needs NumPy only. `leat.graph` says how modules are connected.
"""
import math
import os
import sys
from dataclasses import dataclass, field

import numpy as np

from .scripting.frames import CONSTANTS, OUTPUTS, SOCKET, Channel

_ALIGNMENT = 64
_FIRST_SIZE = 1 << 20
_CHAR = np.dtype("S1")
_MOST_DIMENSIONS = 8  # as kMaxDims of lib/base/scalar.hpp


class NoModuleError(RuntimeError):
    """The program was not started by Leat as a module of a graph."""


@dataclass
class Part:
    """One array of a message. data: read-only, until the next wait(). source: the module, script or store that made it, or None for
    a block of the simulation, of `rank` and `block`. position: of its first cell in the global array, or None. iteration: it is of
    this one, which is an earlier one at ports with tokens, or greedy ones."""
    data: np.ndarray
    dims: tuple
    unit: str
    iteration: int
    source: str = None
    rank: int = None
    block: int = None
    position: tuple = None
    level: int = None
    stamps: dict = field(default_factory=dict)  # {name: number} that its maker has said


def wait():
    """Ends the turn, and waits for the next one. True: there is one. False: the run is over, and the program should end."""
    return _program().wait()


def get(port):
    """The whole of what has come at the port: a variable as one array of all blocks on this node (without ghosts), or the one array
    that a module, script or store has made. None where there is nothing: at a port with tokens or a greedy one. For a port with
    several arrays see parts()."""
    return _program().get(port)


def parts(port):
    """All that has come at the port: a list of Part, blocks of a variable with their ghosts, by rank and block; else in the order of
    the connections."""
    return _program().parts(port)


def put(port, array, dims=None, unit="", stamps=None):
    """Hands an array or a number over, once in a turn for each port. It is copied, but for one of memory(). dims: names of its
    dimensions. stamps: {name: number}, what connections choose by: g.when("peak > 300")."""
    _program().put(port, array, dims, unit, stamps or {})


def memory(shape, dtype="float64"):
    """An array to be filled and given to put(), which then copies nothing."""
    return _program().outputs.array(tuple(np.atleast_1d(shape)), np.dtype(dtype))


def iteration():
    """The number of this turn's iteration."""
    return _program().turn()["iteration"]


def parameters():
    """{name: value} of the simulation in this turn's iteration."""
    return {name: float(value) if _program().model.parameters[name] == "double" else value
            for name, value in _program().turn()["parameters"].items()}


def time():
    """The simulation's time in this turn's iteration; None where the XML has no <time>."""
    axis = _program().model.time
    return parameters().get(axis.parameter) if axis else None


def name():
    """As the graph calls this module."""
    return _program().name


def options():
    """What the graph gives to this module: options={...} of leat.graph.module()."""
    return _program().options


def server():
    """(number, how many, whether it is the first) of this node's server in the run: each has the modules of the graph. For what is to be
    done once, like a picture of the whole."""
    answer, _ = _program().ask({"kind": "place"})
    return answer["server"], answer["servers"], answer["is_first"]


def box(port):
    """Where the box of a redistributed port is in the whole: ((low, high), ...) for each dimension, its ghosts included, and (low, high) of
    its own cells along the axis that was cut."""
    return _program().box(port)


def ask_server(head, *parts):
    """What leat.graph.reduce() says to the server: (head, data) of the answer."""
    return _program().ask(head, *parts)


def log(text, level="info"):
    """A line for the log of the run; level: "debug", "info", "warning", "error"."""
    _program().say({"kind": "log", "level": level, "text": str(text)})


_the_program = None


def _program():
    global _the_program
    if _the_program is None:
        _the_program = _Program()
    return _the_program


class Outputs:
    """The memory for what a module makes: places in a file that grows, found from the start on. A place is free again when nobody reads
    what lies there any more."""

    def __init__(self, descriptor, most):
        self._descriptor, self._most = descriptor, most
        self._size, self._map = 0, None
        self._taken = {}     # offset: bytes
        self._started = {}   # address: (offset, array) of those that are not put yet

    def array(self, shape, dtype):
        count = int(np.prod(shape, dtype=np.int64))
        offset = self._place(max(1, count * dtype.itemsize))
        array = np.frombuffer(self._map, dtype, count, offset).reshape(shape)
        self._started[_address(array)] = offset
        return array

    def offset_of(self, array):
        """Where it lies; a copy, where it is not one of array() that was filled."""
        offset = self._started.pop(_address(array), None) if array.flags.c_contiguous else None
        if offset is not None and array.nbytes <= self._taken[offset]:
            return offset
        copy = self.array(array.shape, array.dtype)
        copy[...] = array
        return self._started.pop(_address(copy))

    def release(self, offsets):
        for offset in offsets:
            self._taken.pop(offset, None)

    def give_back(self):
        """Those that were never put."""
        self.release(self._started.values())
        self._started = {}

    def _place(self, count):
        at = 0
        for offset in sorted(self._taken):
            if offset - at >= count:
                break
            at = -(-(offset + self._taken[offset]) // _ALIGNMENT) * _ALIGNMENT
        if at + count > self._size:
            self._grow(at + count)
        self._taken[at] = count
        return at

    def _grow(self, least):
        import mmap
        if least > self._most:
            raise MemoryError(f"there is no room for {least - self._size} more bytes: what others have yet to read takes "
                              f"{sum(self._taken.values())} of the {self._most} that memory=\"...\" of <scripts> allows")
        self._size = min(self._most, max(_FIRST_SIZE, 2 * self._size, least))
        os.ftruncate(self._descriptor, self._size)
        self._map = mmap.mmap(self._descriptor, self._size)  # arrays keep the map that they were made of


def _address(array):
    return array.__array_interface__["data"][0]


class _Program:
    def __init__(self):
        if "LEAT_MODULE" not in os.environ:
            raise NoModuleError(f"{sys.argv[0] or 'this program'} is a module of a graph, which Leat starts: name it in "
                                "leat.graph.module(..., run=...), or say `leat graph FILE.py -- COMMAND` to run the simulation with it")
        from .scripting.model import Model
        from .scripting.views import SharedMemories
        self._channel = Channel(SOCKET)
        setup, _ = self._channel.receive()
        told = setup["module"]
        self.model, self.name, self.options = Model.from_json(setup), told["name"], told.get("options", {})
        self._inputs = {each["port"]: each for each in told.get("inputs", [])}
        self._outputs = {each["port"]: each for each in told.get("outputs", [])}
        self.outputs = Outputs(OUTPUTS, setup["memory"])
        self._memories = SharedMemories(setup["segment"], CONSTANTS)
        self._turn, self._data, self._put = None, b"", set()
        self._channel.send({})
        self._usual_hook, sys.excepthook = sys.excepthook, self._fail

    def turn(self):
        if self._turn is None:
            raise RuntimeError("there is no turn: this is for within a turn, after wait() was True")
        return self._turn

    def wait(self):
        self._end_turn()
        order = self._channel.receive()
        if order is None:
            return False
        self._turn, self._data = order
        self._ports = {each["port"]: each["parts"] for each in self._turn["ports"]}
        self._put = set()
        self.outputs.release(self._turn["released"])
        return True

    def say(self, head, *parts):
        self._channel.send(head, *parts)

    def ask(self, head, *parts):
        """The answer to what the server answers."""
        return self._channel.ask(head, *parts)

    def _end_turn(self):
        if self._turn is None:
            return
        self._memories.take_back(collect=False)
        self._turn = None
        self.outputs.give_back()
        self._channel.send({"kind": "answer"})

    def _fail(self, kind, error, trace):
        """What ends the program ends its turn: the log of the run has it."""
        if self._turn is None:
            return self._usual_hook(kind, error, trace)
        from .scripting.script import describe
        text, whole = describe(error.with_traceback(trace))
        self._channel.send({"kind": "answer", "error": text, "whole": whole, "ends": True})

    def _told(self, port):
        self.turn()
        if port not in self._ports:
            raise LookupError(f"module \"{self.name}\" has no input \"{port}\"; there are: {', '.join(self._ports) or 'none'}")
        return self._ports[port]

    def get(self, port):
        told = self._told(port)
        if self._inputs[port].get("share", {}).get("how") == "box":
            return self._boxed(port)
        if name := self._inputs[port].get("variable"):
            return self._whole(name, port)
        if not told:
            return None
        if len(told) > 1:
            raise ValueError(f"at port \"{port}\" there are {len(told)} arrays, of {', '.join(each['source'] for each in told)}: "
                             "parts() gives them all")
        return self.parts(port)[0].data

    def parts(self, port):
        return [Part(self._view(port, each), tuple(each["dimensions"]), each["unit"], each.get("iteration", self._turn["iteration"]),
                     each.get("source"), each.get("rank"), each.get("block"), _tuple(each.get("position")), each.get("level"),
                     each.get("stamps", {}))
                for each in self._told(port)]

    def _whole(self, name, port):
        from .scripting.blocks import Block, array_of
        variable = self.model.by_name[name]
        ghosts = tuple((d.low, d.high) for d in variable.dimensions)
        told = self._told(port)
        blocks = [Block(each["rank"], each["block"], tuple(each["extents"]), _tuple(each.get("position")), ghosts,
                        self._view(port, each), each.get("level")) for each in told]
        return array_of(variable, blocks, told[0].get("global") if told else None).data

    def box(self, port):
        return self._box(port, self._extents(port))

    def _extents(self, port):
        """Of the whole."""
        told = self._told(port)
        if len(told) == 1 or "global" in told[0]:
            return told[0].get("global") or told[0]["extents"]
        raise ValueError(f"port \"{port}\" has {len(told)} blocks without a place in a global array: there is nothing to be cut")

    def _box(self, port, extents):
        share = self._inputs[port]["share"]
        length, axis = extents[share["axis"]], share["axis"]
        low, high = (length * (share["share"] + i) // share["shares"] for i in (0, 1))
        whole = [(0, n) for n in extents]
        whole[axis] = (max(0, low - share["ghosts"]), min(length, high + share["ghosts"]))
        return tuple(whole), (low, high)

    def _boxed(self, port):
        """Of one array a view; of several blocks an array of our own."""
        told = self._told(port)
        where, _ = self._box(port, self._extents(port))
        if len(told) == 1:
            position = told[0].get("position") or [0] * len(where)
            return self._view(port, told[0])[tuple(slice(low - p, high - p) for (low, high), p in zip(where, position))]
        variable = self.model.by_name[self._inputs[port]["variable"]]
        from .scripting.blocks import own_part
        made = np.full([high - low for low, high in where], variable.fill, variable.dtype)
        for each in told:
            data = self._view(port, each)[own_part(variable)]
            common = [(max(low, p), min(high, p + n)) for (low, high), p, n in zip(where, each["position"], data.shape)]
            if all(low < high for low, high in common):
                made[tuple(slice(a - low, b - low) for (a, b), (low, _) in zip(common, where))] = \
                    data[tuple(slice(a - p, b - p) for (a, b), p in zip(common, each["position"]))]
        made.setflags(write=False)
        return made

    def _view(self, port, told):
        if told["memory"] == "order":
            data = np.frombuffer(self._data, _dtype(told), int(np.prod(told["extents"], dtype=np.int64)), told["offset"])
            data.setflags(write=False)
            return data.reshape(told["extents"])
        return self._memories.of(told["memory"]).view(port, told["offset"], _dtype(told), tuple(told["extents"]))

    def put(self, port, array, dims, unit, stamps):
        self.turn()
        from .scripting.outputs import native
        array = native(np.asarray(array))
        if array.dtype.kind not in "iufc" and array.dtype != _CHAR:
            raise TypeError(f"port \"{port}\": an array of {array.dtype} cannot be handed over; numbers and single letters (S1) can")
        if port not in self._outputs:
            raise LookupError(f"module \"{self.name}\" has no output \"{port}\"; there are: {', '.join(self._outputs) or 'none'}")
        if port in self._put:
            raise ValueError(f"port \"{port}\" has had its message in this turn")
        if dims is None:
            dims = tuple(f"dim_{i}" for i in range(array.ndim))
        if len(dims) != array.ndim:
            raise ValueError(f"port \"{port}\": {len(dims)} names in dims for an array with {array.ndim} dimensions")
        if array.ndim > _MOST_DIMENSIONS:
            raise ValueError(f"port \"{port}\": an array with {array.ndim} dimensions; {_MOST_DIMENSIONS} are the most")
        told = self._outputs[port]
        offset = self.outputs.offset_of(array)
        self._put.add(port)
        self._channel.send({"kind": "results", "arrays": [
            {"name": port, "type": "char" if array.dtype == _CHAR else array.dtype.name, "unit": unit or told.get("unit", ""),
             "dimensions": list(dims), "extents": list(array.shape), "offset": offset, "bytes": array.nbytes,
             "stamps": {name: float(value) for name, value in stamps.items() if math.isfinite(value)}}]})
        for parameter in told.get("steers", []):
            if array.size != 1:
                raise ValueError(f"port \"{port}\" steers parameter \"{parameter}\", which is one number: this has {array.size}")
            self._channel.send({"kind": "set", "parameter": parameter, "value": array.reshape(-1)[0].item(), "scope": "run"})


def _dtype(told):
    return _CHAR if told["type"] == "char" else np.dtype(told["type"])


def _tuple(values):
    return None if values is None else tuple(values)
