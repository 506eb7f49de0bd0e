# SPDX-License-Identifier: Apache-2.0
"""A simulation that none of us wrote: LAMMPS' crack example. What Leat stores is what LAMMPS' own dump says, bit for bit."""
import pathlib
import re
import shutil

import h5py
import numpy as np
import pytest
from leat_run import same_bits
from mpi_run import mpirun
from stored_blocks import counts_of_rows, stored_ranks

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "lammps"
PAGE = pathlib.Path(__file__).parents[2] / "docs/how-to/lammps.md"
DECK = "/usr/share/lammps/examples/crack/in.crack"
EVERY, STEPS = 100, 1000


def read_dump(path):
    """{step: {column: array}} of a LAMMPS text dump that is sorted by id; "%.17g" names each double."""
    steps = {}
    with open(path) as file:
        for line in file:
            if line.startswith("ITEM: TIMESTEP"):
                step = int(next(file))
            elif line.startswith("ITEM: NUMBER OF ATOMS"):
                atoms = int(next(file))
            elif line.startswith("ITEM: ATOMS"):
                names = line.split()[2:]
                rows = [next(file).split() for _ in range(atoms)]
                columns = dict(zip(names, zip(*rows)))
                steps[step] = {n: np.array([float(t) for t in columns[n]]) for n in names if n not in ("id", "type")}
                steps[step].update({n: np.array([int(t) for t in columns[n]], "i4") for n in ("id", "type")})
    return steps


def read_leat(path, ranks):
    """The same from Leat's file: the blocks of an iteration lie one after the other in each ragged array."""
    with h5py.File(path) as file:
        counts = counts_of_rows(file, "x")
        for name in ("x", "v", "id", "type"):  # nothing missing, nothing extra, and in the order of the ranks
            assert np.array_equal(counts_of_rows(file, name), counts) and len(file[name]) == counts.sum(), name
            assert all(list(stored_ranks(file, name, row)) == list(range(ranks)) for row in range(len(counts))), name
        ends = np.cumsum(counts.sum(axis=1))
        for row, iteration in enumerate(file["iteration"][:]):
            part = slice(ends[row] - counts[row].sum(), ends[row])
            ids = file["id"][part]
            order = np.argsort(ids)
            x, v = file["x"][part][order], file["v"][part][order]
            yield int(iteration), {"id": ids[order], "type": file["type"][part][order], "x": x[:, 0], "y": x[:, 1],
                                   "z": x[:, 2], "vx": v[:, 0], "vy": v[:, 1], "vz": v[:, 2]}


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_positions_velocities_ids_and_types_equal_the_dump_of_one_long_run(tmp_path, ranks):
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    common = ["--every", EVERY, "--steps", STEPS]
    mpirun(ranks, "leat_lammps", *common, "crack.xml", DECK, cwd=tmp_path)
    mpirun(ranks, "leat_lammps", *common, "--dump", "dump.txt", "crack.xml", DECK, cwd=tmp_path)
    dump = read_dump(tmp_path / "dump.txt")
    assert sorted(dump) == list(range(0, STEPS + 1, EVERY))
    stored = dict(read_leat(tmp_path / "crack.h5", ranks))
    assert [i * EVERY for i in sorted(stored)] == sorted(dump)
    for iteration, columns in stored.items():
        theirs = dump[iteration * EVERY]
        assert len(columns["id"]) > 8000
        for name, ours in columns.items():
            assert same_bits(ours, theirs[name]), (iteration, name)


def test_counts_of_ranks_change_from_step_to_step(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    mpirun(4, "leat_lammps", "--every", 200, "--steps", 1000, "crack.xml", DECK, cwd=tmp_path)
    with h5py.File(tmp_path / "crack.h5") as file:
        counts = counts_of_rows(file, "x")
    assert counts.shape == (6, 4) and len({tuple(c) for c in counts}) > 1
    assert (counts.sum(axis=1) == counts[0].sum()).all()


def blocks(language):
    return re.findall(rf" *```{language}\n(.*?)```", PAGE.read_text(), re.S)


def test_the_page_shows_lines_of_the_example():
    code = (EXAMPLE / "crack.c").read_text() + (EXAMPLE / "crack.xml").read_text()
    shown = [line.strip() for block in blocks("c") + blocks("xml") for line in block.splitlines() if line.strip()]
    assert len(shown) >= 5
    for line in shown:
        assert line in code


def test_the_page_reads_the_atoms_of_one_iteration(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    mpirun(2, "leat_lammps", "--every", 10, "--steps", 20, "crack.xml", DECK, cwd=tmp_path)
    (reading,) = blocks("python")
    with h5py.File(tmp_path / "crack.h5") as file:
        for i, (_, stored) in enumerate(read_leat(tmp_path / "crack.h5", 2)):
            names = {"file": file, "i": i}
            exec(reading, names)
            order = np.argsort(names["ids"])
            assert same_bits(names["ids"][order], stored["id"])
            assert same_bits(names["positions"][order][:, 0], stored["x"])


def test_the_script_sees_the_crack_that_is_stored(tmp_path):
    """What broken_bonds.py found while LAMMPS ran, against the same rule worked out by brute force on the stored positions."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "crack.xml").read_text().replace('<folder path="analysis"/>', '<folder path="analysis" when-slow="wait"/>')
    (tmp_path / "crack.xml").write_text(text)
    said = mpirun(2, "leat_lammps", "--every", 500, "--steps", 3000, "crack.xml", DECK, cwd=tmp_path)
    stored = dict(read_leat(tmp_path / "crack.h5", 2))
    with h5py.File(tmp_path / "crack.h5") as file:
        group = file["scripts/broken_bonds"]
        assert group["iteration"][:].tolist() == sorted(stored), said
        found = dict(zip(group["iteration"][:].tolist(), group["broken_bonds"][:].tolist()))
        assert (group["id"][-1] == stored[max(stored)]["id"]).all()
    first = stored[0]
    at = np.stack([first["x"], first["y"]], axis=1)
    spacing = 1.1139  # of the hexagonal lattice of density 0.93: sqrt(2 / (sqrt(3) * 0.93))
    pairs = np.array([(i, j) for i in range(len(at)) for j in np.flatnonzero(
        (np.abs(at[i + 1:] - at[i]) < 1.5).all(axis=1)) + i + 1])
    lengths = np.linalg.norm(at[pairs[:, 0]] - at[pairs[:, 1]], axis=1)
    types = np.sort(first["type"][pairs], axis=1)
    bonded = (lengths < 1.3 * spacing) & ~((types[:, 0] == 2) & (types[:, 1] == 3))
    for iteration, columns in stored.items():
        now = np.stack([columns["x"], columns["y"]], axis=1)
        stretched = np.linalg.norm(now[pairs[:, 0]] - now[pairs[:, 1]], axis=1) > 1.5 * lengths
        assert found[iteration] == (bonded & stretched).sum(), iteration
    assert found[max(found)] > 0
    assert (tmp_path / f"crack-scripts/broken_bonds/crack-{max(stored):06}.png").read_bytes().startswith(b"\x89PNG")
