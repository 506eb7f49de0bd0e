# SPDX-License-Identifier: Apache-2.0
"""The picture of `leat plan`: an iteration in each way over one of mode="sync", for more and less computing beside the same output; and
the run over the number of dedicated cores."""

SYNC, NONE = 'mode="sync"', "no dedicated core"
COLOURS = {SYNC: "tab:gray", NONE: "tab:green"}
DEDICATED = ("tab:blue", "tab:orange")
MOST = 2  # times as long as mode="sync": what is worse need not be seen


def paint(told, pyplot):
    has_cores = len(told["over_cores"]) > 1
    figure, axes = pyplot.subplots(1, 1 + has_cores, figsize=(11.5 if has_cores else 7, 4.8), layout="constrained", squeeze=False)
    dedicated = iter(DEDICATED)
    for line in told["lines"]:
        line["colour"] = COLOURS.get(line["name"]) or next(dedicated)
    _over_ratios(axes[0][0], told)
    if has_cores:
        _over_cores(axes[0][1], told)
    figure.suptitle(told["title"], fontsize=9)
    return figure


def _over_ratios(axes, told):
    waiting = [seconds for _, seconds in told["lines"][0]["over_ratios"]]
    axes.axvline(told["ratio"], color="black", linewidth=0.9, linestyle=":", label=f"this run: C/W = {told['ratio']:.2g}")
    for line in told["lines"]:
        ratios, seconds = zip(*line["over_ratios"])
        label = f"{line['name']}: {_time(line['iteration_seconds'])}" + ", best" * line["best"]
        axes.plot(ratios, [each / of for each, of in zip(seconds, waiting)], color=line["colour"], linewidth=1.8, label=label)
        _mark(axes, line, told["ratio"], line["iteration_seconds"] / told["lines"][0]["iteration_seconds"])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    most = max(line / of for each in told["lines"] for (_, line), of in zip(each["over_ratios"], waiting))
    axes.set(xlabel="C/W: computing over output and analyses (W as in this run)",
             ylabel='an iteration over one with mode="sync"', ylim=(0, min(MOST, 1.1 * most)), xlim=(ratios[0], ratios[-1]))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower right", title="an iteration of this run", title_fontsize=8)


def _over_cores(axes, told):
    cores, totals = zip(*told["over_cores"])
    waiting = told["lines"][0]["total_seconds"]
    scale, unit = _unit(waiting)
    axes.plot(cores, [scale * each for each in totals], color=DEDICATED[0], marker="o" if len(cores) <= 32 else None, markersize=4,
              label="dedicated cores")
    for line in told["lines"]:
        if line["dedicated_cores"]:
            _mark(axes, line, line["dedicated_cores"], scale * line["total_seconds"])
        else:
            axes.axhline(scale * line["total_seconds"], color=line["colour"], linewidth=1.8, label=line["name"])
    axes.xaxis.get_major_locator().set_params(integer=True)
    most = min(MOST * waiting, 1.1 * max(totals + (waiting,)))
    axes.set(xlabel="dedicated cores of a node", ylabel=f"this run takes, in {unit}", ylim=(0, scale * most))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")


def _mark(axes, line, x, y):
    axes.plot([x], [y], "o", color=line["colour"], markersize=9 if line["best"] else 5,
              markeredgecolor="black" if line["best"] else line["colour"], zorder=4 if line["best"] else 3)


def _unit(most):
    for seconds, scale, name in ((7200, 1 / 3600, "hours"), (120, 1 / 60, "minutes"), (1, 1, "seconds"), (1e-3, 1e3, "ms")):
        if most >= seconds:
            return scale, name
    return 1e6, "us"


def _time(seconds):
    scale, unit = _unit(seconds)
    return f"{scale * seconds:.3g} {unit}"
