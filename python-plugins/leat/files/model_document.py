# SPDX-License-Identifier: Apache-2.0
"""Variables that were found in a file, as XML for Leat."""
import re
from xml.sax.saxutils import quoteattr

from ..names import identifier, object_name

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(found, name, source):
    """All of it."""
    lines = ['<?xml version="1.0"?>', "<!--", *(f"  {_comment(line)}" for line in _head(found, source)), "-->",
             f"<simulation {_attributes(name=object_name(name))}>", "  <data>", *(f"    {line}" for line in declarations(found)),
             "  </data>", "  <storage>", '    <store name="out" type="hdf5"/>', "  </storage>", "</simulation>"]
    return "\n".join(lines) + "\n"


def _head(found, source):
    yield f"Made by leat model of {source}."
    yield "Each variable is written here by one rank, as a whole: where several ranks write parts of it, give their"
    yield "size as dimensions, and where they lie by leat_set_position, or by position of the layout."
    yield from found.left_out


def declarations(found):
    """The lines inside of <data>."""
    parameters = _parameters(found)
    layouts, variables = _layouts(found, parameters)
    lines = [_element("parameter", name=parameters[dimension], type="int", value=str(found.sizes[dimension]))
             for dimension in parameters if dimension in found.sizes]
    if found.time:
        name, unit, calendar = found.time
        taken = set(parameters.values())
        name = _unique(identifier(name), taken)
        lines += [_element("parameter", name=name, type="double", description="set by the simulation in each iteration"),
                  _element("time", parameter=name, unit=unit, calendar=calendar)]
    meshes, names = _meshes(found)
    return [*lines, *layouts, *meshes, *_grouped(variables, names)]


def _parameters(found):
    """{dimension: parameter}: only of dimensions that have the same length everywhere."""
    parameters, taken = {}, set()
    for dimension, extent in found.sizes.items():
        lengths = {each for variable in found.variables for name, each in zip(variable.names, variable.extents, strict=True)
                   if name == dimension and each is not None}
        if lengths == {extent}:
            parameters[dimension] = _unique("n" + identifier(dimension).lstrip("_"), taken)
    return parameters


def _layouts(found, parameters):
    """Lines, and [(variable, name of its layout, path)]: what has the same type and dimensions has one layout."""
    layouts, taken, lines, variables = {}, set(), [], []
    for each in found.variables:
        sizes = ["?" if extent is None else parameters.get(name, str(extent))
                 for name, extent in zip(each.names, each.extents, strict=True)]
        key = (each.type, tuple(sizes), tuple(each.names))
        if key not in layouts:
            named = all(each.names) and each.names
            wished = "_".join(each.names) if named else each.path.replace("/", ".") + "_layout" if sizes else "scalar"
            layouts[key] = _unique(object_name(wished), taken)
            is_whole = bool(sizes) and bool(named) and "?" not in sizes
            names = _unique_all(identifier(name) for name in each.names) if named else []
            lines.append(_element("layout", name=layouts[key], type=each.type, dimensions=",".join(sizes), names=",".join(names),
                                  **({"global": ",".join(sizes)} if is_whole else {}), keep=("dimensions",)))
        variables.append((each, layouts[key], each.path))
    return lines, variables


def _meshes(found):
    """Lines, and {path of a variable: its mesh}."""
    lines, by_coordinates, names, taken = [], {}, {}, set()
    for each in found.variables:
        if not each.coordinates:
            continue
        key = (each.mesh_kind, tuple(each.coordinates))
        if key not in by_coordinates:
            wished = "_".join(path.split("/")[-1] for path in reversed(each.coordinates)) + "_grid"
            by_coordinates[key] = _unique(object_name(wished), taken)
            lines.append(_element("mesh", name=by_coordinates[key], type=each.mesh_kind,
                                  coordinates=",".join(_path(path) for path in each.coordinates)))
        names[each.path] = by_coordinates[key]
    return lines, names


def _grouped(variables, meshes):
    """Lines; variables of a group stand in it, behind those around it. `variables`: with their layouts, and their paths from here."""
    lines, groups, taken = [], {}, set()
    for variable, layout, path in variables:
        group, _, rest = path.partition("/")
        if rest:
            groups.setdefault(group, []).append((variable, layout, rest))
        else:
            lines.append(_variable_line(variable, layout, _unique(object_name(group), taken), meshes))
    for group, members in groups.items():
        lines += [f"<group {_attributes(name=object_name(group))}>", *(f"  {line}" for line in _grouped(members, meshes)), "</group>"]
    return lines


def _variable_line(variable, layout, name, meshes):
    words = dict(variable.texts)
    if not variable.varies:
        words["time-varying"] = "false"
    if variable.path in meshes:
        words["mesh"] = meshes[variable.path]
    return _element("variable", name=name, layout=layout, **words)


def _path(path):
    return "/".join(object_name(part) for part in path.split("/"))


def _element(tag, keep=(), **words):
    return f"<{tag} {_attributes(keep, **words)}/>"


def _attributes(keep=(), **words):
    return " ".join(f"{name}={quoteattr(_NO_XML.sub('?', text), {chr(10): ' ', chr(9): ' ', chr(13): ' '})}"
                    for name, text in words.items() if text or name in keep)


def _comment(text):
    return _NO_XML.sub("?", text).replace("--", "- -").rstrip("-")


def _unique(name, taken):
    """The name, with a number where it is taken; and takes it."""
    number, made = 2, name
    while made in taken:
        made, number = f"{name}_{number}", number + 1
    taken.add(made)
    return made


def _unique_all(names):
    taken = set()
    return [_unique(name, taken) for name in names]
