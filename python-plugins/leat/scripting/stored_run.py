# SPDX-License-Identifier: Apache-2.0
"""A run that the hdf5 store has written, as scripts saw it; docs/design/plugin-abi.md says what such a file has."""
import json

import numpy as np

from ..files.opening import datasets_in, parts_of, run_file
from ..files.reading import CannotRead, text_of
from ..files.tables import BlockTable, iterations_of, periods_of, starts_of, table_of, times_of
from .blocks import Array, Block, Product, array_of
from .declare import node_of
from .iteration import Iteration
from .model import Model

_KINDS = {"i": "int", "f": "double", "S": "string"}


class StoredRun:
    """A file of the hdf5 store, read-only; it may still be growing: what was whole when it was opened counts.

    model: Model. iterations: numbers of those that are stored, in the order of the file. complete: flags of these. parts: of a view, paths
    of the files that it shows. protects: arrays that are read cannot be written to.
    """

    def __init__(self, path, with_errors=False, protects=True):
        """with_errors: also the variables in which the store says how far others are from what was written."""
        self.file, self.protects, self._tables = run_file(path), protects, {}
        try:
            self.parts = parts_of(self.file, path)
            self._look_around(path, with_errors)
        except BaseException:
            self.file.close()
            raise

    def _look_around(self, path, with_errors):
        said = {"simulation": text_of(self.file, "simulation"), **json.loads(text_of(self.file, "leat_run"))}
        self.model = Model.from_json(said, str(path))
        datasets = datasets_in(self.file)
        self._stored = {name: StoredVariable(self, self.model.by_name[name], dataset) for name, dataset in datasets.items()
                        if "leat_layout" in dataset.attrs and name in self.model.by_name
                        and (with_errors or not self.model.by_name[name].is_of_errors)}
        self.model.by_name = {name: stored.variable for name, stored in self._stored.items()}
        self.parameters = {text_of(d, "leat_parameter"): _values_of(d) for d in datasets.values() if "leat_parameter" in d.attrs}
        self.model.parameters = {name: _KINDS[values.dtype.kind] for name, values in self.parameters.items()}
        self._times = times_of(self.file) if self.model.time else None
        self.iterations = iterations_of(self.file).tolist()
        complete = self.table("", "iteration_complete")
        self.complete = np.ones(0, "i1") if complete is None else complete[:len(self.iterations)]

    def close(self):
        self.file.close()

    @property
    def variables(self):
        """{name: StoredVariable} of those that are in the file."""
        return self._stored

    @property
    def times(self):
        """The simulation's, by row; None where it has said none."""
        return None if self._times is None else self._times[:len(self.iterations)]

    @property
    def periods(self):
        """Of files that are over time: (begin, end) of each row; else None."""
        periods = periods_of(self.file)
        return None if periods is None else periods[:len(self.iterations)]

    def expect_variables(self):
        if not self._stored:
            raise CannotRead(f"{self.file.filename} has no variables that could be replayed: its run has written nothing")

    def iteration(self, row):
        """That of self.iterations[row]."""
        parameters = {name: value for name, values in self.parameters.items()
                      if (value := _parameter_value(values[row])) is not None}
        order = sorted(self._stored.values(), key=lambda v: (not v.variable.time_varying, v.variable.number))
        here = {v.variable.name: v for v in order if v.is_in(row)}
        time = None if self._times is None else _parameter_value(self._times[row])
        return StoredIteration(self.model, self.iterations[row], bool(self.complete[row]), parameters, here, row, time)

    def published(self, number):
        """What was made of the iteration: [({"<source>/<name>": Product}, whether plugins made it there)], first what they did; what
        scripts made, or a node sent, is one for each of them."""
        plugins, others = {}, []
        for root in ("products", "scripts"):
            for source, group in self.file.get(root, {}).items():
                found = _products_in(group, source, number)
                if root == "products" and node_of(f"{source}/") is None:
                    plugins.update(found)
                elif found:
                    others.append((found, False))
        return ([(plugins, True)] if plugins else []) + others

    def table(self, variable, suffix):
        return table_of(self.file, variable, suffix)

    def block_table(self, name):
        """The BlockTable of this name."""
        if name not in self._tables:
            self._tables[name] = BlockTable(self.file, name)
        return self._tables[name]


def _products_in(group, source, number):
    """{"<source>/<name>": Product} of one iteration."""
    rows = np.flatnonzero(group["iteration"][:] == number)
    if not len(rows):
        return {}
    found = {}
    for name, dataset in group.items():
        if dataset.attrs.get("CLASS") != b"DIMENSION_SCALE":
            dims = tuple(dim[0].name.rpartition("/")[2] if len(dim) else dim.label for dim in list(dataset.dims)[1:])
            found[f"{source}/{name}"] = Product(dims, _read_only(np.asarray(dataset[rows[0]])), text_of(dataset, "units"))
    return found


