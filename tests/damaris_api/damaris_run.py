# SPDX-License-Identifier: Apache-2.0
"""Runs a program that calls Damaris, and knows what fields.c writes."""
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import numpy as np
from leat_run import BUILD, LIMIT, same_bits

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT = 8, 12
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def run(folder, program, *arguments, ranks=1, variables=None):
    """The program under mpirun, as users start it; what it says, and its exit status."""
    environment = {**os.environ, **AS_ROOT, "LEAT_RUNTIME_DIR": str(folder / "r"), **(variables or {}),
                   "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    words = ["mpirun", "--oversubscribe", "-n", str(ranks), BUILD / "bin" / program, *map(str, arguments)]
    return subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)


def copy_xml(folder, name, *changes):
    text = (HERE / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text)


def copy(folder, name):
    shutil.copy(HERE / name, folder)


def expected(clients, steps):
    """What is in the file of fields.c, by numpy."""
    rows = HEIGHT // clients
    u = np.array([[[1000. * s + y + 0.01 * x for x in range(WIDTH)] for y in range(HEIGHT)] for s in range(steps)])
    b = np.array([[[100 * s + 10 * (y // rows) + x // (WIDTH // 2) for x in range(WIDTH)] for y in range(HEIGHT)]
                  for s in range(steps)], dtype="i4")
    w = np.array([[[s + y // rows + 0.5 * ((y % rows) * WIDTH + x) for x in range(WIDTH)] for y in range(HEIGHT)]
                  for s in range(steps)], dtype="f4")
    return {"fields/u": u, "b": b, "w": w, "coord/x": 0.5 * np.arange(WIDTH)}


def check_fields(folder, clients, steps):
    """A file for each iteration, as Damaris has them."""
    for step in range(steps):
        with h5py.File(folder / f"fields_It{step}.h5") as file:
            for name, values in expected(clients, steps).items():
                if name != "coord/x":
                    assert same_bits(file[name][...], values[step]), name
                elif step == 0:
                    assert same_bits(file[name][...], values)
            assert file["fields/u"].attrs["units"] == b"K"
