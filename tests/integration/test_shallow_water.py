# SPDX-License-Identifier: Apache-2.0
"""examples/shallow_water_fortran: equal on any number of ranks, and water is conserved."""
import pathlib
import re
import shutil

import h5py
import numpy as np
import pytest
from leat_run import same_bits
from mpi_run import mpirun

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "shallow_water_fortran"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{ranks: (what the program said, file)}"""
    done = {}
    for ranks in (1, 2, 4):
        folder = tmp_path_factory.mktemp(f"on{ranks}")
        shutil.copy(EXAMPLE / "shallow_water.xml", folder)
        said = mpirun(ranks, "shallow_water", "shallow_water.xml", 201, cwd=folder)
        done[ranks] = said, folder / "shallow_water.h5"
    return done


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_global_arrays_equal_those_of_one_rank_bit_for_bit(runs, ranks):
    with h5py.File(runs[1][1]) as one, h5py.File(runs[ranks][1]) as many:
        assert one["depth"].shape == (11, 100, 200) and one["bottom"].shape == (100, 200)
        for name in ("depth", "bottom", "iteration"):
            assert same_bits(one[name][...], many[name][...]), name


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_water_is_conserved(runs, ranks):
    assert float(re.search(r"relative change: +(\S+)", runs[ranks][0])[1]) < 1e-12
    with h5py.File(runs[ranks][1]) as file:
        depth = file["depth"][...]
        assert (depth >= -1e-12).all() and np.isclose(depth[0].sum(), depth[-1].sum(), rtol=1e-12)
        assert (depth[0] + file["bottom"][...]).max() == pytest.approx(8.0)
        assert depth[-1, 50, 90] > 2.2  # the wave has come here


def test_the_example_has_at_most_ten_calls_of_leat():
    lines = [line for line in (EXAMPLE / "shallow_water.f90").read_text().splitlines()
             if re.search(r"call leat_", line)]
    assert len(lines) <= 10, lines
