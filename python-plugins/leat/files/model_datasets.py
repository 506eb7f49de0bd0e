# SPDX-License-Identifier: Apache-2.0
"""What datasets of an HDF5 or netCDF-4 file are as variables of Leat: type, dimensions, attributes, coordinates."""
import math
import re
from dataclasses import dataclass, field

from .reading import text_of

MOST_DIMENSIONS = 8
_TYPES = {"i1": "int8", "i2": "int16", "i4": "int", "i8": "long", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
          "f4": "float", "f8": "double", "c8": "complex64", "c16": "complex128", "S1": "char"}
_OF_LEAT = ("VTKHDF", "leat", "parameters", "products", "scripts")
_BLOCK_TABLE = re.compile(r"(.*_)?block_(rank|number|iteration|count|level|lo|shape|first)|complete|.*_bnds")
_TEXTS = {"unit": "units", "description": "long_name", "standard-name": "standard_name", "cell-methods": "cell_methods",
          "comment": "comment"}
_AXES = (("x", "longitude", "lon", "projection_x_coordinate"), ("y", "latitude", "lat", "projection_y_coordinate"))
# As the XML takes them: lib/model/units.cpp and xml-schemas/leat.xsd.
_CALENDARS = {name: name for name in ("standard", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day")}
_CALENDARS["gregorian"] = "standard"
_TIME_UNIT = re.compile(r"(s|sec|secs|seconds?|min|mins|minutes?|h|hrs?|hours?|d|days?)( since 0*[1-9]\d{0,3}-\d{1,2}-\d{1,2}( .*|T.*)?)?")
_STANDARD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*( [a-z_]+)?")
_UNDECLARED = re.compile(r"undeclared@\d+")


@dataclass
class Variable:
    path: str  # "group/name"
    type: str
    extents: list  # without the iterations; None: it varies
    names: list  # of the dimensions; "" for none
    varies: bool = True  # in time
    texts: dict = field(default_factory=dict)  # attributes of <variable>
    coordinates: list = field(default_factory=list)  # paths, x first
    mesh_kind: str = ""


@dataclass
class Found:
    variables: list = field(default_factory=list)
    sizes: dict = field(default_factory=dict)  # {dimension: extent}
    time: tuple = ()  # (name, unit, calendar)
    left_out: list = field(default_factory=list)  # sentences


def found_in(file):
    """All of a file."""
    found = Found()
    is_of_leat = "leat_version" in file.attrs
    datasets = _datasets(file, is_of_leat)
    has_iterations = any(_has_iterations(each) for each in datasets.values())
    for path, each in datasets.items():
        if is_of_leat and _BLOCK_TABLE.fullmatch(path):
            continue
        if _is_iterations(each):
            found.time = found.time or _time_of(path, each, found)
            continue
        if is_bare_dimension(each) or path == "iteration":
            continue
        variable = _variable(path, each, has_iterations, found)
        if variable:
            found.variables.append(variable)
    _find_coordinates(found, datasets)
    return found


def undeclared_in(file):
    """What ranks of a run of Leat have written under names that its XML does not declare."""
    found, shapes = Found(), {}
    products = file.get("products")
    for source in products if products is not None else ():
        if not _UNDECLARED.fullmatch(source):
            continue
        for path, each in _datasets(products[source], False).items():
            if _has_iterations(each) and not is_bare_dimension(each) and path != "iteration":
                shapes.setdefault(path, []).append(each)
    for path, ranks in sorted(shapes.items()):
        kind = _type_of(ranks[0].dtype)
        if {_type_of(each.dtype) for each in ranks} != {kind} or len({each.ndim for each in ranks}) > 1:
            found.left_out.append(f'"{path}" has another type or number of dimensions on one rank than on another')
            continue
        extents = [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*(each.shape[1:] for each in ranks), strict=True)]
        found.variables.append(Variable(path, kind, extents, [""] * len(extents)))
    return found


def _datasets(group, is_of_leat):
    """By path, each once."""
    import h5py
    found = {}

    def visit(path, thing):
        if isinstance(thing, h5py.Dataset) and not (is_of_leat and path.split("/")[0] in _OF_LEAT):
            found[path] = thing
    group.visititems(visit)
    return found


def is_scale(dataset):
    return text_of(dataset, "CLASS") == "DIMENSION_SCALE"


def is_bare_dimension(dataset):
    """A dimension of netCDF's that is no variable."""
    return is_scale(dataset) and text_of(dataset, "NAME").startswith("This is a netCDF dimension but not a netCDF variable")


def _has_iterations(dataset):
    """Its first dimension has no end."""
    return bool(dataset.shape) and dataset.maxshape is not None and dataset.maxshape[0] is None


def _is_iterations(dataset):
    """It says what the iterations are."""
    return is_scale(dataset) and dataset.ndim == 1 and _has_iterations(dataset)


def _time_of(path, dataset, found):
    """(name, unit, calendar), or () of what is no time."""
    unit = text_of(dataset, "units")
    words = {text_of(dataset, "standard_name"), path.split("/")[-1].lower()}
    is_time = " since " in unit or text_of(dataset, "axis") == "T" or "time" in words
    if not is_time or dataset.dtype.kind not in "fiu":
        return ()
    calendar = text_of(dataset, "calendar") or "standard"
    if not _TIME_UNIT.fullmatch(unit or "s") or calendar.lower() not in _CALENDARS:
        found.left_out.append(f'"{path}" is no <time> here: Leat does not count in "{unit}" of the calendar "{calendar}"')
        return ()
    return (path.split("/")[-1], unit or "s", _CALENDARS[calendar.lower()])


def _type_of(dtype):
    """The word of the XML; "" when there is none. Texts of a fixed length are of char, with one more dimension."""
    import h5py
    if h5py.check_string_dtype(dtype) is not None and h5py.check_string_dtype(dtype).length is None:
        return ""
    enum = h5py.check_enum_dtype(dtype)
    if enum is not None or dtype.kind == "b":
        return _TYPES.get(f"{'i' if dtype.kind == 'b' else dtype.kind}{dtype.itemsize}", "")
    return "char" if dtype.kind == "S" else _TYPES.get(f"{dtype.kind}{dtype.itemsize}", "")


def _variable(path, dataset, has_iterations, found):
    kind = _type_of(dataset.dtype)
    if dataset.shape is None or not kind:
        what = "it is empty" if dataset.shape is None else f"Leat has no type {_named(dataset.dtype)}"
        found.left_out.append(f'"{path}" is left out: {what}')
        return None
    varies = _has_iterations(dataset)
    first = 1 if varies else 0
    extents = [None if most is None else extent for extent, most in list(zip(dataset.shape, dataset.maxshape, strict=True))[first:]]
    names = [_name_of_dimension(dataset, d) for d in range(first, dataset.ndim)]
    if dataset.dtype.kind == "S" and dataset.dtype.itemsize > 1:
        extents, names = [*extents, dataset.dtype.itemsize], [*names, ""]
    if len(extents) > MOST_DIMENSIONS:
        found.left_out.append(f'"{path}" is left out: it has {len(extents)} dimensions, and {MOST_DIMENSIONS} are the most')
        return None
    if math.prod(extent for extent in extents if extent is not None) * dataset.dtype.itemsize >= 2**63:
        found.left_out.append(f'"{path}" is left out: it has more bytes than 63 bits can count')
        return None
    for name, extent in zip(names, extents, strict=True):
        if name and extent is not None:
            found.sizes.setdefault(name, extent)
    texts = {name: text_of(dataset, its) for name, its in _TEXTS.items()}
    if not _STANDARD_NAME.fullmatch(texts["standard-name"]):
        if texts.pop("standard-name"):
            found.left_out.append(f'"{path}": its standard_name is left out, which is none of the CF conventions')
    return Variable(path, kind, extents, names, varies or not has_iterations, {name: text for name, text in texts.items() if text})


def _named(dtype):
    import h5py
    if dtype.kind != "O":
        return str(dtype)
    return "of texts of any length" if h5py.check_string_dtype(dtype) is not None else "of lists or references"


def _name_of_dimension(dataset, d):
    """That of its scale, without its groups."""
    if is_scale(dataset) and dataset.ndim == 1:
        return dataset.name.split("/")[-1]
    try:
        scales = dataset.dims[d].values()
        name = scales[0].name if scales else dataset.dims[d].label
    except (RuntimeError, KeyError, OSError):
        return ""
    return (name or "").split("/")[-1]


def _find_coordinates(found, datasets):
    """Coordinates are written once, where they do not vary; variables that have one along each of their last dimensions lie on a mesh."""
    by_path = {each.path: each for each in found.variables}
    scales = {each.path: each for each in found.variables if is_scale(datasets[each.path]) and len(each.extents) == 1}
    for each in scales.values():
        each.varies = False
    for each in found.variables:
        if each.path in scales:
            continue
        folder = each.path.rpartition("/")[0]
        named = [_nearest(name, folder, by_path) for name in text_of(datasets[each.path], "coordinates").split()]
        curved = [one for one in named if one and one.extents == each.extents and len(each.extents) > 1 and one.names == each.names]
        straight = [_nearest(name, folder, scales) for name in each.names]
        straight = [one if one and one.extents == [extent] else None for one, extent in zip(straight, each.extents, strict=True)]
        if 2 <= len(each.extents) <= 3 and len(curved) == len(each.extents):
            curved.sort(key=lambda one: _axis(datasets[one.path]))
            each.coordinates, each.mesh_kind = [one.path for one in curved], "curvilinear"
        elif 1 <= len(each.extents) <= 3 and all(straight) and len(set(each.names)) == len(each.names) and None not in each.extents:
            each.coordinates, each.mesh_kind = [one.path for one in reversed(straight)], "rectilinear"
    for each in found.variables:
        for path in each.coordinates:
            by_path[path].coordinates, by_path[path].mesh_kind = [], ""


def _nearest(name, folder, variables):
    """As netCDF finds one: in the group, else in those around it."""
    while name:
        path = f"{folder}/{name}" if folder else name
        if path in variables:
            return variables[path]
        if not folder:
            return None
        folder = folder.rpartition("/")[0]
    return None


def _axis(dataset):
    """0 for x, 1 for y, 2 for z."""
    words = (text_of(dataset, "axis").lower(), text_of(dataset, "standard_name"), dataset.name.split("/")[-1].lower())
    for number, known in enumerate(_AXES):
        if any(word in known for word in words):
            return number
    return 2
