# SPDX-License-Identifier: Apache-2.0
"""All of a file as references for Zarr: groups, variables, their dimensions as readers of netCDF see them. Not /VTKHDF: those are second
names and lists of the same values."""
import json
import math
import os
from dataclasses import dataclass, field

import h5py
import numpy as np

from . import reading
from .model_datasets import is_bare_dimension, is_scale
from .reading import CannotRead
from .zarr_arrays import MOST_INLINE, Storage, attributes_of, description, fill_of, inline, pieces_of, type_of
from .zarr_views import Parts, view_pieces

_LONGEST_SILENCE = 300  # seconds of processor time for one variable


@dataclass
class Array:
    """pieces: by place, (file, offset, bytes), or the bytes themselves. file: its path."""
    shape: tuple
    about: dict = field(default_factory=dict)   # .zarray
    attributes: dict = field(default_factory=dict)
    pieces: dict = field(default_factory=dict)

    def agrees(self, later):
        """Whether a later look at the file, which may have grown, found the same."""
        chunks = self.about["chunks"]
        grid = [-(-extent // each) for extent, each in zip(self.shape, chunks, strict=True)]
        there = {place: piece for place, piece in later.pieces.items() if all(at < most for at, most in zip(place, grid, strict=True))}
        return later.about["chunks"] == chunks and there == self.pieces


@dataclass
class References:
    groups: dict = field(default_factory=dict)     # {path: attributes}
    variables: dict = field(default_factory=dict)  # {path: Array}
    left_out: list = field(default_factory=list)   # sentences

    @property
    def count(self):
        return sum(len(array.pieces) for array in self.variables.values())

    def parts(self, head, named):
        """The text of the JSON, piece by piece. head: how it begins. named(path): what it calls a file."""
        yield head + '"version": 1, "refs": {'
        yield ",\n".join(f"{json.dumps(key)}: {json.dumps(json.dumps(value))}" for key, value in self._metadata())
        called = {}
        for path, array in self.variables.items():
            for place, piece in array.pieces.items():
                key = f"{path}/{'.'.join(map(str, place)) or '0'}"
                if isinstance(piece, bytes):
                    yield f",\n{json.dumps(key)}: {json.dumps(inline(piece))}"
                    continue
                file, offset, size = piece
                if file not in called:
                    called[file] = json.dumps(named(file))
                yield f",\n{json.dumps(key)}: [{called[file]}, {offset}, {size}]"
        yield "}}\n"

    def _metadata(self):
        """(key, value). Each group has what is in it as consolidated metadata too, with which readers look no further."""
        own = {}
        for path, attributes in self.groups.items():
            own[_in(path, ".zgroup")], own[_in(path, ".zattrs")] = {"zarr_format": 2}, attributes
        for path, array in self.variables.items():
            own[_in(path, ".zarray")], own[_in(path, ".zattrs")] = array.about, array.attributes
        yield from own.items()
        for path in self.groups:
            start = path + "/" if path else ""
            # zarr-python 3 wants what is in one group side by side, among all that is as deep.
            keys = sorted((key for key in own if key.startswith(start)), key=lambda key: (key.count("/"), key))
            inside = {key[len(start):]: own[key] for key in keys}
            yield _in(path, ".zmetadata"), {"zarr_consolidated_format": 1, "metadata": inside}


def _in(path, name):
    return f"{path}/{name}" if path else name


def agree(earlier, later):
    """Of two looks at a file that grows: what the earlier one shows is there to stay."""
    return (earlier.left_out == later.left_out and earlier.variables.keys() <= later.variables.keys()
            and all(array.agrees(later.variables[path]) for path, array in earlier.variables.items()))


def references_of(file, path):
    """References of an open file."""
    found, parts = References(), Parts(os.path.dirname(path))
    try:
        _look(file, "", found, path, parts, ())
    finally:
        parts.close()
    found.left_out.sort()
    return found


def _look(group, inside, found, path, parts, around):
    """around: addresses of the groups that this one is in: a link to one of them would lead round for ever."""
    around = (*around, h5py.h5o.get_info(group.id).addr)
    found.groups[inside] = attributes_of(group)
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink) or (not inside and name == "VTKHDF"):
            continue
        thing = group[name]
        if isinstance(thing, h5py.Group):
            if h5py.h5o.get_info(thing.id).addr not in around:
                _look(thing, _in(inside, name), found, path, parts, around)
        elif isinstance(thing, h5py.Dataset) and not is_bare_dimension(thing):
            reading.expect_life(_LONGEST_SILENCE)
            try:
                found.variables[_in(inside, name)] = _array(thing, path, parts)
            except CannotRead as why:
                found.left_out.append(f'the variable "{_in(inside, name)}": {why}')


def _array(dataset, path, parts):
    dtype = type_of(dataset)
    shape, dimensions = _shape(dataset)
    fill, unwritten = fill_of(dataset, dtype)
    try:
        filters, chunks, pieces = [], shape, {}
        if dataset.is_virtual:
            chunks, filters, found = view_pieces(dataset, parts, dtype)
            pieces = {place: (parts.path_of(name), *where) for place, (name, *where) in found.items()}
        elif dataset.id.get_create_plist().get_layout() != h5py.h5d.COMPACT:
            storage = Storage(dataset)
            filters = storage.filters
            chunks, found = pieces_of(storage, shape)
            pieces = {place: (path, *where) for place, where in found.items()}
            _expect_same_fill(dataset, shape, chunks, pieces, unwritten)
        elif math.prod(shape):
            pieces = _all_inline(dataset, shape, CannotRead("its values are in its head"))
    except CannotRead as why:
        filters, chunks, pieces = [], shape, _all_inline(dataset, shape, why)
    return Array(shape, description(dtype, shape, chunks, fill, filters), attributes_of(dataset, dimensions), pieces)


def _shape(dataset):
    """Its extents, and names of its dimensions, as readers of netCDF see them: an array is as long as its dimension. In a file that grows
    this is as long as was committed."""
    shape, names = list(dataset.shape), []
    for d in range(dataset.ndim):
        scale = _scale(dataset, d)
        names.append(scale.name.split("/")[-1] if scale is not None else _nameless(dataset, d))
        if scale is not None and scale.ndim == 1:
            shape[d] = scale.shape[0]
    return tuple(shape), names


def _scale(dataset, d):
    if is_scale(dataset) and dataset.ndim == 1:
        return dataset
    try:
        scales = dataset.dims[d].values()
    except (RuntimeError, KeyError, OSError):
        return None
    return scales[0] if scales else None


def _nameless(dataset, d):
    """Of a dimension without a name, as of datasets that another program has added: by its extent, and once in a variable."""
    extent = dataset.shape[d]
    return "_".join(map(str, ["phony_dim", extent, *([number] if (number := dataset.shape[:d].count(extent)) else [])]))


def _expect_same_fill(dataset, shape, chunks, pieces, unwritten):
    """Where chunks are not there HDF5 has one value and Zarr another, if the file says so."""
    if np.asarray(dataset.fillvalue, type_of(dataset)).tobytes() == unwritten:
        return
    if len(pieces) < math.prod(-(-extent // each) for extent, each in zip(shape, chunks, strict=True)):
        raise CannotRead("its attribute _FillValue is not what HDF5 has where nothing was written")


def _all_inline(dataset, shape, why):
    """The values themselves, of what is small; else what was wrong is."""
    size = math.prod(shape) * type_of(dataset).itemsize
    if size > MOST_INLINE or shape != dataset.shape:
        raise why
    try:
        return {(0,) * len(shape): np.ascontiguousarray(dataset[()]).tobytes()} if size else {}
    except (OSError, RuntimeError, ValueError):
        raise why from None
