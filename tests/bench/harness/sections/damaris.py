# SPDX-License-Identifier: Apache-2.0
"""What calls cost by the names that Damaris has for them."""

import json
import pathlib

from .. import launch
from ..markdown import table, time_text
from ..quiet import Watch
from ..tools import BUILD

TITLE = "The calls of Damaris"
ABOUT = """Each call of `libdamaris` beside the call of Leat that it is, on blocks of 512 bytes, batches of both in turn in one
session. *More* is what one call takes more by the name of Damaris; clear is a call that Leat does not need. Below, how long the XML of
OPM Flow is in Leat's own language: twenty variables on an unstructured mesh."""

OPM_FLOW = pathlib.Path(__file__).parents[2] / "opm_flow.xml"
SECONDS = 10
HEAD = ["calls", "Leat", "Damaris", "more, a call"]


def measure(context):
    context.say("damaris")
    batches = 20 if context.quick else 2000
    series = context.series(lambda case: _run(context.folder / "damaris.xml", case), [batches], 3, SECONDS)
    runs = series.runs[batches]
    names = [name for name in runs[0] if name not in ("turn", "others")] if runs else []
    return {
        "lines": len(OPM_FLOW.read_text().splitlines()),
        "disturbed": series.disturbed(batches),
        "runs": runs,
        "calls": {name: {figure: sorted(run[name][figure] for run in runs)[len(runs) // 2] for figure in runs[0][name]} for name in names},
    }


def _run(config, batches):
    watch = Watch()
    said, spent = launch.run([BUILD / "bin/leat_damaris_bench", config, batches])
    return json.loads(said) | {"others": watch.others(spent)}


def page(data):
    rows = table(
        HEAD,
        [
            [name + " (disturbed)" * data["disturbed"], *(time_text(row[figure]) for figure in ("leat_ns", "damaris_ns", "more_ns"))]
            for name, row in data["calls"].items()
        ],
    )
    return rows + (["", f"{data['lines']} lines for OPM Flow."] if "lines" in data else [])
