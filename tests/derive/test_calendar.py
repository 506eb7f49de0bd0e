# SPDX-License-Identifier: Apache-2.0
"""Periods of the simulation's time, compared with CDO on the raw output of the same run, and with NumPy."""
import subprocess

import cftime
import h5py
import numpy as np
import pytest
import xarray
from arrays_run import write_arrays
from derived_run import NX, NY, fields, run
from leat_run import same_bits, xml

MONTHLY = {"mean": "monmean", "min": "monmin", "max": "monmax", "accumulate": "monsum", "variance": "monvar"}
GRID = f"""<parameter name="t" type="double"/><time parameter="t" unit="UNIT" calendar="CALENDAR"/>
<layout name="lats" type="double" dimensions="{NY}" names="lat"/><layout name="lons" type="double" dimensions="{NX}" names="lon"/>
<mesh name="globe" type="rectilinear" coordinates="lon,lat"/>
<variable name="lat" layout="lats" unit="degrees_north" time-varying="false"/>
<variable name="lon" layout="lons" unit="degrees_east" time-varying="false"/>
<layout name="cells" type="double" dimensions="{NY},{NX}" names="lat,lon"/>
<variable name="u" layout="cells" mesh="globe" unit="K" store="out"/>"""


def cdo(*words):
    done = subprocess.run(["cdo", "-s", *words], capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout


def on_a_grid(folder, derived, calendar, unit, times, values):
    data = GRID.replace("UNIT", unit).replace("CALENDAR", calendar) + derived
    arrays = {("u", i): each for i, each in enumerate(values)} | {("=t", i): np.array(each) for i, each in enumerate(times)}
    arrays |= {("lat", 0): np.linspace(-60, 60, NY), ("lon", 0): np.arange(NX) * 30.0}
    return write_arrays(folder, xml(data), [arrays])


@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day"])
def test_months_are_those_of_cdo_to_the_last_bit(tmp_path, calendar):
    """From 20 January 2000 on, at the end of each day: a partial month, a February with a leap day where there is one. CDO has an hour less
    in the times, since midnight is of the next day to it."""
    days, unit = 60, "days since 2000-01-20"
    values = np.random.default_rng(5).normal(280, 9, (days, NY, NX))
    derived = "".join(f'<variable name="{each}" expr="u" operation="{each}" every="1 mo"/>' for each in MONTHLY)
    on_a_grid(tmp_path, derived, calendar, unit, np.arange(days) + 1.0, values)
    with h5py.File(tmp_path / "run-over-1mo.h5") as file:
        ends = [each for each in file["time_bnds"][:]]
        dates = [[str(cftime.num2date(each, unit, calendar))[:10] for each in pair] for pair in ends]
        assert dates[0][1] == "2000-02-01" and dates[1] == ["2000-02-01", "2000-03-01"] and len(dates) == 2
        assert ends[0][0] == 1.0 and ends[1][1] - ends[1][0] == {"standard": 29, "noleap": 28, "360_day": 30}[calendar]
        for operation, name in MONTHLY.items():
            cdo(name, "-shifttime,-1hour", "-selname,u", str(tmp_path / "run.h5"), str(tmp_path / "cdo.nc"))
            with xarray.open_dataset(tmp_path / "cdo.nc", decode_times=False) as judged:
                expected = judged["u"].values[:2]
            if operation == "variance":
                np.testing.assert_allclose(file[operation][:], expected, rtol=1e-10)  # CDO adds up squares
            else:
                assert same_bits(file[operation][:], expected.astype("f8")), operation
    with xarray.open_dataset(tmp_path / "run-over-1mo.h5") as opened:  # as dates
        assert opened["mean"].dims == ("time", "lat", "lon") and opened["mean"].attrs["cell_methods"] == "time: mean"


def test_days_are_from_midnight_to_midnight_whatever_the_step(tmp_path):
    """Steps of three hours, with the time at their end: a day has those that end from 3 o'clock to midnight."""
    unit, steps = "hours since 2001-03-01", 33
    values = np.random.default_rng(6).normal(size=(steps, NY, NX))
    on_a_grid(tmp_path, '<variable name="mean" expr="u" operation="mean" every="1 d"/>', "standard", unit, np.arange(steps) * 3.0, values)
    with h5py.File(tmp_path / "run-over-1d.h5") as file:
        assert file["time_bnds"][:].tolist() == [[0, 24], [24, 48], [48, 72], [72, 96]] and file["time"][:].tolist() == [12, 36, 60, 84]
        for day in range(4):  # the state at 0 o'clock of the first day is of no step
            part = values[1 + 8 * day:9 + 8 * day]
            total = part[0].copy()
            for each in part[1:]:
                total = total + each
            assert same_bits(file["mean"][day], total / 8)


def test_a_step_over_the_end_of_a_period_is_divided(tmp_path):
    whole, times = fields(5), [0.4, 0.8, 1.2, 2.0, 2.5]
    run(tmp_path, '<variable name="mean" expr="u" operation="mean" every="1 s"/>', whole, times=times)
    u = whole["u"]
    with h5py.File(tmp_path / "run-over-1s.h5") as file:
        assert file["time_bnds"][:].tolist() == [[0.4, 1.0], [1.0, 2.0]]
        np.testing.assert_allclose(file["mean"][0], (u[0] * 0.4 + u[1] * 0.4 + u[2] * 0.2) / 1.0, rtol=1e-13)
        np.testing.assert_allclose(file["mean"][1], (u[2] * 0.2 + u[3] * 0.8) / 1.0, rtol=1e-13)


@pytest.mark.parametrize("what", ["variable", "store"])
def test_instants_are_the_first_iteration_at_or_after_each_multiple(tmp_path, what):
    """A hundred steps of 0.1 that are added up, and lack a little of the multiples; then steps of other lengths."""
    times = np.concatenate([np.cumsum(np.full(100, 0.1)), 10.0 + np.cumsum([0.3, 0.3, 0.7, 1.4, 0.05])])
    whole = fields(len(times))
    derived, store = ('<variable name="w" expr="u" every="0.5 s"/>', '<store name="out" type="hdf5"/>') if what == "variable" else \
        ("", '<store name="out" type="hdf5" file="run-every-0.5s.h5" every="0.5 s"/>')
    run(tmp_path, derived, whole, 1, times=times, store=store)
    expected = list(range(4, 100, 5)) + [101, 102, 103]
    with h5py.File(tmp_path / "run-every-0.5s.h5") as file:
        assert file["iteration"][:].tolist() == expected
        assert same_bits(file["w" if what == "variable" else "u"][:], whole["u"][expected])


def test_first_and_phases(tmp_path):
    whole = fields(40)
    run(tmp_path, """<variable name="begin" expr="u" every="first"/><variable name="seldom" expr="u" every="2 for 10, then 10"/>""", whole)
    with h5py.File(tmp_path / "run-every-first.h5") as file:
        assert file["iteration"][:].tolist() == [0]
    (path,) = tmp_path.glob("run-every-2*.h5")
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == [0, 2, 4, 6, 8, 10, 20, 30]
        assert same_bits(file["seldom"][:], whole["u"][[0, 2, 4, 6, 8, 10, 20, 30]])


def test_time_that_stands_still_or_runs_backwards_has_no_weight_and_is_said(tmp_path):
    whole, times = fields(4), [1.0, 2.0, 2.0, 3.0]
    log = run(tmp_path, '<variable name="mean" expr="u" operation="mean" every="4"/>', whole, times=times)
    u = whole["u"]
    with h5py.File(tmp_path / "run-over-4.h5") as file:
        assert same_bits(file["mean"][0], (u[0] + u[1] + u[3]) / 3)
    assert "iteration 2: the time 2 does not come after 2: until it does iterations take no time, and have no weight in means" in log, log
