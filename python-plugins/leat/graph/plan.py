# SPDX-License-Identifier: Apache-2.0
"""The plan of a graph, as the servers read it: docs/design/graphs.md describes it."""
import json
import os

from .check import check
from .parts import GraphError, Variable
from .policies import DEPTH

VERSION = 1


def plan_of(graph):
    """{"leat_graph": version, ...}; GraphError with all that is wrong."""
    if errors := check(graph):
        raise GraphError("\n".join(errors))
    return {"leat_graph": VERSION, "simulation": graph.simulation.name,
            "modules": [_module(each) for each in graph.modules.values()]}


def _module(module):
    told = {"name": module.name, "run": module.command, "place": module.where, "where": str(module.place),
            "inputs": [_input(each) for each in module.inputs.values()],
            "outputs": [_output(each) for each in module.outputs.values()]}
    if _leaves_out(module):
        told["latest"] = True
    if module.where == "idle":
        told["idle"] = True
    if module.timeout is not None:
        told["timeout"] = module.timeout
    if module.options:
        told["options"] = module.options
    return told


def _leaves_out(module):
    """Iterations, for newer ones. On another host where nobody says g.fifo(), too."""
    policies = [each.policy for port in module.inputs.values() for each in port.connections]
    return any(each.latest for each in policies) or (module.is_on_host and not any(each.depth for each in policies))


def _input(port):
    told = {"port": port.name}
    sources = [each.source for each in port.connections]
    if isinstance(sources[0], Variable):
        told["variable"] = sources[0].name
    else:
        told["sources"] = [each.path for each in sources]
    policy = port.connections[0].policy
    for name, usual in (("every", 1), ("offset", 0), ("rate", 0), ("sample", 1), ("when", ""), ("tokens", 0), ("greedy", False)):
        if getattr(policy, name) != usual:
            told[name] = getattr(policy, name)
    leaves_out = policy.latest or (port.owner.is_on_host and _leaves_out(port.owner))
    if not leaves_out and not policy.greedy and not policy.tokens and "sources" in told:
        told["depth"] = policy.depth or DEPTH
    if port.any:
        told["any"] = True
    if port.share:
        told["share"] = port.share
    return told


def _output(port):
    told = {"port": port.name}
    if port.kind.unit:
        told["unit"] = port.kind.unit
    if port.steers:
        told["steers"] = [each.name for each in port.steers]
    return told


def write_plan(graph, path=None):
    """Under its name when it is whole: servers may look at any moment. Returns the path."""
    plan = plan_of(graph)
    path = os.path.abspath(path or f"{graph.simulation.name}.graph.json")
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w") as file:
        json.dump(plan, file, indent=1)
        file.write("\n")
    os.replace(part, path)
    return path
