# SPDX-License-Identifier: Apache-2.0
"""examples/shallow_water_fortran: equal on any number of ranks, water is conserved, what the XML makes of it is what NumPy makes of the
raw output, and a run that is interrupted leaves the files of one that is not."""
import re

import h5py
import numpy as np
import pytest
from example_run import EXAMPLES, expect_same_output, kill_behind, prepared
from leat_run import same_bits
from mpi_run import mpirun

EXAMPLE = EXAMPLES / "shallow_water_fortran"
RAW = ("depth", "hu", "hv")
STEPS = 201


def run(folder, ranks, steps):
    return mpirun(ranks, "shallow_water", "shallow_water.xml", steps, cwd=folder)


def fresh(folder):
    return prepared(folder, EXAMPLE / "shallow_water.xml", RAW)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{ranks: folder}"""
    done = {}
    for ranks in (1, 2, 4):
        done[ranks] = fresh(tmp_path_factory.mktemp("whole") / f"on{ranks}")
        run(done[ranks], ranks, STEPS)
    return done


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_global_arrays_equal_those_of_one_rank_bit_for_bit(runs, ranks):
    with h5py.File(runs[1] / "shallow_water.h5") as one, h5py.File(runs[ranks] / "shallow_water.h5") as many:
        assert one["depth"].shape == (11, 100, 200) and one["bottom"].shape == (100, 200)
        for name in ("depth", "bottom", "speed", "iteration"):
            assert same_bits(one[name][...], many[name][...]), name


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_water_is_conserved(runs, ranks):
    with h5py.File(runs[ranks] / "shallow_water.h5") as file:
        depth = file["depth"][...]
        assert (depth >= -1e-12).all() and np.isclose(depth[0].sum(), depth[-1].sum(), rtol=1e-12)
        assert (depth[0] + file["bottom"][...]).max() == pytest.approx(8.0)
        assert depth[-1, 50, 90] > 2.2  # the wave has come here


@pytest.mark.parametrize("ranks", [1, 4])
def test_what_the_xml_makes_of_it_is_what_numpy_makes_of_the_raw_output(runs, ranks):
    with h5py.File(runs[ranks] / "raw.h5") as file:
        assert file["iteration"][:].tolist() == list(range(STEPS))
        h, hu, hv = (file[name][:] for name in RAW)
    with h5py.File(runs[ranks] / "shallow_water.h5") as file:
        assert file["iteration"][:].tolist() == list(range(0, STEPS, 20))
        assert same_bits(file["depth"][:], h[::20])
        speed = np.sqrt(hu * hu + hv * hv) / np.maximum(h, 0.001)
        assert same_bits(file["speed"][:], speed[::20].astype("f4")) and speed.max() > 3
        assert file["speed"].attrs["units"] == b"m/s"
    with h5py.File(runs[ranks] / "shallow_water-over-100.h5") as file:
        assert file["iteration_bnds"][:].tolist() == [[0, 99], [100, 199]]
        highest = np.stack([h[:100].max(axis=0), h[100:200].max(axis=0)])
        assert same_bits(file["highest"][:], highest.astype("f4"))
    with h5py.File(runs[ranks] / "gauge.h5") as file:
        assert same_bits(file["gauge"][:].ravel(), h[:, 50, 90])


def test_a_run_in_two_jobs_leaves_the_files_of_one(runs, tmp_path):
    """The second begins behind iteration 100, in the middle of a period."""
    folder = fresh(tmp_path / "jobs")
    run(folder, 4, 130)
    assert "going on in shallow_water.h5 from iteration 120 on" in run(folder, 4, STEPS)
    expect_same_output(folder, runs[4])


def test_the_second_job_may_have_other_ranks(runs, tmp_path):
    folder = fresh(tmp_path / "jobs")
    run(folder, 2, 130)
    run(folder, 4, STEPS)
    for name, arrays in {"raw.h5": RAW, "shallow_water.h5": ("depth", "bottom", "speed"), "gauge.h5": ["gauge"]}.items():
        with h5py.File(folder / name) as file, h5py.File(runs[4] / name) as whole:
            for each in ("iteration", *arrays):
                assert same_bits(file[each][:], whole[each][:]), (name, each)


def test_a_run_that_is_killed_leaves_them_too(tmp_path):
    folder, whole = fresh(tmp_path / "killed"), fresh(tmp_path / "whole")
    newest = kill_behind(folder, 2, "shallow_water", "shallow_water.xml", "gauge.h5", 130)
    run(folder, 2, newest + 55)
    run(whole, 2, newest + 55)
    expect_same_output(folder, whole, but=["lost"])  # of the iteration in which ranks died, which was cut off


def test_the_example_has_ten_calls_for_its_output_and_seven_to_go_on():
    lines = [line for line in (EXAMPLE / "shallow_water.f90").read_text().splitlines()
             if re.search(r"call leat_", line)]
    to_go_on = [line for line in lines if re.search(r'leat_(restart_step|read)|"h[uv]"', line)]
    assert len(lines) - len(to_go_on) <= 10 and len(to_go_on) <= 8, lines
