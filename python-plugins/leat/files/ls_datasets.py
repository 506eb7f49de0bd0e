# SPDX-License-Identifier: Apache-2.0
"""What can be said of one dataset, whoever made it. By the calls of HDF5 themselves: a file may have many thousand datasets."""
import math

import h5py
import numpy as np
from h5py import h5a, h5d, h5ds, h5o, h5r, h5t, h5z

# Numbers of filters: HDF5 Registered Filter Plugins (The HDF Group). The name, and whether the first value is a level.
_FILTERS = {h5z.FILTER_DEFLATE: ("deflate", True), h5z.FILTER_SHUFFLE: ("shuffle", False), h5z.FILTER_FLETCHER32: ("fletcher32", False),
            h5z.FILTER_SZIP: ("szip", False), 5: ("nbit", False), 6: ("scaleoffset", False), 307: ("bzip2", True),
            32000: ("lzf", False), 32004: ("lz4", False), 32008: ("bitshuffle", False), 32013: ("zfp", False), 32015: ("zstd", True),
            32017: ("sz", False), 32024: ("sz3", False), 32026: ("blosc2", False)}
_BLOSC, _BLOSC_COMPRESSORS = 32001, ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_KINDS = {h5t.ENUM: "enum", h5t.ARRAY: "array", h5t.VLEN: "vlen", h5t.REFERENCE: "reference"}
_NO_INTEGER = np.iinfo("i8").min


def decoded(data):
    """Of a fixed length, up to the first zero byte."""
    return bytes(data).split(b"\0")[0].decode("utf-8", "surrogateescape")


def says(thing, attribute):
    return h5a.exists(thing, attribute)


def text_of(thing, attribute):
    """"" where there is none, or it is no text."""
    if not h5a.exists(thing, attribute):
        return ""
    try:
        value = _value_of(thing, attribute)
    except (OSError, RuntimeError, TypeError, ValueError, MemoryError):
        return ""
    return decoded(value) if isinstance(value, bytes) else value if isinstance(value, str) else ""


def number_of(thing, attribute, otherwise=0):
    if not h5a.exists(thing, attribute):
        return otherwise
    value = np.asarray(_value_of(thing, attribute))
    return int(value.ravel()[0]) if value.size == 1 and value.dtype.kind in "iu" else otherwise


def _value_of(thing, name):
    attribute = h5a.open(thing, name)
    value = np.empty(attribute.shape, attribute.dtype)
    attribute.read(value)
    return value[()]


def opened(file, name):
    return h5d.open(file, name.encode("utf-8", "surrogateescape"))


def integers_in(dataset, most=None):
    values = h5py.Dataset(dataset)
    return values[:most].astype("i8") if len(dataset.shape) == 1 else np.zeros(0, "i8")


def type_name(kind):
    """Of an HDF5 type."""
    of, bits = kind.get_class(), 8 * kind.get_size()
    if of == h5t.INTEGER:
        return f"{'uint' if kind.get_sign() == h5t.SGN_NONE else 'int'}{bits}"
    if of == h5t.FLOAT:
        return f"float{bits}"
    if of == h5t.COMPOUND:
        return f"complex{bits}" if _is_complex(kind) else "compound"
    if of == h5t.STRING:
        return "char" if bits == 8 and not kind.is_variable_str() else "text"
    return _KINDS.get(of, "opaque")


def _is_complex(kind):
    members = range(kind.get_nmembers())
    return [kind.get_member_name(i) for i in members] == [b"r", b"i"] and all(kind.get_member_class(i) == h5t.FLOAT for i in members)


def is_list_of_texts(dataset):
    return len(dataset.shape) == 2 and type_name(dataset.get_type()) == "char"


def value_in(dataset, row):
    """Of a list of numbers or texts: a number, a text, or None."""
    shape, kind = dataset.shape, dataset.get_type()
    is_text = is_list_of_texts(dataset)
    if not shape or row >= shape[0] or (len(shape) != 1 and not is_text):
        return None
    if kind.get_class() == h5t.STRING and not kind.is_variable_str():
        try:
            return decoded(np.asarray(h5py.Dataset(dataset)[row]).tobytes())
        except (OSError, ValueError):
            return None
    if kind.get_class() not in (h5t.INTEGER, h5t.FLOAT):
        return None
    try:
        value = h5py.Dataset(dataset)[row].item()
    except (OSError, ValueError):
        return None
    return None if value == _NO_INTEGER or not math.isfinite(value) else value


def facts_of_dataset(file, name, names):
    """As docs/reference/leat-ls.md has them. names: {address: name} of the datasets of the file; to ask HDF5 for the name of one that
    was found by a reference takes it a search of the whole file."""
    dataset = opened(file, name)
    shape, kind, creation = dataset.shape, dataset.get_type(), dataset.get_create_plist()
    layout = creation.get_layout()
    is_view = layout == h5d.VIRTUAL
    return {"name": name, "type": type_name(kind), "shape": list(shape), "dimensions": _dimensions(file, dataset, len(shape), names),
            "unit": text_of(dataset, b"units"), "description": text_of(dataset, b"long_name"),
            "bytes": math.prod(shape) * kind.get_size(), "stored_bytes": 0 if is_view else dataset.get_storage_size(),
            "chunk": list(creation.get_chunk()) if layout == h5d.CHUNKED else None,
            "filters": [_filter_name(*creation.get_filter(i)) for i in range(creation.get_nfilters())],
            "parts": _parts(creation) if is_view else []}


def _parts(creation):
    """Files that a view takes the data from."""
    found = {creation.get_virtual_filename(i) for i in range(creation.get_virtual_count())}
    return sorted(name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name for name in found)


def _filter_name(number, _, values, name):
    if number == _BLOSC:  # source: blosc_filter.c of hdf5-blosc, "cd_values"
        known = len(values) >= 7 and values[6] < len(_BLOSC_COMPRESSORS)
        return f"blosc:{_BLOSC_COMPRESSORS[values[6]]}:{values[4]}" if known else "blosc"
    if number not in _FILTERS:
        return decoded(name) or f"filter {number}"
    name, has_level = _FILTERS[number]
    return f"{name}:{_signed(values[0])}" if has_level and values else name


def _signed(value):
    return value - (1 << 32) if value >= 1 << 31 else value


def _dimensions(file, dataset, dims, names):
    titles = _scales(file, dataset, dims, names)
    if says(dataset, b"DIMENSION_LABELS"):
        for d in range(dims):
            titles[d] = decoded(h5ds.get_label(dataset, d)) or titles[d]
    return titles


def _scales(file, dataset, dims, names):
    """The first scale of each dimension. Source: HDF5 Dimension Scale Specification: the attribute has a list of object references for
    each dimension."""
    titles = [""] * dims
    if not says(dataset, b"DIMENSION_LIST"):
        return titles
    lists = np.asarray(_value_of(dataset, b"DIMENSION_LIST"))
    if lists.shape != (dims,) or lists.dtype.kind != "O":
        return titles
    for d, references in enumerate(lists):
        if len(references) and isinstance(references[0], h5r.Reference):
            titles[d] = names.get(h5o.get_info(h5r.dereference(references[0], file)).addr, "")
    return titles
