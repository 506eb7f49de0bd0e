# SPDX-License-Identifier: Apache-2.0
"""One iteration as scripts see it: arrays, datasets, raw blocks."""
from dataclasses import dataclass

import numpy as np

from .blocks import Block, array_of, own_part, product_in, records_of
from .coordinates import beside
from .datasets import make_dataset


@dataclass
class Event:
    """One that happens in an iteration. rank: that has signalled it; None: all have, or somebody outside. times: in a row."""
    name: str
    rank: int = None
    times: int = 1


class Iteration:
    """The blocks of one iteration. Arrays made of several blocks are made once, for all scripts of a worker."""

    def __init__(self, model, number, complete, parameters, time=None):
        self.model, self.number, self.complete, self.parameters, self.time = model, number, complete, parameters, time
        self._assembled = {}
        self.events = []    # Event, in order
        self.products = {}  # {"<source>/<name>": Product}; none: what is made of it comes by itself, later

    def names(self):
        raise NotImplementedError

    def array(self, name):
        raise NotImplementedError

    def arrays(self, names):
        """{name: array(name)}"""
        return {name: self.array(name) for name in names}

    def blocks(self, name, include_ghosts=False):
        """Its blocks by rank and block, with or without the ghosts that their arrays have."""
        if name not in self.names():
            self.model.variable(name)
            raise LookupError(f'"{name}" is not in iteration {self.number}, or this function did not ask for it')
        blocks = self._all_blocks(name)
        if not include_ghosts:
            part = own_part(self.model.by_name[name])
            for block in blocks:
                block.data = block.data[part]
                block.ghosts = ((0, 0),) * block.data.ndim
        return blocks

    def parts(self, name):
        """Its blocks without ghosts, or one that is the whole of it where no more is known."""
        return self.blocks(name)

    def own_values(self, name):
        """Arrays that have each value of the variable once, without ghosts and without cells that nobody of here has."""
        return [block.data for block in self.blocks(name)]

    def no_values(self, name):
        """own_values() of a variable of which there is nothing here."""
        return [np.zeros(0, self.model.variable(name).dtype)]

    def _all_blocks(self, name):
        raise NotImplementedError

    def dataset(self, variables, kind, products=None):
        """Of these variables and vectors, or of all variables, of those that say where they lie, and of {name: Product}; kind: "xarray",
        "numpy" or None. Returns (ds, function that ends it)."""
        here = set(self.names())
        asked = self.names() if variables is None else [v.name for v in self.model.components(variables)]
        names = [name for name in asked if name in here]
        others = [name for name in beside(self.model, names) if name in here]
        vectors = {name: parts for name, parts in self.model.vectors.items() if name in (variables or ()) and here.issuperset(
            part.name for part in parts)}
        return make_dataset(self, self.arrays(names + others), kind, others, products, vectors)


class LiveIteration(Iteration):
    """Of a run in progress: blocks lie in shared memory. `data`: bytes of RECORDs, and of products. `memories`: SharedMemories."""

    def __init__(self, model, head, data, memories):
        parameters = {name: float(value) if model.parameters[name] == "double" else value for name, value in head["parameters"].items()}
        time = parameters.get(model.time.parameter) if model.time else None
        for number, place in head.get("places", {}).items():
            model.meshes[int(number)].place(place)
        super().__init__(model, head["iteration"], head["complete"], parameters, time)
        self._memories = memories
        self.take(head, data)

    def take(self, head, data):
        """The blocks and products that this order speaks of; another script's order may have had others."""
        names = list(self.model.events)
        self.events = [Event(names[event], rank if rank >= 0 else None, times) for event, rank, times in head["signals"]]
        start = head["data_of_products"]
        self._places = ["segment", "constants", *head["files"]]
        self._records = {}
        for record in records_of(data[:start]):
            self._records.setdefault(self.model.variables[record.variable].name, []).append(record)
        self.products = {told["name"]: product_in(told, data, start) for told in head["products"]}

    def names(self):
        return list(self._records)

    def array(self, name):
        if name in self._assembled:
            return self._assembled[name]
        variable = self.model.by_name[name]
        blocks = self._all_blocks(name)
        array = array_of(variable, blocks, self.global_extent(name))
        if array.data.flags.owndata:
            self._assembled[name] = array
        return array

    def global_extent(self, name):
        """Of the whole, where the variable has one."""
        return self._records[name][0].global_extent[:len(self.model.by_name[name].dimensions)]

    def _all_blocks(self, name):
        variable = self.model.by_name[name]
        dims = len(variable.dimensions)
        ghosts = tuple((d.low, d.high) for d in variable.dimensions)
        blocks = []
        for record in self._records[name]:
            extent = record.extent[:dims]
            level = record.level if record.level >= 0 else None
            position = record.position[:dims] if record.has_position or level is not None else None
            data = self._memories.of(self._places[record.memory]).view(name, record.offset, variable.dtype, extent)
            blocks.append(Block(record.rank, record.block, extent, position, ghosts, data, level))
        return blocks
