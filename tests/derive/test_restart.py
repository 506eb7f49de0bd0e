# SPDX-License-Identifier: Apache-2.0
"""Runs that go on where an earlier one has ended: what is over periods is what one run makes."""
import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from derived_run import by_rank, fields, text
from leat_run import same_bits

OPERATIONS = ("mean", "min", "max", "accumulate", "variance")
DERIVED = "".join(f'<variable name="{each}" expr="u" operation="{each}" every="8 s"/>' for each in OPERATIONS)
STORE = '<store name="out" type="hdf5" append="true"/>'


def part_of_run(folder, whole, times, first, last, ranks=2):
    arrays = by_rank(whole, ranks, times)
    for each in arrays:
        for key in [key for key in each if key[1] != "position" and not first <= key[1] < last]:
            del each[key]
        if first:
            each["run", "start"] = np.array(first)
    return write_arrays(folder, text(DERIVED, ranks, True, store=STORE), arrays)


def over_time(folder):
    with h5py.File(folder / "run-over-8s.h5") as file:
        return {name: file[name][:] for name in (*OPERATIONS, "time", "time_bnds", "iteration")}


@pytest.mark.parametrize("cuts", [[16], [5], [7, 8, 9, 23]])
def test_a_run_in_several_parts_makes_what_one_run_makes(tmp_path, cuts):
    whole, times = fields(30, seed=8), np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, 30))
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    part_of_run(tmp_path / "whole", whole, times, 0, 30)
    for first, last in zip([0, *cuts], [*cuts, 30]):
        log = part_of_run(tmp_path / "parts", whole, times, first, last)
        assert not first or f"what is over periods goes on behind iteration {first - 1}" in log, log
    one, parts = over_time(tmp_path / "whole"), over_time(tmp_path / "parts")
    for name in one:
        assert same_bits(one[name], parts[name]), name


def test_a_run_that_goes_on_before_the_end_of_the_earlier_one_says_what_it_has_not(tmp_path):
    whole, times = fields(30, seed=8), np.arange(30) + 1.0
    part_of_run(tmp_path, whole, times, 0, 20)
    log = part_of_run(tmp_path, whole, times, 12, 30)
    assert "what is over periods begins with iteration 12: run.sums has what it had come to at the end of iteration 19" in log, log
    found = over_time(tmp_path)
    assert found["time_bnds"].tolist() == [[1, 8], [13, 16], [16, 24]]  # the second has what came from iteration 12 on
    assert same_bits(found["max"][1], whole["u"][12:16].max(axis=0))
