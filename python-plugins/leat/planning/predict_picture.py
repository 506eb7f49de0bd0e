# SPDX-License-Identifier: Apache-2.0
"""The picture of `leat predict`: its JSON and the name of a file come in, slowdown over ranks and over sigma comes out."""


def paint(told, pyplot):
    figure, (over_ranks, over_sigma) = pyplot.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
    sigmas = sorted({row["sigma_ns"] for row in told["rows"]}, key=_order)
    ranks = sorted({row["ranks"] for row in told["rows"]})
    _draw(over_ranks, told["rows"], "sigma_ns", sigmas, lambda row: row["ranks"], "sigma")
    _draw(over_sigma, told["rows"], "ranks", ranks, lambda row: sigmas.index(row["sigma_ns"]), "ranks")
    over_ranks.set(xlabel="ranks", ylabel="slowdown in %", yscale=_scale(told["rows"]))
    over_ranks.set_xscale("log")
    over_ranks.set_xticks(ranks, [f"{count:,}" for count in ranks])
    over_ranks.minorticks_off()
    over_ranks.yaxis.set_major_formatter("{x:g}")
    over_sigma.set(xlabel="sigma, to which the nodes' bursts are synchronised")
    over_sigma.set_xticks(range(len(sigmas)), [_time(sigma) for sigma in sigmas])
    figure.suptitle(f"{told['job']}; {told['bursts']}", fontsize=9)
    return figure


def _order(sigma):
    """Not synchronised is behind all that is."""
    return float("inf") if sigma is None else sigma


def _draw(axes, rows, by, values, x_of, title):
    """A line for each value, and the range over seeds."""
    for value in values:
        line = sorted((row for row in rows if row[by] == value), key=x_of)
        mean = [100 * row["slowdown"] for row in line]
        below = [max(0, 100 * (row["slowdown"] - row["least"])) for row in line]
        above = [max(0, 100 * (row["most"] - row["slowdown"])) for row in line]
        label = _time(value) if by == "sigma_ns" else f"{value:,}"
        axes.errorbar([x_of(row) for row in line], mean, yerr=[below, above], marker="o", capsize=3, label=label)
    axes.grid(alpha=0.3)
    axes.legend(title=title, fontsize=8)


def _scale(rows):
    """Where slowdowns differ by orders of magnitude, and none is nothing."""
    values = [row["slowdown"] for row in rows]
    return "log" if min(values) > 0 and max(values) > 20 * min(values) else "linear"


def _time(ns):
    if ns is None:
        return "none"
    for unit, name in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if ns >= unit:
            return f"{ns / unit:g} {name}"
    return f"{ns} ns"
