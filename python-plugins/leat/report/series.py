# SPDX-License-Identifier: Apache-2.0
"""Numbers over iterations: those of scripts, from their CSV files, and scalars and parameters of HDF5 files, where there is h5py."""
import csv
import json
import math
from dataclasses import dataclass

from ..files import reading
from ..planning.words import finite

MOST_POINTS = 240  # more are thinned out: a picture has no more columns
_MOST_SERIES = 24
_SECONDS_FOR_FILES = 20
_NO_SCALARS = "block_count", "iteration", "time"


@dataclass
class Series:
    name: str
    unit: str
    x: list  # iterations
    y: list  # None where there is no number


def of_run(outcome):
    """(all of it, "" or why there are none of files)."""
    found = [each for folder in outcome.scripts_folders for path in sorted(folder.rglob("*.csv")) if path.name != "steering.csv"
             for each in _of_csv(path)]
    why = reading.why_no_h5py()
    known = {each.name for each in found}
    if not why:
        for path in outcome.files:
            read, trouble = _of_file(path)
            why = why or (f"{path.name}: {trouble}" if trouble else "")
            found += [each for each in read if each.name not in known]
            known |= {each.name for each in read}
    return found[:_MOST_SERIES], why


def _of_csv(path):
    try:
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            rows = list(csv.reader(file))
    except (OSError, csv.Error):
        return []
    if not rows or rows[0][:1] != ["iteration"]:
        return []
    columns = list(zip(*([*row, *[""] * (len(rows[0]) - len(row))][:len(rows[0])] for row in rows[1:])))
    if not columns:
        return []
    return [_thinned(name, "", [finite(x) for x in columns[0]], [finite(y) for y in column])
            for name, column in zip(rows[0][1:], columns[1:]) if any(finite(y) is not None for y in column)]


def _thinned(name, unit, x, y):
    step = max(1, math.ceil(len(x) / MOST_POINTS))
    return Series(name, unit, list(x)[::step], list(y)[::step])


def _of_file(path):
    """In a process of its own: a damaged file may crash the library."""
    lines = []
    reading.prepare()
    ended = reading.apart(lambda: _print_series(path), lines.append)
    series = []
    for line in lines:
        try:
            series.append(Series(**json.loads(line)))
        except (TypeError, ValueError):
            continue
    return series, "" if ended == 0 else "the HDF5 library cannot read it"


def _print_series(path):
    import h5py
    reading.expect_life(_SECONDS_FOR_FILES)
    with h5py.File(path, "r") as file:
        if "iteration" not in file:
            return 0
        numbers = file["iteration"][:]
        for group in (file, file.get("parameters")):
            for name, one in (group or {}).items():
                is_scalar = isinstance(one, h5py.Dataset) and one.shape == numbers.shape and one.dtype.kind in "iuf"
                if not is_scalar or name in _NO_SCALARS:
                    continue
                series = _thinned(name, reading.text_of(one, "units"), [int(n) for n in numbers], [finite(v) for v in one[:]])
                print(json.dumps(vars(series)))
    return 0
