# SPDX-License-Identifier: Apache-2.0
"""What it costs where the server lives."""

import json
import os
import shutil

from .. import launch
from ..markdown import table, time_text, with_range
from ..quiet import Watch
from ..tools import BUILD

TITLE = "Where the server lives"
ABOUT = """The same program under `mpirun`, one rank that computes and writes 1 MiB in each iteration: with its server in a
process of its own, and in a second rank of the job (`place="ranks"`). *Run* is from `leat_init` to `leat_finalize`; in brackets
the range."""

SECONDS = 40
CASES = {"process": 1, "ranks": 2}  # and how many ranks are started
FIGURES = {"write_ns": "a write of 64 KiB", "end_ns": "an end of iteration", "run_s": "the run"}
XML = """<simulation name="places"><architecture><dedicated cores="1"/><buffer size="64MiB"/></architecture>
<data><layout name="l" type="double" dimensions="8192"/><variable name="u" layout="l"/></data>
<storage><store name="out" type="hdf5"/></storage><log level="error"/></simulation>
"""


def measure(context):
    context.say("places")
    iterations = 5 if context.quick else 400
    series = context.series(lambda case: _run(context.folder, case, iterations), list(CASES), 5, SECONDS)
    return {
        "disturbed": series.disturbed("ranks"),
        "figures": {name: {case: series.figure(case, name) for case in CASES} for name in FIGURES},
        "ratios": {name: series.ratio("ranks", "process", name) for name in FIGURES},
        "runs": series.runs,
    }


def _run(folder, case, iterations):
    place = folder / f"places-{case}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "places.xml").write_text(XML)
    watch = Watch()
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", CASES[case], BUILD / "bin/leat_places_bench", "places.xml", iterations]
    said, spent = launch.run(words, cwd=place, env={**os.environ, "LEAT_PLACE": case, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    shutil.rmtree(place)
    return json.loads(said) | {"others": watch.others(spent)}


def page(data):
    rows = []
    for name, title in FIGURES.items():
        cells = [_text(name)(data["figures"][name][case]["median"]) for case in CASES]
        rows.append([title + " (disturbed)" * data["disturbed"], *cells, with_range(data["ratios"][name])])
    return table(["", *CASES, "ranks over process"], rows)


def _text(name):
    return time_text if name.endswith("_ns") else lambda seconds: f"{seconds:.3f} s"
