# SPDX-License-Identifier: Apache-2.0
"""Dates and marks of lib/model against cftime, which we did not write: all calendars, over centuries."""

import math
import os
import random
import subprocess
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest

cftime = pytest.importorskip("cftime")

PROGRAM = Path(os.environ["LEAT_BUILD"], "bin", "calendar_lines")
CALENDARS = ["standard", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"]
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
ZERO = "2000-01-01"


@pytest.fixture
def dice():
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)  # shown where the test fails
    return random.Random(seed)


def ask(unit, calendar, lines, *more):
    result = subprocess.run(
        [PROGRAM, unit, calendar, *more], input="\n".join(lines), capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    answers = result.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def numbers(unit, calendar, lines, *more):
    return [float(answer) for answer in ask(unit, calendar, lines, *more)]


def words_of(date):
    second = date.hour * 3600 + date.minute * 60 + date.second
    return f"{date.year} {date.month} {date.day} {second}"


def time_of(date, unit, calendar):
    """The double nearest to it, in whole numbers: cftime rounds by itself."""
    word, _, zero = unit.split(" ", 2)
    seconds = cftime.date2num(date, f"seconds since {zero}", calendar)
    return float(Fraction(int(seconds), SECONDS[word]))


def exists(year, month, day, calendar):
    try:
        return cftime.datetime(year, month, day, calendar=calendar)
    except ValueError:
        return None


def some_dates(dice, calendar, count=300):
    """At whole seconds; ends of months, leap days and the autumn of 1582 more often than others."""
    dates = []
    while len(dates) < count:
        year = dice.choice([dice.randint(1, 3000), dice.randint(1, 3000), 1582, 1600, 1900, 2000, 2100])
        month = dice.choice([dice.randint(1, 12), 2, 10])
        day = dice.choice([dice.randint(1, 31), 1, 28, 29, 30, 31, 4, 15])
        if exists(year, month, day, calendar) is None:
            continue
        second = dice.choice([0, 86399, dice.randrange(86400)])
        hour, minute = second // 3600, second // 60 % 60
        dates.append(cftime.datetime(year, month, day, hour, minute, second % 60, calendar=calendar))
    return dates


def units(dice):
    zeros = [ZERO, "1850-02-03 12:30:15", f"{dice.randint(1, 2500):04d}-03-01 00:00:00"]
    return [f"{word} since {zero}" for word in SECONDS for zero in zeros]


@pytest.mark.parametrize("calendar", CALENDARS)
def test_times_and_dates_are_those_of_cftime(dice, calendar):
    for unit in units(dice):
        dates = some_dates(dice, calendar)
        times = numbers(unit, calendar, [f"time {words_of(date)}" for date in dates])
        assert times == [time_of(date, unit, calendar) for date in dates], unit
        found = ask(unit, calendar, [f"date {time!r}" for time in times])
        assert found == [words_of(date) + " 0.000000000" for date in dates], unit


@pytest.mark.parametrize("calendar", CALENDARS)
def test_a_date_is_there_exactly_when_cftime_has_it(calendar):
    for year in (4, 100, 400, 1580, 1582, 1583, 1600, 1700, 1900, 2000, 2001, 2024):
        days = [(year, month, day) for month in range(1, 13) for day in range(1, 33)]
        times = numbers(f"days since {ZERO}", calendar, [f"time {year} {month} {day} 0" for _, month, day in days])
        for day, time in zip(days, times):
            assert math.isnan(time) == (exists(*day, calendar) is None), day


@pytest.mark.parametrize("calendar", CALENDARS)
def test_each_day_around_the_gap_of_1582_follows_the_one_before(calendar):
    unit = "days since 1582-09-01"
    found = ask(unit, calendar, [f"date {day}" for day in range(-100, 200)])
    dates = [cftime.num2date(day, unit, calendar) for day in range(-100, 200)]
    assert found == [words_of(date) + " 0.000000000" for date in dates]


@pytest.mark.filterwarnings("ignore:this date/calendar/year zero")
@pytest.mark.parametrize("calendar", CALENDARS)
def test_years_before_year_1_are_those_of_cftime(calendar):
    unit = "days since 0001-01-01"
    days = range(-3000, 400, 7)
    found = ask(unit, calendar, [f"date {day}" for day in days])
    assert found == [words_of(cftime.num2date(day, unit, calendar)) + " 0.000000000" for day in days]


def test_zones_are_read_as_cftime_does():
    for zone in ("", " Z", " +01:00", " +05:30", "-11:45"):
        unit = f"hours since 2000-01-01 06:30{zone}"
        found = ask(unit, "standard", ["date 100"])
        assert found == [words_of(cftime.num2date(100, unit, "standard")) + " 0.000000000"], unit


def test_short_zones_are_read_as_xarray_does():
    """cftime 1.6.2 takes no notice of them; xarray asks pandas first."""
    xarray = pytest.importorskip("xarray")
    for zone in (" +1:00", "+1:00", " -5", "-11:45"):
        unit = f"hours since 2000-01-01 06:30:00{zone}"
        times = xarray.DataArray([100.0], dims="t", attrs={"units": unit, "calendar": "standard"})
        date = xarray.decode_cf(times.to_dataset(name="t")).t.dt
        expected = f"{int(date.year[0])} {int(date.month[0])} {int(date.day[0])} "
        expected += str(int(date.hour[0]) * 3600 + int(date.minute[0]) * 60)
        assert ask(unit, "standard", ["date 100"]) == [expected + " 0.000000000"], unit


def begin_of(date, span):
    month, day = (1, 1) if span == "year" else (date.month, 1 if span == "month" else date.day)
    return cftime.datetime(date.year, month, day, calendar=date.calendar)


def next_of(date, span):
    date = begin_of(date, span)
    begin = date
    while begin_of(date, span) == begin:
        date += timedelta(days=1 if span == "day" else 20 if span == "month" else 200)
    return begin_of(date, span)


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("span", ["day", "month", "year"])
def test_days_months_and_years_begin_where_cftime_says(dice, calendar, span):
    for unit in units(dice)[:9:4]:
        dates = some_dates(dice, calendar, 100)
        times = [time_of(date, unit, calendar) for date in dates]
        begins = numbers(unit, calendar, [f"begin {span} {time!r}" for time in times])
        assert begins == [time_of(begin_of(date, span), unit, calendar) for date in dates]
        nexts = numbers(unit, calendar, [f"next {span} {time!r}" for time in times])
        assert nexts == [time_of(next_of(date, span), unit, calendar) for date in dates]


def months_later(date, months):
    number = date.year * 12 + date.month - 1 + months
    year, month = divmod(number, 12)
    day = date.day
    while day > 28 and exists(year, month + 1, day, date.calendar) is None:
        day -= 1
    while exists(year, month + 1, day, date.calendar) is None:
        day += 1  # behind the gap
    return cftime.datetime(year, month + 1, day, date.hour, date.minute, date.second, calendar=date.calendar)


@pytest.mark.parametrize("calendar", CALENDARS)
def test_months_later_is_the_same_day_or_the_last_of_the_month(dice, calendar):
    unit = "minutes since 1900-01-01"
    dates = [date for date in some_dates(dice, calendar) if date.year > 100]
    months = [dice.choice([1, -1, 12, 13, dice.randint(-1000, 1000)]) for _ in dates]
    lines = [f"later {n} {time_of(date, unit, calendar)!r}" for n, date in zip(months, dates)]
    expected = [time_of(months_later(date, n), unit, calendar) for n, date in zip(months, dates)]
    assert numbers(unit, calendar, lines) == expected


PERIODS = {"1 h": 3600, "6 h": 21600, "7 h": 25200, "30 min": 1800, "1 d": 86400, "5 d": 432000, "1.5 d": 129600}


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("every", PERIODS)
def test_marks_of_fixed_length_count_from_midnight_of_the_date_of_the_unit(dice, calendar, every):
    unit = "hours since 1850-02-03 05:00:00"
    midnight = cftime.datetime(1850, 2, 3, calendar=calendar)
    dates = some_dates(dice, calendar, 60)
    times = [time_of(date, unit, calendar) for date in dates]
    seconds = [int(cftime.date2num(date, "seconds since 1850-02-03", calendar)) for date in dates]
    lasts = [midnight + timedelta(seconds=s // PERIODS[every] * PERIODS[every]) for s in seconds]
    assert numbers(unit, calendar, [f"last {time!r}" for time in times], every) == [
        time_of(last, unit, calendar) for last in lasts
    ]
    assert numbers(unit, calendar, [f"after {time!r}" for time in times], every) == [
        time_of(last + timedelta(seconds=PERIODS[every]), unit, calendar) for last in lasts
    ]


MONTHS = {"1 mo": 1, "2 mo": 2, "3 mo": 3, "5 mo": 5, "6 mo": 6, "1 y": 12, "10 y": 120}


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("every", MONTHS)
def test_marks_in_months_lie_on_first_days(dice, calendar, every):
    unit = "days since 1850-05-03 05:00:00"
    dates = [date for date in some_dates(dice, calendar, 60) if date.year > 20]
    times = [time_of(date, unit, calendar) for date in dates]

    def mark(date, later):
        number = date.year * 12 + date.month - 1 - 1850 * 12
        year, month = divmod((number // MONTHS[every] + later) * MONTHS[every] + 1850 * 12, 12)
        return time_of(cftime.datetime(year, month + 1, 1, calendar=calendar), unit, calendar)

    lasts = numbers(unit, calendar, [f"last {time!r}" for time in times], every)
    assert lasts == [mark(date, 0) for date in dates]
    nexts = numbers(unit, calendar, [f"after {time!r}" for time in times], every)
    assert nexts == [mark(date, 1) for date in dates]


def test_the_first_of_each_month_of_four_centuries_is_a_mark_of_a_month():
    unit, firsts = "hours since 1400-01-15", []
    for year in range(1400, 1800):
        firsts += [cftime.datetime(year, month, 1, calendar="standard") for month in range(1, 13)]
    times = [time_of(first, unit, "standard") for first in firsts]
    nexts = numbers(unit, "standard", [f"after {time!r}" for time in times[:-1]], "1 mo")
    assert nexts == times[1:]
