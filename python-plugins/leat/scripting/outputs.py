# SPDX-License-Identifier: Apache-2.0
"""What scripts leave in the output folder: a table of scalars as CSV, pictures as PNG."""
import contextlib
import csv
import fcntl
import os
import pathlib
import sys

import numpy as np

from .safe_files import Folder

_DIGITS = 6  # of the iteration in names of pictures


def put_aside(path):
    """A file or folder of an earlier run is renamed to <path>.1, <path>.2, ... Returns its new path; None when there is none."""
    path = pathlib.Path(path)
    if not os.path.lexists(path):
        return None
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.{number}")):
        number += 1
    path.rename(aside)
    return aside


def results_of(context):
    """All that a call made: [(name, array of a type that files have, names of dimensions, units)]; a number has no dimensions."""
    made = [(name, np.asarray(value), [], "") for name, value in context.scalars.items()]
    made += [(name, *what) for name, what in context.arrays.items()]
    return [(name, native(array), dims, units) for name, array, dims, units in made]


def native(array):
    """Of a type that files have: float16 and long double become double."""
    if array.dtype.name in ("float16", "float128", "longdouble"):
        array = array.astype("f8")
    elif array.dtype.name in ("complex256", "clongdouble"):
        array = array.astype("c16")
    elif array.dtype.kind == "b":
        array = array.astype("u1")
    return np.asarray(array.astype(array.dtype.newbyteorder("="), copy=False), order="C")


class Table:
    """<folder>/<script>.csv: a row for each iteration in which the script gave scalars. Whole after each row. Should somebody
    remove it, it is written anew."""

    def __init__(self, path):
        self._path = pathlib.Path(path).absolute()
        self._file = None
        self._columns = ["iteration"]
        with Folder(self._path.parent) as folder, contextlib.suppress(FileNotFoundError):
            self._file = folder.open(self._path.name, "r+", newline="")
        self._columns, rows = self._read()
        self._rows = {}  # {iteration: names of what there is}
        for row in rows:
            self._rows.setdefault(int(row["iteration"]), set()).update(name for name, text in row.items() if text)

    def add(self, iteration, scalars):
        """Nothing when they are there for this iteration: a leatd that has died may have had it already. What several functions
        make of an iteration, at different times, is in rows of its own."""
        there = self._rows.setdefault(iteration, set())
        if there.issuperset(scalars):
            return
        there.update(scalars)
        new = [name for name in scalars if name not in self._columns]
        is_gone = self._is_gone()
        if new or is_gone:
            self._write_anew(new)
        if is_gone:
            print(f"{self._path} was removed or replaced while this run was writing it: it was written anew", file=sys.stderr)
        row = {"iteration": iteration, **{name: _as_text(value) for name, value in scalars.items()}}
        self._file.seek(0, os.SEEK_END)
        csv.DictWriter(self._file, self._columns, restval="").writerow(row)
        self._file.flush()

    def _is_gone(self):
        if self._file is None:
            return False
        try:
            return not os.path.samestat(os.fstat(self._file.fileno()), self._path.lstat())
        except FileNotFoundError:
            return True

    def _read(self):
        """Columns and rows of the file, also of one that has been removed."""
        if self._file is None:
            return self._columns, []
        self._file.seek(0)
        reader = csv.DictReader(self._file)
        return list(reader.fieldnames or ["iteration"]), list(reader)

    def _write_anew(self, new):
        _, rows = self._read()
        self._columns = [*self._columns, *new]
        if self._is_gone():
            put_aside(self._path)
        with _whole(self._path, "w", newline="") as file:
            writer = csv.DictWriter(file, self._columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        with Folder(self._path.parent) as folder:
            self._file = folder.open(self._path.name, "r+", newline="")


def _as_text(value):
    return repr(value.item())  # the shortest text that reads back as the same number


def write_image(folder, name, iteration, picture):
    """<folder>/<name>-<iteration>.png; appears whole, and latest-<name>.png is a link to the newest. picture: a matplotlib figure,
    a 2-D array, (h, w, 3 or 4) bytes, or the bytes of such a file."""
    path = pathlib.Path(folder) / f"{name}-{iteration:0{_DIGITS}d}.png"
    with _whole(path, "wb") as file:
        if hasattr(picture, "savefig"):
            picture.savefig(file, format="png")
        elif isinstance(picture, bytes):
            file.write(picture)
        else:
            _write_array(file, np.asarray(picture), name)
    with Folder(path.parent) as folder:  # digits are as many, or more: a later one has a longer name, or one that sorts behind
        folder.link(f"latest-{name}.png", path.name, lambda other: (len(other), other) <= (len(path.name), path.name))
    return path


@contextlib.contextmanager
def _whole(path, mode, **options):
    """A file that is at `path` when it is whole. What a killed process leaves of it, leatd removes: its lock is free."""
    part = f"{path.name}.{os.uname().nodename}.part"
    with Folder(path.parent) as folder, _locked(folder, part, mode, **options) as file:
        try:
            file.truncate(0)
            yield file
            file.flush()
            folder.rename(part, path.name)
        except BaseException:
            folder.remove(part)
            raise


def _locked(folder, name, mode, **options):
    while True:
        file = folder.open(name, mode, **options)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.has(name, file):
                return file
        except BlockingIOError:
            pass  # leatd, which takes it for dead
        except OSError:
            return file  # there are no locks here, so nobody takes it for dead
        file.close()


def _write_array(file, array, name):
    from matplotlib import image
    if array.ndim == 2:
        image.imsave(file, array, format="png", cmap="viridis", origin="lower")
    elif array.ndim == 3 and array.shape[2] in (3, 4) and array.dtype == np.uint8:
        image.imsave(file, array, format="png")
    else:
        raise TypeError(f'ctx.image("{name}", ...): a matplotlib figure, a 2-D array, or an array of bytes of shape '
                        f"(height, width, 3 or 4) is expected, not {array.dtype} of shape {array.shape}")
