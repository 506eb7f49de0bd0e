# SPDX-License-Identifier: Apache-2.0
"""Dask arrays over the blocks of all servers, by what each says of its blocks: one task for each server and variable, where the server's
blocks fill a box of the whole."""
import itertools

import dask.array as da
import numpy as np

from ..scripting.blocks import Array, Owner
from ..scripting.iteration import Iteration

_MOST_CELLS_OF_A_BOX = 64  # of the grid that all boxes cut the whole into


def said_of(iteration, names):
    """What a server says of its own blocks: {name: {"global", "blocks": [[rank, block, extent, position, level]]}}; of blocks without
    their ghosts. For JSON."""
    said = {}
    for name in names:
        blocks = [[b.rank, b.block, list(b.data.shape), None if b.position is None else list(b.position), b.level]
                  for b in iteration.blocks(name)]
        said[name] = {"global": list(iteration.global_extent(name)), "blocks": blocks}
    return said


class _Blocks:
    """Of one variable on one server, as it says. by_block: each of them is a chunk."""

    def __init__(self, server, told, by_block):
        self.server, self.by_block = server, by_block
        self.all = [Owner(rank, number, level, None if position is None else tuple(position)) for rank, number, _, position, level in
                    told["blocks"]]
        self.extents = [tuple(extent) for _, _, extent, _, _ in told["blocks"]]

    def boxes(self):
        """[(low, shape)]: one, if the blocks fill it; else one for each."""
        each = [(owner.low, extent) for owner, extent in zip(self.all, self.extents) if 0 not in extent]
        if len(each) < 2 or self.by_block:
            return each
        low = tuple(map(min, zip(*(low for low, _ in each))))
        high = tuple(map(max, zip(*(tuple(map(sum, zip(low, shape))) for low, shape in each))))
        shape = tuple(end - begin for end, begin in zip(high, low))
        whole = np.zeros(shape, bool) if np.prod(shape) == sum(np.prod(s) for _, s in each) and len(each) < 64 else None
        if whole is None:
            return each
        for at, size in each:
            whole[tuple(slice(first - begin, first - begin + n) for first, begin, n in zip(at, low, size))] = True
        return [(low, shape)] if whole.all() else each

    def in_rows(self):
        """[(which of them, extents)]: chunks in which one block comes after the other."""
        if self.by_block:
            return [([owner.rank, owner.number], [extent]) for owner, extent in zip(self.all, self.extents)]
        return [(None, self.extents)]


