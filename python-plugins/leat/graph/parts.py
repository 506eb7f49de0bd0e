# SPDX-License-Identifier: Apache-2.0
"""What a graph is made of: modules, their ports, the simulation, connections; and where in the user's file each was made."""
import os
import re
import sys
from dataclasses import dataclass, field

from ..names import did_you_mean

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class GraphError(Exception):
    """What is wrong with a graph: a line for each mistake, FILE:7: error: ...."""


@dataclass(frozen=True)
class Place:
    file: str
    line: int

    def __str__(self):
        return f"{self.file}:{self.line}"


def here():
    """The line of the user's file that is being executed."""
    frame = sys._getframe(1)
    while frame.f_back and os.path.abspath(frame.f_code.co_filename).startswith(_OWN + os.sep):
        frame = frame.f_back
    file = frame.f_code.co_filename
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return Place(file if relative.startswith("..") else relative, frame.f_lineno)


def refuse(text, place=None):
    raise GraphError(f"{place or here()}: error: {text}")


@dataclass
class Kind:
    """What a port says of its messages; "" and None: nothing. dims: how many dimensions. stamps: names of numbers that are said of each."""
    unit: str = ""
    type: str = ""
    dims: int = None
    stamps: tuple = ()


def port(unit="", type="", dims=None, stamps=()):
    """What comes in or goes out at a port, where it shall be checked: a unit as UDUNITS knows it, a type as NumPy calls it, how many
    dimensions. inputs={"u": g.port(unit="K", dims=2)}; a text alone is the unit. stamps: names of numbers that the module says of each
    message, put(..., stamps={"peak": 3.0}), by which connections may choose: g.when("peak > 300")."""
    return Kind(unit, type, dims, tuple(stamps))


@dataclass
class Output:
    """What messages go out from: a port of a module, or something of the simulation."""
    owner: object
    name: str
    kind: Kind
    steers: list = field(default_factory=list)  # Parameter

    @property
    def path(self):
        """As products are called."""
        return f"{self.owner.name}/{self.name}"

    def __str__(self):
        return self.path


@dataclass
class Variable:
    """Of the simulation, as an output."""
    simulation: object
    name: str
    kind: Kind

    def __str__(self):
        return f"variable {self.name}"


@dataclass
class Parameter:
    """Of the simulation, that a port steers."""
    simulation: object
    name: str
    kind: str  # "int", "double" or "string"

    def __str__(self):
        return f"parameter {self.name}"


@dataclass
class Connection:
    source: object  # Output or Variable
    policy: object
    place: Place


@dataclass
class Input:
    """Where messages come in."""
    owner: object
    name: str
    kind: Kind
    connections: list = field(default_factory=list)
    any: bool = False    # of several sources one is enough
    share: dict = None   # of what comes, that this one has: see patterns.py

    def __str__(self):
        return f"{self.owner.name}.{self.name}"


class Module:
    """A program. Its ports are attributes, and items: stats.u, stats["u"]."""

    def __init__(self, name, command, inputs, outputs, place, options=None, timeout=None):
        self.name, self.command, self.place, self.options, self.timeout = name, command, place, options or {}, timeout
        self.where = "node"  # or "idle", "staging", "host:NAME"
        self.inputs = {each: Input(self, each, kind) for each, kind in inputs.items()}
        self.outputs = {each: Output(self, each, kind) for each, kind in outputs.items()}

    @property
    def is_on_host(self):
        return self.where.startswith("host:")

    def __getattr__(self, name):
        if name.startswith("__") or "outputs" not in self.__dict__:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        ports = {**self.inputs, **self.outputs}
        if name not in ports:
            refuse(f'module "{self.name}" has no port "{name}"{did_you_mean(name, ports)}')
        return ports[name]

    def __repr__(self):
        return f'<module "{self.name}">'


def kinds_of(ports, what, place):
    """{name: Kind} of ["u"], {"u": "K"} or {"u": port(...)}."""
    told = dict.fromkeys(ports) if not isinstance(ports, dict) else ports
    kinds = {}
    for name, kind in told.items():
        if not NAME.fullmatch(name):
            refuse(f'{what} "{name}": a name begins with a letter, and has letters, digits, "_", "." and "-"', place)
        kinds[name] = Kind(unit=kind) if isinstance(kind, str) else kind or Kind()
    return kinds