class StoredVariable:
    """One variable in the file: variable is the Variable of the model, without the ghosts, which are not stored."""

    def __init__(self, run, variable, data):
        self._run, self.variable, self._data = run, variable, data
        self.layout = text_of(data, "leat_layout")
        self.had_ghosts = "leat_ghosts" in data.attrs
        for dimension in variable.dimensions:
            dimension.low = dimension.high = 0
        self._missing = variable.fill
        if variable.is_packed:
            variable.dtype = np.dtype("f8")
        self._rows = variable.time_varying
        self._written = self._table("_written")
        self._blocks = self._extents = None  # a single block is all that each iteration has
        if "leat_blocks" in data.attrs:
            self._take_blocks()

    def _take_blocks(self):
        self._blocks = self._run.block_table(text_of(self._data, "leat_blocks"))
        self._extents = self._table("_extent")
        if self.layout == "varying":
            counts = self._table("_count")[:]
            self._starts, self._has = starts_of(counts), counts >= 0
        else:
            stored = self._table("_stored")
            self._has = np.ones(self._blocks.size, bool) if stored is None else stored[:] != 0

    def is_in(self, row):
        """True when it was written in the iteration of this row."""
        if not self._rows or self._written is None:
            return True
        return row < len(self._written) and bool(self._written[row])

    def rows_with_it(self):
        """For each row, whether it was written in that iteration."""
        rows = np.ones(len(self._run.iterations), bool)
        if self._rows and self._written is not None:
            flags = self._written[:len(rows)]
            rows[:len(flags)], rows[len(flags):] = flags != 0, False
        return rows

    def whole(self, row):
        """The array of a variable with a global shape."""
        shape = self._data.shape[1:] if self._rows else self._data.shape
        shapes = self._table("_global")
        if shapes is not None:
            shape = [int(n) for n in (shapes[row] if self._rows else shapes[()])]
        return self.values(self._at(row, tuple(slice(0, n) for n in shape)))

    @property
    def largest(self):
        """The shape of the largest iteration, or of the largest block where there is a table of these. The dataset may be larger, where it
        shares a dimension with one that grows."""
        own = self._data.shape[1:] if self._rows or self.has_table else self._data.shape
        table = self._table("_global") if self.layout == "global" else self._extents
        if table is None or self.layout == "varying" or not table.size:
            return tuple(own)
        found = table[:].reshape(-1, table.shape[-1])
        found = found[self.has_blocks()[:len(found)]] if self.has_table else found
        return tuple(int(n) for n in np.maximum(found.max(axis=0, initial=0), 0))

    @property
    def length(self):
        """Of the dataset's first dimension."""
        return self._data.shape[0] if self._data.shape else 1

    @property
    def has_extents(self):
        """Its blocks are of differing shapes."""
        return self._extents is not None

    def dimensions(self):
        """Names of the dataset's dimensions, as the file has them."""
        return [dim.label or (dim[0].name.rpartition("/")[2] if len(dim) else f"{self.variable.name}_{d}")
                for d, dim in enumerate(self._data.dims)]

    def rows(self, rows, rest):
        """Of several rows the part that the slices `rest` cut; fill values for rows that the dataset does not have."""
        end = self._data.shape[0]
        if rows and rows[-1] < end and rows == list(range(rows[0], rows[0] + len(rows))):
            return self.values((slice(rows[0], rows[-1] + 1), *rest))
        shape = [len(range(*each.indices(extent))) for each, extent in zip(rest, self._data.shape[1:])]
        made = np.full((len(rows), *shape), self.variable.fill, self.variable.dtype)
        for place, row in enumerate(rows):
            if row < end:
                made[place] = self.values((row, *rest))
        return made

    @property
    def has_table(self):
        """The first dimension of the dataset is one of blocks, or of their elements; else of iterations, or there is none."""
        return self._blocks is not None

    def owners(self):
        """{what: array}: whose each entry of that dimension is: "rank", "number", "iteration", and of an amr mesh "level"."""
        table = self._blocks
        said = {"rank": table.ranks, "number": table.numbers}
        if self._rows:
            each = [here.stop - here.start for here in map(table.records, range(len(self._run.iterations)))]
            said["iteration"] = np.repeat(self._run.iterations, each)
        if table.levels is not None:
            said["level"] = table.levels
        if self.layout == "varying":
            said = {what: np.repeat(values, np.diff(self._starts)[:len(values)]) for what, values in said.items()}
        return {what: values[:self._data.shape[0]] for what, values in said.items()}

    def has_blocks(self):
        """For each entry of that dimension, whether it is one of this variable: others that share the table may have a block there."""
        if self.layout == "varying":
            return np.ones(self._data.shape[0], bool)
        has = self._has[:self._data.shape[0]].copy()
        for row in np.flatnonzero(~self.rows_with_it()):
            has[self._blocks.records(int(row))] = False
        return has

    def blocks(self, row):
        """Blocks of the other variables, by rank and block."""
        if self._blocks is None:
            return [_block(0, 0, self.values(self._at(row, ())))]
        return sorted(self._in_table(self._blocks.records(row)), key=lambda b: (b.rank, b.block))

    def _in_table(self, here):
        """Of these blocks those that it has."""
        is_list, table = self.layout == "varying", self._blocks
        first = int(self._starts[here.start]) if is_list else here.start
        data = self.values(slice(first, int(self._starts[here.stop]) if is_list else here.stop))
        extents = None if self._extents is None else self._extents[here]
        for at in np.flatnonzero(self._has[here]):
            at, record = int(at), here.start + int(at)
            part = data[int(self._starts[record]) - first:int(self._starts[record + 1]) - first] if is_list else data[at]
            if extents is not None:
                shape = [int(n) for n in extents[at]]
                part = part.reshape(shape) if is_list else part[tuple(slice(0, n) for n in shape)]
            block = _block(int(table.ranks[record]), int(table.numbers[record]), part)
            if table.levels is not None:
                block.level, block.position = int(table.levels[record]), tuple(map(int, table.lows[record]))
            yield block

    def values(self, at):
        """Of the dataset at this index, as the run had them, but for what packing has made of them."""
        values = np.asarray(self._data[at])
        if self.variable.is_packed:
            scale, offset = (np.asarray(self._data.attrs[name]).item() for name in ("scale_factor", "add_offset"))
            values = np.where(values == self._missing, np.nan, values * scale + offset)
        return _read_only(values) if self._run.protects else values

    def _at(self, row, rest):
        return ((row,) if self._rows else ()) + rest

    def _table(self, suffix):
        return self._run.table(self.variable.name, suffix)


