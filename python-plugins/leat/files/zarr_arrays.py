# SPDX-License-Identifier: Apache-2.0
"""Datasets as arrays of Zarr: what describes them, and which bytes of the file each chunk is. Sources: "Zarr storage specification version
2"; "Reference Spec" of kerchunk and fsspec, version 1; xarray's "Zarr Encoding Specification" for the names of dimensions."""
import base64
import itertools
import math

import h5py
import numpy as np

from .reading import CannotRead

MOST_PIECES = 1_000_000        # of one variable: each takes some 100 bytes of the references, and as much again of a reader's memory
MOST_INLINE = 64 << 10         # bytes that are put into the references where no range of the file has them
_MOST_CONTIGUOUS = 8 << 20     # of a dataset that lies in one piece, so much is a chunk, where its extents allow it
# What HDF5 and netCDF-4 keep for themselves; readers of netCDF do not show them.
_HIDDEN = {"CLASS", "DIMENSION_LABELS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST", "_FillValue", "_NCProperties", "_Netcdf4Coordinates",
           "_Netcdf4Dimid", "_nc3_strict"}
_BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
# By numbers of HDF5's filters: what decodes the same bytes in numcodecs. values: cd_values.
_CODECS = {
    h5py.h5z.FILTER_DEFLATE: lambda values, size: {"id": "zlib", "level": values[0]},
    h5py.h5z.FILTER_SHUFFLE: lambda values, size: {"id": "shuffle", "elementsize": values[0] if values else size},
    h5py.h5z.FILTER_FLETCHER32: lambda values, size: {"id": "fletcher32"},
    307: lambda values, size: {"id": "bz2", "level": values[0] if values else 9},
    32001: lambda values, size: {"id": "blosc", "cname": _BLOSC[values[6]] if len(values) > 6 else "blosclz", "clevel": 5, "shuffle": 1,
                                 "blocksize": 0},
    32015: lambda values, size: {"id": "zstd", "level": values[0] if values else 3},
}


def attributes_of(thing, dimensions=None):
    """For .zattrs. Numbers of JSON have no size; their values are the same."""
    said = {name: value for name in thing.attrs if name not in _HIDDEN and (value := _plain(thing, name)) is not None}
    return said if dimensions is None else {**said, "_ARRAY_DIMENSIONS": dimensions}


def _plain(thing, name):
    """None where JSON cannot say it."""
    try:
        value = thing.attrs[name]
    except (OSError, TypeError, ValueError, KeyError):
        return None
    if isinstance(value, h5py.Empty):
        return ""
    values = np.asarray(value)
    if values.dtype.kind in "SO":
        texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values.ravel().tolist()]
        if not all(isinstance(text, str) for text in texts):
            return None
        return texts[0] if values.size == 1 else texts
    if values.dtype.kind not in "biuf":
        return None
    return values.ravel()[0].item() if values.size == 1 else values.tolist()


def type_of(dataset):
    """The dtype of its values in Zarr; CannotRead where it has none."""
    dtype = dataset.dtype
    enum = h5py.check_enum_dtype(dtype)
    if enum is not None:
        dtype = np.dtype(dtype.str)
    if dataset.shape is None:
        raise CannotRead("it is empty")
    if dtype.kind not in "biufcS" or dtype.itemsize == 0:
        raise CannotRead("Zarr has no numbers of its type" if dtype.kind != "O" else "its texts or lists are of any length")
    return dtype


def filters_of(dataset):
    """As configurations of numcodecs; CannotRead with the name of one that is not known there."""
    plan, found = dataset.id.get_create_plist(), []
    for i in range(plan.get_nfilters()):
        code, _, values, name = plan.get_filter(i)
        if code not in _CODECS:
            called = name.decode("utf-8", "replace").split(";")[0] or f"number {code}"
            raise CannotRead(f"it is compressed by the filter {called}, which readers of Zarr do not have")
        found.append(_CODECS[code](list(values), dataset.dtype.itemsize))
    return found


def fill_of(dataset, dtype):
    """(for .zarray, the bytes of one value that nobody has written as readers of Zarr show it)."""
    if "_FillValue" not in dataset.attrs:
        return None, np.zeros((), dtype).tobytes()
    value = np.asarray(dataset.attrs["_FillValue"]).ravel()[:1].astype(dtype)
    if not value.size:
        return None, np.zeros((), dtype).tobytes()
    value = value[0]
    if dtype.kind == "S":
        return base64.b64encode(value.ljust(dtype.itemsize, b"\0")).decode(), value.ljust(dtype.itemsize, b"\0")
    said = [_number(value.real), _number(value.imag)] if dtype.kind == "c" else _number(value)
    return said, value.tobytes()


