# SPDX-License-Identifier: Apache-2.0
"""How long a run takes, by where its output and analyses are done: the models of docs/explanation/planning.md, which has their sources.
leatd says by server/engine/run_report.cpp how long its own run should have taken; tests/integration/test_report.py compares both.
All times are in seconds."""
from dataclasses import dataclass, replace

_ALIKE = 0.01  # ways that are closer than this are alike


@dataclass
class Load:
    """One iteration on one node."""
    compute: float = 0.0   # with `computing` cores
    inside: float = 0.0    # in Leat's calls, beside it
    output: float = 0.0    # of the stores, which wait for the disk
    analysis: float = 0.0  # of scripts and plugins on one core
    sequential: float = 0.0  # the share of `compute` that does not become shorter with more cores, 0 to 1
    parallel: int = 1      # cores that analyses can use
    computing: int = 1     # cores with which `compute` was measured
    cores: int = 1         # of the node
    iterations: int = 1

    def compute_time(self, cores):
        """With so many cores computing and nothing else on them."""
        sequential = self.compute * self.sequential
        return sequential + (self.compute - sequential) * self.computing / cores

    def analysis_time(self, cores):
        return self.analysis / max(1, min(cores, self.parallel))


@dataclass
class Way:
    """A way to run it."""
    kind: str         # "synchronous", "dedicated" or "dynamic"
    dedicated: int    # cores
    iteration: float  # from one to the next, where there are many
    total: float
    limit: str        # what an iteration waits for: "compute", "output" or "cores"

    @property
    def name(self):
        return {"synchronous": 'mode="sync"', "dynamic": "no dedicated core"}.get(
            self.kind, f"{self.dedicated} dedicated core{'s' * (self.dedicated != 1)}")

    def is_like(self, other):
        return other is not None and (self.kind, self.dedicated) == (other.kind, other.dedicated)


def synchronous(load):
    """The ranks wait for it all: n (C + r + W)."""
    iteration = load.compute_time(load.cores) + load.inside + load.output + load.analysis_time(load.cores)
    return Way("synchronous", 0, iteration, iteration * load.iterations, "compute")


def dedicated(load, cores):
    """On cores of its own, beside the next iteration: C + r + W + (n - 1) max(C + r, W)."""
    computed = load.compute_time(load.cores - cores) + load.inside
    served = load.output + load.analysis_time(cores)
    return _overlapped("dedicated", cores, load, computed, served, {"compute": computed, "output": served})


def dynamic(load):
    """On the simulation's cores while they have nothing to do: the longest of C + r, W and all the work over all cores."""
    computed = load.compute_time(load.cores) + load.inside
    served = load.output + load.analysis_time(load.cores - 1)
    work = load.compute * (load.sequential + (1 - load.sequential) * load.computing) + load.analysis
    return _overlapped("dynamic", 0, load, computed, served, {"compute": computed, "cores": work / load.cores, "output": served})


def _overlapped(kind, cores, load, computed, served, limits):
    """The first iteration is computed before anything can be stored, the last one is stored when nothing is computed any more."""
    limit = max(limits, key=limits.get)
    return Way(kind, cores, limits[limit], computed + served + (load.iterations - 1) * limits[limit], limit)


def again(way, load):
    """The same way with another load."""
    return {"synchronous": synchronous, "dynamic": dynamic}[way.kind](load) if way.kind != "dedicated" else dedicated(load, way.dedicated)


def ways(load):
    """Synchronous, one dedicated core, the best number of them if that is another, dynamic. Of one core: without dedicated ones."""
    some = [dedicated(load, k) for k in range(1, load.cores)]
    return [synchronous(load), *some[:1], *([best(some)] if some and best(some) is not some[0] else []), dynamic(load)]


def best(all_ways):
    """The one with the shortest total; of such within one part in a hundred the first."""
    shortest = min(way.total for way in all_ways)
    return next(way for way in all_ways if way.total <= shortest * (1 + _ALIKE))


def iterations_until_full(load, way, size, buffer_size):
    """How many until the buffer is full, where the server does not keep up; None where it does."""
    if way.kind != "dedicated" or size <= 0 or load.iterations <= 1:
        return None
    computed, served = load.compute_time(load.cores - way.dedicated), load.output + load.analysis_time(way.dedicated)
    return buffer_size / size / (1 - computed / served) if served > computed else None


def of_report(report):
    """(load, way) of a run that was reported. The load is without what the ranks waited for in their calls; of shared cores without what
    analyses took of them, as if ranks had left none idle."""
    ranks, own, is_shared = report["ranks"], report["dedicated_cores"], report["cores_are_shared"]
    load = Load(report["compute_seconds"], report["inside_seconds"], report["store_seconds"], report["script_seconds"], computing=ranks,
                cores=ranks if is_shared else ranks + own, iterations=report["iterations"])
    if report["synchronous"]:
        load.inside = max(0.0, load.inside - load.output - load.analysis)
        return load, synchronous(replace(load, cores=ranks))  # the others were idle
    if is_shared:
        load.compute = max(0.0, load.compute - load.analysis / load.cores)
    return load, dynamic(load) if is_shared else dedicated(load, own)
