# SPDX-License-Identifier: Apache-2.0
"""Where the values of variables lie in a file, row by row. docs/design/plugin-abi.md and docs/reference/files.md say what a file
has."""
import json
from dataclasses import dataclass

import h5py
import numpy as np

from ..scripting.model import Model
from .reading import CannotRead, text_of, why_no_file
from .tables import BlockTable, is_dataset, iterations_of, starts_of, table_of, times_of


class Stored:
    """A file of the hdf5 store, be it a view, that says what its run is. numbers: of the iterations that are in it, by row.
    variables, meshes, ranks: of the run."""

    def __init__(self, path):
        self.file = _opened(path)
        try:
            said = _description(self.file)
            model = Model.from_json({"simulation": "", **said})
            self.variables, self.meshes, self.ranks = model.variables, model.meshes, model.ranks
            _expect_sound(self.meshes, len(self.variables))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise CannotRead(f"{path}: the attribute leat_run cannot be read: {error}") from None
        except CannotRead as error:
            raise CannotRead(f"{path}: {error}") from None
        self.simulation = text_of(self.file, "simulation")
        self.numbers = iterations_of(self.file)
        self._fields, self._blocks = {}, {}

    def variables_on(self, mesh):
        """Numbers of those whose values lie on this one of the meshes."""
        return [variable.number for variable in self.variables if variable.mesh is mesh]

    def has(self, name):
        return is_dataset(self.file.get(name))

    def times(self):
        """What stands for the time of each row: the simulation's, where it has said one, else the number of the iteration."""
        times, said = self.numbers.astype("f8"), times_of(self.file)
        if said is not None:
            said = said[:len(times)].astype("f8")
            times[:len(said)] = np.where(np.isfinite(said), said, times[:len(said)])
        return times

    def field(self, number):
        """The Field of a variable that is in the file."""
        if number not in self._fields:
            self._fields[number] = Field(self, self.variables[number])
        return self._fields[number]

    def blocks(self, name):
        """The BlockTable of this name."""
        if name not in self._blocks:
            self._blocks[name] = BlockTable(self.file, name)
        return self._blocks[name]


@dataclass(frozen=True)
class Row:
    """Blocks of one iteration, which lie one after the other from element `first` on. owners: (rank, number) of each; none: any."""
    first: int = 0
    counts: tuple = ()
    owners: tuple = ()

    @property
    def total(self):
        return sum(self.counts)

    def has_blocks_of(self, other):
        return len(self.counts) == len(other.counts) and (not self.owners or not other.owners or self.owners == other.owners)

    def matches(self, other):
        return self.has_blocks_of(other) and self.counts == other.counts


class Field:
    """A variable in the file, as a list of elements over all iterations.

    form: "whole", one array for each iteration; "blocks", (block, dims...); or "ragged", elements one after the other. shape: of
    one iteration, of one block, or of one element. each: elements of a block; components: numbers of an element."""

    def __init__(self, stored, variable):
        self._stored = stored
        self.variable, self.path, self.varies = variable, variable.name, variable.has_rows
        self.data = stored.file[variable.name]
        table = text_of(self.data, "leat_blocks")
        ragged = variable.varies and not variable.has_global
        self.form = "ragged" if ragged else "blocks" if table else "whole"
        self.extents = self.data.shape
        self.shape = self.extents[1:] if self.varies or self.form != "whole" else self.extents
        self.each = 1 if ragged or not self.shape else self.shape[0]
        self.components = int(np.prod(self.shape if ragged else self.shape[1:], dtype="i8"))
        self.blocks = stored.blocks(table) if table else None
        self.written = self._written_rows(len(stored.numbers))
        self.last_written = np.maximum.accumulate(np.where(self.written, np.arange(len(self.written)), 0))
        if self.blocks:
            self._find_places()

    def _written_rows(self, rows):
        if not self.varies:
            return np.ones(rows, bool)
        table = table_of(self._stored.file, self.path, "_written")
        if table is None:
            return np.arange(rows) < (self.blocks.rows if self.blocks else self.extents[0])
        flags = table[:rows] != 0
        return np.concatenate([flags, np.zeros(rows - len(flags), bool)])

    def rows_with_news(self):
        """In which something was written: of what does not vary in time that is one."""
        if self.varies:
            return self.written
        return np.arange(len(self.written)) == int(self.data.attrs.get("leat_row", 0))

    def _find_places(self):
        """By record: whether it has the block, from which element on, how many; and whether the block fills its place."""
        records = self.blocks.size
        self._counts, self._has, self._fills = np.ones(records, "i8"), np.ones(records, bool), np.ones(records, bool)
        if text_of(self.data, "leat_layout") == "varying":
            counts = self._beside("_count", records, -1)
            self._counts, self._has = np.maximum(counts, 0), counts >= 0
        else:
            self._has = self._beside("_stored", records, 0, 1) != 0
            extents = table_of(self._stored.file, self.path, "_extent")
            if extents is not None:
                rows = extents[:records]
                most = min(rows.shape[1], len(self.shape))
                self._fills[:len(rows)] = (rows[:, :most] == np.array(self.shape[:most])).all(axis=1)
        self._starts = starts_of(self._counts)

    def _beside(self, suffix, length, short, absent=-1):
        table = table_of(self._stored.file, self.path, suffix)
        values = np.full(length, absent if table is None else short, "i8")
        if table is not None:
            there = table[:length]
            values[:len(there)] = there
        return values

    def row(self, row):
        """Empty where nothing was written, or blocks do not fill their places."""
        if self.form != "ragged" and not self.written[row]:
            return Row()
        if not self.blocks:
            return Row(row * self.each if self.varies else 0, (self.each,))
        here = self.blocks.records(row)
        records = [record for record in range(here.start, here.stop) if self._has[record]]
        firsts = [int(self._starts[r]) * self.each for r in records]
        counts = tuple(int(self._counts[r]) * self.each for r in records)
        is_gapless = all(at + count == after for at, count, after in zip(firsts, counts, firsts[1:]))
        if not records or not is_gapless or not self._fills[records].all():
            return Row()
        return Row(firsts[0], counts, tuple((int(self.blocks.ranks[r]), int(self.blocks.numbers[r])) for r in records))


def common_row(fields, row):
    """Blocks of several coordinates; empty where these do not fit each other."""
    first = fields[0].row(row)
    fits = all(other.matches(first) and other.first == first.first for other in (field.row(row) for field in fields[1:]))
    return first if fits else Row()


def _opened(path):
    why = why_no_file(path)
    if why:
        raise CannotRead(f"{path} {why}")
    try:
        return h5py.File(path, "r")
    except OSError:
        raise CannotRead(f"{path} cannot be opened: is it an HDF5 file that Leat has written?") from None


def _description(file):
    if "leat_run" not in file.attrs:
        raise CannotRead("the file has no attribute leat_run, in which Leat says what is in it; files of a store with "
                         "layout=\"damaris\" have none")
    said = json.loads(text_of(file, "leat_run"))
    if said["format"] != 1:
        raise ValueError("a newer version of Leat has written it")
    return said


def _expect_sound(meshes, count):
    """Numbers that lead nowhere would be followed."""
    for mesh in meshes:
        if any(number < 0 for number in mesh.coordinates):
            raise ValueError("a mesh has no coordinates")
        if any(number >= count for number in (*mesh.coordinates, *mesh.cells)):
            raise ValueError("a mesh is made of a variable that is not there")
