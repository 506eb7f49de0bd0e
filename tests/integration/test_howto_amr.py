# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/amr.md: its code, run on the file of its example."""
import pathlib
import re
import subprocess
import sys

import pytest
from judges import environment
from mpi_run import mpirun

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/amr.md").read_text()
XARRAY, VTK = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the example has run."""
    folder = tmp_path_factory.mktemp("run")
    ranks, program, xml, _ = re.search(r"mpirun -n (\d) (\w+) (\S+) (\d+)", PAGE).groups()
    (folder / xml).write_text((ROOT / "examples/amr_advection" / xml).read_text())
    mpirun(int(ranks), program, xml, 60, cwd=folder)
    return folder


def run(python, code, folder):
    done = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True,
                          env={"PYTHONPATH": str(ROOT / "python-plugins"), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0 and "ERR|" not in done.stderr, done.stderr
    return done.stdout


def test_the_lines_for_xarray_show_levels_and_a_covering_grid(folder):
    said = run(sys.executable, XARRAY, folder)
    fine, sizes, mean = re.search(r"(\d+) fine patches\n.*('y': \d+, 'x': \d+).* (\S+)\n", said).groups()
    assert int(fine) > 6 * 10 and sizes == "'y': 128, 'x': 128"
    assert float(mean) == pytest.approx(0.0157, rel=0.01), "no dye is lost"


def test_the_lines_for_vtk_make_a_picture(folder):
    run(environment() / "bin/python", VTK, folder)
    picture = (folder / "amr.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 5000
