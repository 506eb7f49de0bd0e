# SPDX-License-Identifier: Apache-2.0
"""Tables that scripts write, <script>.csv, while they grow: for each scalar some thousand of its values, thinned out over a long run."""
import csv
import os

from ..planning.words import finite

_MOST_POINTS = 2000  # of a scalar; beyond, every second one goes
_MOST_BYTES = 1 << 20  # that are read at a time
_MOST_COLUMNS = 500


class Scalar:
    """Values over iterations. Where they are thinned out the newest one is always there."""

    def __init__(self):
        self.points, self.last, self._every, self._seen = [], None, 1, 0

    def add(self, iteration, value):
        self.last = (iteration, value)
        if self._seen % self._every == 0:
            self.points.append(self.last)
        self._seen += 1
        if len(self.points) > _MOST_POINTS:
            del self.points[1::2]
            self._every *= 2

    def all(self):
        return self.points if self.last in self.points[-1:] else [*self.points, self.last]


class Table:
    """One file. A row is taken when its line is whole; a file that was replaced is read anew."""

    def __init__(self, path):
        self.path, self.scalars = path, {}
        self._forget()

    def _forget(self):
        self._at, self._file, self._columns, self._rest = 0, None, None, b""
        self.scalars.clear()

    def read(self):
        """What is new. True: there is something."""
        try:
            with open(self.path, "rb") as file:
                state = os.fstat(file.fileno())
                if self._file != state.st_ino or state.st_size < self._at:
                    self._forget()
                    self._file = state.st_ino
                file.seek(self._at)
                some = file.read(_MOST_BYTES)
        except OSError:
            return False
        self._at += len(some)
        lines = (self._rest + some).split(b"\n")
        self._rest = lines.pop()[-_MOST_BYTES:]
        for row in csv.reader(line.decode("utf-8", "replace") for line in lines if line.strip()):
            self._take(row)
        return bool(some)

    def _take(self, row):
        if self._columns is None:
            self._columns = row[:_MOST_COLUMNS]
            return
        iteration = finite(row[0])
        for name, text in zip(self._columns[1:], row[1:], strict=False):
            value = finite(text)
            if iteration is not None and value is not None:
                self.scalars.setdefault(name, Scalar()).add(int(iteration), value)
