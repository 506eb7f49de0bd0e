# SPDX-License-Identifier: Apache-2.0
"""How large files are."""

import dataclasses
import json

from .. import launch
from ..markdown import bytes_text, table, time_text
from ..tools import BUILD, SYSTEM_PYTHON

TITLE = "Size of files"
ABOUT = """A file of the `hdf5` store is to have at most 1.05 times the bytes of its data, 200 bytes for each block of a
variable in an iteration, and 64 KiB. *Allowed* is that; *over* is the file divided by it. Times are processor times of
the store: of the first iteration, which makes all variables, of each later one, and of the end. *global* arrays are
made of 4 blocks, *in parts* are those of which another node has the other half, and whose file is one of two parts;
*single* variables have one block, *scalar* ones one number, *parameters* stand beside one scalar. *Blocks* have no
place in a global array, *amr* are such blocks on three levels of a mesh, shown to VTK. Bytes are those of a block. Each file is
written once."""

SECONDS = 120
PLUGIN = BUILD / "lib/leat/plugins/hdf5.so"
KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass(frozen=True)
class Cell:
    layout: str
    variables: int
    blocks: int
    iterations: int
    bytes: int
    parameters: int = 0
    limit: str = ""  # why it is more than allowed

    def words(self):
        numbers = (self.variables, self.blocks, self.iterations, self.bytes, self.parameters)
        return " ".join([self.layout, *map(str, numbers)])


OBJECTS = "an HDF5 dataset, with its attributes and what finds its first chunk, takes 1.1 to 1.3 KiB"
PARTS = "six datasets for each variable, which say where its blocks belong"


def cells():
    for layout, blocks in (("scalar", 1), ("single", 1), ("global", 4), ("part", 4)):
        sizes = (8,) if layout == "scalar" else (8, 4 * KIB, MIB)
        for variables in (1, 100, 5000):
            for iterations in (1, 10, 1000):
                for size in sizes:
                    if variables * blocks * iterations * size <= 512 * MIB and variables * iterations <= 100_000:
                        few = iterations < (100 if layout == "part" else 10) and variables > 1 and size < MIB
                        limit = (PARTS if layout == "part" else OBJECTS) if few or layout == "part" else ""
                        yield Cell(layout, variables, blocks, iterations, size, limit=limit)
    for parameters in (100, 5000):
        for iterations in (1, 10):
            yield Cell("scalar", 1, 1, iterations, 8, parameters, limit=OBJECTS if iterations == 1 else "")
    yield Cell("global", 20_000, 1, 10, 8)
    for blocks in (100, 10_000, 100_000):
        for iterations in (1, 10, 1000):
            for size in (8, 4 * KIB, MIB):
                if blocks * iterations * size <= 512 * MIB and blocks * iterations <= 1_000_000:
                    yield Cell("blocks", 1, blocks, iterations, size)
    for variables, blocks, iterations in ((1, 3301, 1), (5, 3301, 1), (1, 3301, 10), (1, 16, 1000), (10, 100, 10)):
        yield Cell("amr", variables, blocks, iterations, 4 * KIB)


# Which xarray opens too: its engines, each in a process of its own.
OPENED = Cell("blocks", 1, 500, 1000, 64)
OPENINGS, MOST_TO_OPEN_S = 5, 1
OPEN = """
import sys, time, xarray
start = time.perf_counter()
with xarray.open_dataset(sys.argv[1], engine=sys.argv[2]) as ds:
    assert ds.sizes["block"] == 500_000
    print(time.perf_counter() - start)
"""

QUICK = [Cell("scalar", 1, 1, 1, 8), Cell("global", 100, 4, 10, 8), Cell("single", 100, 1, 1, 8, limit=OBJECTS)]


def measure(context):
    context.say("size")
    measured = [
        {"cell": dataclasses.asdict(cell), **run(cell, context.folder / "size")}
        for cell in (QUICK if context.quick else cells())
    ]
    kept = context.folder / "opened.h5"
    opened = {"cell": dataclasses.asdict(OPENED), **run(OPENED, context.folder / "size", kept)}
    opened["open_s"] = {engine: opening(kept, engine) for engine in ("h5netcdf", "netcdf4")}
    kept.unlink()
    return [*measured, opened]


def opening(path, engine):
    """Seconds, sorted."""
    command = [SYSTEM_PYTHON, "-c", OPEN, path, engine]
    return sorted(float(launch.run(command, limit_s=60)[0]) for _ in range(OPENINGS))


def run(cell, folder, kept="-"):
    said, _ = launch.run([BUILD / "bin/leat_size_bench", PLUGIN, folder, kept, cell.words()], limit_s=600)
    return json.loads(said)


def page(data):
    head = ["file", "variables", "blocks", "iterations", "bytes", "data", "allowed", "file has", "over", "reached"]
    return table([*head, "first", "later", "end"], [_row(each) for each in data]) + _openings(data) + _limits(data)


def _openings(data):
    times = [
        f"{engine} {time_text(1e9 * all_s[OPENINGS // 2])} ({time_text(1e9 * all_s[0])} to {time_text(1e9 * all_s[-1])})"
        for each in data
        for engine, all_s in each.get("open_s", {}).items()
    ]
    if not times:
        return []
    about = f"xarray opens the file of {OPENED.blocks} blocks in each of {OPENED.iterations} iterations in (aim: {MOST_TO_OPEN_S} s; "
    return [f"{about}median and range of {OPENINGS} processes): " + ", ".join(times) + ".", ""]


def _is_reached(each):
    return each["bytes"] <= each["allowed"]


def _row(each):
    cell = Cell(**each["cell"])
    later = time_text(1e9 * each["others_s"] / (cell.iterations - 1)) if cell.iterations > 1 else "-"
    name = {"part": "in parts"}.get(cell.layout, cell.layout)
    return [
        "parameters" if cell.parameters else name,
        *(str(n) for n in (cell.parameters or cell.variables, cell.blocks, cell.iterations)),
        *(bytes_text(each.get(key, cell.bytes)) for key in ("", "data", "allowed", "bytes")),
        f"{each['bytes'] / each['allowed']:.2f}",
        "yes" if _is_reached(each) else "**no**",
        time_text(1e9 * each["first_s"]),
        later,
        time_text(1e9 * each["close_s"]),
    ]


def _limits(data):
    missed = [Cell(**each["cell"]).limit for each in data if not _is_reached(each)]
    if not missed:
        return []
    return ["What is in the way where it is not reached:", "", *(f"- {why}" for why in sorted(set(missed)) if why), ""]
