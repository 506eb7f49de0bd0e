# SPDX-License-Identifier: Apache-2.0
"""What `leat predict` finds out and says, on a screen, as JSON, and as a schedule for LogGOPSim."""
import concurrent.futures
import functools
import math
import multiprocessing
import os
import re

from .bursts import DrawnBursts, DrawnCompute, RecordedBursts, RecordedCompute
from .simulation import rounds_among, run_of, undisturbed_all_reduce_ns
from .words import BAD, Refused, Screen, counted, seconds_text, three_digits

_MOST_AT_ONCE = 1 << 25  # ranks in all processes: more of them would take gigabytes


class Report:
    """`rows`: (ranks, sigma, what each seed has found) of each number of ranks and each sigma."""

    def __init__(self, question):
        self._asked = question
        places = [(ranks, sigma) for ranks in question.ranks for sigma in question.sigmas]
        tasks = [(*place, question.seed + i) for place in places for i in range(question.seeds)]
        found = _on_all_cores(functools.partial(_outcome, question), tasks, _MOST_AT_ONCE // max(question.ranks))
        self._rows = [(*place, found[i * question.seeds:(i + 1) * question.seeds]) for i, place in enumerate(places)]

    def told(self):
        """All figures, for JSON. A slowdown of 0.1 is 10 %."""
        asked = self._asked
        return {"leat_prediction": 1, "machine": vars(asked.machine), "bytes": asked.bytes, "ranks_per_node": asked.per_node,
                "job": asked.job_text(), "bursts": asked.bursts_text(), "rows": [self._row(*row) for row in self._rows]}

    def _row(self, ranks, sigma, seeds):
        slowdowns = [each["slowdown"] for each in seeds]
        return {"ranks": ranks, "sigma_ns": sigma, "all_reduce_ns": undisturbed_all_reduce_ns(self._asked.costs, ranks),
                "slowdown": _mean(slowdowns), "least": min(slowdowns), "most": max(slowdowns),
                "arrival_spread_ns": _mean([each["arrival_spread_ns"] for each in seeds]), "seeds": seeds}

    def screen(self):
        asked, machine = self._asked, self._asked.machine
        rows = [[(head, "bold") for head in ("ranks", "all-reduce alone", "sigma", "slowdown", "least", "most", "arrivals apart")]]
        for row in self.told()["rows"]:
            paint = "green" if row["slowdown"] < 0.05 else "yellow" if row["slowdown"] < 0.25 else "red"
            sigma = "none" if row["sigma_ns"] is None else short_time(row["sigma_ns"])
            rows.append([str(row["ranks"]), time_text(row["all_reduce_ns"]), sigma, (_percent(row["slowdown"]), paint),
                         (_percent(row["least"]), "dim"), (_percent(row["most"]), "dim"), time_text(row["arrival_spread_ns"])])
        return (f"{asked.job_text()}\n{asked.bursts_text()}\nL {short_time(machine.L)}, o {short_time(machine.o)}, "
                f"g {short_time(machine.g)}, G {short_time(machine.G)}/byte, O {short_time(machine.O)}/byte\n\n"
                f"{Screen().table(rows, right=range(7))}\n"
                f"means, least and most of {counted(asked.seeds, 'seed')}; sigma none: not synchronised\n")


def time_text(ns):
    return seconds_text(1e-9 * ns) if ns else "0 ns"


def short_time(ns):
    """Without the zeros behind the point."""
    return re.sub(r"\.?0+ ", " ", time_text(ns)) if "." in time_text(ns) else time_text(ns)


def _percent(slowdown):
    return three_digits(100 * slowdown) + " %"


def _mean(values):
    return math.fsum(values) / len(values)


def _on_all_cores(work, tasks, most):
    """work(task) of each, in their order."""
    processes = min(len(os.sched_getaffinity(0)), len(tasks), max(1, most))
    if processes == 1:
        return [work(task) for task in tasks]
    try:
        with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
            return list(pool.map(work, tasks, chunksize=max(1, len(tasks) // (8 * processes))))
    except concurrent.futures.BrokenExecutor:
        raise Refused("a process of it was killed; where the memory is too small, ask for fewer ranks", BAD) from None


def _outcome(asked, task):
    """One run with bursts, beside the same without."""
    ranks, sigma, seed = task
    try:
        nodes = -(-ranks // asked.per_node)
        compute = _compute(asked, ranks, seed)
        bursts = (RecordedBursts(asked.burst_traces, sigma, seed, nodes) if asked.burst_traces else
                  DrawnBursts(asked.burst, asked.spread, asked.every, sigma, seed, nodes))
        job = asked.costs, ranks, asked.per_node, compute
        busy = run_of(*job, bursts, asked.collectives, asked.length)
        quiet = run_of(*job, None, busy.collectives, 0)
    except MemoryError:
        raise Refused(f"there is no memory for {ranks} ranks", BAD) from None
    return {"seed": seed, "collectives": busy.collectives, "ns": busy.ns, "ns_without": quiet.ns,
            "arrival_spread_ns": busy.mean_arrival_spread, "arrival_spread_without_ns": quiet.mean_arrival_spread,
            "slowdown": (busy.ns - quiet.ns) / quiet.ns}


def _compute(asked, ranks, seed):
    return (RecordedCompute(asked.collective_traces, seed, ranks) if asked.collective_traces else
            DrawnCompute(asked.compute, asked.imbalance, seed, ranks))


def write_goal(asked, file):
    """The schedule in the GOAL language: T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009; as txt2bin
    of LogGOPSim reads it. Each rank's operations in order, without bursts: LogGOPSim has --noise-trace for those. What a round has
    received the next one sends, so that messages which are there before their turn wait for it; and nobody computes on before all is
    there."""
    ranks = asked.ranks[0]
    compute = _compute(asked, ranks, asked.seed)
    times = [compute.before(collective) for collective in range(asked.collectives)]
    try:
        with open(file, "w", encoding="ascii") as out:
            out.write(f"num_ranks {ranks}\n")
            for rank in range(ranks):
                out.write(f"\nrank {rank} {{\n{''.join(_operations(rank, ranks, asked.bytes, times))}}}\n")
    except OSError:
        raise Refused(f"--export-goal: {file} cannot be written", BAD) from None


def _operations(rank, ranks, size, times):
    label, last = 0, 0  # last: what computed or received last; 0: nothing yet
    for collective, of_ranks in enumerate(times):
        words = [f"calc {of_ranks[rank]}"]
        for k in range(rounds_among(ranks)):
            words += [f"send {size}b to {(rank + 2**k) % ranks} tag {collective}",
                      f"recv {size}b from {(rank - 2**k) % ranks} tag {collective}"]
        for word in words:
            label += 1
            yield f"l{label}: {word}\n" + (f"l{label} requires l{last}\n" if last else "")
            last = label if word[0] != "s" else last
