# SPDX-License-Identifier: Apache-2.0
"""examples/heat_openmp: it converges, on any number of threads, and its histograms are those of NumPy."""
import h5py
import numpy as np
from threaded_example import run


def test_the_error_is_a_fourth_on_a_grid_that_is_twice_as_fine(tmp_path):
    errors = [run(tmp_path, "heat_openmp", steps, n, LEAT="off")["error"] for steps, n in ((50, 16), (200, 32), (800, 64))]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 2) < 0.1).all(), errors


def test_the_heat_that_is_left_is_that_of_the_exact_solution(tmp_path):
    steps, n = 200, 64
    exact = 4 / np.pi**2 * np.exp(-2 * np.pi**2 * steps * 0.2 / n**2)
    assert abs(run(tmp_path, "heat_openmp", steps, n, 10)["heat"] / exact - 1) < np.pi**2 / 4 / n**2  # of second order


def test_the_result_is_the_same_on_any_number_of_cores_and_without_leat(tmp_path):
    said = run(tmp_path, "heat_openmp", 101)
    assert run(tmp_path, "heat_openmp", 101, cores=1) == said
    assert run(tmp_path, "heat_openmp", 101, LEAT="off") == said
    assert run(tmp_path, "heat_openmp", 101, 64, 1) == said
    assert run(tmp_path, "heat_openmp", 100, LEAT="off")["checksum"] != said["checksum"]


def test_histograms_are_those_of_numpy(tmp_path):
    run(tmp_path, "heat_openmp", 101)
    with h5py.File(tmp_path / "heat_openmp.h5") as file:
        assert file["T"].shape == (11, 65, 65)
        for row, T in enumerate(file["T"][:]):
            assert (file["products/counts/T_histogram"][10 * row] == np.histogram(T, 20, (0, 1))[0]).all()
