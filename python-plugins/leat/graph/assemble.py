# SPDX-License-Identifier: Apache-2.0
"""Graphs are made here: what the user's file says is kept, and becomes a plan when it says run()."""
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys

from ..names import did_you_mean
from .parts import (
    NAME,
    Connection,
    GraphError,
    Input,
    Kind,
    Module,
    Output,
    Parameter,
    Variable,
    here,
    kinds_of,
    refuse,
)
from .policies import Policy, together

_WHERE = re.compile(r"node|idle|harvest|staging|host:[A-Za-z0-9_-]{1,64}")


class Graph:
    """All that one file has said."""

    def __init__(self):
        self.simulation, self.modules, self.place = None, {}, None

    def add(self, module):
        if module.name in self.modules:
            refuse(f'there is a module "{module.name}" already, of {self.modules[module.name].place}')
        if self.simulation and module.name in self.simulation.names:
            refuse(f'"{module.name}" is a store of {self.simulation.file}: a module needs a name of its own')
        self.modules[module.name] = module
        return module


current = Graph()


class Simulation:
    """A simulation, as its XML describes it. Variables are attributes, and items: sim.u, sim["flow/u"]."""

    def __init__(self, file, told):
        self.file, self.name, self.staging = file, told["simulation"], told["staging_nodes"] > 0
        self.variables = {each["name"]: Variable(self, each["name"], Kind(each["unit"], each["type"], len(each["shape"])))
                          for each in told["variables"]}
        self.parameters = {each["name"]: Parameter(self, each["name"], each["type"]) for each in told["parameters"]}
        self.stores = {each["name"]: each for each in told["stores"]}

    @property
    def names(self):
        return set(self.stores)

    def __getattr__(self, name):
        if name.startswith("__") or "variables" not in self.__dict__:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name):
        if name not in self.variables:
            refuse(f'{self.file} has no variable "{name}"{did_you_mean(name, self.variables)}')
        return self.variables[name]

    def parameter(self, name):
        """What a port of a module may be connected to: it steers it."""
        if name not in self.parameters:
            refuse(f'{self.file} has no parameter "{name}"{did_you_mean(name, self.parameters)}')
        return self.parameters[name]

    def product(self, path, unit=""):
        """What a store or a script of the XML makes, "stats/mean"."""
        source, slash, name = path.partition("/")
        if not slash or not name:
            refuse(f'"{path}": a product is called "source/name", like "stats/mean"')
        return Output(_Source(source), name, Kind(unit=unit))


class _Source:
    def __init__(self, name):
        self.name = name


def simulation(file):
    """Reads the XML of a simulation, as `leat check` does. A graph has one."""
    if current.simulation:
        refuse(f"a graph has one simulation, and {current.simulation.file} is it")
    program = os.environ.get("LEAT_PROGRAM") or shutil.which("leat")
    if not program:
        refuse("the command `leat` is not in PATH: it reads the XML")
    found = subprocess.run([program, "check", "--json", file], stdout=subprocess.PIPE, text=True, check=False,
                           env={key: value for key, value in os.environ.items() if key != "LEAT_GRAPH"})
    told = json.loads(found.stdout) if found.stdout.startswith("{") else {}
    if "variables" not in told:
        wrong = [each["message"] for each in told.get("diagnostics", []) if each["severity"] == "error"]
        refuse(f"{file} cannot be used: {wrong[0] if wrong else 'leat check ' + file + ' says why'}")
    current.simulation = Simulation(file, told)
    return current.simulation


def module(name, run, inputs=(), outputs=(), timeout=None, options=None):
    """A program of the graph. run: its command, a text as for a shell or a list of words. inputs, outputs: names of ports, or {name: unit},
    or {name: g.port(...)}. timeout: seconds that a turn may take (default: that of the XML's <script>, 60 s). options: what the
    program finds in leat.module.options(), that JSON can say. Returns it: its ports are attributes."""
    place = here()
    if not NAME.fullmatch(name):
        refuse(f'module "{name}": a name begins with a letter, and has letters, digits, "_", "." and "-"')
    command = shlex.split(run) if isinstance(run, str) else [str(word) for word in run]
    if not command:
        refuse(f'module "{name}" has no command to run')
    ins, outs = kinds_of(inputs, "input", place), kinds_of(outputs, "output", place)
    if both := set(ins) & set(outs):
        refuse(f'module "{name}": "{both.pop()}" is an input and an output; ports have names of their own')
    return current.add(Module(name, command, ins, outs, place, options, timeout))