def _number(value):
    if value.dtype.kind != "f" or np.isfinite(value):
        return value.item()
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def description(dtype, shape, chunks, fill, filters):
    """.zarray."""
    return {"zarr_format": 2, "shape": list(shape), "chunks": list(chunks), "dtype": dtype.str, "order": "C", "fill_value": fill,
            "filters": filters or None, "compressor": None}


def inline(data):
    return "base64:" + base64.b64encode(data).decode()


class Storage:
    """Where values of a dataset that is no virtual one lie in its file: pieces of one shape, each one range of bytes."""

    def __init__(self, dataset):
        self.dataset, self.shape, self.itemsize = dataset, dataset.shape, dataset.dtype.itemsize
        self.plan = dataset.id.get_create_plist()
        self.kind = self.plan.get_layout()
        if self.kind == h5py.h5d.COMPACT or self.plan.get_external_count() or self.kind == h5py.h5d.VIRTUAL:
            raise CannotRead("its values are not in ranges of bytes")
        self.is_chunked = self.kind == h5py.h5d.CHUNKED
        self.piece = dataset.chunks if self.is_chunked else self.shape
        self.filters = filters_of(dataset)
        self._found, self._has_all = {}, False

    @property
    def piece_bytes(self):
        return math.prod(self.piece) * self.itemsize

    def grid(self, shape):
        """How many pieces such a shape has along each dimension."""
        return tuple(-(-extent // each) for extent, each in zip(shape, self.piece, strict=True))

    def range_of(self, place):
        """(offset, bytes) of the piece at this place among the pieces; None where nothing was written."""
        if place not in self._found and not self._has_all:
            self._found[place] = self._look_up(place)
        return self._found.get(place)

    def look_up_all(self):
        """At once, where HDF5 can do that."""
        if self.is_chunked and hasattr(self.dataset.id, "chunk_iter"):  # HDF5 1.14, h5py 3.8
            self.dataset.id.chunk_iter(self._note)
            self._has_all = True

    def _note(self, found):
        place = tuple(at // each for at, each in zip(found.chunk_offset, self.piece, strict=True))
        self._found[place] = self._checked(found)

    def _look_up(self, place):
        if not self.is_chunked:
            offset = self.dataset.id.get_offset()
            return None if offset is None else (offset, self.piece_bytes)
        start = tuple(at * each for at, each in zip(place, self.piece, strict=True))
        if any(at >= extent for at, extent in zip(start, self.shape, strict=True)):
            return None
        return self._checked(self.dataset.id.get_chunk_info_by_coord(start))

    def _checked(self, found):
        if found.byte_offset is None or found.size == 0:
            return None
        if found.filter_mask:
            raise CannotRead("some of its chunks are without one of its filters")
        if not self.filters and found.size != self.piece_bytes:
            raise CannotRead("one of its chunks has another size than the others")
        return found.byte_offset, found.size


def pieces_of(storage, shape):
    """(chunks, {place: (offset, bytes)}) of an array of this shape, which is cut at, or goes beyond, that of the dataset."""
    if 0 in shape:
        return tuple(max(each, 1) for each in (storage.piece if storage.is_chunked else shape)), {}
    if not storage.is_chunked:
        return _of_one_piece(storage, shape)
    grid = storage.grid(tuple(min(sizes) for sizes in zip(shape, storage.shape, strict=True)))
    if math.prod(grid) > MOST_PIECES:
        raise CannotRead(f"it has {math.prod(grid)} chunks, and {MOST_PIECES} are the most")
    storage.look_up_all()
    ranges = ((place, storage.range_of(place)) for place in itertools.product(*map(range, grid)))
    return storage.piece, {place: found for place, found in ranges if found}


def _of_one_piece(storage, shape):
    """Cut into some where its extents can be divided, so that who wants a part need not read all."""
    if shape != storage.shape:
        raise CannotRead("its extents are not those of its dimensions")
    found = storage.range_of((0,) * len(shape))
    chunks = divided(shape, storage.itemsize)
    if not found:
        return chunks, {}
    places = itertools.product(*(range(extent // each) for extent, each in zip(shape, chunks, strict=True)))
    size = math.prod(chunks) * storage.itemsize
    return chunks, {place: (found[0] + i * size, size) for i, place in enumerate(places)}


def divided(shape, itemsize):
    """Chunks of it that lie in one piece each and are all of the same size."""
    chunks = list(shape)
    for d, extent in enumerate(shape):
        each = math.prod(chunks[d + 1:]) * itemsize
        if extent * each <= _MOST_CONTIGUOUS:
            break
        most = max(_MOST_CONTIGUOUS // each, 1)
        chunks[d] = next(n for n in range(min(most, extent), 0, -1) if extent % n == 0)
        if chunks[d] > 1:
            break
    return tuple(chunks)
