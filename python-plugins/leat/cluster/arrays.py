# SPDX-License-Identifier: Apache-2.0
"""Dask arrays over the blocks of all servers, by what each says of its blocks: one task for each server and variable, where the server's
blocks fill a box of the whole."""
import itertools
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

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


class Wanted:
    """Chunks that are submitted together, and not before somebody asks for the first of them: a scheduler takes much longer for each by
    itself. submit({key: (server, name, part)}): their futures, by key."""

    def __init__(self, submit):
        self._submit, self._tasks, self._futures, self._lock = submit, {}, None, threading.Lock()

    def add(self, tasks):
        self._tasks.update(tasks)

    def futures(self):
        with self._lock:
            if self._futures is None:
                self._futures = self._submit(self._tasks)
                self._submit = self._tasks = None  # which hold the iteration
        return self._futures


class _Layer(Mapping):
    """The chunks of an array in its graph: {key: future}."""

    def __init__(self, keys, wanted):
        self._keys, self._wanted = dict.fromkeys(keys), wanted

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return self._wanted.futures()[key]

    def __contains__(self, key):
        return key in self._keys

    def __iter__(self):
        return iter(self._keys)

    def __len__(self):
        return len(self._keys)

    def __reduce__(self):
        return dict, (dict(self),)


@dataclass
class _Plan:
    """How the array of a variable is made. chunks: [(server, part, shape)]. sizes: of the chunks along each dimension, where they are the
    cells of a grid; order: {index in that: number of the chunk}. whole(array), or whole([array of each chunk]) without a grid: an Array."""
    chunks: list
    whole: object
    sizes: tuple = None
    order: dict = None

    def array(self, name, variable, wanted):
        """name: of the array; what is not a grid has one for each chunk."""
        if self.order is not None:
            return self.whole(self._lazy(name, variable, self.sizes, self.order, wanted))
        return self.whole([self._lazy(f"{name}-{number}", variable, tuple((n,) for n in shape), {(0,) * len(shape): number}, wanted)
                           for number, (_, _, shape) in enumerate(self.chunks)])

    def _lazy(self, name, variable, sizes, order, wanted):
        tasks = {}
        for index, number in order.items():
            server, part, _ = self.chunks[number]
            tasks[(name, *index)] = server, variable.name, part
        wanted.add(tasks)
        graph = HighLevelGraph({name: MaterializedLayer(_Layer(tasks, wanted))}, {name: set()})
        return da.Array(graph, name, sizes, meta=np.empty((0,) * len(sizes), variable.dtype))


class RunIteration(Iteration):
    """One iteration of the whole run. own: that of this server. said: {server: said_of()}. submit(tasks, is_kept): see Wanted; tasks are of
    node.py. home: client and addresses of the workers; as long as they are the same, what is kept is there. prefix: of the names of
    arrays. plans: {} that is kept from iteration to iteration. chunks: "node" or "block"."""

    def __init__(self, own, said, submit, home, prefix, plans, chunks="node"):
        super().__init__(own.model, own.number, own.complete, own.parameters, own.time)
        self.events, self.home = own.events, home
        self._said, self._submit, self._by_block, self._prefix, self._plans = said, submit, chunks == "block", prefix, plans
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
        """{name: array}. Chunks of arrays that are kept are made while there is something to make them of."""
        wanted, made = Wanted(lambda tasks: self._submit(tasks, is_kept)), {}
        for name in names:
            made[name] = self._plan(name).array(f"{self._prefix(is_kept)}{name}-{uuid.uuid4().hex}", self.model.by_name[name], wanted)
        if is_kept:
            wanted.futures()
        for name in self.model.coordinate_variables.intersection(names):
            made[name].data = made[name].data.compute()  # xarray makes an index of it
        return made

    def _plan(self, name):
        """As before, as long as servers say the same of their blocks."""
        told = {server: each[name] for server, each in sorted(self._said.items()) if name in each}
        key = (name, self._by_block)
        if key not in self._plans or self._plans[key][0] != told:
            self._plans[key] = told, self._new_plan(self.model.by_name[name], told)
        return self._plans[key][1]

    def _new_plan(self, variable, told):
        servers = [_Blocks(server, each, self._by_block) for server, each in told.items()]
        servers = [each for each in servers if each.all]
        if variable.has_global:
            return _placed(variable, servers, tuple(next(iter(told.values()))["global"]))
        return _appended(variable, servers) if variable.varies else _stacked(variable, servers)


