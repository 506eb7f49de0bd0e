# SPDX-License-Identifier: Apache-2.0
"""What staging nodes gain or cost: the model of docs/explanation/planning.md for a run of several nodes. Times are in seconds, sizes in
bytes."""
from dataclasses import dataclass, replace

from . import ways
from .words import bytes_text, counted, nearest, seconds_text


@dataclass
class Nodes:
    """Of the run: `all` of them, of which `staging` are wanted to be staging nodes, 0 where nobody says."""
    all: int
    staging: int
    network: float  # bytes a second, of each
    disk: float     # bytes a second, that the disk takes from one staging node; 0: as from any node


@dataclass
class StagedWay:
    staging: int      # nodes; 0: none, and the stores work as in the best way beside the simulation
    iteration: float
    total: float
    limit: str        # "compute", "network", "output" or "cores"


def staged(load, size, dedicated, nodes, staging):
    """Three stages that overlap: the other nodes compute, blocks are sent, staging nodes store and analyse. What all nodes computed, wrote
    and analysed is divided among fewer; on staging nodes analyses have all cores."""
    computing = nodes.all - staging
    compute = load.compute * (load.sequential + (1 - load.sequential) * nodes.all / computing)
    own = replace(load, compute=compute, inside=load.inside * nodes.all / computing)
    output = size / nodes.disk if nodes.disk else load.output
    stages = {"compute": own.compute_time(load.cores - dedicated) + own.inside,
              "network": size * nodes.all / min(computing, staging) / nodes.network,
              "output": (output + load.analysis_time(load.cores)) * nodes.all / staging}
    limit = max(stages, key=stages.get)
    return StagedWay(staging, stages[limit], sum(stages.values()) + (load.iterations - 1) * stages[limit], limit)


def all_ways(given):
    """Without staging nodes, with as many as are wanted, and with the best number of them."""
    plain = ways.best(ways.ways(given.load))
    found = [StagedWay(0, plain.iteration, plain.total, plain.limit)]
    dedicated = min(given.dedicated, given.load.cores - 1)
    counts = [staged(given.load, given.bytes, dedicated, given.nodes, count) for count in range(1, given.nodes.all)]
    wanted = [way for way in counts if way.staging == given.nodes.staging]
    return [*found, *wanted, *(way for way in [ways.best(counts)] if way not in wanted)]


def told(given):
    """For JSON."""
    found = all_ways(given)
    listed = [{"staging_nodes": way.staging, "computing_nodes": given.nodes.all - way.staging, "iteration_seconds": way.iteration,
               "total_seconds": way.total, "limit": way.limit, "best": way is ways.best(found)} for way in found]
    return {"nodes": given.nodes.all, "network_bytes_per_second": given.nodes.network, "ways": listed}


def text(given, served, screen):
    """For people. `served`: what the server does."""
    found, nodes = all_ways(given), given.nodes
    best, limits = ways.best(found), {"compute": "computing", "cores": "all cores busy"}
    rows = [[(head, "dim") for head in ("", "an iteration", "whole run", "", "limited by")]]
    for way in found:
        more, others = nearest((way.total / best.total - 1) * 100), nodes.all - way.staging
        name = f"{counted(way.staging, 'staging node')}: {counted(others, 'node')} compute{'s' * (others == 1)}"
        rows.append([(name if way.staging else f"none: {nodes.all} nodes compute", "green" if way is best else ""),
                     seconds_text(way.iteration), seconds_text(way.total),
                     ("best" if way is best else f"+{more} %" if more else "alike", "dim"),
                     limits.get(way.limit, way.limit if way.limit == "network" else served)])
    head = screen.painted(f"With staging nodes, of {counted(nodes.all, 'node')} in all", "bold")
    verdict = ("staging nodes gain nothing" if not best.staging else
               f"{screen.painted(counted(best.staging, 'staging node'), 'green')}: "
               f"{nearest((1 - best.total / found[0].total) * 100)} % less time than with none")
    return f"\n{head}, with {bytes_text(int(nodes.network))}/s each\n{screen.table(rows, right=(1, 2, 3), may_break=False)}\n{verdict}\n"
