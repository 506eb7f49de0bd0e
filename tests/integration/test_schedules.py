# SPDX-License-Identifier: Apache-2.0
"""examples/md_tbb and examples/heat_openmp under every schedule: one binary, the same result, and the same analyses of it."""
import h5py
import pytest
from threaded_example import run

PLACES = {"server": "process", "sync": "process", "idle": "process", "harvest": "process", "static": "thread", "dynamic": "thread"}
# Behind each step of heat_openmp lies a serial phase of more than a millisecond.
ARGUMENTS = {"md_tbb": (31,), "heat_openmp": (31, 600, 1)}
CASES = [("md_tbb", s) for s in PLACES] + [("heat_openmp", s) for s in PLACES if not s.startswith("dynamic")]


def products(path):
    found = {}
    with h5py.File(path) as file:
        file["products"].visititems(lambda name, item: found.update({name: item[()].tobytes()}) if isinstance(item, h5py.Dataset) else None)
    return found


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """{example: (what it said, its products)}, with the server as ever."""
    found = {}
    for example, arguments in ARGUMENTS.items():
        folder = tmp_path_factory.mktemp(example)
        found[example] = run(folder, example, *arguments), products(folder / f"{example}.h5")
    return found


def waits_for_all(xml):
    """Nothing is left out where an analysis gets what time is left."""
    return xml.replace('<store name="', '<store when-slow="wait" name="')


@pytest.mark.parametrize("example, schedule", CASES)
def test_results_and_analyses_are_the_same_bits(tmp_path, usual, example, schedule):
    said = run(tmp_path, example, *ARGUMENTS[example], edit=waits_for_all, LEAT_RUNS=schedule, LEAT_PLACE=PLACES[schedule])
    assert said == usual[example][0]
    found = products(tmp_path / f"{example}.h5")
    assert len(found) > 3 and found == usual[example][1]
