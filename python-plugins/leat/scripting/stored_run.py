# SPDX-License-Identifier: Apache-2.0
"""A run that the hdf5 store has written, as scripts saw it; docs/design/plugin-abi.md says what such a file has."""
import json
import os

import numpy as np

from .blocks import Array, Block, Product, array_of
from .iteration import Iteration
from .model import Dimension, Model, Variable

# Of the store's own tables; in files of an older Leat they are beside the variable.
_OWN_GROUPS = ("leat/", "leat_/", "")
_KINDS = {"i": "int", "f": "double", "S": "string", "O": "string"}


class NotARun(Exception):
    """A file from which nothing can be replayed; the text says why."""


class StoredRun:
    """A file of the hdf5 store, read-only; it may still be growing: what was whole when it was opened counts.

    model: Model. iterations: numbers of those that are stored, in the order of the file.
    """

    def __init__(self, path):
        self._file = _open(path)
        _expect_parts(self._file, path)
        self._datasets = _datasets_in(self._file)
        self._tables = {}
        self._said = Model.from_json(self._described(), str(path)) if "leat_run" in self._file.attrs else None
        self._stored = {name: StoredVariable(self, name) for name, d in self._datasets.items() if "leat_layout" in d.attrs}
        if not self._stored:
            raise NotARun(f"{path} has no variables that could be replayed: its run has written nothing, or it was written by "
                          "a Leat from before there was replay")
        self._parameters = {_text(d.attrs["leat_parameter"]): _values_of(d) for d in self._datasets.values() if "leat_parameter" in d.attrs}
        self.model = self._model_of(str(path))
        numbers = self.companion("", "iteration", scale=None)
        self._times = self._times_beside(numbers) if self.model.time else None
        self.iterations = [int(n) for n in numbers[:]]
        self._complete = self.companion("", "iteration_complete")[:len(self.iterations)]

    def close(self):
        self._file.close()

    def iteration(self, row):
        """That of self.iterations[row]."""
        parameters = {name: value for name, values in self._parameters.items()
                      if (value := _parameter_value(values[row])) is not None}
        order = sorted(self._stored.values(), key=lambda v: (not v.variable.time_varying, v.variable.number))
        here = {v.variable.name: v for v in order if v.is_in(row)}
        time = None if self._times is None else _parameter_value(self._times[row])
        return StoredIteration(self.model, self.iterations[row], bool(self._complete[row]), parameters, here, row, time)

    def published(self, number):
        """What was made of the iteration: [({"<source>/<name>": Product}, whether plugins made it)], first what they did; what
        scripts made is one for each of them."""
        plugins, scripts = {}, []
        for root, made in (("products", plugins), ("scripts", None)):
            for source, group in self._file.get(root, {}).items():
                found = _products_in(group, source, number)
                if made is not None:
                    made.update(found)
                elif found:
                    scripts.append((found, False))
        return ([(plugins, True)] if plugins else []) + scripts

    def said_of(self, name):
        """The Variable as the run's description has it, without the ghosts, which are not stored; None where there is none: the
        file is of an older Leat."""
        if self._said is None or name not in self._said.by_name:
            return None
        variable = self._said.by_name[name]
        for dimension in variable.dimensions:
            dimension.low = dimension.high = 0
        return variable

    def dataset(self, name):
        return self._datasets[name]

    def _times_beside(self, iterations):
        """What rows are called after, or stands beside that."""
        if iterations.dims[0]:
            return iterations.dims[0][0]
        return self.companion("", "time")

    def companion(self, variable, suffix, scale=False):
        """The dataset beside a variable that is called after it, or None. Where a variable had the name already there is a
        "_" behind it. scale: whether it is a dimension scale; None: either."""
        found = (self._companion(group + variable + suffix, scale) for group in _OWN_GROUPS)
        return next((one for one in found if one is not None), None)

    def _companion(self, name, scale):
        while name in self._datasets:
            found = self._datasets[name]
            if "leat_layout" not in found.attrs and scale in (None, found.attrs.get("CLASS") == b"DIMENSION_SCALE"):
                return found
            name += "_"
        return None

    def block_table(self, name):
        """The _BlockTable of this name."""
        if name not in self._tables:
            self._tables[name] = _BlockTable(self, name)
        return self._tables[name]

    def _described(self):
        return {"simulation": _text(self._file.attrs["simulation"]), **json.loads(self._file.attrs["leat_run"])}

    def _model_of(self, source):
        kinds = {name: _KINDS[values.dtype.kind] for name, values in self._parameters.items()}
        if self._said:
            self._said.parameters = kinds
            self._said.by_name = {name: stored.variable for name, stored in self._stored.items()}
            return self._said
        variables = sorted((v.variable for v in self._stored.values()), key=lambda v: v.number)
        for place, variable in enumerate(variables):
            variable.number = place
        return Model(_text(self._file.attrs["simulation"]), variables, kinds, source)


