# SPDX-License-Identifier: Apache-2.0
"""What a run leaves in its folders while it goes on: tables and pictures of its scripts, files of its stores."""
import os
import re
import time

from .tables import Table

_LIST_SECONDS = 2.0  # folders are looked through so often
_MOST_PICTURES = 24  # of one name
_MOST_NAMES = 60
_PICTURE = re.compile(r"(.+?)-?(\d+)\.png$")


class Outputs:
    """Of one session, found by the locks that its server holds: .<name>.lock beside each file or folder."""

    def __init__(self):
        self.tables, self.pictures, self.files = {}, {}, []
        self._folders, self._listed = set(), 0.0

    def look(self, open_files):
        """`open_files`: of the server's status. Reads what has grown; folders every now and then."""
        for path in open_files:
            folder, name = os.path.split(path)
            if name.startswith(".") and name.endswith(".lock"):
                self._note(os.path.join(folder, name[1:-len(".lock")]))
        if time.monotonic() - self._listed > _LIST_SECONDS:
            self._listed = time.monotonic()
            for folder in sorted(self._folders):
                self._list(folder)
        for table in self.tables.values():
            table.read()

    def _note(self, path):
        if path.endswith(".h5"):
            self.files = [*self.files, path] if path not in self.files else self.files
        elif os.path.isdir(path):
            self._folders.add(path)

    def _list(self, folder):
        found = {}
        for place, folders, names in os.walk(folder):
            folders[:] = [each for each in folders if place == folder]  # one deeper
            for name in names:
                path = os.path.join(place, name)
                if name.endswith(".csv") and place == folder and name != "steering.csv" and len(self.tables) < _MOST_NAMES:
                    self.tables.setdefault(name.removesuffix(".csv"), Table(path))
                picture = _PICTURE.match(name)
                if picture:
                    title = os.path.join(os.path.relpath(place, folder), picture[1]).removeprefix("./")
                    found.setdefault(title, []).append((int(picture[2]), path))
        for title in sorted(found)[:_MOST_NAMES]:
            self.pictures[title] = sorted(found[title])[-_MOST_PICTURES:]

    def scalars(self, most):
        """{script: {scalar: [[iterations], [values]]}}, of each about as many as `most`."""
        return {script: {name: _thinned(scalar.all(), most) for name, scalar in table.scalars.items()}
                for script, table in sorted(self.tables.items()) if table.scalars}

    def listed_pictures(self):
        """{name: [iterations]}, the newest last."""
        return {title: [number for number, _ in each] for title, each in sorted(self.pictures.items())}

    def picture(self, title, number):
        """Its bytes; None when there is none of that name."""
        for each, path in self.pictures.get(title, []):
            if each == number:
                try:
                    with open(path, "rb") as file:
                        return file.read(16 << 20)
                except OSError:
                    return None
        return None


def _thinned(points, most):
    step = max(1, len(points) // most)
    kept = points[::step]
    if points and kept[-1] != points[-1]:
        kept = [*kept, points[-1]]
    return [[iteration for iteration, _ in kept], [value for _, value in kept]]
