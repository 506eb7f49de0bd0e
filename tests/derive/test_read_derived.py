# SPDX-License-Identifier: Apache-2.0
"""leat.open() of what the server makes: packed values and their errors, means over periods, in files of their own."""
import pathlib
import sys

import h5py
import numpy as np
from derived_run import fields, run
from leat_run import same_bits
from test_packed import MISSING, OFFSET, PACKED, SCALE, warm

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))

import leat  # noqa: E402


def test_packed_values_come_as_values_and_what_is_missing_as_nan(tmp_path):
    whole = warm(3)
    whole["u"][1, 2, 3], whole["u"][2, 0, 0] = np.nan, 1e9
    run(tmp_path, PACKED, whole)
    stored = leat.open(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as judge:
        codes, errors = judge["a"][:], judge["a_error"][:]
    values = np.where(codes == MISSING["i2"], np.nan, codes * SCALE + OFFSET)
    assert stored.variables["a"].dtype == "f8" and np.isnan(values).sum() == 2
    assert all(same_bits(stored[i]["a"], values[i]) for i in range(3)) and same_bits(stored["a"].values, values)
    assert same_bits(np.array([stored[i]["a_error"] for i in range(3)]).ravel(), errors.ravel())


def test_what_is_over_time_has_periods(tmp_path):
    whole, times = fields(6), np.array([1.0, 2.0, 4.0, 5.0, 5.5, 8.0])
    run(tmp_path, '<variable name="mean" expr="u" operation="mean" every="3"/>', whole, times=times)
    means, single = leat.open(tmp_path / "run-over-3.h5"), leat.open(tmp_path / "run.h5")
    assert means.iterations == [2, 5] and [it.period for it in means] == [(1.0, 4.0), (4.0, 8.0)] and means.times.tolist() == [2.5, 6.0]
    with h5py.File(tmp_path / "run-over-3.h5") as judge:
        assert all(same_bits(it["mean"], judge["mean"][row]) for row, it in enumerate(means))
    assert single[2].period is None and single.times.tolist() == times.tolist()
    try:
        leat.open(tmp_path)
    except leat.CannotRead as why:
        assert f"{tmp_path} has 2 outputs; say which: {tmp_path}/run-over-3.h5, {tmp_path}/run.h5" in str(why)


def test_periods_without_a_time_are_iterations(tmp_path):
    run(tmp_path, '<variable name="mean" expr="u" operation="mean" every="4"/>', fields(8))
    assert [it.period for it in leat.open(tmp_path / "run-over-4.h5")] == [(0, 3), (4, 7)]
