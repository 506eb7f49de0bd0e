# SPDX-License-Identifier: Apache-2.0
"""Where values lie, and when: coordinates in the form of the CF conventions, called and described as the hdf5 store does it
(server/plugins/hdf5/conventions), so that a script sees what xarray shows of the file."""
from dataclasses import dataclass, field

import numpy as np

_UNIFORM = 1
_CURVES = (2, 3)  # rectilinear, curvilinear: each variable of coordinates has dimensions of the data
_AMR = 6
_NODAL, _UNPLACED = 2, 3
_ANY = object()   # places of a coordinate variable, which are what they are
ITERATION = {"long_name": "number of the simulation's iteration", "units": "1"}


@dataclass
class Mesh:
    """Axes are x, y, z; x runs along the last dimension. coordinates: numbers of variables."""
    name: str
    kind: int
    dims: int
    unit: str = ""
    origin: list = field(default_factory=list)
    spacing: list = field(default_factory=list)
    coordinates: list = field(default_factory=list)
    ratio: int = 2   # amr: of the cells of a level to those of the one below
    levels: int = 0  # amr: how many there may be; 0: not known
    cells: tuple = ()   # unstructured: numbers of the variables that are its connectivity, offsets and types
    cell_type: int = 0  # unstructured: VTK's number of the shape of all cells; 0: they differ

    @property
    def is_unplaced(self):
        """It is uniform or amr, and the simulation has not said where it lies."""
        return self.kind in (_UNIFORM, _AMR) and not self.spacing

    def place(self, told):
        """told: [origin, spacing], or None where nobody knows them."""
        self.origin, self.spacing = map(list, told or ([], []))

    @classmethod
    def from_json(cls, told):
        place = [told.get("origin", []), told.get("spacing", [])]
        if None in place[0] or None in place[1]:  # parameters give it, at run time
            place = [[], []]
        return cls(told["name"], told["kind"], told["dims"], told.get("unit", ""), *place,
                   told.get("coordinates", []), told.get("ratio", 2), told.get("levels", 0),
                   tuple(n for n in (told.get(key, -1) for key in ("connectivity", "offsets", "types")) if n >= 0),
                   told.get("cell_type", 0))


@dataclass(frozen=True)
class Places:
    """Along one dimension: first + i * step."""
    first: float
    step: float
    unit: str
    axis: int  # 0, 1, 2 for x, y, z
    edge: float = None  # of cells that begin at edge + i * step

    def values(self, count):
        return self.first + np.arange(count) * self.step

    def bounds(self, count):
        """Begin and end of each cell; None where values lie at nodes."""
        return None if self.edge is None else _pairs(self.edge + np.arange(count + 1) * self.step)

    @property
    def attributes(self):
        return {**({"units": self.unit} if self.unit else {}), "long_name": f"place along {'XYZ'[self.axis]}", **axis_attribute(self.axis)}


@dataclass(frozen=True)
class Between:
    """The middles of cells between nodes, which a variable has."""
    nodes: tuple
    unit: str
    axis: int
    standard_name: str
    of: str

    def values(self, count):
        nodes = np.array(self.nodes)
        return (nodes[:-1] + nodes[1:]) / 2

    def bounds(self, count):
        return _pairs(np.array(self.nodes))

    @property
    def attributes(self):
        return {**({"units": self.unit} if self.unit else {}), "long_name": f"middle of the cells between {self.of}",
                **({"standard_name": self.standard_name} if self.standard_name else {}), **axis_attribute(self.axis)}


def _pairs(nodes):
    return np.stack([nodes[:-1], nodes[1:]], axis=1)


@dataclass
class Time:
    """parameter: the name of the one that is the time, "" where it is not known."""
    parameter: str
    unit: str = ""
    calendar: str = ""

    @classmethod
    def from_json(cls, told):
        number, parameters = told.get("time_parameter", -1), told.get("parameters", [])
        if number < 0:
            return None
        return cls(parameters[number]["name"] if parameters else "", told.get("time_unit", ""), told.get("calendar", ""))

    @property
    def counts_from_a_date(self):
        return " since " in self.unit

    @property
    def attributes(self):
        told = {"long_name": "time of the simulation at the end of the iteration", **({"units": self.unit} if self.unit else {})}
        if self.counts_from_a_date:
            told.update(standard_name="time", axis="T", **({"calendar": self.calendar} if self.calendar else {}))
        return told


def axis_attribute(axis):
    """"Z" of CF must say what is up, which nobody has said."""
    return {"axis": "XY"[axis]} if axis < 2 else {}


