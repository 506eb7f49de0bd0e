# SPDX-License-Identifier: Apache-2.0
"""Single calls beside memcpy."""

import json

from .. import launch
from ..markdown import bytes_text, plain, table, time_text, with_range
from ..quiet import Watch
from ..tools import BUILD

TITLE = "The write path"
ABOUT = """One call beside `memcpy` of the same bytes from the same sources, in turn within one run; a server that
keeps nothing has a core of its own where clients leave one. A *hot* target is the same at each copy, a *cold* one
lies in 128 MiB that no cache holds; both are aligned as Leat's blocks are. *Warm* sources are the same at each write,
*rotated* ones lie in 128 MiB. Computing goes through 4 MiB, which takes the caches of the core. *First* is the p50 of
writes that come right after it, and *first memcpy* that of copies to a cold target in their place. p99.9 of
fewer than a thousand calls is their longest. *Sleeps* are voluntary switches of a client in an iteration, all calls
together."""

SECONDS = 140
KIB, MIB = 1 << 10, 1 << 20
# clients, bytes, writes in an iteration, iterations, microseconds of computing, sources
CASES = (
    [
        (1, size, writes, n, 200, source)
        for source in ("warm", "rotated")
        for size, writes, n in ((KIB, 8, 1000), (64 * KIB, 4, 600), (MIB, 2, 300), (16 * MIB, 1, 40), (64 * MIB, 1, 12))
    ]
    + [
        (1, size, 2, n, compute, "warm")
        for compute, n in ((0, 1500), (2000, 300), (20000, 60))
        for size in (KIB, 64 * KIB, MIB)
    ]
    + [(clients, size, 2, 480 // clients, 2000, "warm") for clients in (2, 4, 16) for size in (KIB, 64 * KIB, MIB)]
)
QUICK = [(1, KIB, 2, 20, 0, "warm"), (2, 64 * KIB, 1, 10, 200, "rotated")]
HEAD = [
    "clients, block, computing, source",
    "write / hot",
    "write / cold",
    "write p50",
    "p99",
    "p99.9",
    "max",
    "first",
    "first memcpy",
    "alloc",
    "commit",
    "end",
    "sleeps",
]


def measure(context):
    context.say("write path")
    cases = QUICK if context.quick else CASES
    series = context.series(_run, cases, 3, SECONDS)
    return [
        {
            "case": case,
            "disturbed": series.disturbed(case),
            "runs": series.runs[case],
            **{name: series.figure(case, name) for name in _names(series.runs[case])},
        }
        for case in cases
        if series.runs[case]
    ]


def _run(case):
    watch = Watch()
    said, spent = launch.run([BUILD / "bin/leat_write_path_bench", *case])
    figures = json.loads(said)
    flat = {"others": watch.others(spent), "sleeps_per_iteration": figures.pop("sleeps_per_iteration")}
    for kind, of in figures.items():
        flat |= {f"{kind}_{name}": value for name, value in of.items()}
    return flat | {
        "over_hot": flat["write_p50"] / flat["memcpy_hot_p50"],
        "over_cold": flat["write_p50"] / flat["memcpy_cold_p50"],
    }


def _names(runs):
    return [name for name in runs[0] if name not in ("turn", "others")]


def page(data):
    return table(HEAD, [_cells(row) for row in data])


def _cells(row):
    clients, size, _, _, compute, source = row["case"]
    times = [
        time_text(row[name]["median"])
        for name in (
            "write_p50",
            "write_p99",
            "write_p999",
            "write_max",
            "first_write_p50",
            "first_memcpy_p50",
            "alloc_p50",
            "commit_p50",
            "end_iteration_p50",
        )
    ]
    return [
        f"{clients}, {bytes_text(size)}, {time_text(compute * 1000)}, {source}" + " (disturbed)" * row["disturbed"],
        with_range(row["over_hot"]),
        with_range(row["over_cold"]),
        *times,
        plain(row["sleeps_per_iteration"]),
    ]