def _products_in(group, source, number):
    """{"<source>/<name>": Product} of one iteration."""
    rows = np.flatnonzero(group["iteration"][:] == number)
    if not len(rows):
        return {}
    found = {}
    for name, dataset in group.items():
        if dataset.attrs.get("CLASS") != b"DIMENSION_SCALE":
            dims = tuple(dim[0].name.rpartition("/")[2] if len(dim) else dim.label for dim in list(dataset.dims)[1:])
            found[f"{source}/{name}"] = Product(dims, _read_only(np.asarray(dataset[rows[0]])), _text(dataset.attrs.get("units", "")))
    return found


class _BlockTable:
    """Whose the blocks are of variables that share them. ranks, numbers: of each. levels, lows: of those of an amr mesh, else
    None. rows(row): the slice of them that an iteration has; row is None for all."""

    def __init__(self, run, name):
        self.ranks, self.numbers = (run.companion(name, suffix)[:] for suffix in ("_rank", "_number"))
        levels, lows = (run.companion(name, suffix) for suffix in ("_level", "_lo"))
        has_levels = levels is not None and lows is not None
        self.levels, self.lows = (levels[:], lows[:]) if has_levels else (None, None)
        counts = run.companion(name, "_count")
        self._starts = None if counts is None else np.concatenate([[0], np.cumsum(counts[:], dtype="i8")])

    def rows(self, row):
        if self._starts is None or row is None:
            return slice(0, len(self.ranks))
        return slice(int(self._starts[row]), int(self._starts[row + 1]))


