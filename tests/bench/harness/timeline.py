# SPDX-License-Identifier: Apache-2.0
"""What was on which core: pieces of analyses, by Leat's own trace, and threads of the simulation, looked at each millisecond."""

import contextlib
import pathlib
import re
import tempfile
import threading
import time

WARM_UP_S, WINDOW_S, LOOK_S = 0.6, 0.06, 0.001


def record(run, program):
    """{"begin": ns, "pieces": [(begin, ns, core)], "looks": [(ns, cores)]} of a while in the middle of run(environment)."""
    with tempfile.TemporaryDirectory(prefix="leat-trace-") as folder:
        looks = []
        watch = threading.Thread(target=_look, args=(program, looks))
        watch.start()
        run({"LEAT_ANALYTICS_TRACE": folder})
        watch.join()
        pieces = [piece for path in pathlib.Path(folder).glob("*-work-*.txt") for piece in _pieces(path)]
    begin = looks[0][0] if looks else 0
    return {"begin": begin, "pieces": [piece for piece in pieces if begin <= piece[0] + piece[1] and piece[0] <= begin + WINDOW_S * 1e9],
            "looks": looks}


def _pieces(path):
    lines, core = path.read_text().splitlines(), None
    origin = int(re.match(r"# start_ns duration_ns; 0 is (\d+)", lines[0])[1])
    for line in lines[1:]:
        if line.startswith("# core "):
            core = int(line.split()[-1])
        elif not line.startswith("#"):
            begin, duration = map(int, line.split())
            yield origin + begin, duration, core


def _look(program, looks):
    """Cores on which a thread of the program runs."""
    time.sleep(WARM_UP_S)
    stats = [path for process in _processes(program) for path in process.glob("task/*/stat")]
    until = time.monotonic() + WINDOW_S
    while stats and time.monotonic() < until:
        cores = set()
        for path in stats:
            with contextlib.suppress(OSError):  # it has ended
                words = path.read_text().rpartition(")")[2].split()
                if words[0] == "R":
                    cores.add(int(words[36]))
        looks.append((time.monotonic_ns(), cores))
        time.sleep(LOOK_S)


def _processes(program):
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == program:
                yield entry


def picture(shown, cores, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(shown), 1, figsize=(11, 1.1 * len(shown) + 0.8), layout="constrained", sharex=True)
    for axis, (schedule, of) in zip(axes, shown.items()):
        for at, on in of["looks"]:
            for core in on:
                axis.broken_barh([((at - of["begin"]) / 1e6, LOOK_S * 1.4e3)], (cores.index(core) - 0.4, 0.8), color="0.82")
        for begin, duration, core in of["pieces"]:
            axis.broken_barh([((begin - of["begin"]) / 1e6, duration / 1e6)], (cores.index(core) - 0.25, 0.5), color="tab:orange")
        axis.set(yticks=range(len(cores)), yticklabels=[f"core {core}" for core in cores])
        axis.set(xlim=(0, WINDOW_S * 1e3), ylim=(-0.5, len(cores) - 0.5))
        axis.set_ylabel(schedule, rotation=0, ha="right", va="center", labelpad=12)
    axes[-1].set_xlabel("ms")
    axes[0].set_title("grey: a thread of the simulation\u2019s process runs there; orange: a piece of the analysis", fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
