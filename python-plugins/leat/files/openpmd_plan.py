# SPDX-License-Identifier: Apache-2.0
"""What of a run openPMD can show: in each iteration fields on uniform meshes, and particles; each component is a part of a dataset of the
run's file. Source: "openPMD standard", version 1.1.0."""
import math
import re
from dataclasses import dataclass, field

import numpy as np

from ..graph.units import in_si
from ..scripting.coordinates import places_of
from . import reading
from .reading import CannotRead, text_of
from .stored import Stored, common_row

_UNIFORM, _POINTS = 1, 5  # enum leat_mesh_kind
_LONGEST_SILENCE = 60     # seconds of processor time for one iteration
_MOST_DATASETS = 1_000_000
_MOST_COMPONENTS = 64     # of one value of a particle
_AXES = "xyz"
_NUMBER = (1.0, (0,) * 7)
_LENGTH = (1,) + (0,) * 6


@dataclass
class Component:
    """selection: (begin, count) along each dimension of the dataset `path`, whose shape is `extents`. shape: in which it is shown."""
    path: str
    dtype: str
    fill: bytes
    extents: tuple
    selection: list
    shape: tuple
    attributes: dict


@dataclass
class Record:
    """components: by name; {"": ...} of a scalar. constants: {name: (value, shape, attributes)}."""
    attributes: dict
    components: dict = field(default_factory=dict)
    constants: dict = field(default_factory=dict)


@dataclass
class Iteration:
    """meshes: {name: Record}. species: {name: {name: Record}}."""
    time: float
    step: float
    meshes: dict = field(default_factory=dict)
    species: dict = field(default_factory=dict)


@dataclass
class Plan:
    """iterations: by number. left_out: sentences."""
    time_unit: float = 1.0
    iterations: dict = field(default_factory=dict)
    left_out: set = field(default_factory=set)

    @property
    def is_empty(self):
        return not any(each.meshes or each.species for each in self.iterations.values())


def agree(earlier, later):
    """Of two looks at a file that grows: what the earlier one shows is there to stay, but for the extents of what it is a part of."""
    rows = list(earlier.iterations)
    return earlier.left_out == later.left_out and all(
        _places(earlier.iterations[n]) == _places(later.iterations[n]) if n in later.iterations else False for n in rows)


def _places(iteration):
    records = [iteration.meshes, *iteration.species.values()]
    return [(name, key, each.path, each.selection, each.shape) for some in records for name, record in some.items()
            for key, each in record.components.items()]


def plan_of(path, time_unit):
    """All of a file. time_unit: of the run, "" where it has none."""
    stored, plan = Stored(path), Plan()
    try:
        planner = _Planner(stored, plan)
        plan.time_unit = planner.in_si(time_unit.split(" since ")[0])[0]
        times = stored.times().tolist()
        for row, number in enumerate(stored.numbers.tolist()):
            reading.expect_life(_LONGEST_SILENCE)
            plan.iterations[number] = planner.iteration(row, times[row], _step(times, stored.numbers, row))
    finally:
        stored.file.close()
    return plan


def _step(times, numbers, row):
    """Of one iteration of the simulation, by the row before; of the first one by that behind it."""
    other = row - 1 if row else 1
    if len(times) < 2 or numbers[row] == numbers[other]:
        return 0.0
    return (times[row] - times[other]) / int(numbers[row] - numbers[other])