def _placed(variable, servers, extent):
    boxes = [(each.server, low, shape) for each in servers for low, shape in each.boxes()]
    dims = tuple(d.name for d in variable.dimensions)
    chunks = [(server, {"kind": "box", "low": low, "shape": shape}, shape) for server, low, shape in boxes]
    if (tiles := _tiles(boxes, extent)) is not None:
        return _Plan(chunks, lambda whole: Array(dims, whole, {}), *tiles)
    return _Plan(chunks, lambda arrays: Array(dims, grid(boxes, arrays, extent, variable), {}))


def _appended(variable, servers):
    flat = any(d.varying for d in variable.dimensions[1:])
    dims = ("block_element",) if flat else tuple(d.name for d in variable.dimensions)
    chunks, elements = [], []
    for each in servers:
        for of, extents in each.in_rows():
            shape = (sum(_elements(extents, flat)), *(() if flat else extents[0][1:]))
            chunks.append((each.server, {"kind": "rows", "flat": flat, "of": of}, shape))
        elements += [(owner.rank, owner.number, owner.level, count) for owner, count in zip(each.all, _elements(each.extents, flat))]
    elements = tuple(elements)

    def whole(array):
        counts = [count for *_, count in elements]
        said = {"rank": [rank for rank, *_ in elements]}
        if elements[0][2] is not None:
            said["level"] = [level for _, _, level, _ in elements]
        coords = {f"{dims[0]}_{what}": (dims[0], np.repeat(np.array(of_block, "i4"), counts)) for what, of_block in said.items()}
        return Array(dims, array, coords, elements=elements)

    return _in_a_row(chunks, whole)


def _stacked(variable, servers):
    dims = tuple(d.name for d in variable.dimensions)
    extents = [extent for each in servers for extent in each.extents]
    largest = tuple(map(max, zip(*extents)))
    part = {"kind": "side by side", "shape": largest, "fill": variable.fill}
    chunks = [(each.server, {**part, "of": of}, (len(some), *largest)) for each in servers for of, some in each.in_rows()]
    owners = [owner for each in servers for owner in each.all]
    has_levels = owners[0].level is not None
    if not has_levels:
        owners = [Owner(owner.rank, owner.number) for owner in owners]

    def whole(array):
        if len(owners) == 1 and not has_levels:
            return Array(dims, array[0], {})
        return Array(("block", *dims), array, {}, list(owners))

    return _in_a_row(chunks, whole)


def _in_a_row(chunks, whole):
    """One after the other along the first dimension."""
    shapes = [shape for _, _, shape in chunks]
    if any(0 in shape for shape in shapes):  # no chunk is without elements: NumPy has no largest of none
        return _Plan(chunks, lambda arrays: whole(da.concatenate(arrays)))
    rest = shapes[0][1:]
    order = {(number, *(0,) * len(rest)): number for number in range(len(chunks))}
    return _Plan(chunks, whole, (tuple(shape[0] for shape in shapes), *((n,) for n in rest)), order)


def _elements(extents, flat):
    return [int(np.prod(extent)) if flat else extent[0] for extent in extents]


def _edges(boxes, extent):
    return [sorted({0, extent[d], *(low[d] for _, low, _ in boxes), *(low[d] + shape[d] for _, low, shape in boxes)})
            for d in range(len(extent))]


def _tiles(boxes, extent):
    """(sizes along each dimension, {index: number of the box}), where each box is a cell of the grid that their edges make; else None."""
    edges = _edges(boxes, extent)
    if not extent or np.prod([len(each) - 1 for each in edges], dtype=np.int64) != len(boxes):
        return None
    places = [{edge: place for place, edge in enumerate(each)} for each in edges]
    order = {}
    for number, (_, low, size) in enumerate(boxes):
        index = tuple(place[first] for place, first in zip(places, low))
        if index != tuple(place[first + n] - 1 for place, first, n in zip(places, low, size)):
            return None
        order[index] = number
    return (tuple(map(_lengths, edges)), order) if len(order) == len(boxes) else None


def _lengths(edges):
    return tuple(end - begin for begin, end in itertools.pairwise(edges))


def grid(boxes, chunks, extent, variable):
    """One array of chunks that lie at boxes (server, low, shape); where boxes have the same cells the last one counts, and cells without
    any have the variable's fill."""
    if not extent:
        return chunks[-1]
    edges = _edges(boxes, extent)
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
