# SPDX-License-Identifier: Apache-2.0
"""What bursts of analysis cost ranks that meet, started together or not; and what `leat predict` says of it."""

import json
import os
import shutil
import statistics
import sys

from .. import launch
from ..markdown import table, with_range
from ..quiet import Watch
from ..tools import BUILD

TITLE = "Bursts, together or not"
ABOUT = """Two ranks, each on a core and with a server of its own as if on a node of its own, compute for 10 ms and meet in an
all-reduce; twice a second an analysis needs 40 ms of each core: at a random moment of each node's own, or with `runs="coordinated"`.
Time over that of the same without the analysis; what `leat predict` says; how far apart the two began; and how long they took, beside
the rank."""

SECONDS = 90
RANKS, STEP_MS, BURST_MS, EVERY = 2, 10, 40, 50
# And whether Leat is told of all-reduces.
CASES = {"without": 0, "each by itself": 0, "coordinated": 1}
XML = """<simulation name="run"><architecture><dedicated cores="1"/><buffer size="16MiB"/></architecture>
<data><layout name="l" type="double" dimensions="1000"/><variable name="values" layout="l"/></data>
<storage>{store}</storage><log level="error"/></simulation>
"""
DISCARD = f'<store name="out" library="{BUILD}/lib/leat/bench/discard.so"/>'
BURST = f"""<store name="burst" library="{BUILD}/lib/leat/bench/burst.so" runs="coordinated">
<option name="cpu_ms" value="{BURST_MS}"/><option name="pause_ms" value="{{pause}}"/><option name="core" value="{{core}}"/></store>"""


def measure(context):
    context.say("coordinated")
    steps = 2 * EVERY if context.quick else 10 * EVERY
    series = context.series(lambda case: _run(context.folder, case, steps), list(CASES), 5, SECONDS)
    with_bursts = [case for case in CASES if case != "without"]
    found = {
        "disturbed": series.disturbed("coordinated"),
        "ratios": {case: series.ratio(case, "without", "seconds") for case in with_bursts},
        "apart_ms": {case: series.figure(case, "apart_ms") for case in with_bursts},
        "burst_ms": {case: series.figure(case, "burst_ms") for case in with_bursts},
        "runs": series.runs,
    }
    found["predicted"] = {case: _predicted(series.figure("without", "seconds")["median"] / steps, case) for case in with_bursts}
    return found


def _run(folder, case, steps):
    place = folder / "bursts"
    shutil.rmtree(place, ignore_errors=True)
    for rank in range(RANKS):
        node = place / f"node{rank}"
        node.mkdir(parents=True)
        pause = (EVERY - 5) * STEP_MS - 2 * BURST_MS if case == "each by itself" else 0
        store = DISCARD if case == "without" else BURST.format(pause=pause, core=rank)
        (node / "run.xml").write_text(XML.format(store=store))
    watch = Watch()
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", RANKS, BUILD / "bin/leat_bursts_bench", steps, EVERY, STEP_MS,
             CASES[case]]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    said, spent = launch.run(words, cwd=place, env=environment)
    found = json.loads(said) | {"others": watch.others(spent)}
    if case != "without":
        found |= _bursts(place)
    shutil.rmtree(place)
    return found


def _bursts(place):
    """How far apart those of the same iteration began, and how long they took: medians."""
    of_nodes = [[tuple(map(int, line.split())) for line in (place / f"node{rank}/bursts.txt").read_text().splitlines()]
                for rank in range(RANKS)]
    apart = [max(starts) - min(starts) for starts in zip(*([start for start, _ in node[1:]] for node in of_nodes))]
    lengths = [length for node in of_nodes for _, length in node]
    return {"apart_ms": statistics.median(apart) / 1e6, "burst_ms": statistics.median(lengths) / 1e6}


def _predicted(step_s, case):
    """Time over that alone, of bursts that take a core for as long as they need of it."""
    sigma = "none" if case == "each by itself" else "0ns"
    words = [BUILD / "bin/leat", "predict", "--ranks", RANKS, "--compute", f"{step_s * 1e9:.0f}ns", "--burst", f"{BURST_MS}ms",
             "--every", f"{step_s * EVERY * 1e3:.3f}ms", "--sigma", sigma, "--for", "60s", "--seeds", 20, "--json",
             "--interpreter", sys.executable]
    (row,) = json.loads(launch.run(words)[0])["rows"]
    return 1 + row["slowdown"]


def page(data):
    rows = [[case + " (disturbed)" * data["disturbed"], with_range(data["ratios"][case]), f"{data['predicted'][case]:.3f}",
             f"{data['apart_ms'][case]['median']:.3g} ms", f"{data['burst_ms'][case]['median']:.3g} ms"] for case in data["ratios"]]
    costs = [data["ratios"][case]["median"] - 1 for case in ("coordinated", "each by itself")]
    share = f"Coordinated bursts cost {costs[0] / costs[1]:.2f} of what they cost at moments of their own." if costs[1] > 0 else ""
    return [*table(["bursts", "time over alone", "predicted", "begin apart", "take"], rows), "", share]