class _Planner:
    """fields: {record: {component: variable}}. species: {name: (mesh, {record: variable})}."""

    def __init__(self, stored, plan):
        self._stored, self._left_out, self._units, self._count = stored, plan.left_out, {}, 0
        self.species = {}
        meshes = {}
        for mesh in stored.meshes:
            if mesh.kind == _POINTS and all(stored.has(stored.variables[one].name) for one in mesh.coordinates):
                meshes[id(mesh)] = name = _unique(mesh.name.replace("/", "_"), self.species)
                self.species[name] = (mesh, {})
        coordinates = {one for mesh, _ in self.species.values() for one in mesh.coordinates}
        scalars = {}
        for variable in stored.variables:
            if not stored.has(variable.name) or variable.number in coordinates:
                continue
            why = self._why_not(variable, meshes)
            if why:
                self._left_out.add(f'the variable "{variable.name}": {why}')
            elif variable.mesh.kind == _UNIFORM:
                scalars[_unique(variable.name.replace("/", "_"), scalars)] = variable
            else:
                records = self.species[meshes[id(variable.mesh)]][1]
                name = variable.name.removeprefix(variable.mesh.name + "/").replace("/", "_")
                records[_unique(name, {"position", "positionOffset", *records})] = variable
        self.fields = self._with_vectors(scalars)

    def _why_not(self, variable, meshes):
        """"" where openPMD has a place for it."""
        mesh, found = variable.mesh, self._stored.field(variable.number)
        if mesh is None or (mesh.kind != _UNIFORM and id(mesh) not in meshes):
            return "it is neither on a uniform mesh nor of particles"
        if found.data.dtype.kind not in "fiuc":
            return "openPMD has no text"
        if variable.is_packed:
            return "it is stored as whole numbers with a scale, which openPMD does not know"
        if mesh.kind == _POINTS:
            many = math.prod(_inner(found))
            return f"each of its values has {many} numbers, and {_MOST_COMPONENTS} are the most" if many > _MOST_COMPONENTS else ""
        if mesh.is_unplaced:
            return "the parameters that say where its mesh lies had no value"
        if found.form != "whole":
            return "it has many blocks and no global shape"
        return "its shape is not that of its mesh" if variable.varies or len(found.shape) != mesh.dims else ""

    def _with_vectors(self, scalars):
        """What the file calls components of a vector, or else u_x, u_y and u_z, or the first two, is one where it is of one kind."""
        stems = {}
        for name, variable in scalars.items():
            said = re.fullmatch(r"(.+)\[([0-2])\]", text_of(self._stored.field(variable.number).data, "leat_vector"))
            found = re.fullmatch("(.+)_([xyz])", name)
            if said:
                stems.setdefault(said[1].replace("/", "_"), {})[_AXES[int(said[2])]] = name
            elif found:
                stems.setdefault(found[1], {})[found[2]] = name
        fields, taken = {}, set()
        for stem, axes in stems.items():
            parts = [self._stored.field(scalars[name].number) for name in axes.values()]
            kinds = {(id(one.variable.mesh), one.variable.unit, one.data.dtype.str, one.shape) for one in parts}
            if "".join(sorted(axes)) in ("xy", "xyz") and len(kinds) == 1 and stem not in scalars:
                fields[stem] = {axis: scalars[name] for axis, name in sorted(axes.items())}
                taken.update(axes.values())
        return {**{name: {"": variable} for name, variable in scalars.items() if name not in taken}, **fields}

    def in_si(self, unit, what=""):
        """(factor, powers); a number, and a sentence, where that is not known."""
        if not unit:
            return _NUMBER
        if unit not in self._units:
            self._units[unit] = in_si(unit)
        if self._units[unit] is None:
            self._left_out.add(f'the unit "{unit}", which UDUNITS does not know as so many times one of the SI')
        return self._units[unit] or _NUMBER

    def iteration(self, row, time, step):
        made = Iteration(time, step)
        for name, variables in self.fields.items():
            there = {axis: one for axis, one in variables.items() if self._is_in(one, row)}
            if there:
                made.meshes[name] = self._field_record(there, row)
        for name, (mesh, variables) in self.species.items():
            axes = [self._stored.field(one) for one in mesh.coordinates]
            points = common_row(axes, row)
            if points.counts:
                made.species[name] = self._species_records(mesh, axes, variables, points, row)
        self._count += len(_places(made))
        if self._count > _MOST_DATASETS:
            raise CannotRead(f"it has more than {_MOST_DATASETS} arrays, each of which is a dataset for openPMD")
        return made

    def _is_in(self, variable, row):
        found = self._stored.field(variable.number)
        return bool(found.written[row]) if found.varies else row >= int(found.data.attrs.get("leat_row", 0))

    def _field_record(self, variables, row):
        one = next(iter(variables.values()))
        mesh, (factor, powers) = one.mesh, self.in_si(one.unit)
        record = Record({"geometry": "cartesian", "dataOrder": "C", "axisLabels": list(_AXES[:mesh.dims][::-1]),
                         "gridSpacing": list(map(float, reversed(mesh.spacing))),
                         "gridGlobalOffset": list(map(float, reversed(mesh.origin))), "gridUnitSI": self.in_si(mesh.unit)[0],
                         "unitDimension": list(map(float, powers)), "timeOffset": 0.0})
        for axis, variable in variables.items():
            found = self._stored.field(variable.number)
            whole = [(0, extent) for extent in found.extents]
            selection = [(row, 1), *whole[1:]] if found.varies else whole
            position = [0.5 if (place := places_of(variable, d)) is None or place.edge is not None else 0.0 for d in range(mesh.dims)]
            record.components[axis] = _component(found, selection, found.shape, {"position": position, "unitSI": factor})
        return record

    def _species_records(self, mesh, axes, variables, points, row):
        # A variable of places may have a unit of its own.
        factor, powers = self.in_si(axes[0].variable.unit or mesh.unit)
        said = {"unitDimension": list(map(float, powers if any(powers) else _LENGTH)), "timeOffset": 0.0}
        position, offset = Record(said), Record(said)
        for one in axes:
            for index in np.ndindex(*_inner(one)):
                axis = _AXES[len(position.components)] if len(position.components) < 3 else str(len(position.components))
                position.components[axis] = self._elements(one, points, row, index, factor)
                offset.constants[axis] = (0.0, [points.total], {"unitSI": factor})
        records = {"position": position, "positionOffset": offset}
        for name, variable in variables.items():
            one = self._stored.field(variable.number)
            found = one.row(row)
            if found.matches(points):
                factor, powers = self.in_si(variable.unit)
                records[name] = Record({"unitDimension": list(map(float, powers)), "timeOffset": 0.0})
                for number, index in enumerate(np.ndindex(*_inner(one))):
                    many = math.prod(_inner(one))
                    axis = "" if many == 1 else _AXES[number] if many == mesh.dims else str(number)
                    records[name].components[axis] = self._elements(one, found, row, index, factor)
        return records

    def _elements(self, one, found, row, index, factor):
        """One number of each element of a row of blocks."""
        inner = [(at, 1) for at in index]
        if one.form == "ragged":
            selection = [(found.first, found.total), *inner]
        elif one.form == "blocks":
            selection = [(found.first // max(one.each, 1), len(found.counts)), (0, one.each), *inner]
        else:
            selection = [*([(row, 1)] if one.varies else []), (0, one.each), *inner]
        return _component(one, selection, (found.total,), {"unitSI": factor})


def _inner(one):
    """Dimensions of one element of particles."""
    return one.shape if one.form == "ragged" else one.shape[1:]


def _component(one, selection, shape, attributes):
    fill = np.asarray(one.data.fillvalue, one.data.dtype).tobytes()
    return Component(one.path, one.data.dtype.str, fill, tuple(one.extents), selection, tuple(shape), attributes)


def _unique(name, taken):
    """With "_" behind it where it is taken."""
    while name in taken:
        name += "_"
    return name