class StoredVariable:
    """One variable in the file: variable is the Variable of the model."""

    def __init__(self, run, name):
        self._run, self._data = run, run.dataset(name)
        self.layout = _text(self._data.attrs["leat_layout"])
        self.had_ghosts = "leat_ghosts" in self._data.attrs
        self.variable = run.said_of(name) or self._described(name)
        self._rows = self.variable.time_varying
        self._written = self._table("_written")
        self._ranks = self._numbers = self._extents = self._blocks = self._counts = self._starts = None
        if self.layout == "global":
            return
        if "leat_blocks" in self._data.attrs:
            self._take_blocks()
        else:  # an older Leat had slots for each iteration
            self._ranks, self._numbers, self._extents = (self._table(s) for s in ("_rank", "_block", "_extent"))
            if self.layout == "varying":
                self._counts = np.atleast_2d(self._table("_count")[()])
                self._starts = np.concatenate([[0], np.cumsum(self._counts.sum(axis=1))])

    def _take_blocks(self):
        self._blocks = self._run.block_table(_text(self._data.attrs["leat_blocks"]))
        self._extents = self._table("_extent")
        if self.layout == "varying":
            self._counts = self._table("_count")[:]
            self._starts = np.concatenate([[0], np.cumsum(np.maximum(self._counts, 0), dtype="i8")])
            self._has = self._counts >= 0
        else:
            stored = self._table("_stored")
            self._has = np.ones(len(self._blocks.ranks), bool) if stored is None else stored[:] != 0

    def is_in(self, row):
        """True when it was written in the iteration of this row."""
        if not self._rows:
            return True
        if self._written is not None:
            return row < len(self._written) and bool(self._written[row])
        return True

    def whole(self, row):
        """The array of a variable with a global shape."""
        shape = self._data.shape[1:] if self._rows else self._data.shape
        globals_ = self._run.companion(self.variable.name, "_global")
        if globals_ is not None:
            shape = [int(n) for n in (globals_[row] if self._rows else globals_[()])]
        return _read_only(self._data[self._at(row, tuple(slice(0, n) for n in shape))])

    def blocks(self, row):
        """Blocks of the other variables, by rank and block."""
        if self._blocks is not None:
            return sorted(self._in_table(self._blocks.rows(row if self._rows else None)), key=lambda b: (b.rank, b.block))
        if self._ranks is None:  # one block was all there was
            data = _read_only(self._data[self._at(row, ())])
            return [self._block(0, 0, data)]
        ranks, numbers = (table[self._at(row, ())] for table in (self._ranks, self._numbers))
        used = int(np.count_nonzero(ranks >= 0))
        extents = None if self._extents is None else self._extents[self._at(row, ())]
        parts = self._ragged(row, used, extents) if self.layout == "varying" else self._slots(row, used, extents)
        return [self._block(int(rank), int(number), part) for rank, number, part in zip(ranks, numbers, parts)]

    def _in_table(self, here):
        """Of these blocks those that it has."""
        is_list = self.layout == "varying"
        first = int(self._starts[here.start]) if is_list else here.start
        data = _read_only(self._data[first:int(self._starts[here.stop]) if is_list else here.stop])
        extents = None if self._extents is None else self._extents[here]
        for at in np.flatnonzero(self._has[here]):
            at, record = int(at), here.start + int(at)
            part = data[int(self._starts[record]) - first:int(self._starts[record + 1]) - first] if is_list else data[at]
            if extents is not None:
                shape = [int(n) for n in extents[at]]
                part = part.reshape(shape) if is_list else part[tuple(slice(0, n) for n in shape)]
            block = self._block(int(self._blocks.ranks[record]), int(self._blocks.numbers[record]), part)
            if self._blocks.levels is not None:
                block.level, block.position = int(self._blocks.levels[record]), tuple(map(int, self._blocks.lows[record]))
            yield block

    def _slots(self, row, used, extents):
        data = _read_only(self._data[self._at(row, (slice(0, used),))])
        for slot in range(used):
            yield data[slot][tuple(slice(0, int(n)) for n in (() if extents is None else extents[slot]))]

    def _ragged(self, row, used, extents):
        row = row if self._rows else 0
        data = _read_only(self._data[int(self._starts[row]):int(self._starts[row + 1])])
        at = 0
        for slot in range(used):
            part = data[at:at + int(self._counts[row][slot])]
            at += len(part)
            yield part if extents is None else part.reshape([int(n) for n in extents[slot]])

    def _at(self, row, rest):
        return ((row,) if self._rows else ()) + rest

    def _block(self, rank, number, data):
        return Block(rank, number, data.shape, None, ((0, 0),) * data.ndim, data)

    def _table(self, suffix):
        return self._run.companion(self._data.name.lstrip("/"), suffix)

    def _described(self, name):
        """As the attributes of the dataset have it."""
        attributes = self._data.attrs
        constant = "leat_constant" in attributes
        texts = {key: text for key in ("units", "long_name") if (text := _text(attributes.get(key, "")))}
        return Variable(int(attributes["leat_number"]), name, self._data.dtype, self._dimensions(constant), self.layout == "global",
                        not constant, attributes=texts)

    def _dimensions(self, constant):
        extents = self._table("_extent") if self.layout == "varying" else None
        if extents is not None:  # flattened: only the number of dimensions is known, and needed
            return [Dimension(f"dim_{d}", varying=True) for d in range(extents.shape[-1])]
        has_blocks = self.layout == "blocks" and "leat_blocks" in self._data.attrs
        of_iteration = self.layout != "varying" and not constant and not has_blocks
        of_slot = has_blocks or self.layout == "blocks" and self._table("_rank") is not None
        own = list(self._data.dims)[of_iteration + of_slot:]
        return [Dimension(self._name_of(dim), varying=self.layout == "varying" and d == 0) for d, dim in enumerate(own)]

    def _name_of(self, dim):
        if self._data.attrs.get("CLASS") == b"DIMENSION_SCALE":  # the coordinate of its own dimension
            return self._data.name.rpartition("/")[2]
        return dim.label or dim[0].name.lstrip("/")


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

    def _all_blocks(self, name):
        if self._here[name].layout == "global":
            raise LookupError(f'ctx.blocks("{name}"): a file has the whole array of a variable with a global shape; which rank '
                              "wrote which part of it, and the ghosts, are not stored, so they cannot be replayed")
        return self._here[name].blocks(self._row)


