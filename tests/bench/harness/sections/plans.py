# SPDX-License-Identifier: Apache-2.0
"""Whether runs take as long as `leat plan` says, and what mode="auto" makes of them."""

import functools
import json
import os
import shutil
import statistics

from .. import launch, machine
from ..markdown import table
from ..quiet import Watch
from ..tools import BUILD

TITLE = "Plans"
ABOUT = """Two programs of one process, with the server in another one and on a thread of it: heat on a plate, and frames whose rows become
columns, as the examples `heat_openmp` and `remap` do it. Computing C is made longer or shorter beside output W of the same size, by the
store hdf5 past the page cache, which is what a disk takes and not what memory happens to be free.
*Sync, by its report*: the time that was measured over what `leat plan --from` the report of that run says; *overlap, by its report*
likewise; *overlap, by sync's* the same by the report of the run with `mode="sync"`, which is a prediction. *Gain*: of what overlap gains
by that prediction, how much it did. *Auto over sync* and *over overlap*: the time with `mode="auto"` over those. All are of one turn."""

SECONDS = 400
RATIOS = (0.1, 0.25, 0.5, 1, 2, 3, 4)
PROGRAMS, PLACES = ("heat", "remap"), ("process", "thread")
MODES = ("sync", "async", "auto")
LIMIT = 1.10  # of a time over the model's
_N, _ITERATIONS = 1024, 100
_XML = """<simulation name="plans"><architecture><dedicated cores="1" place="{place}" mode="{mode}"/><buffer size="{buffer}MiB"/>
</architecture><data><parameter name="n" type="int"/><layout name="l" type="double" dimensions="n,n"/>
<variable name="field" layout="l"/></data>
<storage><store name="out" type="hdf5"><option name="io" value="direct"/></store></storage><log level="error"/></simulation>"""
_FIGURES = {"sync_by_own": "sync, by its report", "async_by_own": "overlap, by its report", "async_by_sync": "overlap, by sync's",
            "gain": "gain", "auto_over_sync": "auto over sync", "auto_over_async": "auto over overlap"}


def measure(context):
    n, iterations = (64, 40) if context.quick else (_N, _ITERATIONS)
    ratios = (1,) if context.quick else RATIOS
    folder = context.folder / "plans"
    rows = {program: functools.partial(_rows, folder, program, n, context.quick) for program in PROGRAMS}
    cases = [(program, place, ratio) for program in PROGRAMS for place in PLACES for ratio in ratios]
    of_one = {program: rows[program]() for program in PROGRAMS}
    context.say(f"plans, rows for C = W: {of_one}")

    def turn(case):
        program, place, ratio = case
        return _turn(folder, program, place, n, iterations, max(1, int(ratio * of_one[program])))

    series = context.series(turn, cases, 5, SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    return [{"case": list(case), "disturbed": series.disturbed(case)} |
            {name: series.figure(case, name) for name in (*_FIGURES, "c_over_w", "sync", "async", "auto")} for case in cases]


def _rows(folder, program, n, quick):
    """So many take as long to compute as an iteration to write: the median of some runs."""
    found = []
    for _ in range(1 if quick else 3):
        report = _run(folder, program, "process", "sync", n, 10 if quick else 30, 4 * n)
        found.append(4 * n * report["store_seconds"] / report["compute_seconds"])
    return statistics.median(found)


def _turn(folder, program, place, n, iterations, rows):
    watch, reports, plans, spent = Watch(), {}, {}, 0.0
    for mode in MODES:
        reports[mode] = _run(folder, program, place, mode, n, iterations, rows)
        spent += reports[mode]["spent"]
        plans[mode] = _plan(folder)
    took = {mode: report["measured_seconds"] for mode, report in reports.items()}
    model = plans["sync"]["dedicated"]
    return took | {
        "others": watch.others(spent),
        "c_over_w": reports["sync"]["compute_seconds"] / reports["sync"]["store_seconds"],
        "sync_by_own": took["sync"] / plans["sync"]["synchronous"],
        "async_by_own": took["async"] / plans["async"]["dedicated"],
        "async_by_sync": took["async"] / model,
        "gain": (took["sync"] - took["async"]) / (took["sync"] - model),
        "auto_over_sync": took["auto"] / took["sync"],
        "auto_over_async": took["auto"] / took["async"],
    }


def _run(folder, program, place, mode, n, iterations, rows):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "plans.xml").write_text(_XML.format(place=place, mode=mode, buffer=max(16, 4 * 8 * n * n >> 20)))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LEAT_")} | {"LEAT_RUNTIME_DIR": str(folder / "r")}
    words = [BUILD / "bin/leat_planned_bench", program, "plans.xml", iterations, n, rows]
    _, spent = launch.run(["taskset", "-c", machine.cores()[0], *words] if place == "process" else words, cwd=folder, env=environment)
    return json.loads((folder / "plans.report.json").read_text()) | {"spent": spent}


def _plan(folder):
    """{way: seconds}. One process computes as fast on one core as on more."""
    words = [BUILD / "bin/leat", "plan", "--from", "plans.report.json", "--sequential", "100", "--cores", "2", "--json"]
    said, _ = launch.run(words, cwd=folder)
    return {way["way"]: way["total_seconds"] for way in json.loads(said)["ways"]}


def page(data):
    lines = []
    for row in data:
        program, place, ratio = row["case"]
        within = [row[name]["median"] <= LIMIT for name in ("sync_by_own", "async_by_own", "async_by_sync")]
        lines.append([f"{program}, {place}{' (disturbed)' * row['disturbed']}", f"{ratio:g}", f"{row['c_over_w']['median']:.2f}",
                      *(f"{row[name]['median']:.2f}" for name in _FIGURES), "yes" if all(within) else "**no**"])
    return table(["", "C/W", "measured", *_FIGURES.values(), f"times <= {LIMIT:.2f}"], lines)
