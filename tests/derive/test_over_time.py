# SPDX-License-Identifier: Apache-2.0
"""Means and others over periods, compared with NumPy."""
import os
import signal
import threading
import time

import h5py
import numpy as np
import pytest
import xarray
from derived_run import fields, run, stored
from leat_run import same_bits

OPERATIONS = ("mean", "min", "max", "accumulate", "variance")
ALL = "".join(f'<variable name="{each}" expr="u" operation="{each}" every="4"/>' for each in OPERATIONS)


def added(values):
    """In the order in which they come."""
    total = values[0].copy()
    for each in values[1:]:
        total = total + each
    return total


def check(folder, whole, rows=2, n=4):
    with h5py.File(folder / "run-over-4.h5") as file:
        assert len(file["mean"]) == rows
        for row in range(rows):
            values = whole["u"][n * row:n * (row + 1)]
            assert same_bits(file["mean"][row], added(values) / n)
            assert same_bits(file["min"][row], values.min(axis=0)) and same_bits(file["max"][row], values.max(axis=0))
            assert same_bits(file["accumulate"][row], added(values))
            np.testing.assert_allclose(file["variance"][row], values.var(axis=0), rtol=1e-13)
        assert file["iteration"][:].tolist() == [n * row + n - 1 for row in range(rows)]
        assert file["iteration_bnds"][:].tolist() == [[n * row, n * row + n - 1] for row in range(rows)]
        assert file["iteration"].attrs["bounds"] == b"iteration_bnds"
        assert file["mean"].attrs["cell_methods"] == b"iteration: mean" and file["max"].attrs["cell_methods"] == b"iteration: maximum"


@pytest.mark.parametrize("ranks", [1, 2])
def test_they_are_what_numpy_makes(tmp_path, ranks):
    whole = fields(8)
    log = run(tmp_path, ALL, whole, ranks)
    check(tmp_path, whole)
    assert "not made" not in log and "anew" not in log, log


def test_with_a_time_they_have_a_time_axis_with_bounds_and_steps_count_as_much_as_they_are_long(tmp_path):
    whole = fields(6)
    times = np.array([1.0, 2.0, 4.0, 5.0, 5.5, 8.0])
    run(tmp_path, '<variable name="mean" expr="u" operation="mean" every="3"/>', whole, times=times)
    weights = np.array([1, 1, 2, 1, 0.5, 2.5])
    with h5py.File(tmp_path / "run-over-3.h5") as file:
        for row, part in enumerate((slice(0, 3), slice(3, 6))):
            w = weights[part]
            expected = added([a * b for a, b in zip(w, whole["u"][part])]) / w.sum()
            assert same_bits(file["mean"][row], expected)
        assert file["time_bnds"][:].tolist() == [[1.0, 4.0], [4.0, 8.0]] and file["time"][:].tolist() == [2.5, 6.0]
        assert file["mean"].attrs["cell_methods"] == b"time: mean"
    with xarray.open_dataset(tmp_path / "run-over-3.h5", decode_times=False) as opened:
        assert opened["time"].attrs["bounds"] == "time_bnds" and opened["mean"].dims[0] == "time"


def test_steps_that_differ_by_rounding_alone_count_alike(tmp_path):
    whole, times = fields(8), np.cumsum(np.full(8, 0.1))
    run(tmp_path, '<variable name="mean" expr="u" operation="mean" every="4"/>', whole, times=times)
    found = stored(tmp_path, "mean", "run-over-4.h5")
    for row in range(2):
        assert same_bits(found[row], added(whole["u"][4 * row:4 * row + 4]) / 4)


def test_a_period_that_is_not_over_is_not_in_the_file(tmp_path):
    whole = fields(11)
    run(tmp_path, ALL, whole)
    check(tmp_path, whole)


def test_a_server_that_is_killed_goes_on_with_the_same_sums(tmp_path):
    whole, killed = fields(16, seed=3), []

    def kill(its_run, iteration):
        if iteration in (1, 4, 7, 9, 10):
            killed.extend(_kill(server) for server in its_run.servers())

    run(tmp_path, ALL, whole, after=kill, sync=True)
    check(tmp_path, whole, rows=4)
    assert len(killed) == 5


def test_servers_that_are_killed_at_random_leave_the_same_file(tmp_path):
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    random, whole, killers = np.random.default_rng(seed), fields(40, seed=4), []

    def kill_later(its_run, iteration):
        if iteration < 35 and random.random() < 0.4:
            delay = float(random.random()) * 0.02
            killers.append(threading.Thread(target=lambda: (time.sleep(delay), [_kill(server) for server in its_run.servers()])))
            killers[-1].start()
        if iteration == 35:  # who is killed at the very end has nobody who goes on
            [each.join() for each in killers]

    run(tmp_path, ALL, whole, after=kill_later, sync=True)
    check(tmp_path, whole, rows=10)


def _kill(server):
    try:
        os.kill(server, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it had come to its end


def test_the_mean_of_an_expression_and_the_expression_of_a_mean(tmp_path):
    whole = fields(4)
    run(tmp_path, """<variable name="speed" expr="sqrt(u*u+v*v)" store="none"/>
                     <variable name="speed_mean" expr="speed" operation="mean" every="2"/>
                     <variable name="u_mean" expr="u" operation="mean" every="2"/>
                     <variable name="twice" expr="2*u_mean" store="none"/>""", whole)
    speed = np.sqrt(whole["u"] ** 2 + whole["v"] ** 2)
    found = stored(tmp_path, "speed_mean", "run-over-2.h5")
    for row in range(2):
        assert same_bits(found[row], (speed[2 * row] + speed[2 * row + 1]) / 2)


def test_scripts_see_them_as_any_other_variable(tmp_path):
    (tmp_path / "look.py").write_text('''
import leat, numpy as np

@leat.on_iteration
def look(ds, ctx):
    if "mean" in ds:
        np.save(f"mean{ctx.iteration}.npy", np.asarray(ds["mean"].values))
    np.save(f"speed{ctx.iteration}.npy", np.asarray(ds["speed"].values))
''')
    whole = fields(4)
    log = run(tmp_path, """<variable name="speed" expr="sqrt(u*u+v*v)" unit="m/s"/>
                     <variable name="mean" expr="u" operation="mean" every="2"/>""", whole,
              log='<scripts><script file="look.py" when-slow="wait"/></scripts>')
    for i in range(4):
        assert same_bits(np.load(tmp_path / f"speed{i}.npy"), np.sqrt(whole["u"][i] ** 2 + whole["v"][i] ** 2)), log
        assert (tmp_path / f"mean{i}.npy").exists() == (i in (1, 3))
    assert same_bits(np.load(tmp_path / "mean3.npy"), (whole["u"][2] + whole["u"][3]) / 2)