def _open(path):
    try:
        import h5py
    except ImportError as error:
        from .interpreters import without
        raise NotARun("the file is read with h5py: " + without("h5py", error, "--interpreter {}")) from None
    try:
        open(path, "rb").close()
    except OSError as error:
        raise NotARun(f"cannot read {path}: {error.strerror}") from None
    if not h5py.is_hdf5(path):
        raise NotARun(f"{path} is no HDF5 file; replay reads what a store of type \"hdf5\" has written")
    file = h5py.File(path, "r")
    if _text(file.attrs.get("leat_layout", "")) == "damaris":
        raise NotARun(f'{path} is the file of one iteration, of a store with layout="damaris"; replay reads those of a store without '
                      "that option, which have the whole run")
    if "leat_xml" not in file.attrs or "simulation" not in file.attrs:
        raise NotARun(f"{path} is an HDF5 file, but not of a store of Leat: it has no attribute \"leat_xml\"")
    if "leat_view" in file.attrs:
        raise NotARun(_part_of(file, path))
    return file


def _part_of(file, path):
    """Of one node's file: what to replay in its place. Its blocks lie in slots, which only the view puts where they belong."""
    parts = os.path.dirname(os.path.abspath(path))
    view = os.path.normpath(os.path.join(parts, "..", "..", _text(file.attrs["leat_view"])))
    what = (f"{path} has only what one node of several has written ({int(file.attrs['leat_node_ranks'])} of the "
            f"{int(file.attrs['ranks'])} ranks of the run); replay the view of all nodes: ")
    return what + (view if os.path.exists(view) else f"`leat view {parts}` makes it, {view}")


def _expect_parts(file, path):
    """Of a view: HDF5 shows fill values for a part that it cannot open."""
    import h5py
    if "leat_parts" not in file.attrs:
        return
    folder, parts = os.path.dirname(os.path.abspath(path)), set()
    file.visititems(lambda _, found: parts.update(source.file_name for source in found.virtual_sources())
                    if isinstance(found, h5py.Dataset) and found.is_virtual else None)
    for part in sorted(parts - {"."}):  # that is the view itself
        try:
            h5py.File(os.path.join(folder, part), "r").close()
        except OSError as error:
            raise NotARun(f"{path} is a view, and its part {part} cannot be read: {error}. The view and the folder of its parts "
                          "belong together; `leat view` makes one of the parts that are there") from None


def _datasets_in(file):
    """By name. Not what is in /VTKHDF: those are second names of variables."""
    import h5py
    names = []
    for top in file:
        if top == "VTKHDF" or not isinstance(file.get(top, getlink=True), h5py.HardLink):
            continue
        names.append(top)
        if isinstance(file[top], h5py.Group):
            file[top].visit(lambda name, top=top: names.append(f"{top}/{name}"))
    return {name: file[name] for name in names if isinstance(file[name], h5py.Dataset)}


def _text(value):
    """A text attribute: its bytes; a str where an older Leat has written it."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _values_of(parameter):
    """Its values, by row: texts are rows of characters, or, of an older Leat, strings of one length."""
    values = parameter[()]
    return values.view(f"S{values.shape[1]}")[:, 0] if values.ndim == 2 else values


def _parameter_value(value):
    """As Python has it; None where it was not set."""
    if isinstance(value, bytes):
        return _text(value)
    if value.dtype.kind == "f":
        return None if np.isnan(value) else float(value)
    return None if value == np.iinfo("i8").min else int(value)


def _read_only(array):
    array = np.asarray(array)
    array.setflags(write=False)
    return array
