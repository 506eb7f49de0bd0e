# SPDX-License-Identifier: Apache-2.0
"""Disturbances of functions of the whole run, which a Dask cluster of all servers calls: whatever is killed or stopped, what was computed
of the values that ranks wrote, and who was not called has been said."""
import contextlib
import os
import pathlib
import signal
import sys
import threading
import time

import numpy as np
from groups import ended
from judge import Tally

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from cluster_run import HEIGHT, WIDTH, ClusterRun, script_process, whole  # noqa: E402

ITERATIONS, TIMEOUT = 12, 3
CODE = """
    import leat, time
    kept = []

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def f(ds, ctx):
        u = ds["u"]
        until = time.monotonic() + {seconds}
        while time.monotonic() < until:
            u.sum().compute()
        ctx.scalar("largest", float(u.max().compute()))
        for number, persisted in kept:
            ctx.scalar("before", number)
            ctx.scalar("largest_before", float(persisted.max().compute()))
        kept[:] = [(ctx.iteration, u.persist())] if {keeps} and ctx.iteration % 3 == 0 else []
"""


class Steps(threading.Thread):
    """All ranks, iteration by iteration. worst: seconds of the longest call."""

    def __init__(self, run):
        super().__init__()
        self.run_, self.worst, self.status = run, 0.0, []

    def run(self):
        with contextlib.suppress(AssertionError, BrokenPipeError, OSError, ValueError):
            for i in range(ITERATIONS):
                for rank in self.run_.ranks:
                    self._timed(rank, "write", "u", 0, HEIGHT * WIDTH * 8, 100 * i + rank.number)
                    self._timed(rank, "end_iteration")
                time.sleep(0.1)
            self.status = [answer.status for answer in self.run_.finalize()]

    def _timed(self, rank, *words):
        began = time.monotonic()
        rank.call(*words)
        self.worst = max(self.worst, time.monotonic() - began)


def disturb(run, chance, tally, nodes):
    victim = chance.randrange(len(nodes))
    try:
        pid = script_process(run, victim) if chance.random() < 0.7 else run.server_of(victim)
    except (ValueError, OSError):  # there is none now
        return
    kills = chance.random() < 0.6
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL if kills else signal.SIGSTOP)
        tally.kills += kills
        tally.stops += not kills
        if not kills:
            time.sleep(chance.choice([0.1, 1, 2 * TIMEOUT]))
            os.kill(pid, signal.SIGCONT)


def tables_of(folder):
    for path in folder.glob("run-scripts*/of_run.csv"):
        lines = [line.split(",") for line in path.read_text().splitlines()]
        for line in lines[1:]:
            yield dict(zip(lines[0], line))


def judge(folder, run, ranks, tally):
    called = set()
    for row in tables_of(folder):
        for number, value in (("iteration", "largest"), ("before", "largest_before")):
            if row.get(value):
                expected = np.nanmax(whole(int(float(row[number])), ranks))  # xarray leaves NaN out
                if np.float64(row[value]) != expected:
                    tally.blame("wrong", f"{value} of iteration {row[number]}: {row[value]}, not {expected}")
        if row.get("largest"):
            called.add(int(row["iteration"]))
    log = run.log()
    says = any(words in log for words in ("failed", "may not have been called", "was called for none", "goes on without"))
    if called != set(range(ITERATIONS)) and not says:
        tally.blame("lost", f"called with {sorted(called)} alone, and nobody says why: {log[-600:]}")


def function_of_the_whole_run(folder, chance):
    folder.mkdir(parents=True)
    tally = Tally(runs=1)
    nodes = [[[0], [1]], [[0], [1], [2]], [[0, 1], [2, 3]], [[0, 1], [2], [3]]][chance.randrange(4)]
    ranks = sum(map(len, nodes))
    code = CODE.format(seconds=chance.choice([0, 0.05, 0.3]), keeps=chance.random() < 0.3)
    run = ClusterRun(folder, nodes, code, timeout=f"{TIMEOUT}s", attributes='timeout="5s" failures="100"')
    with ended(run, tally):
        run.init()
        steps = Steps(run)
        steps.start()
        for _ in range(chance.randint(1, 4)):
            time.sleep(chance.uniform(0, 1.5))
            disturb(run, chance, tally, nodes)
        steps.join(150)
        if steps.is_alive():
            tally.blame("hangs", "ranks do not end")
        tally.worst = steps.worst
    judge(folder, run, ranks, tally)
    return tally
