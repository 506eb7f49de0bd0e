# SPDX-License-Identifier: Apache-2.0
"""The tables that a store has written beside the values of variables: of a file, a view or a merged file. docs/reference/files.md has
their names."""
import numpy as np

from .reading import CannotRead, text_of

MOST_UNDERSCORES = 8


def is_dataset(thing):
    return hasattr(thing, "shape")


def table_of(file, variable, suffix, is_scale=False):
    """The dataset "<variable><suffix>", with "_" behind it where a variable has that name; None where there is none. Most tables lie in
    the store's own group, those that people look at beside the variable. is_scale: it may name a dimension too."""
    own = "leat"
    while is_dataset(file.get(own)):
        own += "_"
    for name in (f"{own}/{variable}{suffix}", variable + suffix):
        for name in (name + "_" * tries for tries in range(MOST_UNDERSCORES)):
            found = file.get(name)
            if is_dataset(found) and "leat_layout" not in found.attrs and (is_scale or text_of(found, "CLASS") != "DIMENSION_SCALE"):
                return found
    return None


def iterations_of(file):
    """Numbers of the iterations that are in the file, by row."""
    iterations = table_of(file, "", "iteration", is_scale=True)
    return np.zeros(0, "i8") if iterations is None else iterations[:].astype("i8")


def times_of(file):
    """The dataset of the simulation's times, by row; None where it has said none. Rows are called after it, or it stands beside the
    numbers of the iterations."""
    iterations, complete = table_of(file, "", "iteration", is_scale=True), table_of(file, "", "iteration_complete")
    if iterations is None or complete is None:
        return None
    if text_of(iterations, "CLASS") != "DIMENSION_SCALE":
        return iterations.dims[0][0] if len(iterations.dims[0]) else None
    beside = text_of(complete, "coordinates").rpartition("/")[2]
    return file[beside] if beside else None


def periods_of(file):
    """The dataset of the begin and the end of the period that each row is over; None where rows are of single iterations."""
    for axis in (times_of(file), table_of(file, "", "iteration", is_scale=True)):
        name = "" if axis is None else text_of(axis, "bounds")
        if name and is_dataset(file.get(name)):
            return file[name]
    return None


def starts_of(counts):
    """Where each of several pieces begins that lie one behind the other, and where all end; a negative count is none."""
    return np.concatenate([[0], np.cumsum(np.maximum(counts, 0), dtype="i8")])


class BlockTable:
    """Whose the blocks are of variables that share them: a record for each. ranks, numbers: by record. levels, lows: of an amr mesh, else
    None."""

    def __init__(self, file, name):
        ranks, numbers, counts, levels, lows = (table_of(file, name, suffix) for suffix in ("_rank", "_number", "_count", "_level", "_lo"))
        if ranks is None or numbers is None:
            raise CannotRead(f"the file has no {name}_rank")
        # Before the records that they count: the file may grow meanwhile.
        self._starts = None if counts is None else starts_of(counts[:])
        self.ranks, self.numbers = ranks[:], numbers[:]
        has_levels = levels is not None and lows is not None
        self.levels, self.lows = (levels[:], lows[:]) if has_levels else (None, None)
        self.size = len(self.numbers)

    @property
    def rows(self):
        """Of which something is said; 0 of what does not vary in time."""
        return 0 if self._starts is None else len(self._starts) - 1

    def has_row_of_several(self):
        return self.size > 1 if self._starts is None else bool((np.diff(self._starts) > 1).any())

    def records(self, row):
        """The slice of those of a row; all of them of what does not vary in time."""
        if self._starts is None:
            return slice(0, self.size)
        first, end = (int(start) for start in self._starts[row:row + 2]) if row < self.rows else (0, 0)
        return slice(min(first, self.size), min(end, self.size))
