# SPDX-License-Identifier: Apache-2.0
"""More clients, more variables."""

import json

from .. import launch
from ..markdown import bytes_text, plain, table, time_text
from ..quiet import Watch
from ..tools import BUILD

TITLE = "Scale on one node"
ABOUT = """Each client writes 512 bytes of each variable in an iteration. All are processor times: clients are more
than cores. *Memory* is what a client has more after `leat_init` and the run than before, without the segment that all
share. The second table is the server's event loop alone, moved step by step with no other process beside it."""

SECONDS = 80
CASES = [(clients, variables) for clients in (1, 4, 16, 64) for variables in (10, 100, 1000)]
QUICK = [(1, 10), (4, 10)]
HEAD = [
    "clients x variables",
    "a write",
    "end of iteration",
    "server, a block",
    "memory of a client",
    "segment, seen by it",
]


def measure(context):
    context.say("scale")
    cases = QUICK if context.quick else CASES
    series = context.series(_run, cases, 3, SECONDS)
    rows = [
        {
            "case": case,
            "disturbed": series.disturbed(case),
            "runs": series.runs[case],
            **{name: series.figure(case, name) for name in series.runs[case][0] if name not in ("turn", "others")},
        }
        for case in cases
        if series.runs[case]
    ]
    return {"rows": rows, "event_loop": [] if context.quick else _event_loop(context.folder / "events.json")}


def _run(case):
    watch = Watch()
    said, spent = launch.run([BUILD / "bin/leat_scale_bench", *case])
    return json.loads(said) | {"others": watch.others(spent)}


def _event_loop(result):
    launch.run([BUILD / "bin/leat_events_bench", result])
    return json.loads(result.read_text())


def page(data):
    rows = table(
        HEAD,
        [
            [
                f"{row['case'][0]} x {row['case'][1]}" + " (disturbed)" * row["disturbed"],
                *(time_text(row[name]["median"]) for name in ("write_ns", "end_ns", "server_ns_per_block")),
                bytes_text(round(row["private_kib"]["median"]) << 10),
                plain({"median": row["shared_kib"]["median"] / 1024}, 0) + " MiB",
            ]
            for row in data["rows"]
        ],
    )
    return rows + table(
        ["clients x variables", "event loop, a block"],
        [[f"{row['ranks']} x {row['variables']}", time_text(row["ns_per_block"])] for row in data["event_loop"]],
    )
