# SPDX-License-Identifier: Apache-2.0
"""The same job with each way of output."""

from .. import job
from ..markdown import percent, plain, table, with_range
from ..methods import METHODS

TITLE = "The alternatives, for the same job"
ABOUT = """Each rank computes 50 ms, changes its array, waits for the others, and puts the array out: 8 MiB for each
core of the machine (64 MiB at most) in an iteration. *Loop* is the wall time of all iterations over that of the same
job without output (of a job in Python: in Python); *whole* also counts start and end, when all must be written. *In
calls* is what an iteration spends in output calls, on average and at most, and *sleeps* how often a rank goes to
sleep there. *CV* and *p99/p50* are of the time of an iteration. *CPU* is what all processes and threads together
used, over no output. *Helper idle* is the share of the loop in which the server, thread or rank that works for the
simulation used no processor. *Right* are the bytes that were found as they should be, read back by software that is
not Leat's."""

COMPUTE_S = 0.05
ITERATIONS = 20
SECONDS = 400
HEAD = ["", "loop", "whole", "in calls, ms", "longest, ms", "sleeps", "CV", "p99/p50", "CPU", "helper idle", "right"]


def measure(context):
    missing = context.jobs.missing()
    groups = []
    for placement, durable in _combinations(context):
        context.say(f"alternatives: {_group_title(placement.name, durable)}")
        names = [
            name
            for name, method in METHODS.items()
            if name not in missing and (method.durable or not durable) and (method.quick or not context.quick)
        ]
        cases = {name: _case(context, name, placement, durable) for name in names}
        series = context.series(lambda name: context.jobs.measure(cases[name]), names, 5, SECONDS / 3)
        groups.append(
            {
                "placement": placement.name,
                "durable": durable,
                "rows": {name: _row(series, name) for name in names},
                "runs": series.runs,
            }
        )
    return {"missing": missing, "groups": groups}


def _combinations(context):
    placements = job.placements()
    if context.quick:
        return [(placements[0], False)]
    return [(placement, False) for placement in placements] + [(placements[0], True)]


def _case(context, name, placement, durable):
    if context.quick:
        return job.Case(name, placement, context.work(0.002), 1 << 20, iterations=4, warm_up=1)
    return job.Case(
        name, placement, context.work(COMPUTE_S), job.node_bytes(), iterations=ITERATIONS, warm_up=4, durable=durable
    )


def _row(series, name):
    base = METHODS[name].base
    row = {
        figure: series.figure(name, figure)
        for figure in (
            "loop_s",
            "total_s",
            "start_s",
            "finish_s",
            "calls_ms_per_iteration",
            "call_p50_ms",
            "call_max_ms",
            "variation",
            "p99_over_p50",
            "helper_idle",
            "sleeps",
            "all_cpu_s",
        )
    }
    row |= {f"{figure}_ratio": series.ratio(name, base, figure) for figure in ("loop_s", "total_s", "all_cpu_s")}
    right, wanted = (sum(run[key] for run in series.runs[name]) for key in ("right_bytes", "wanted_bytes"))
    return row | {"right": right, "wanted": wanted, "disturbed": series.disturbed(name)}


def _group_title(placement, durable):
    where = "each iteration on the disk (fdatasync)" if durable else "into the page cache"
    return f"{placement.capitalize()}, {where}"


def page(data):
    lines = [f"- Not measured: {METHODS[name].title} ({why})." for name, why in data["missing"].items()]
    for group in data["groups"]:
        lines += ["", f"### {_group_title(group['placement'], group['durable'])}", ""]
        lines += table(HEAD, [_cells(name, row) for name, row in group["rows"].items() if row["loop_s"]])
    return lines


def _cells(name, row):
    right = (
        "-"
        if not row["wanted"]
        else "all"
        if row["right"] == row["wanted"]
        else f"**{row['right']} of {row['wanted']}**"
    )
    return [
        METHODS[name].title + " (disturbed)" * row["disturbed"],
        with_range(row["loop_s_ratio"]),
        with_range(row["total_s_ratio"]),
        plain(row["calls_ms_per_iteration"]),
        plain(row["call_max_ms"]),
        plain(row["sleeps"]),
        plain(row["variation"], 3),
        plain(row["p99_over_p50"]),
        plain(row["all_cpu_s_ratio"]),
        percent(row["helper_idle"]),
        right,
    ]


def picture(data, figure):
    """Bars of the first group: what the loop takes more than without output, and the time in calls."""
    rows = {name: row for name, row in data["groups"][0]["rows"].items() if row["wanted"] and row["loop_s"]}
    axes = figure.subplots(1, 2, sharey=True)
    _bars(axes[0], rows, "loop_s_ratio", lambda ratio: 100 * (ratio - 1))
    axes[0].set_title("loop: more than without output, %")
    _bars(axes[1], rows, "calls_ms_per_iteration", lambda ms: ms)
    axes[1].set_title("in output calls, ms per iteration")
    figure.suptitle(_group_title(data["groups"][0]["placement"], data["groups"][0]["durable"]))


def _bars(axis, rows, figure, shown):
    for name, row in reversed(rows.items()):
        median, least, most = (shown(row[figure][key]) for key in ("median", "least", "most"))
        axis.barh(
            METHODS[name].title.replace("`", ""),
            median,
            xerr=[[median - least], [most - median]],
            color="tab:blue" if name.startswith("leat") else "tab:gray",
        )
    axis.grid(axis="x", alpha=0.3)
