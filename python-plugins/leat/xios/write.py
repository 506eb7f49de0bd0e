# SPDX-License-Identifier: Apache-2.0
"""What was found in definitions of XIOS, as XML for Leat."""

import re
from xml.sax.saxutils import escape, quoteattr

from ..names import identifier, object_name
from .definitions import unique

CALENDARS = {"gregorian": "standard", "julian": "julian", "noleap": "noleap", "allleap": "all_leap", "d360": "360_day",
             "user_defined": "none"}
_DATE = re.compile(r"\s*(\d{1,4})-(\d{1,2})-(\d{1,2})(?:\s+(\d{1,2}):(\d{1,2}):(\d{1,2}))?\s*")
_PARAMETERS = {"int": "int", "integer": "int", "long": "int", "short": "int", "float": "double", "double": "double"}
TIME = "time"


def document(converter, time, head):
    """All of it; `time` is (unit, calendar) or None; `head` are lines for people."""
    lines = ['<?xml version="1.0"?>', "<!--", *(f"  {_comment(line)}".rstrip() for line in head), "-->"]
    context = object_name(converter.definitions.context.id or "simulation")
    lines += [f"<simulation {_attributes(name=context)}>", "  <data>"]
    lines += [f"    {line}" for part in (_parameters(converter), _time(time), _written(converter), _made(converter), _outputs(converter))
              for line in part]
    lines += ["  </data>", "  <storage>", *(f"    {line}" for line in _stores(converter)), "  </storage>", "</simulation>"]
    return "\n".join(lines) + "\n"


def date_of(text):
    """ "1900-01-01 00:00:00", or None of what is no date."""
    found = _DATE.fullmatch(text or "")
    if not found:
        return None
    year, month, day, *clock = (int(each or 0) for each in found.groups())
    return f"{year:04d}-{month:02d}-{day:02d} " + ":".join(f"{each:02d}" for each in clock)


def _comment(text):
    return text.replace("--", "- -")


def _attributes(**words):
    return " ".join(f"{name.replace('_', '-')}={quoteattr(value, {chr(10): ' '})}" for name, value in words.items() if value)


def _element(tag, **words):
    return f"<{tag} {_attributes(**words)}/>"


def _parameters(converter):
    for name, (kind, value) in sorted(converter.parameters.items()):
        made = {"name": identifier(name), "type": _PARAMETERS.get(kind.lower(), "string"), "value": value}
        if not _is_of(made["type"], value):
            made["type"] = "string"
        yield _element("parameter", **made)
    for name in sorted(converter.definitions.sizes):
        if name not in converter.parameters:
            yield _element("parameter", name=name, type="int", description="set by the simulation before it writes")
    if TIME not in converter.parameters:
        yield _element("parameter", name=TIME, type="double", description="set by the simulation in each iteration")


def _is_of(kind, value):
    try:
        return kind == "string" or (int(value) if kind == "int" else float(value)) is not None
    except ValueError:
        return False


def _time(time):
    unit, calendar = time
    yield _element("time", parameter=TIME, unit=unit, calendar=calendar)


def _layouts(converter):
    """{what decides: name}: grids of the same shape have one layout."""
    layouts = {}
    for raw in converter.raw.values():
        layouts.setdefault(tuple(raw.grid.dimensions), object_name(raw.grid.name or "scalar"))
    taken = set()
    for key in layouts:
        while layouts[key] in taken:
            layouts[key] += "_"
        taken.add(layouts[key])
    return layouts


def _written(converter):
    layouts = _layouts(converter)
    for dimensions, name in layouts.items():
        sizes = [size for _, size in dimensions]
        names = unique([identifier(each) for each, _ in dimensions])
        whole = ",".join(sizes) if sizes and "?" not in sizes else ""
        yield (f'<layout {_attributes(name=name, type="double")} dimensions="{",".join("?" * len(sizes))}" '.rstrip() + " " +
               _attributes(**{"global": whole, "names": ",".join(names), "order": "fortran" if len(sizes) > 1 else ""})).rstrip() + "/>"
    if not converter.raw:
        return
    yield "<!-- What ranks write, as raw/NAME. -->"
    yield '<group name="raw" store="none">'
    for raw in converter.raw.values():
        once = {"time-varying": "false", "store": ",".join(raw.stores) or "none"} if raw.is_once else {}
        yield "  " + _element("variable", name=raw.name, layout=layouts[tuple(raw.grid.dimensions)], **once, **raw.attributes)
    yield "</group>"


def _made(converter):
    if not converter.helpers:
        return
    yield "<!-- What expressions need of others over time: @name. -->"
    yield '<group name="made" store="none">'
    for each in converter.helpers.values():
        yield "  " + _variable(each, {})
    yield "</group>"


def _outputs(converter):
    names = [each.name for file in converter.files for each in file.variables]
    for file in converter.files:
        yield f"<!-- {_comment(escape(file.path + (': ' + file.description if file.description else '')))} -->"
        own = [each.name for each in file.variables]
        is_shared = any(names.count(each) > 1 for each in own) or {"raw", "made"} & set(own)
        if is_shared:
            yield f"<group {_attributes(name=file.name, store=file.name)}>"
        for name, each in zip(unique(own), file.variables):
            each.name = name
            yield ("  " if is_shared else "") + _variable(each, {} if is_shared else {"store": file.name})
        if is_shared:
            yield "</group>"


def _variable(made, more):
    operation = {} if made.operation == "instant" else {"operation": made.operation}
    every = {} if made.every == "1" and made.operation == "instant" else {"every": made.every}
    return _element("variable", name=made.name, expr=made.expr, select=made.select, reduce=made.reduce, **operation, **every,
                    **made.stored, **made.attributes, compression=made.compression, **more)


def _stores(converter):
    for file in converter.files:
        yield _element("store", name=file.name, type="hdf5", file=file.path, compression=file.compression,
                       append="true" if file.appends else "", split=file.split)
