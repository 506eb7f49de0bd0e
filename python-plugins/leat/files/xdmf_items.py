# SPDX-License-Identifier: Apache-2.0
"""XDMF's DataItems: how values in the HDF5 file, and few that are in the XML itself, are named. Source: "XDMF Model and Format"
(xdmf.org).

What readers make of it has left its marks (vtkXdmfReader of VTK 9.2 to 9.7):
- Whatever changes in time, and even what does not, is a HyperSlab: a dataset named alone is read whole, by the size that it has when
  it is read, and ours grow.
- There is no white space within: a mesh is taken for that of the step before when its DataItem begins with the same text
  (vtkXdmfHeavyData::ReadUniformData), and that would be the space.
- Places have 64 bits, which is not the default.
"""
from dataclasses import dataclass

import numpy as np

REALS = {"NumberType": "Float", "Precision": 8, "Format": "XML"}
INTEGERS = {"NumberType": "Int", "Precision": 8, "Format": "XML"}


@dataclass
class Slab:
    """A part of a dataset. shape: in which it is shown, as many values as `count`. dtype: by which they are read."""
    path: str
    dtype: np.dtype
    extents: tuple
    start: list
    count: list
    shape: tuple


def whole(field, row):
    """All of a variable that has one array for each iteration."""
    start, count = [0] * len(field.extents), list(field.extents)
    if field.varies:
        start[0], count[0] = row, 1
    return Slab(field.path, field.variable.dtype, field.extents, start, count, field.shape)


def elements(field, found, row, blocks=slice(None)):
    """Elements of some of the blocks that field.row(row) found, or of all."""
    counts = found.counts[blocks]
    first, total = found.first + sum(found.counts[:blocks.start or 0]), sum(counts)
    slab = whole(field, row)
    slab.shape = (total, field.components) if field.components > 1 else (total,)
    if field.form != "whole":
        each = 1 if field.form == "ragged" else field.each
        slab.start = [first // each if each else 0] + [0] * (len(field.extents) - 1)
        slab.count = [total if field.form == "ragged" else len(counts), *field.extents[1:]]
    return slab


def escaped(text):
    for character, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, name)
    return text


def element(tag, attributes, *inner):
    """inner: what is within, as XML; none: an empty element."""
    head = tag + "".join(f' {name}="{escaped(str(value))}"' for name, value in attributes.items())
    return f"<{head}>{''.join(inner)}</{tag}>" if inner else f"<{head}/>"


def item(slab, file):
    """file: by which name the XML calls the HDF5 file."""
    kind = _number_type(slab.dtype)
    return element("DataItem", {"ItemType": "HyperSlab", "Dimensions": listed(slab.shape), **kind}, _selection(slab.start, slab.count),
                   element("DataItem", {"Dimensions": listed(slab.extents), **kind, "Format": "HDF"},
                           f"{escaped(file)}:/{escaped(slab.path)}"))


def shared_values(name, values):
    """In the XML, at the head of it, for shared() to name."""
    kind = REALS if np.asarray(values).dtype.kind == "f" else INTEGERS
    return element("DataItem", {"Name": name, "Dimensions": len(values), **kind}, " ".join(map(number, values))) + "\n"


def shared(name):
    return element("DataItem", {"Reference": "XML"}, escaped(f'/Xdmf/Domain/DataItem[@Name="{name}"]'))


def shared_rows(name, rows, columns):
    """The same as rows of so many values."""
    return element("DataItem", {"ItemType": "HyperSlab", "Dimensions": f"{rows} {columns}", "NumberType": "Int", "Precision": 8},
                   _selection([0], [rows * columns]), shared(name))


def listed(numbers):
    return " ".join(map(str, numbers))


def number(value):
    """The shortest text that reads back as the same number."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text[:-2] if text.endswith(".0") else text


def why_no_name(name):
    return 'its name has a ":", which ends the name of the file in XDMF' if ":" in name else ""


def _selection(start, count):
    return element("DataItem", {"Dimensions": f"3 {len(start)}", **INTEGERS}, listed([*start, *[1] * len(start), *count]))


def _number_type(dtype):
    """Readers know no unsigned numbers of 64 bits: these are read as signed ones, up to half of them."""
    size = dtype.itemsize
    name = "Float" if dtype.kind == "f" else {1: "Char", 2: "Short"}.get(size, "Int")
    return {"NumberType": "U" * (dtype.kind == "u" and size < 8) + name, "Precision": size}
