# SPDX-License-Identifier: Apache-2.0
"""examples/heat_c, run as its users run it, against the same arithmetic in numpy; in one job and in several."""
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from example_run import EXAMPLES, environment, expect_same_output, kill_behind, prepared
from h5_compare import expect_same_view
from leat_run import BUILD, LIMIT, same_bits
from mpi_run import mpirun
from test_pretend import with_nodes

EXAMPLE = EXAMPLES / "heat_c"
NY, NX = 64, 48


def plate(steps):
    """The plate at the start of each step, one more row above and below."""
    T = np.full((NY + 2, NX), 300.0)
    T[17:33, 8:24] = 400.0
    for _ in range(steps):
        yield T[1:-1].copy()
        left = np.concatenate([T[1:-1, :1], T[1:-1, :-1]], axis=1)
        right = np.concatenate([T[1:-1, 1:], T[1:-1, -1:]], axis=1)
        T[1:-1] = T[1:-1] + 0.1 * (((left + right) + (T[:-2] + T[2:])) - 4.0 * T[1:-1])


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_file_has_the_whole_plate_to_the_last_bit(tmp_path, ranks):
    shutil.copy(EXAMPLE / "heat.xml", tmp_path)
    mpirun(ranks, "heat", "heat.xml", 41, cwd=tmp_path)
    with h5py.File(tmp_path / "heat.h5") as file:
        assert file["iteration"][:].tolist() == [0, 10, 20, 30, 40]
        assert [s.label for s in file["temperature"].dims] == ["", "", ""]
        assert [d[0].name for d in file["temperature"].dims] == ["/time", "/y", "/x"]
        for i, T in enumerate(plate(41)):
            if i % 10 == 0:
                assert same_bits(file["temperature"][i // 10], T), i


def long_run(folder):
    return prepared(folder, EXAMPLE / "heat_long.xml", ["temperature"])


def run(folder, ranks, steps):
    return mpirun(ranks, "heat", "heat_long.xml", steps, cwd=folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of 301 steps in one job, on two ranks."""
    folder = long_run(tmp_path_factory.mktemp("whole") / "run")
    run(folder, 2, 301)
    return folder


def test_what_the_xml_of_a_long_run_makes_of_it_is_what_numpy_makes(whole):
    T = np.array(list(plate(301)))
    with h5py.File(whole / "raw.h5") as file:
        assert same_bits(file["temperature"][:], T)
    with h5py.File(whole / "heat.h5") as file:
        assert file["iteration"][:].tolist() == list(range(0, 301, 10))
        assert same_bits(file["celsius"][:].reshape(-1, NX), T[::10, 24] - 273.15)
        assert file["celsius"].attrs["units"] == b"degC"
    with h5py.File(whole / "heat-over-100.h5") as file:
        assert file["iteration"][:].tolist() == [99, 199, 299]
        for row in range(3):
            of_it = T[100 * row:100 * row + 100]
            assert np.allclose(file["mean"][row], of_it.mean(axis=0), rtol=1e-14)
            assert same_bits(file["hottest"][row], of_it.max(axis=0).astype("f4"))


@pytest.mark.parametrize("jobs", [[150, 301], [120, 260, 301], [301, 301]])
def test_a_run_in_several_jobs_leaves_the_files_of_one(whole, tmp_path, jobs):
    folder = long_run(tmp_path / "jobs")
    for steps in jobs:
        run(folder, 2, steps)
    expect_same_output(folder, whole)


def test_jobs_may_have_other_ranks(whole, tmp_path):
    """What is over periods begins anew then, and the log says so."""
    folder = long_run(tmp_path / "jobs")
    said = [run(folder, ranks, steps) for ranks, steps in [(4, 120), (1, 260), (2, 301)]]
    assert "begins anew" in said[1] and "begins anew" in said[2], said
    for name, arrays in {"raw.h5": ["temperature"], "heat.h5": ["temperature", "celsius"]}.items():
        with h5py.File(folder / name) as file, h5py.File(whole / name) as one:
            for each in ("iteration", "time", *arrays):
                assert same_bits(file[each][:], one[each][:]), (name, each)


def test_a_run_that_is_killed_leaves_them_too(tmp_path):
    folder, whole = long_run(tmp_path / "killed"), long_run(tmp_path / "whole")
    newest = kill_behind(folder, 2, "heat", "heat_long.xml", "raw.h5", 130)
    run(folder, 2, newest + 155)
    run(whole, 2, newest + 155)
    expect_same_output(folder, whole, but=["lost"])  # of the iteration in which ranks died, which was cut off


@with_nodes
def test_jobs_on_several_nodes_leave_the_files_of_one(tmp_path):
    """Each server goes on in its own part, with its own sums."""
    for name, jobs in {"whole": [301], "jobs": [150, 301]}.items():
        (tmp_path / name).mkdir()
        shutil.copy(EXAMPLE / "heat_long.xml", tmp_path / name)
        for steps in jobs:
            words = [BUILD / "bin/leat", "launch", "heat_long.xml", "--pretend-nodes", "2", "--run", "-n", "4", "--", BUILD / "bin/heat",
                     "heat_long.xml", str(steps)]
            done = subprocess.run(words, cwd=tmp_path / name, env=environment(tmp_path / name), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=2 * LIMIT)
            assert done.returncode == 0, done.stdout + done.stderr
    for name in ("heat.h5", "heat-over-100.h5"):
        expect_same_view(tmp_path / "jobs" / name, tmp_path / "whole" / name)


def test_the_example_has_at_most_ten_calls_of_leat():
    lines = [line for line in (EXAMPLE / "heat.c").read_text().splitlines() if "leat_" in line and "#include" not in line]
    assert len(lines) <= 10, lines
