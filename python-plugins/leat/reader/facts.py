# SPDX-License-Identifier: Apache-2.0
"""What is known of a run without reading its arrays: which iterations and variables, parameters, attributes."""
import functools
from dataclasses import dataclass, field

import numpy as np

from ..files.reading import text_of
from ..names import did_you_mean
from ..scripting.model import Model
from ..vtk.meshes import AMR, CURVILINEAR, POINTS, RECTILINEAR, UNIFORM, UNSTRUCTURED
from .source import same

KINDS = {UNIFORM: "uniform", RECTILINEAR: "rectilinear", CURVILINEAR: "curvilinear", UNSTRUCTURED: "unstructured", POINTS: "points",
         AMR: "amr"}
_NOT_FOR_USERS = ("leat_run", "leat_xml", "lost", "_NCProperties")
_MOST_LISTED = 6


class NotThere(KeyError):
    """There is no variable, iteration, mesh of that name or number. The text says what there is. It is a KeyError."""

    def __str__(self):
        return self.args[0]


@dataclass
class Described:
    """A variable of a run, as `run.variables[name]` has it.

    name, dtype: as `run[k][name]` gives its values. unit, description: of the XML, "" where it says none. attributes: those of the dataset
    in the file, by the CF conventions. is_global: of each iteration one array of all ranks; else a block of each rank. dims, shape: of that
    array or block, slowest first; None in shape where blocks, or iterations, differ; of a global array that changes, the largest. mesh:
    name of the mesh that it is on, or "". is_constant: written once, and there in each iteration. iterations: numbers of those in which it
    was written."""
    name: str
    dtype: np.dtype
    dims: tuple
    shape: tuple
    unit: str
    description: str
    mesh: str
    is_global: bool
    is_constant: bool
    iterations: list = field(repr=False)
    attributes: dict = field(repr=False, default_factory=dict)

    def is_in(self, number):
        """Whether it has values in this iteration."""
        return self.is_constant or number in self._numbers

    @functools.cached_property
    def _numbers(self):
        return frozenset(self.iterations)


@dataclass
class Facts:
    """Of a file as it was at one moment. iterations: numbers, in the file's order; complete: flags of these. times, periods, parameters:
    values of each; None, None and {} where there are none. tables: names of variables that lie in the file as lists of blocks.
    parts_folder: "" or where a view has its files."""
    model: Model
    simulation: str
    session: str
    ranks: int
    xml: str
    attributes: dict
    iterations: list
    complete: list
    times: object
    periods: object
    parameters: dict
    variables: dict
    tables: set
    is_closed: bool
    is_view: bool
    lost: object
    parts_folder: str

    @functools.cached_property
    def rows(self):
        """{number of an iteration: its row}"""
        return {number: row for row, number in enumerate(self.iterations)}

    def row_of(self, number, file):
        """The row of an iteration; NotThere."""
        if number not in self.rows:
            raise NotThere(f"iteration {number} is not in {file}{self._near(number)}")
        return self.rows[number]

    @property
    def incomplete(self):
        return [number for number, whole in zip(self.iterations, self.complete) if not whole]

    def _near(self, number):
        if not self.iterations:
            return ": nothing is stored yet" if not self.is_closed else ", which has none"
        near = sorted(sorted(self.iterations, key=lambda each: abs(each - number))[:2])
        return f", which has {spoken(self.iterations)}; the nearest: {' and '.join(map(str, near))}"

    def variable(self, name, file):
        """Described; NotThere with the nearest name."""
        if name in self.variables:
            return self.variables[name]
        if any(each.name == name for each in self.model.variables):
            raise NotThere(f'variable "{name}" is declared in the XML of this run, but {file} has nothing of it: it was not written, or is '
                           "kept in another store")
        raise NotThere(f'there is no variable "{name}" in {file}{did_you_mean(name, self.variables)}')

    def mesh(self, name, file):
        """coordinates.Mesh; NotThere with the nearest name."""
        named = {mesh.name: mesh for mesh in self.model.meshes}
        if name not in named:
            raise NotThere(f'there is no mesh "{name}" in {file}{did_you_mean(name, named) or ", which has none"}')
        return named[name]


def facts_of(stored):
    """Of a StoredRun."""
    file = stored.file
    said = {name: value for name in file.attrs if name not in _NOT_FOR_USERS and (value := _plain(file, name)) is not None}
    times = stored.times
    return Facts(
        stored.model, stored.model.simulation, text_of(file, "session"), int(file.attrs.get("ranks", 0)), text_of(file, "leat_xml"), said,
        stored.iterations, [bool(flag) for flag in stored.complete], None if times is None else np.asarray(times, "f8"), stored.periods,
        {name: _texts(values[:len(stored.iterations)]) for name, values in stored.parameters.items()},
        {name: _described(stored, each) for name, each in sorted(stored.variables.items(), key=lambda item: item[1].variable.number)},
        {name for name, each in stored.variables.items() if each.has_table},
        "lost" in file.attrs or int(file.attrs.get("leat_finished", 0)) == 1, "leat_parts" in file.attrs,
        int(file.attrs["lost"]) if "lost" in file.attrs else None, text_of(file, "leat_parts"))


def is_begin_of(one, other):
    """Two Facts of one file, of which iterations have come to the other: what both have is the same."""
    count = len(one.iterations)
    return same(_of_first(one, count, one.variables), _of_first(other, count, one.variables))


def _of_first(facts, count, names):
    """What is said of the first iterations."""
    of = set(facts.iterations[:count])
    times = None if facts.times is None else facts.times[:count]
    written = {name: [n for n in facts.variables[name].iterations if n in of] for name in names if name in facts.variables}
    return facts.iterations[:count], facts.complete[:count], times, [values[:count] for values in facts.parameters.values()], written


def _plain(file, name):
    """Text or number; None for what is neither."""
    try:
        value = file.attrs[name]
    except (OSError, TypeError, ValueError, KeyError):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else value.item() if np.ndim(value) == 0 and hasattr(value, "item") else None


def _texts(values):
    return np.array([each.decode("utf-8", "replace") for each in values.tolist()], "U") if values.dtype.kind == "S" else values


def _described(stored, each):
    variable, is_global = each.variable, each.layout == "global"
    dims = len(variable.dimensions)
    if each.layout == "varying":
        shape = (None, *each.largest) if dims == 1 + len(each.largest) else (None,) * dims
    else:
        shape = (None,) * dims if each.has_extents else each.largest
    rows = each.rows_with_it()
    iterations = stored.iterations if rows.all() else [stored.iterations[row] for row in np.flatnonzero(rows)]
    return Described(variable.name, variable.dtype, tuple(d.name for d in variable.dimensions), shape, variable.unit,
                     variable.attributes.get("long_name", ""), variable.mesh.name if variable.mesh else "", is_global,
                     not variable.has_rows, iterations, dict(variable.attributes))


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def spoken(numbers):
    """ "0 to 40 in steps of 10", for messages and screens."""
    if not numbers:
        return "none"
    steps = {after - before for before, after in zip(numbers, numbers[1:])}
    if len(numbers) <= 2:
        return " and ".join(map(str, numbers))
    if len(steps) == 1:
        step = steps.pop()
        return f"{numbers[0]} to {numbers[-1]}" + (f" in steps of {step}" if step != 1 else "")
    if len(numbers) <= _MOST_LISTED:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]}, with gaps"
