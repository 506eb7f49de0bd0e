# SPDX-License-Identifier: Apache-2.0
"""What the XML says of the run, as far as scripts see it."""
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..names import did_you_mean
from .coordinates import _NODAL, Mesh, Time, is_coordinate_variable
from .vectors import vectors_of

# By the numbers of lib/base/scalar_types.def.
_TYPES = dict(enumerate(("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", "S1"), 1))

# What the CF conventions call two texts of the XML; files have the others by the names that they have in the run description.
_OF_CF = {"unit": "units", "description": "long_name", "definition": "leat_definition", "vector": "leat_vector"}


@dataclass
class Dimension:
    name: str
    low: int = 0        # layers of ghosts before and after a block's own cells
    high: int = 0
    varying: bool = False
    centering: int = 0  # on a uniform mesh: 1 at the centres of cells, 2 at nodes, 3 not known, 0 as the variable says

    @classmethod
    def from_json(cls, told):
        return cls(told["name"], told.get("ghost_low", 0), told.get("ghost_high", 0), bool(told.get("varying", 0)),
                   told.get("centering", 0))


@dataclass
class Variable:
    number: int
    name: str
    dtype: np.dtype
    dimensions: list
    has_global: bool
    time_varying: bool
    mesh: Mesh = None
    nodal: bool = False     # values lie on the nodes of the mesh, else between them
    attributes: dict = field(default_factory=dict)  # as of the dataset in a file: "units", "long_name", those of the CF conventions
    options: dict = field(default_factory=dict)     # for the store, as texts; known where it is one of a file

    @classmethod
    def from_json(cls, number, told, meshes):
        return cls(number, told["name"], np.dtype(_TYPES[told["type"]]),
                   [Dimension.from_json(d) for d in told.get("dims", [])], bool(told.get("global", 0)),
                   bool(told.get("time_varying", 1)), meshes[told["mesh"]] if "mesh" in told else None,
                   told.get("centering") == _NODAL, _attributes(told), told.get("options", {}))

    @property
    def unit(self):
        return self.attributes.get("units", "")

    @property
    def is_packed(self):
        """In a file it has whole numbers that stand for the values."""
        return "scale" in self.options

    @property
    def is_of_errors(self):
        """The store has made it."""
        return "error-of" in self.options

    @property
    def varies(self):
        return any(d.varying for d in self.dimensions)

    @property
    def has_rows(self):
        """In a file it has one for each iteration, else it is written once."""
        return self.time_varying

    @property
    def fill(self):
        """What stands where nobody wrote; the same as in files."""
        return fill_of(self.dtype)


def _attributes(told):
    """Of a variable, as files have them: all that the run description says of it in a text, but its name."""
    texts = {key: text for key, text in told.items() if isinstance(text, str) and text and key != "name"}
    first = {name: texts.pop(key) for key, name in _OF_CF.items() if key in texts}
    return {**first, **texts}


class Event(NamedTuple):
    """scripts: names of those that are called only where it happens. scope: "rank", "node" or "run"."""
    scripts: tuple
    scope: str


class Model:
    """The run, as lib/model/run_description.hpp writes it. variables: list of Variable by number. parameters: {name: "int" |
    "double" | "string"}. time: Time, or None. ranks: of the run. source: where all this is said, for messages. events: {name: Event},
    by their numbers; None: not known, as of a stored run."""

    def __init__(self, simulation, variables, parameters=None, source="the XML", meshes=(), time=None, ranks=0, events=None):
        self.simulation, self.source = simulation, source
        self.variables, self.meshes, self.time, self.ranks = variables, meshes, time, ranks
        self.parameters, self.events = parameters or {}, events
        self.by_name = {variable.name: variable for variable in variables}
        self.vectors = vectors_of(variables)
        self.coordinate_variables = {variable.name for variable in variables if is_coordinate_variable(variable)}

    @classmethod
    def from_json(cls, told, source="the XML"):
        meshes = [Mesh.from_json(mesh) for mesh in told.get("meshes", [])]
        variables = [Variable.from_json(number, v, meshes) for number, v in enumerate(told["variables"])]
        parameters = {p["name"]: p["kind"] for p in told.get("parameters", [])}
        return cls(told["simulation"], variables, parameters, source, meshes, Time.from_json(told), told.get("ranks", 0),
                   {event["name"]: Event(tuple(event.get("scripts", ())), event.get("scope", "rank")) for event in told.get("events", [])})

    def variable(self, name):
        """The variable of this name; LookupError with the nearest name."""
        if name not in self.by_name:
            raise LookupError(f'there is no variable "{name}" in {self.source}{did_you_mean(name, self.by_name)}')
        return self.by_name[name]

    def components(self, names):
        """The variables of these names, in the place of a vector its components; LookupError as of variable()."""
        found = {}
        for name in names:
            parts = self.vectors.get(name) if name not in self.by_name else None
            if parts is None and name not in self.by_name:
                raise LookupError(f'there is no variable "{name}" in {self.source}{did_you_mean(name, [*self.by_name, *self.vectors])}')
            found.update((part.name, self.variable(part.name)) for part in (parts or [self.by_name[name]]))
        return list(found.values())

    def event(self, name, scope="node"):
        """Its name; LookupError with the nearest when the XML has none of this name. scope: of the function that is called by it."""
        if self.events is not None and name not in self.events:
            raise LookupError(f'there is no event "{name}" in {self.source}{did_you_mean(name, self.events)}')
        if self.events is not None and scope == "run" and self.events[name].scope != "run":
            raise LookupError(f'event "{name}" has scope="{self.events[name].scope}" in {self.source}: it happens on one server and not on '
                              'another one, and a function with scope="run" is called by all together. Give it scope="run"')
        return name

    def events_of(self, script):
        """Names of the events that say when this script is called; none: they do not."""
        return tuple(name for name, event in (self.events or {}).items() if script in event.scripts)


def fill_of(dtype):
    """NaN, the least signed, the greatest unsigned number, or no character."""
    if dtype.kind in "fc":
        return np.nan
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if dtype.kind == "i" else limits.max
    return b""
