# SPDX-License-Identifier: Apache-2.0
"""Blocks as ranks wrote them, and how they become one array."""
import struct
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

# As server/workers/script_task.hpp describes it.
RECORD = np.dtype([(name, "<i8") for name in ("variable", "rank", "block", "has_position", "level", "memory", "offset", "bytes")]
                  + [(name, "<i8", 8) for name in ("extent", "position", "global_extent")])

_NUMBERS = struct.Struct(f"={RECORD.itemsize // 8}q")
Record = namedtuple("Record", RECORD.names)  # plain numbers, which are read many times faster than NumPy's


def records_of(data):
    """The Records that `data`, the bytes of RECORDs, holds."""
    return [Record(*n[:8], n[8:16], n[16:24], n[24:]) for n in _NUMBERS.iter_unpack(data)]


@dataclass
class Block:
    """One block. data: its array. position: index of its first own cell in the global array, or None. level: of its amr mesh,
    and then the position is among the cells of that level; or None. ghosts: layers (low, high) per dimension that `data`
    includes; all 0 where they were left out."""
    rank: int
    block: int
    extent: tuple
    position: tuple
    ghosts: tuple
    data: np.ndarray
    level: int = None


Owner = namedtuple("Owner", ("rank", "number", "level", "low"), defaults=(None, None))


@dataclass
class Array:
    """What a variable is in one iteration: dims, data, and coordinates {name: (dim, values)}, called after the dimension. owners:
    whose the blocks are that the first dimension has, a list of Owner, or None where it has none; level and low (first cell in
    it): of patches of an amr mesh. elements: where the first dimension has those of all blocks, whose they are; arrays of the
    same elements share it."""
    dims: tuple
    data: np.ndarray
    coords: dict
    owners: list = None
    elements: tuple = None


@dataclass
class Product:
    """What a plugin or another script has made of an iteration."""
    dims: tuple
    data: np.ndarray
    units: str


def product_in(told, data, start):
    """The Product that an order tells of; its values are in the bytes `data`, behind `start`."""
    values = np.frombuffer(data, told["type"], int(np.prod(told["extents"], dtype=np.int64)), start + told["offset"])
    values = values.reshape(told["extents"])
    values.setflags(write=False)
    return Product(tuple(told["dimensions"]), values, told["unit"])


def own_part(variable):
    """Index of a block's cells without ghosts."""
    return tuple(slice(d.low, -d.high if d.high else None) for d in variable.dimensions)


def array_of(variable, blocks, global_extent):
    """One array of all blocks (with their ghosts), which are ordered by rank and block; in the array those of an amr mesh are
    ordered by level first, as in files. A single block that is all there is comes as a view, without a copy. global_extent:
    of the whole, where the variable has one."""
    if variable.has_global:
        return _placed(variable, blocks, global_extent)
    if _has_levels(blocks):
        blocks = sorted(blocks, key=lambda block: block.level)
    if variable.varies:
        return _appended(variable, blocks)
    return _stacked(variable, blocks)


def _has_levels(blocks):
    return bool(blocks) and all(block.level is not None for block in blocks)


def _placed(variable, blocks, global_extent):
    dims = tuple(d.name for d in variable.dimensions)
    parts = [(block, block.data[own_part(variable)]) for block in blocks]
    if len(parts) == 1 and parts[0][1].shape == tuple(global_extent):
        return Array(dims, parts[0][1], {})
    covered = sum(part.size for _, part in parts)
    whole = np.empty(global_extent, variable.dtype)
    if covered < whole.size:
        whole[...] = variable.fill
    for block, part in parts:
        whole[tuple(slice(p, p + n) for p, n in zip(block.position, part.shape))] = part
    whole.setflags(write=False)
    return Array(dims, whole, {})


def _appended(variable, blocks):
    flat = any(d.varying for d in variable.dimensions[1:])
    dims = ("block_element",) if flat else tuple(d.name for d in variable.dimensions)
    own = [block.data[own_part(variable)] for block in blocks]
    parts = [part.reshape(-1) for part in own] if flat else own
    data = parts[0]
    if len(parts) > 1:
        data = np.concatenate(parts)
        data.setflags(write=False)
    counts = [len(part) for part in parts]
    said = {"rank": [b.rank for b in blocks], **({"level": [b.level for b in blocks]} if _has_levels(blocks) else {})}
    coords = {f"{dims[0]}_{name}": (dims[0], np.repeat(np.array(of_block, "i4"), counts)) for name, of_block in said.items()}
    return Array(dims, data, coords, elements=tuple((b.rank, b.block, b.level, n) for b, n in zip(blocks, counts)))


def _side_by_side(parts, fill):
    """Smaller ones fill a part of their place, as in files."""
    largest = tuple(map(max, zip(*(part.shape for part in parts))))
    if all(part.shape == largest for part in parts):
        return np.stack(parts)
    data = np.full((len(parts), *largest), fill, parts[0].dtype)
    for place, part in zip(data, parts):
        place[tuple(map(slice, part.shape))] = part
    return data


def _stacked(variable, blocks):
    dims = tuple(d.name for d in variable.dimensions)
    has_levels = _has_levels(blocks)  # then one block is one of many, too
    if len(blocks) == 1 and not has_levels:
        return Array(dims, blocks[0].data[own_part(variable)], {})
    data = _side_by_side([block.data[own_part(variable)] for block in blocks], variable.fill)
    data.setflags(write=False)
    owners = [Owner(b.rank, b.block, *((b.level, tuple(b.position)) if has_levels else ())) for b in blocks]
    return Array(("block", *dims), data, {}, owners)