class RunIteration(Iteration):
    """One iteration of the whole run. own: that of this server. said: {server: said_of()}. submit([(server, name, part)], is_kept): the
    futures of such chunks; see node.py. home: client and addresses of the workers; as long as they are the same, what is kept is there.
    chunks: "node" or "block"."""

    def __init__(self, own, said, submit, home, chunks="node"):
        super().__init__(own.model, own.number, own.complete, own.parameters, own.time)
        self.events, self.home = own.events, home
        self._said, self._submit, self._by_block = said, submit, chunks == "block"
        self._kept = {}

    def names(self):
        there = set().union(*self._said.values())
        return [variable.name for variable in self.model.variables if variable.name in there]

    def blocks(self, name, include_ghosts=False):
        raise RuntimeError("blocks are where they were written: with scope=\"run\" there are arrays alone")

    def array(self, name):
        return self.arrays([name])[name]

    def arrays(self, names):
        self._assembled.update(self._made([name for name in names if name not in self._assembled], is_kept=False))
        return {name: self._assembled[name] for name in names}

    def kept(self, name):
        """The same, of chunks that are copies where they were written: they last as long as the array that this returns."""
        if name not in self._kept:
            self._kept.update(self._made([name], is_kept=True))
        return self._kept[name]

    def _made(self, names, is_kept):
        """{name: array}. The chunks of all of them are submitted together: a scheduler takes much longer for each by itself."""
        plans = {name: self._plan(name) for name in names}
        futures = iter(self._submit([(server, name, part) for name, (chunks, _) in plans.items() for server, part, _ in chunks], is_kept))
        made = {}
        for name, (chunks, assembled) in plans.items():
            dtype = self.model.by_name[name].dtype
            made[name] = assembled([da.from_delayed(next(futures), shape, dtype) for _, _, shape in chunks])
            if name in self.model.coordinate_variables:
                made[name].data = made[name].data.compute()  # xarray makes an index of it
        return made

    def _plan(self, name):
        """([(server, part, shape)], what makes the array of these chunks)."""
        variable = self.model.by_name[name]
        servers = [_Blocks(server, told[name], self._by_block) for server, told in sorted(self._said.items()) if name in told]
        servers = [each for each in servers if each.all]
        if variable.has_global:
            extent = next(told[name]["global"] for told in self._said.values() if name in told)
            return self._placed(variable, servers, extent)
        return self._appended(variable, servers) if variable.varies else self._stacked(variable, servers)

    def _placed(self, variable, servers, extent):
        boxes = [(each.server, low, shape) for each in servers for low, shape in each.boxes()]
        dims = tuple(d.name for d in variable.dimensions)
        return ([(server, {"kind": "box", "low": low, "shape": shape}, shape) for server, low, shape in boxes],
                lambda chunks: Array(dims, grid(boxes, chunks, tuple(extent), variable), {}))

    def _appended(self, variable, servers):
        flat = any(d.varying for d in variable.dimensions[1:])
        dims = ("block_element",) if flat else tuple(d.name for d in variable.dimensions)
        chunks, elements = [], []
        for each in servers:
            for of, extents in each.in_rows():
                shape = (sum(_elements(extents, flat)), *(() if flat else extents[0][1:]))
                chunks.append((each.server, {"kind": "rows", "flat": flat, "of": of}, shape))
            elements += [(owner.rank, owner.number, owner.level, count) for owner, count in zip(each.all, _elements(each.extents, flat))]
        counts = [count for *_, count in elements]
        said = {"rank": [rank for rank, *_ in elements]}
        if elements[0][2] is not None:
            said["level"] = [level for _, _, level, _ in elements]
        coords = {f"{dims[0]}_{what}": (dims[0], np.repeat(np.array(of_block, "i4"), counts)) for what, of_block in said.items()}
        return chunks, lambda made: Array(dims, da.concatenate(made), coords, elements=tuple(elements))

    def _stacked(self, variable, servers):
        dims = tuple(d.name for d in variable.dimensions)
        extents = [extent for each in servers for extent in each.extents]
        largest = tuple(map(max, zip(*extents)))
        part = {"kind": "side by side", "shape": largest, "fill": variable.fill}
        chunks = [(each.server, {**part, "of": of}, (len(some), *largest)) for each in servers for of, some in each.in_rows()]
        owners = [owner for each in servers for owner in each.all]
        has_levels = owners[0].level is not None
        if not has_levels:
            owners = [Owner(owner.rank, owner.number) for owner in owners]

        def assembled(made):
            whole = da.concatenate(made)
            if len(owners) == 1 and not has_levels:
                return Array(dims, whole[0], {})
            return Array(("block", *dims), whole, {}, owners)

        return chunks, assembled


def _elements(extents, flat):
    return [int(np.prod(extent)) if flat else extent[0] for extent in extents]


def grid(boxes, chunks, extent, variable):
    """One array of chunks that lie at boxes (server, low, shape); where boxes have the same cells the last one counts, and cells without
    any have the variable's fill."""
    if not extent:
        return chunks[-1]
    edges = [sorted({0, extent[d], *(low[d] for _, low, _ in boxes), *(low[d] + shape[d] for _, low, shape in boxes)})
             for d in range(len(extent))]
    shape = tuple(len(each) - 1 for each in edges)
    if np.prod(shape, dtype=np.int64) > _MOST_CELLS_OF_A_BOX * (len(boxes) + 1):
        raise ValueError(f'"{variable.name}": its {len(boxes)} blocks lie so that no grid of chunks has them; take scope="node", and '
                         "ctx.reduce for what is of the whole run")
    owner = np.full(shape, -1)
    for number, (_, low, size) in enumerate(boxes):
        owner[tuple(slice(edges[d].index(low[d]), edges[d].index(low[d] + size[d])) for d in range(len(extent)))] = number
    cells = np.empty(shape, object)
    for cell in itertools.product(*map(range, shape)):
        low = tuple(edges[d][c] for d, c in enumerate(cell))
        high = tuple(edges[d][c + 1] for d, c in enumerate(cell))
        cells[cell] = _cell(owner[cell], low, high, boxes, chunks, variable)
    return da.block(cells.tolist())


def _cell(number, low, high, boxes, chunks, variable):
    if number < 0:
        return da.full(tuple(end - begin for end, begin in zip(high, low)), variable.fill, variable.dtype)
    _, at, size = boxes[number]
    if at == low and tuple(map(sum, zip(at, size))) == high:
        return chunks[number]
    return chunks[number][tuple(slice(begin - first, end - first) for begin, end, first in zip(low, high, at))]


