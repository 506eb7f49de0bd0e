# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a graph before it runs, each with the line of the user's file."""
import re
import shutil

from . import units
from .parts import Connection, Variable
from .policies import Policy

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FUNCTIONS = {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log2", "log10", "log", "ln",
              "exp", "sqrt", "sign", "rint", "abs", "min", "max", "sum", "avg", "_pi", "_e"}


def check(graph):
    """Connects what is left open and clear, and returns all errors, FILE:7: error: ...."""
    errors = []

    def error(place, text):
        errors.append((place, text))

    for module in graph.modules.values():
        _connect_by_name(module, graph, error)
    for module in graph.modules.values():
        _check_module(module, graph, error)
        for port in module.inputs.values():
            _check_port(port, graph, error)
        for port in module.outputs.values():
            _check_steering(port, module, error)
    _check_circles(graph, error)
    return [f"{place}: error: {text}" for place, text in sorted(errors, key=lambda each: (each[0].file, each[0].line))]


def _connect_by_name(module, graph, error):
    for port in module.inputs.values():
        if port.connections:
            continue
        found = [each.outputs[port.name] for each in graph.modules.values() if port.name in each.outputs and each is not module]
        if port.name in graph.simulation.variables:
            found.append(graph.simulation.variables[port.name])
        if len(found) == 1:
            port.connections.append(Connection(found[0], Policy(), module.place))
        elif found:
            error(module.place, f'input "{port.name}" of module "{module.name}" is not connected, and may be meant for '
                                f'{" or ".join(map(str, found))}: say g.connect(..., {module.name}.{port.name})')
        else:
            error(module.place, f'input "{port.name}" of module "{module.name}" is not connected, and neither a variable nor an output '
                                f'is called so: say g.connect(..., {module.name}.{port.name})')


def _check_module(module, graph, error):
    if not module.inputs:
        error(module.place, f'module "{module.name}" has no input: nothing says when it has its turns')
    policies = [each.policy for port in module.inputs.values() for each in port.connections]
    if policies and all(each.greedy for each in policies):
        error(module.place, f'all inputs of module "{module.name}" are greedy: one has to say when it has its turns')
    if not module.is_on_host and shutil.which(module.command[0]) is None:
        error(module.place, f'module "{module.name}": there is no program "{module.command[0]}"')
    if module.where == "staging" and not graph.simulation.staging:
        error(graph.place, f'module "{module.name}" shall be on staging nodes, and {graph.simulation.file} has none: write '
                           "<staging nodes=\"1\"/> into <architecture>")


def _check_port(port, graph, error):
    sources = [each.source for each in port.connections]
    of_simulation = [isinstance(each, Variable) for each in sources]
    if any(of_simulation) and len(sources) > 1:
        error(port.connections[1].place, f"at {port} there are {sources[0]} and {sources[1]}: a variable has a port of its own")
    for each in port.connections:
        _check_policy(each, port, graph, error)
        _check_kind(each, port, error)
        _check_way(each, port, graph, error)
    if port.share and port.share["how"] == "box" and None is not sources[0].kind.dims <= port.share["axis"]:
        error(port.connections[0].place, f'redistribute(axis={port.share["axis"]}): {sources[0]} has {sources[0].kind.dims} dimensions, '
                                         "counted from 0")
    if len({each.policy for each in port.connections}) > 1:
        error(port.connections[1].place, f"all connections of {port} have the same policies: a message has the arrays of all of them")


def _check_policy(connection, port, graph, error):
    policy = connection.policy
    if policy.greedy and isinstance(connection.source, Variable):
        error(connection.place, f"{port} cannot be greedy: {connection.source} comes with each iteration; g.latest() leaves out what comes "
                                "while the module is busy")
    if policy.tokens and isinstance(connection.source, Variable):
        error(connection.place, f"{port} cannot have tokens: nothing goes back to {connection.source}")
    if policy.tokens and policy.greedy:
        error(connection.place, f"{port} is greedy, or has tokens, not both")
    known = {"iteration", "time", *graph.simulation.parameters, *connection.source.kind.stamps, *_FUNCTIONS}
    for word in _WORD.findall(re.sub(r"[0-9.]+[eE][+-]?[0-9]+", "", policy.when)):
        if word not in known:
            error(connection.place, f'g.when("{policy.when}"): "{word}" is neither iteration, time, a parameter of '
                                    f"{graph.simulation.file}, nor a stamp of {connection.source}")


def _check_kind(connection, port, error):
    made, taken = connection.source.kind, port.kind
    what = f"{connection.source} -> {port}"
    if made.unit and taken.unit:
        if why := units.why_other(made.unit, taken.unit):
            error(connection.place, f"{what}: {why}")
    if made.type and taken.type and made.type != taken.type:
        error(connection.place, f"{what}: {made.type} is made, and {taken.type} taken")
    if made.dims is not None and taken.dims is not None and made.dims != taken.dims:
        error(connection.place, f"{what}: what is made has {made.dims} dimensions, and {taken.dims} are taken")


def _check_way(connection, port, graph, error):
    """Between nodes and staging nodes go the simulation's variables, and values that steer."""
    if isinstance(connection.source, Variable):
        return
    maker = graph.modules.get(connection.source.owner.name)
    made_there, taken_there = maker is not None and maker.where == "staging", port.owner.where == "staging"
    if made_there != taken_there:
        ways = {True: "staging nodes", False: "the nodes of the simulation"}
        error(connection.place, f"{connection.source} is made on {ways[made_there]}, and {port} is on {ways[taken_there]}: place both "
                                "modules on one side. Variables of the simulation come to both, and steering goes back from both")


def _check_steering(port, module, error):
    for parameter in port.steers:
        if port.kind.dims not in (None, 0):
            error(module.place, f"{port} has {port.kind.dims} dimensions, and {parameter} is one value")


def _check_circles(graph, error):
    """Each is told once, at the connection that closes it."""
    state = {}

    def follow(module, path):
        state[module.name] = "open"
        for port in module.inputs.values():
            for each in port.connections:
                source = None if isinstance(each.source, Variable) else graph.modules.get(each.source.owner.name)
                if source is None or each.policy.tokens or each.policy.greedy:
                    continue
                if state.get(source.name) == "open":
                    names = [m.name for m in path[path.index(source):]] if source in path else [source.name]
                    circle = " <- ".join([*names, source.name]) if source is not module else f"{module.name} <- {module.name}"
                    error(each.place, f"a circle without tokens would wait for itself: {circle}. Say which message may be of an "
                                      f"iteration before: g.connect(..., g.tokens(1), {port})")
                elif source.name not in state:
                    follow(source, [*path, source])
        state[module.name] = "done"

    for module in graph.modules.values():
        if module.name not in state:
            follow(module, [module])
