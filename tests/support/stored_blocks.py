# SPDX-License-Identifier: Apache-2.0
"""Blocks without a global shape, as the pages on the hdf5 store say that they lie in its file."""
import numpy as np


def stored_blocks(file, name, row=0):
    """{(rank, number): array} of variable `name` in a row of the file, or all of what does not vary in time."""
    data = file[name]
    written = f"leat/{name}_written"
    if written in file and not file[written][row]:
        return {}
    if "leat_blocks" not in data.attrs:  # each iteration is one block
        return {(0, 0): data[row]}
    table = _text(data.attrs["leat_blocks"])
    here = _records(file, table, row)
    owners = list(zip(file[f"{table}_rank"][here].tolist(), file[f"{table}_number"][here].tolist()))
    assert len(set(owners)) == len(owners), owners
    extents = file[f"{name}_extent"][here] if f"{name}_extent" in file else None
    if _text(data.attrs["leat_layout"]) == "varying":
        counts = file[f"{name}_count"][:here.stop].astype("i8")
        starts = np.concatenate([[0], np.cumsum(np.maximum(counts, 0))])
        return {owner: _shaped(data[starts[at]:starts[at + 1]], extents, i)
                for i, (at, owner) in enumerate(zip(range(here.start, here.stop), owners)) if counts[at] >= 0}
    stored = file[f"{name}_stored"][here] if f"{name}_stored" in file else [1] * len(owners)
    places = data[here]
    return {owner: _part(places[i], extents, i) for i, owner in enumerate(owners) if stored[i]}


def stored_ranks(file, name, row=0):
    """{rank: array} of blocks with number 0."""
    return {rank: array for (rank, number), array in stored_blocks(file, name, row).items() if number == 0}


def places_on_levels(file, name, row=0):
    """{(rank, number): (level, first cell)} of the blocks of variable `name`, on an amr mesh, as they are ordered in the file."""
    table = _text(file[name].attrs["leat_blocks"])
    here = _records(file, table, row)
    rank, number, level, low = (file[f"{table}_{what}"][here].tolist() for what in ("rank", "number", "level", "lo"))
    return {owner: (one, tuple(first)) for owner, one, first in zip(zip(rank, number), level, low)}


def counts_of_rows(file, name):
    """For each row the elements of each block of a variable of varying size, by rank and number; in all of them the same ones."""
    return np.array([[len(block) for block in stored_blocks(file, name, row).values()] for row in range(len(file["iteration"]))])


def _records(file, table, row):
    counts = file.get(f"{table}_count")
    if counts is None:
        return slice(0, len(file[f"{table}_rank"]))
    first = int(counts[:row].sum())
    here = slice(first, first + int(counts[row]))
    assert (file[f"{table}_iteration"][here] == file["iteration"][row]).all()
    return here


def _shaped(elements, extents, i):
    return elements if extents is None else elements.reshape(extents[i])


def _part(place, extents, i):
    return place if extents is None else place[tuple(slice(0, n) for n in extents[i])]


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