def copies(n, name, run, inputs=(), outputs=(), timeout=None, options=None):
    """n modules name_0, name_1, ... of one program, which finds {"copy": 0, "copies": n} in its options, too."""
    return [module(f"{name}_{i}", run, inputs, outputs, timeout, {**(options or {}), "copy": i, "copies": n}) for i in range(n)]


def connect(source, *rest):
    """connect(source, [policy, ...] target). source: an output of a module, a variable or product of the simulation, or a list of
    these, for one port. target: an input of a module; or a parameter of the simulation, which is steered then; or a list of such."""
    if not rest:
        refuse("connect(source, target) needs both")
    *policies, target = rest
    for each in policies:
        if not isinstance(each, Policy):
            refuse(f"between source and target stand policies, like g.latest(); not {each!r}")
    policy = together(policies)
    for one in source if isinstance(source, (list, tuple)) else [source]:
        for end in target if isinstance(target, (list, tuple)) else [target]:
            _connect(one, policy, end)


def _connect(source, policy, target):
    if not isinstance(source, (Output, Variable)):
        refuse(f"a connection begins at an output of a module or a variable of the simulation, not at {source!r}")
    if isinstance(target, Parameter):
        if isinstance(source, Variable):
            refuse(f"{source} cannot steer {target}: a module has to say its value")
        source.steers.append(target)
    elif isinstance(target, Input):
        target.connections.append(Connection(source, policy, here()))
    else:
        refuse(f"a connection ends at an input of a module or a parameter of the simulation, not at {target!r}")


def run(*command, place=None):
    """The graph is whole: it is checked, and its plan is written beside the XML, as "<name of the simulation>.graph.json". place:
    {module: where}, "node" (the default: on the dedicated cores), "idle" (in what time nobody else wants), "harvest" (the same,
    and a turn begins when ranks idle), "staging" (on the staging nodes), or "host:desk" (on another host, which joins the run as that by
    `leat graph join`). With a command it is run, with this graph: g.run("mpirun", "-n", "4", "./heat"); so are words behind the name of
    the file, python3 GRAPH mpirun -n 4 ./heat. Ends this program with its exit status then."""
    from .plan import write_plan
    for each, where in (place or {}).items():
        if not isinstance(each, Module) or not _WHERE.fullmatch(str(where)):
            refuse(f"place={{module: where}}, and where is one of node, idle, harvest, staging, host:NAME; not {each!r}: {where!r}")
        each.where = where
    current.place = here()
    if current.simulation is None:
        refuse("a graph has a simulation: g.simulation(\"heat.xml\")")
    if under_command():
        return  # `leat graph` does the rest
    try:
        path = write_plan(current)
    except GraphError as error:
        sys.exit(str(error))
    words = list(command) or sys.argv[1:]
    if words:
        os.environ["LEAT_GRAPH"] = path
        os.execvp(words[0], words)
    print(f"{path}: {len(current.modules)} modules. Run the simulation with it:\n  LEAT_GRAPH={path} mpirun ...")
    for line in lines_of_hosts(current):
        print(line)


def lines_of_hosts(graph):
    """What is typed on each other host, by which it joins the run: in this folder it finds the card that the run puts there."""
    folder = f"{platform.node()}:{os.path.abspath(graph.simulation.name + '.hosts')}"
    hosts = sorted({each.where[len("host:"):] for each in graph.modules.values() if each.is_on_host})
    return [f"On {host}:  leat graph join {folder} --as {host}" for host in hosts]


def under_command():
    return os.environ.get("LEAT_GRAPH_COMMAND") == str(os.getpid())
