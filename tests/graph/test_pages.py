# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/graphs.md, word by word, and the example with LAMMPS."""
import os
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from leat_run import BUILD
from python_client import ROOT, installed

PAGE = (ROOT / "docs/how-to/graphs.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))


def run(folder, command, **variables):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(folder / "r"), **variables})
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return installed(tmp_path_factory.mktemp("python"))


@pytest.fixture
def path(python):
    """Where `leat` and a python3 with the package are."""
    return f"{python.parent}:{python.parents[2] / 'leat/bin'}:{os.environ['PATH']}"


def test_one_module(folder, path):
    said = run(folder, ["leat", "graph", "first.py", "--", "python3", "wave.py"], PATH=path)
    assert "100 iterations ended, 100 stored" in said and "nothing lost" in said
    with h5py.File(folder / "wave.h5") as file:
        made = file["scripts/profile/profile"][:]
        assert np.array_equal(made, file["u"][:].mean(axis=1)) and len(made) == 100


def test_a_second_one_and_a_value_that_goes_back(folder, path):
    said = run(folder, ["leat", "graph", "second.py", "--", "python3", "wave.py"], PATH=path)
    lines = re.findall(r'module "watch": iteration (\d+): \d+ cells above the limit', said)
    assert [int(each) for each in lines] == list(range(0, 100, 5)), said
    assert re.search(r"limit.*module/watch|module/watch.*limit", said), said
    run(folder, ["leat", "graph", "second.py", "--svg", "wave.svg"], PATH=path)
    assert "watch" in (folder / "wave.svg").read_text()


def test_several_for_one_task(folder, path):
    said = run(folder, ["leat", "graph", "third.py", "--", "python3", "wave.py"], PATH=path)
    found = {int(number): float(energy) for energy, number in re.findall(r"energy (\S+) in iteration (\d+)", said)}
    assert max(found) == 99, said
    with h5py.File(folder / "wave.h5") as file:
        u = file["u"][:]
    for number, energy in found.items():
        assert abs((u[number] ** 2).sum() - energy) < 1e-5


def test_a_surface_of_a_molecule(tmp_path, path):
    for each in (*(ROOT / "examples/molecular_surface").iterdir(), *pathlib.Path("/usr/share/lammps/examples/peptide").iterdir()):
        shutil.copy(each, tmp_path)
    lines = [line for line in (tmp_path / "graph.py").read_text().splitlines() if line]
    assert len(lines) <= 30
    deck = (tmp_path / "in.peptide").read_text()
    (tmp_path / "in.peptide").write_text(re.sub(r"^run\s+\d+", "run 40", deck, flags=re.M))
    mpirun = ["mpirun", "--oversubscribe", "-n", "2", "leat_lammps", "--every", "10", "surface.xml", "in.peptide"]
    said = run(tmp_path, ["leat", "graph", "graph.py", "--", *mpirun], PATH=f"{path}:{BUILD}/bin", OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    assert "nothing lost" in said, said
    with h5py.File(tmp_path / "surface.h5") as file:
        areas, rows = file["scripts/surface/area"][:], file["scripts/grid_0/density"]
        assert len(rows) == 5 and (areas > 200).all() and (areas < 4000).all(), areas
        whole = file["scripts/whole/all"][:]
        parts = file["scripts/grid_0/density"][:] + file["scripts/grid_1/density"][:]
        assert np.array_equal(whole, parts)
        cell = (21 / 36) ** 3
        assert abs(whole[0].sum() * cell - 84) < 2  # the peptide has 84 atoms, all of them in the box
    from matplotlib import image
    picture = image.imread(tmp_path / "surface.png")[..., :3]
    coloured = (picture.max(axis=2) - picture.min(axis=2)) > 0.15
    assert picture.shape[1] == 500 and 0.02 < coloured.mean() < 0.5
