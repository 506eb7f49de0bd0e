# SPDX-License-Identifier: Apache-2.0
"""Readers of other formats, of what `leat zarr` and `leat openpmd` make: from PyPI, in the environment of tools/neighbours.txt."""
import functools
import json
import pathlib
import subprocess

from leat_run import BUILD
from warm_python import warm

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def environment():
    done = subprocess.run([ROOT / "tools/python_environment", ROOT / "tools/neighbours.txt"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


def ask(script, *words, cwd, **more):
    """What tests/support/<script> prints as JSON; more: its environment."""
    modules = {"zarr_read.py": ("xarray", "zarr", "h5netcdf")}.get(script, ("openpmd_api", "openpmd_viewer"))
    done = warm(environment() / "bin/python", *modules, **more).run(ROOT / "tests/support" / script, *words, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def leat(*words, cwd=None):
    return subprocess.run([BUILD / "bin/leat", *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=120)
