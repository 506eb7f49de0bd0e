# SPDX-License-Identifier: Apache-2.0
"""What ranks wrote of a variable without a global shape, in one iteration: blocks by rank, and patches by level of refinement."""
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..vtk.meshes import AMR
from .facts import NotThere, counted, spoken


class Blocks(Mapping):
    """{rank: array}; {(rank, block): array} where a rank wrote several blocks. In the order of rank and block.

    Arrays are NumPy's, each of its own memory, of the caller; dimensions as in the XML, slowest first, without ghosts. Both
    `blocks[rank]` and `blocks[rank, number]` give the one block of a rank; an unknown one is a KeyError that says which there are."""

    def __init__(self, name, number, blocks):
        """blocks: list of scripting.blocks.Block, in order."""
        self._what = f'"{name}" of iteration {number}'
        self._arrays = {(block.rank, block.block): block.data for block in blocks}
        self._is_one_each = len({block.rank for block in blocks}) == len(blocks)

    @property
    def ranks(self):
        """Those that wrote it, in order."""
        return sorted({rank for rank, _ in self._arrays})

    @property
    def owners(self):
        """[(rank, number of the block)]"""
        return list(self._arrays)

    def joined(self):
        """One array: blocks of differing length one after the other, along their first dimension; blocks of one shape that have none, as
        numbers, side by side. ValueError where their other dimensions differ."""
        arrays = list(self._arrays.values())
        if not arrays:
            raise ValueError(f"{self._what} has no blocks")
        try:
            return np.concatenate(arrays) if arrays[0].ndim else np.stack(arrays)
        except ValueError:
            shapes = sorted({array.shape for array in arrays})
            raise ValueError(f"{self._what}: blocks of the shapes {', '.join(map(str, shapes[:4]))} are not one array") from None

    def __array__(self, dtype=None, copy=None):
        """For NumPy's functions it is joined()."""
        return np.asarray(self.joined(), dtype)

    def __getitem__(self, key):
        found = [owner for owner in self._arrays if owner == key or owner[0] == key]
        if len(found) == 1:
            return self._arrays[found[0]]
        if found:
            raise NotThere(f"{self._what} has {counted(len(found), 'block')} of rank {key}: say which, as {list(found[0])} or "
                           f"{list(found[1])}")
        raise NotThere(f"{self._what} has no block of rank {key}; there are those of ranks {spoken(self.ranks)}")

    def __iter__(self):
        return (owner[0] for owner in self._arrays) if self._is_one_each else iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __repr__(self):
        shapes = {array.shape for array in self._arrays.values()}
        of = f"of shape {shapes.pop()}" if len(shapes) == 1 else "of differing shapes"
        return f"{self._what}: {counted(len(self), 'block')} {of if self._arrays else ''} of ranks {spoken(self.ranks)}"


@dataclass
class Box:
    """A patch of an amr mesh in one iteration. All tuples in the order of the array's dimensions, slowest first: (y, x) or (z, y, x).

    rank, number: who wrote it. level: 0 is the coarsest. lo: its first cell among those of its level; shape: its cells. low, high: corners
    of the space that it covers, spacing: size of a cell, in the unit of the mesh. data: its values, without ghosts, of the caller."""
    rank: int
    number: int
    level: int
    lo: tuple
    shape: tuple
    low: tuple
    high: tuple
    spacing: tuple
    data: np.ndarray = field(repr=False)


def levels_of(held, what):
    """[[Box]] by level. held: source's Held of a variable on an amr mesh."""
    mesh = held.variable.mesh
    if mesh is None or mesh.kind != AMR:
        raise ValueError(f"{what} is on no mesh with levels of refinement (type \"amr\"); its values: [\"{held.variable.name}\"]")
    found = {}
    for block in held.blocks(0):
        if block.level is not None:
            found.setdefault(block.level, []).append(_box(mesh, block))
    return [found.get(level, []) for level in range(max(found, default=-1) + 1)]


def _box(mesh, block):
    spacing = tuple(size / mesh.ratio ** block.level for size in reversed(mesh.spacing))
    low = tuple(origin + first * size for origin, first, size in zip(reversed(mesh.origin), block.position, spacing))
    high = tuple(begin + count * size for begin, count, size in zip(low, block.data.shape, spacing))
    return Box(block.rank, block.block, block.level, tuple(block.position), block.data.shape, low, high, spacing, block.data)
