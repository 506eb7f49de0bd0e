# SPDX-License-Identifier: Apache-2.0
"""What a prediction costs."""

import json
import pathlib
import sys

from .. import launch
from ..markdown import table, time_text
from ..quiet import Watch

TITLE = "Predictions"
ABOUT = """`leat predict`: one iteration of 65,536 ranks, computing and an all-reduce, on one core; undisturbed, and with bursts of
40 ms every 2 s that are not synchronised. And the memory that a rank needs."""

SECONDS = 5
BENCH = pathlib.Path(__file__).parents[2] / "predict_bench.py"
FIGURES = {"undisturbed_ns": "an iteration, undisturbed", "with_bursts_ns": "an iteration with bursts"}


def measure(context):
    context.say("predict")
    iterations = 2 if context.quick else 200
    series = context.series(lambda case: _run(iterations), ["predict"], 5, SECONDS)
    return {
        "disturbed": series.disturbed("predict"),
        "figures": {name: series.figure("predict", name) for name in (*FIGURES, "bytes_per_rank")},
    }


def _run(iterations):
    watch = Watch()
    said, spent = launch.run([sys.executable, BENCH, iterations])
    return json.loads(said) | {"others": watch.others(spent)}


def page(data):
    figures = data["figures"]
    rows = [
        [title + " (disturbed)" * data["disturbed"], *(time_text(figures[name][key]) for key in ("median", "least", "most"))]
        for name, title in FIGURES.items()
    ]
    rows.append(["memory of a rank", f"{figures['bytes_per_rank']['median']:.0f} B", "", ""])
    return table(["", "median", "least", "most"], rows)