def is_coordinate_variable(variable):
    """It gives the coordinates of the dimension that is called like it."""
    own = variable.dimensions
    return len(own) == 1 and not variable.time_varying and not own[0].varying and own[0].name == variable.name


def places_of(variable, d):
    """Of the values of a variable along its dimension d, where its mesh is uniform: nodes, or the centres between them."""
    mesh, dims = variable.mesh, len(variable.dimensions)
    if mesh is None or mesh.kind != _UNIFORM or mesh.dims != dims or mesh.is_unplaced:
        return None
    axis, centering = dims - 1 - d, variable.dimensions[d].centering
    if centering == _UNPLACED:
        return None
    nodal = centering == _NODAL if centering else variable.nodal
    to_centre = 0 if nodal else mesh.spacing[axis] / 2
    return Places(mesh.origin[axis] + to_centre, mesh.spacing[axis], mesh.unit, axis, None if nodal else mesh.origin[axis])


def nodes_along(model, variable, d):
    """The variable that alone has the coordinates along dimension d, where its mesh is rectilinear, and does not vary in time; or None."""
    mesh, dims = variable.mesh, len(variable.dimensions)
    if mesh is None or mesh.kind != _CURVES[0] or len(mesh.coordinates) != dims:
        return None
    found = model.variables[mesh.coordinates[dims - 1 - d]]
    return found if len(found.dimensions) == 1 and not found.time_varying else None


def between(model, variable, d, nodes, cells):
    """Where the values lie between these values of nodes_along(): Between, or None when they are not one more, or not all known."""
    of = nodes_along(model, variable, d)
    nodes = np.asarray(nodes, "f8")
    nodes = nodes[(0,) * (nodes.ndim - 1)]  # of the first block, where each rank has written them
    if not cells or len(nodes) != cells + 1 or not np.isfinite(nodes).all():
        return None
    told = of.attributes
    return Between(tuple(nodes.tolist()), told.get("units", ""), len(variable.dimensions) - 1 - d, told.get("standard_name", ""), of.name)


def axis_of(model, variable):
    """The attribute of a variable that alone has the coordinates along an axis of a rectilinear mesh."""
    for mesh in model.meshes:
        if mesh.kind == _CURVES[0] and variable.number in mesh.coordinates:
            return axis_attribute(mesh.coordinates.index(variable.number))
    return {}


def coordinates_of(model, variable):
    """The variables that say where the values of this one lie, as a file says it: from its group or the root, with dimensions of
    its own."""
    mesh = variable.mesh
    if mesh is None or mesh.kind not in _CURVES:
        return []
    own, group = {d.name for d in variable.dimensions}, variable.name.rpartition("/")[0]
    beside = [model.variables[number] for number in mesh.coordinates]
    return [c for c in beside if c.name.rpartition("/")[0] in ("", group) and own.issuperset(d.name for d in c.dimensions)]


def beside(model, names):
    """Names of the variables that say where these lie and are not among them: what a dataset has beside what was asked for."""
    found = {}  # in order
    for variable in map(model.by_name.get, names):
        if variable.mesh is not None and variable.mesh.kind not in (_UNIFORM, *_CURVES):
            found.update((model.variables[number].name, None) for number in variable.mesh.coordinates)
        found.update((c.name, None) for c in coordinates_of(model, variable))
        found.update((c.name, None) for c in (nodes_along(model, variable, d) for d in range(len(variable.dimensions))) if c is not None)
        found.update((d.name, None) for d in variable.dimensions if d.name in model.coordinate_variables)
    asked = set(names)
    return [name for name in found if name not in asked and name in model.by_name]


class DimensionNames:
    """What dimensions are called in one dataset: one name for one length and places."""

    def __init__(self, model):
        self._taken = {"iteration", *(variable.name for variable in model.variables)}
        self._known = {}  # what was wished: [(length, places, name)]
        self._blocks = []  # [(owners, name)]

    def take_coordinates(self, name, length):
        """The variable of this name is the dimension's."""
        self._known[name] = [(length, _ANY, name)]

    def name(self, wish, length, places=None, owner=""):
        """owner: of a length of its own in each iteration, what the second of a name is called after."""
        known = self._known.setdefault(wish, [])
        for n, there, name in known:
            if n == length and (places is None or there is _ANY or there == places):
                return name
        name = wish if not known else f"{owner.replace('/', '_')}_element" if owner else f"{wish}_{len(known) + 1}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        known.append((length, places, name))
        return name

    def blocks(self, owners, variable):
        """Of these blocks; variables that have the same share the dimension."""
        for known, name in self._blocks:
            if known == owners:
                return name
        name = "block" if not self._blocks else f"{variable.replace('/', '_')}_block"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        self._blocks.append((owners, name))
        return name
