# SPDX-License-Identifier: Apache-2.0
"""From simulations that mostly write to simulations that mostly compute."""

from .. import job
from ..markdown import percent, plain, table, with_range
from ..methods import METHODS

TITLE = "End to end, from much output to little"
ABOUT = """W is what `pwrite` of one iteration takes on this machine, C what the simulation computes in one. Each
figure is the wall time of the loop over that without output, and in brackets the range. Below stand Leat's figures
beside it: CV and p99/p50 of the time of an iteration, and the server's idle share, beside 1 - W / period, which a
server that costs no more than `pwrite` would have."""

RATIOS = (0.25, 0.5, 1, 2, 4)
NAMES = ("none", "leat-write", "posix-write", "hdf5-file", "io-uring")
SECONDS = 360


def measure(context):
    missing = context.jobs.missing()
    names = [name for name in NAMES if name not in missing]
    groups = []
    for placement in job.placements():
        for durable in (False, True):
            groups.append(_group(context, placement, durable, names))
    return groups


def _group(context, placement, durable, names):
    node_bytes = (1 << 20) if context.quick else job.node_bytes()
    writing = _writing_seconds(context, job.Case("posix-write", placement, 0, node_bytes, 12, 3, durable))
    context.say(f"end to end: {placement.name}, {'fdatasync' if durable else 'page cache'}, W = {writing * 1e3:.1f} ms")
    rows = {}
    for ratio in RATIOS[::4] if context.quick else RATIOS:
        iterations = 4 if context.quick else max(10, min(24, round(0.8 / (writing * (1 + ratio)))))
        cases = {
            name: job.Case(name, placement, context.work(ratio * writing), node_bytes, iterations, 4, durable)
            for name in names
        }
        series = context.series(
            lambda name: context.jobs.measure(cases[name]),
            names,
            3,
            SECONDS / (len(RATIOS) * 2 * len(job.placements())),
        )
        rows[str(ratio)] = _row(series, names, writing, iterations)
    return {
        "placement": placement.name,
        "durable": durable,
        "node_bytes": node_bytes,
        "writing_s": writing,
        "rows": rows,
    }


def _writing_seconds(context, case):
    """W: the least of some runs, since C is made of it."""
    return min(context.jobs.measure(case)["call_p50_ms"] for _ in range(1 if context.quick else 3)) / 1e3


def _row(series, names, writing, iterations):
    leat = {
        figure: series.figure("leat-write", figure) for figure in ("variation", "p99_over_p50", "helper_idle", "loop_s")
    }
    expected = None
    if leat["loop_s"]:
        expected = max(0, 1 - writing / (leat["loop_s"]["median"] / iterations))
    return {
        "loop": {name: series.ratio(name, "none", "loop_s") for name in names},
        "calls_ms": {name: series.figure(name, "calls_ms_per_iteration") for name in names},
        "leat": leat,
        "idle_expected": expected,
        "disturbed": series.disturbed("leat-write"),
        "runs": series.runs,
    }


def page(data):
    lines = []
    for group in data:
        names = [name for name in next(iter(group["rows"].values()))["loop"] if name != "none"]
        sync = "each iteration on the disk (fdatasync)" if group["durable"] else "into the page cache"
        lines += ["", f"### {group['placement'].capitalize()}, {sync}: W = {group['writing_s'] * 1e3:.1f} ms", ""]
        lines += table(
            ["C/W", *(METHODS[name].title for name in names), "Leat's CV", "p99/p50", "server idle", "1 - W/period"],
            [_cells(ratio, row, names) for ratio, row in group["rows"].items()],
        )
    return lines


def _cells(ratio, row, names):
    expected = "-" if row["idle_expected"] is None else f"{100 * row['idle_expected']:.0f} %"
    return [
        ratio + " (disturbed)" * row["disturbed"],
        *(with_range(row["loop"][name]) for name in names),
        plain(row["leat"]["variation"], 3),
        plain(row["leat"]["p99_over_p50"]),
        percent(row["leat"]["helper_idle"]),
        expected,
    ]


def picture(data, figure):
    """A line for each way: loop over no output, by C/W, of each placement and kind of sync."""
    axes = figure.subplots(1, len(data), sharey=True, squeeze=False)[0]
    for axis, group in zip(axes, data):
        names = [name for name in next(iter(group["rows"].values()))["loop"] if name != "none"]
        for name in names:
            points = [
                (float(ratio), row["loop"][name]["median"]) for ratio, row in group["rows"].items() if row["loop"][name]
            ]
            axis.plot(
                *zip(*points),
                marker="o",
                label=METHODS[name].title.replace("`", ""),
                linewidth=3 if name.startswith("leat") else 1,
            )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        for scale, at in ((axis.xaxis, RATIOS), (axis.yaxis, (0.5, 1, 2, 4, 8, 16))):
            scale.set_ticks(at, [f"{value:g}" for value in at])
        axis.axhline(1, color="black", linewidth=0.5)
        axis.set_xlabel("C / W")
        axis.set_title(f"{group['placement']},\n{'fdatasync' if group['durable'] else 'page cache'}", fontsize=9)
    axes[0].set_ylabel("loop, over no output")
    axes[-1].legend(fontsize=7)
