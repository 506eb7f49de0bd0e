# SPDX-License-Identifier: Apache-2.0
"""What the XML says of the run, as far as scripts see it."""
import difflib
from dataclasses import dataclass

import numpy as np


@dataclass
class Dimension:
    name: str
    low: int = 0        # layers of ghosts before and after a block's own cells
    high: int = 0
    varying: bool = False


@dataclass
class Variable:
    number: int
    name: str
    unit: str
    description: str
    dtype: np.dtype
    dimensions: list
    has_global: bool
    time_varying: bool

    @property
    def varies(self):
        return any(d.varying for d in self.dimensions)

    @property
    def attributes(self):
        told = {"units": self.unit, "long_name": self.description}
        return {name: text for name, text in told.items() if text}

    @property
    def fill(self):
        """What stands where nobody wrote; the same as in files."""
        return fill_of(self.dtype)


class Model:
    """variables: list of Variable by number. parameters: {name: "int" | "double" | "string"}. source: where all this is said,
    for messages."""

    def __init__(self, simulation, variables, parameters=None, source="the XML"):
        self.simulation, self.source = simulation, source
        self.variables = variables
        self.parameters = parameters or {}
        self.by_name = {variable.name: variable for variable in variables}

    @classmethod
    def from_json(cls, told):
        variables = [Variable(number, v["name"], v["unit"], v["description"], dtype_of(v["type"]),
                              [Dimension(d["name"], d["low"], d["high"], d["varying"]) for d in v["dimensions"]],
                              v["global"], v["time_varying"]) for number, v in enumerate(told["variables"])]
        return cls(told["simulation"], variables, {p["name"]: p["kind"] for p in told["parameters"]})

    def variable(self, name):
        """The variable of this name; LookupError with the nearest name."""
        if name not in self.by_name:
            raise LookupError(f'there is no variable "{name}" in {self.source}{did_you_mean(name, self.by_name)}')
        return self.by_name[name]


def fill_of(dtype):
    """NaN, the least signed, the greatest unsigned number, or no character."""
    if dtype.kind in "fc":
        return np.nan
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if dtype.kind == "i" else limits.max
    return b""


def dtype_of(scalar_type):
    return np.dtype("S1" if scalar_type == "char" else scalar_type)


def did_you_mean(name, names):
    near = difflib.get_close_matches(name, list(names), 1)
    if near:
        return f'; did you mean "{near[0]}"?'
    return "; there are: " + ", ".join(sorted(names)) if names else ""
