# SPDX-License-Identifier: Apache-2.0
"""The models of `leat plan`, case by case."""
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python-plugins"))
from leat.planning import ways  # noqa: E402
from leat.planning.words import bytes_text, seconds_text  # noqa: E402

# 8 cores, all of which may compute; 80 core-milliseconds of computing.
LOAD = ways.Load(compute=0.010, output=0.004, computing=8, cores=8, iterations=100)
REPORT = {"compute_seconds": 0.010, "inside_seconds": 0.0, "store_seconds": 0.004, "script_seconds": 0.0, "ranks": 4, "dedicated_cores": 1,
          "iterations": 1, "cores_are_shared": False, "synchronous": False}
about = pytest.approx


def test_all_at_one_time():
    assert ways.synchronous(LOAD).total == about(100 * 0.014)
    assert ways.synchronous(replace(LOAD, inside=0.001)).total == about(100 * 0.015)


def test_of_a_run_that_waited_in_its_calls():
    waited = REPORT | {"synchronous": True, "inside_seconds": 0.006}
    load, was = ways.of_report(waited)
    assert (load.inside, load.compute, load.cores) == (about(0.002), 0.010, 5) and was.name == 'mode="sync"'
    load, was = ways.of_report(waited | {"inside_seconds": 0.003})
    assert load.inside == 0 and was.total == about(0.014), "its dedicated core was idle"


def test_of_a_run_whose_analyses_took_its_cores():
    """What was measured is what the model says of the run as it was."""
    shared = REPORT | {"compute_seconds": 0.012, "script_seconds": 0.008, "store_seconds": 0.0, "iterations": 1000}
    assert ways.of_report(shared)[0].compute == 0.012
    load, was = ways.of_report(shared | {"cores_are_shared": True})
    assert (load.compute, load.cores, was.name, was.iteration) == (about(0.010), 4, "no dedicated core", about(0.012))
    assert ways.of_report(shared | {"cores_are_shared": True, "script_seconds": 1.0})[0].compute == 0


def test_the_way_of_a_run_that_was():
    assert ways.of_report(REPORT | {"dedicated_cores": 2})[1].name == "2 dedicated cores"
    assert ways.of_report(REPORT)[1].name == "1 dedicated core"


def test_one_beside_the_other():
    load = replace(LOAD, inside=0.001)
    computed = 0.010 * 8 / 7 + 0.001
    way = ways.dedicated(load, 1)
    assert (way.total, way.limit) == (about(computed + 0.004 + 99 * computed), "compute")
    way = ways.dedicated(replace(load, output=0.050), 1)
    assert (way.total, way.limit) == (about(computed + 0.050 + 99 * 0.050), "output")


def test_what_is_sequential_stays_so():
    load = replace(LOAD, sequential=0.25)
    assert load.compute_time(8) == about(0.010) and load.compute_time(4) == about(0.0025 + 0.0075 * 2)


def test_analyses_on_the_cores_of_the_simulation():
    load = replace(LOAD, output=0, analysis=0.016, parallel=4)
    assert (ways.dynamic(load).iteration, ways.dynamic(load).limit) == (about((0.080 + 0.016) / 8), "cores")
    assert ways.dynamic(replace(load, sequential=0.5)).iteration == about(0.010), "four cores idle on average"


@pytest.mark.parametrize("output", [0.0010, 0.0014, 0.0015, 0.0030])
def test_a_core_of_its_own_pays_where_output_takes_longer(output):
    """A core of eight costs a seventh of the time of computing."""
    load = replace(LOAD, output=output, iterations=1_000_000)
    assert (ways.dedicated(load, 1).total < ways.synchronous(load).total) == (output > 0.010 / 7)


def test_the_best_of_several():
    load = replace(LOAD, output=0.001, analysis=0.100, parallel=8)
    found = ways.ways(load)
    assert all(each.total * 1.011 >= ways.best(found).total for each in found)
    assert found[0].kind == "synchronous" and len(found) == 4, "one dedicated core, several, and none"
    assert len(ways.ways(replace(load, cores=1, computing=1))) == 2


def test_when_the_buffer_is_full():
    load = replace(LOAD, output=0.040, cores=9)
    # Of each 40 ms four iterations come and one goes.
    assert ways.iterations_until_full(load, ways.dedicated(load, 1), 10, 300) == about(30 / 0.75)
    load = replace(load, output=0.005)
    assert ways.iterations_until_full(load, ways.dedicated(load, 1), 10, 300) is None


def test_times_and_sizes_in_words():
    """As tests/unit/base/seconds_test.cpp has them."""
    seconds = {0: "0 s", 2.5e-6: "2.50 us", 0.0412: "41.2 ms", 2.5e-10: "0.25 ns", 0.9994: "999 ms", 0.9996: "1.00 s", 99: "99.0 s",
               363: "6 min 3 s", 7500: "2 h 5 min"}
    assert {each: seconds_text(each) for each in seconds} == seconds
    sizes = {0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 30 << 20: "30 MiB", (1 << 20) - 1: "1.0 MiB", 381469726: "364 MiB"}
    assert {each: bytes_text(each) for each in sizes} == sizes