def _block(rank, number, data):
    return Block(rank, number, data.shape, None, ((0, 0),) * data.ndim, data)


class StoredIteration(Iteration):
    """One iteration of a StoredRun. here: {name: StoredVariable} of what was written in it."""

    def __init__(self, model, number, complete, parameters, here, row, time):
        super().__init__(model, number, complete, parameters, time)
        self._here, self._row = here, row
        self._offered = list(here)

    def offer(self, wanted):
        """From now on these variables only, a set or None for all; what does not vary in time is always there: as a run offers
        them to a script."""
        self._offered = [name for name, stored in self._here.items()
                         if wanted is None or name in wanted or not stored.variable.time_varying]

    def names(self):
        return self._offered

    def array(self, name):
        if name not in self._assembled:
            stored = self._here[name]
            if stored.layout == "global":
                made = Array(tuple(d.name for d in stored.variable.dimensions), stored.whole(self._row), {})
            else:
                made = array_of(stored.variable, stored.blocks(self._row), None)
            self._assembled[name] = made
        return self._assembled[name]

    def blocks(self, name, include_ghosts=False):
        if include_ghosts and name in self._here and self._here[name].had_ghosts:
            raise LookupError(f'ctx.blocks("{name}", include_ghosts=True): ghosts are not stored, so they cannot be replayed')
        return super().blocks(name, include_ghosts)

    def is_whole(self, name):
        """The file has one array of it, and not the blocks."""
        return name in self._here and self._here[name].layout == "global"

    def parts(self, name):
        if not self.is_whole(name):
            return super().parts(name)
        data = self.array(name).data
        return [Block(0, 0, data.shape, (0,) * data.ndim, ((0, 0),) * data.ndim, data)]

    def global_extent(self, name):
        """Of the whole, where the variable has one."""
        return self.array(name).data.shape

    def own_values(self, name):
        return [self.array(name).data] if self.is_whole(name) else super().own_values(name)

    def _all_blocks(self, name):
        if self._here[name].layout == "global":
            raise LookupError(f'ctx.blocks("{name}"): a file has the whole array of a variable with a global shape; which rank '
                              "wrote which part of it, and the ghosts, are not stored, so they cannot be replayed")
        return self._here[name].blocks(self._row)


def _values_of(parameter):
    """Its values, by row: texts are rows of characters."""
    values = parameter[()]
    return values.view(f"S{values.shape[1]}")[:, 0] if values.ndim == 2 else values


def _parameter_value(value):
    """As Python has it; None where it was not set."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value.dtype.kind == "f":
        return None if np.isnan(value) else float(value)
    return None if value == np.iinfo("i8").min else int(value)


def _read_only(array):
    array = np.asarray(array)
    array.setflags(write=False)
    return array
