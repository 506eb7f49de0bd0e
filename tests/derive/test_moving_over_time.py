# SPDX-License-Identifier: Apache-2.0
"""What is over time goes on where the value is: with another rank, or on another server, that has it now. Compared with NumPy."""
import numpy as np
import pytest
from arrays_run import write_arrays
from derived_run import fields, stored
from leat_run import same_bits
from test_coordinates import X, by_rank, text

ITERATIONS, EVERY = 8, 4
COLUMNS = [0, 3, 1, 11, 4, 9, 9, 0]


def over(values, function):
    return np.array([function(values[begin:begin + EVERY]) for begin in range(0, len(values), EVERY)])


def in_order(values):
    """As the server adds them up."""
    total = np.zeros_like(values[0])
    for each in values:
        total = total + each
    return total


@pytest.mark.parametrize("ranks, servers", [(1, 1), (4, 1), (4, 2), (6, 3)])
def test_a_probe_and_a_line_that_move(tmp_path, ranks, servers):
    whole = fields(ITERATIONS)
    places = {("at", i): X[at] for i, at in enumerate(COLUMNS)} | {("iy", i): 2 for i in range(ITERATIONS)}
    derived = f"""<variable name="probe" expr="u" select="y=iy, x=at m"/><variable name="line" expr="u" select="x=at m"/>
      <variable name="probe_mean" expr="probe" operation="mean" every="{EVERY}"/>
      <variable name="probe_most" expr="2 * probe" operation="max" every="{EVERY}"/>
      <variable name="line_sum" expr="line" operation="accumulate" every="{EVERY}"/>"""
    log = write_arrays(tmp_path, text(derived, ranks, cores=f'{servers}" servers="{servers}'), by_rank(whole, ranks, parameters=places))
    assert "not made" not in log and "begins anew" not in log and "what others had before" not in log, log
    line = np.array([whole["u"][i, :, at] for i, at in enumerate(COLUMNS)])
    probe = line[:, 2]
    assert same_bits(stored(tmp_path, "probe"), probe) and same_bits(stored(tmp_path, "line"), line)
    assert same_bits(stored(tmp_path, "probe_mean", "run-over-4.h5"), over(probe, in_order) / EVERY)
    assert same_bits(stored(tmp_path, "probe_most", "run-over-4.h5"), over(2 * probe, np.max))
    assert same_bits(stored(tmp_path, "line_sum", "run-over-4.h5"), over(line, in_order))


@pytest.mark.parametrize("skips", [(), (0,), (0, 1)])
@pytest.mark.parametrize("ranks, servers", [(4, 1), (4, 2)])
def test_one_value_of_all_ranks_of_which_some_do_not_write(tmp_path, ranks, servers, skips):
    """The first ones, or all of the first server, in the last iterations of a period and in the first of the next."""
    whole, without = fields(ITERATIONS), (2, 3, 4)
    derived = f"""<variable name="top" expr="u" reduce="max"/><variable name="profile" expr="u" reduce="max(x)"/>
      <variable name="top_sum" expr="top" operation="accumulate" every="{EVERY}"/>
      <variable name="top_top" expr="top" operation="max" every="{EVERY}"/>
      <variable name="profile_sum" expr="profile" operation="accumulate" every="{EVERY}"/>"""
    data = by_rank(whole, ranks)
    there = whole["u"].copy()
    for rank in skips:
        for i in without:
            del data[rank]["u", i], data[rank]["v", i]
            there[i, :, rank * 3:(rank + 1) * 3] = -np.inf
    write_arrays(tmp_path, text(derived, ranks, cores=f'{servers}" servers="{servers}'), data)
    top, profile = there.max(axis=(1, 2)), there.max(axis=2)
    assert same_bits(stored(tmp_path, "top"), top) and same_bits(stored(tmp_path, "profile"), profile)
    assert same_bits(stored(tmp_path, "top_sum", "run-over-4.h5"), over(top, in_order))
    assert same_bits(stored(tmp_path, "top_top", "run-over-4.h5"), over(top, np.max))
    assert same_bits(stored(tmp_path, "profile_sum", "run-over-4.h5"), over(profile, in_order))


def test_a_value_of_all_that_comes_late_was_nobodys_before(tmp_path):
    whole, data = fields(ITERATIONS), by_rank(fields(ITERATIONS), 4)
    for arrays in data:
        for i in (0, 1):
            del arrays["u", i]
    derived = f'<variable name="top" expr="u" reduce="max"/><variable name="top_top" expr="top" operation="max" every="{EVERY}"/>'
    log = write_arrays(tmp_path, text(derived, 4, cores='2" servers="2'), data)
    assert "what others had before" not in log, log
    top = whole["u"].max(axis=(1, 2))
    assert same_bits(stored(tmp_path, "top_top", "run-over-4.h5"), np.array([top[2:4].max(), top[4:].max()]))
