# SPDX-License-Identifier: Apache-2.0
"""What transformations of a grid make of a field, as select="..." and reduce="..." have it. Source: src/node and src/transformation of
XIOS 3."""

import re
from dataclasses import dataclass, field

from . import tables
from .definitions import is_true
from .report import Wrong, nearest

OPERATIONS = {"average": "mean", "sum": "sum", "min": "min", "max": "max"}
_LEFT_OUT = "the field is left out; a script or a plugin can make it"
_WHOLE = "the whole field is stored"


class NoEqual(Exception):
    """What of XIOS keeps a field from being one of Leat, and what is so instead."""

    def __init__(self, what, instead):
        super().__init__(what, instead)
        self.what, self.instead = what, instead


@dataclass
class Dimension:
    name: str
    size: str  # as the XML has it: a number, a parameter or "?"
    first: int = 0
    count: int = -1  # -1: all
    is_one: bool = False
    is_reduced: bool = False

    @property
    def is_whole(self):
        return not self.is_one and self.first == 0 and self.count in (-1, _as_number(self.size))

    @property
    def text(self):
        if self.is_one:
            return f"{self.name}={self.first}"
        return f"{self.name}={self.first}:{self.first + self.count if self.count >= 0 else ''}"


@dataclass
class Change:
    """Of a field with these dimensions, by domains, axes and scalars of its grid."""

    parts: list
    operation: str = ""
    is_of_scalars: bool = False
    lost: list = field(default_factory=list)  # (place, what, instead)

    @property
    def select(self):
        return ", ".join(each.text for part in self.parts for each in part if not each.is_whole)

    @property
    def reduce(self):
        if not self.operation:
            return ""
        there = [each for part in self.parts for each in part if not each.is_one]
        along = [each.name for each in there if each.is_reduced]
        return self.operation if len(along) == len(there) else f"{self.operation}({', '.join(along)})"

    def parts_of(self, name):
        """What is left, of a variable of this name: dimensions with a part are called after it."""
        return [[Dimension(each.name if each.is_whole else f"{name}_{each.name}", str(each.count) if each.count >= 0 else each.size)
                 for each in part if not each.is_one and not each.is_reduced] for part in self.parts]


def change(parts, grid):
    """`parts`: dimensions of the field; `grid`: on which it is to be."""
    if len(parts) != len(grid.parts):
        tags = sorted({each.tag for part in grid.parts for each in part.transformations})
        raise NoEqual(f"<{tags[0]}> onto a grid of other parts", _LEFT_OUT)
    made = Change([[Dimension(each.name, each.size) for each in part] for part in parts])
    for dimensions, part in zip(made.parts, grid.parts):
        for element in part.transformations:
            _apply(element, part.kind, dimensions, made)
    if made.is_of_scalars and any(made.parts):
        raise NoEqual("<reduce_scalar> of a field with dimensions", _LEFT_OUT)
    if made.operation and "(" in made.reduce and any(each.size == "?" for part in parts for each in part):
        raise NoEqual("a reduction along some dimensions of a grid that the program makes", _LEFT_OUT)
    return made


def _apply(element, kind, dimensions, made):
    what, _, to = element.tag.partition("_to_")
    if what in tables.SAME_VALUES:
        return
    action, _, of = what.partition("_")
    is_local = is_true(element.get("local"), False)
    known = action in ("zoom", "extract", "reduce") and of in ("axis", "domain", "scalar")
    if not known or (action == "reduce" and (to or kind) == of != "scalar") or is_local:
        raise NoEqual(f"<{element.tag}>" + (' local="true"' if is_local else ""), _LEFT_OUT)
    if len(dimensions) != {"axis": 1, "scalar": 0}.get(of, len(dimensions)):
        raise NoEqual(f"<{element.tag}> of something else than one {of}", _LEFT_OUT)
    if action == "reduce":
        _reduce(element, kind, of, dimensions, made)
    elif any(each.is_reduced for each in dimensions):
        raise NoEqual(f"<{element.tag}> of what is reduced", _LEFT_OUT)
    elif kind == of:
        _take_part(element, of, dimensions, made)
    else:
        _take_one(element, dimensions)


def _reduce(element, kind, of, dimensions, made):
    operation = OPERATIONS.get(element.get("operation") or "")
    if not operation:
        said = f'operation="{element.get("operation")}"' + nearest(element.get("operation"), OPERATIONS) if element.get("operation") \
            else "no operation"
        raise Wrong(element.place, f"<{element.tag}> has {said}; there are sum, min, max and average")
    if made.operation not in ("", operation):
        raise NoEqual(f"<{element.tag}> after another operation", _LEFT_OUT)
    made.operation = operation
    made.is_of_scalars = made.is_of_scalars or of == "scalar"
    # Along i what is left is an axis of j.
    taken = dimensions if kind == "scalar" or len(dimensions) < 2 else [dimensions[_direction(element)]]
    for each in taken:
        each.is_reduced = True


def _direction(element):
    direction = element.get("direction")
    if direction not in ("iDir", "jDir"):
        raise Wrong(element.place, f'<{element.tag}> needs direction="iDir" or "jDir"' + (f', not "{direction}"' if direction else ""))
    return ("iDir", "jDir").index(direction)


def _take_part(element, of, dimensions, made):
    names = [("begin", "n")] if of == "axis" else [("ibegin", "ni"), ("jbegin", "nj")]
    if element.get("index") or len(names) != len(dimensions):
        raise NoEqual(f"<{element.tag}> of single indices" if element.get("index") else f"<{element.tag}> of an unstructured domain",
                      _LEFT_OUT)
    ranges = [(_number(element, first, 0), _number(element, count, -1)) for first, count in names]
    if any(count == 0 for _, count in ranges):  # as NEMO's files have it
        made.lost.append((element.place, f"<{element.tag}> of no extent, which the program gives", _WHOLE))
        return
    for dimension, (first, count) in zip(dimensions, ranges):
        before = dimension.count if dimension.count >= 0 else _as_number(dimension.size)
        _expect_inside(element, dimension, first, count, before)
        dimension.first += first
        if count < 0 and before is not None:
            count = before - first
        dimension.count = count


def _take_one(element, dimensions):
    place = _number(element, "position", 0)
    # A line along i is at one place of j.
    taken = dimensions[0] if len(dimensions) == 1 else dimensions[1 - _direction(element)]
    _expect_inside(element, taken, place, 1, taken.count if taken.count >= 0 else _as_number(taken.size))
    taken.first += place
    taken.count, taken.is_one = 1, True


def _expect_inside(element, dimension, first, count, length):
    if first < 0 or count < -1 or (length is not None and first + max(count, 1) > length):
        extent = f", which has {length}" if length is not None else ""
        raise Wrong(element.place, f"<{element.tag}> takes {max(count, 1)} from {first} of {dimension.name}{extent}")


def _number(element, name, otherwise):
    text = (element.get(name) or "").strip()
    if not text:
        return otherwise
    if not re.fullmatch(r"[+-]?\d{1,9}", text):
        raise Wrong(element.place, f'{name}="{text}" of <{element.tag}> is no whole number')
    return int(text)


def _as_number(text):
    return int(text) if text.isdigit() else None
