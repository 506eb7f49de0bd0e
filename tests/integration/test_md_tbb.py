# SPDX-License-Identifier: Apache-2.0
"""examples/md_tbb: its physics holds, on any number of threads, and what was analysed meanwhile is what NumPy finds afterwards."""
import h5py
import numpy as np
import pytest
from threaded_example import run

BOX, CUTOFF, BREAK, RMAX = 13.6, 1.3, 1.7, 3.4


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("md")
    return run(folder, "md_tbb", 61), folder


def distances(x):
    away = x[:, None, :] - x[None, :, :]
    away -= BOX * np.round(away / BOX)
    return np.sqrt((away ** 2).sum(axis=2))[np.triu_indices(len(x), 1)]


def test_energy_and_momentum_are_kept(done):
    said, _ = done
    assert said["drift"] < 2e-3 and said["momentum"] < 1e-9, said


def test_the_change_of_energy_is_a_fourth_with_half_of_the_step(tmp_path):
    drifts = [run(tmp_path, "md_tbb", steps, 6, dt, LEAT="off")["drift"] for steps, dt in ((40, 0.004), (80, 0.002), (160, 0.001))]
    ratios = np.divide(drifts[:-1], drifts[1:])
    assert ((3 < ratios) & (ratios < 5)).all(), drifts


def test_the_result_is_the_same_on_any_number_of_cores_and_without_leat(done, tmp_path):
    said, _ = done
    assert run(tmp_path, "md_tbb", 61, cores=1) == said
    assert run(tmp_path, "md_tbb", 61, LEAT="off") == said
    assert run(tmp_path, "md_tbb", 60, LEAT="off")["checksum"] != said["checksum"]


def test_what_was_analysed_is_what_numpy_finds(done):
    with h5py.File(done[1] / "md_tbb.h5") as file:
        x, v = file["x"][:], file["v"][:]
        assert x.shape == v.shape == (7, 2048, 3) and 0 <= x.min() and x.max() < BOX
        speeds, g, bonds = (file[f"products/{store}"] for store in ("speeds", "g", "bonds"))
        np.testing.assert_allclose(speeds["v_std"][::10], v.std(axis=(1, 2)), rtol=1e-12)
        first = distances(x[0])
        near = first <= CUTOFF
        assert (bonds["x_bonds"][:] == near.sum()).all() and near.sum() == 6 * 2048
        for row in range(7):
            now = distances(x[row])
            assert bonds["x_broken"][10 * row] == (now[near] > BREAK).sum()
            assert g["x_pairs"][row] == (now <= RMAX).sum()
        assert bonds["x_broken"][0] == 0 < bonds["x_broken"][60]
