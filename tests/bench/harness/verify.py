#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many of the bytes that a job wrote are right: verify.py HOW FOLDER RANKS ITERATIONS VALUES prints "right of
wanted". It reads with what is not Leat's, and knows the data by itself (../job/work.hpp)."""

import pathlib
import sys

import numpy as np


def base(count):
    i = np.arange(count, dtype=np.int64)
    at = i % 4096
    noise = (i.astype(np.uint32) * np.uint32(2654435761)) >> np.uint32(22)
    return (at * (4096 - at)) / 4096 + noise / 1024.0


def plain(path, rows, values):
    """Rows that are not there are not read as something: they are no rows."""
    if not path.exists():
        return []
    whole = np.memmap(path, np.float64, "r") if path.stat().st_size else np.empty(0)
    return whole[: len(whole) // values * values].reshape(-1, values)[:rows]


def file_per_rank(folder, ranks, iterations, values):
    for rank in range(ranks):
        for iteration, row in enumerate(plain(folder / f"rank{rank}.bin", iterations, values)):
            yield rank, iteration, row


def shared_file(folder, ranks, iterations, values):
    for i, row in enumerate(plain(folder / "all.bin", ranks * iterations, values)):
        yield i % ranks, i // ranks, row


def hdf5_per_rank(folder, ranks, iterations, values):
    import h5py

    for rank in range(ranks):
        with h5py.File(folder / f"rank{rank}.h5") as file:
            for iteration in range(iterations):
                yield rank, iteration, file[str(iteration)][()]


def hdf5_shared(folder, ranks, iterations, values):
    import h5py

    with h5py.File(folder / "all.h5") as file:
        for iteration in range(iterations):
            for rank, row in enumerate(file[str(iteration)]):
                yield rank, iteration, row


def leat(folder, ranks, iterations, values):
    import h5py

    with h5py.File(folder / "job.h5") as file:
        for iteration, rows in enumerate(file["field"]):
            for rank, row in enumerate(rows):
                yield rank, iteration, row


def bp5(folder, ranks, iterations, values):
    import adios2

    for rank in range(ranks):
        with adios2.FileReader(str(folder / f"rank{rank}.bp")) as file:
            for iteration in range(iterations):
                yield rank, iteration, file.read("field", [0], [values], step_selection=[iteration, 1]).reshape(-1)


READERS = {
    "file-per-rank": file_per_rank,
    "shared-file": shared_file,
    "hdf5-per-rank": hdf5_per_rank,
    "hdf5-shared": hdf5_shared,
    "leat": leat,
    "bp5": bp5,
}


def right_bytes(how, folder, ranks, iterations, values):
    """Each block counts once, however often it is there."""
    of_base, right = base(values), {}
    for rank, iteration, row in READERS[how](pathlib.Path(folder), ranks, iterations, values):
        if len(row) == values and rank < ranks and iteration < iterations:
            right[rank, iteration] = int(np.count_nonzero(row == of_base + 2048.0 * (rank + ranks * iteration)))
    return 8 * sum(right.values())


if __name__ == "__main__":
    how, folder, *numbers = sys.argv[1:]
    ranks, iterations, values = map(int, numbers)
    print(right_bytes(how, folder, ranks, iterations, values), "of", 8 * ranks * iterations * values)
