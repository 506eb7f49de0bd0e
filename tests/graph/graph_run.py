# SPDX-License-Identifier: Apache-2.0
"""A Run with a graph of modules, each a program in the folder of the run."""
import contextlib
import json
import pathlib
import sys
import textwrap
import time

from control_run import ctl
from leat_run import LIMIT, Run, data, xml

ROW = '<layout name="row" type="double" dimensions="8" names="x"/><variable name="a" layout="row" unit="K"/>'
SIZE = 64  # bytes of a block of it
GRAPH = '<scripts interpreter="{}" {}><script file="plan.json" form="graph" {}/></scripts><log level="debug"/>'

# Notes what it gets: a line of JSON for each turn.
NOTE = """
    import json, os, sys
    import leat.module as module
    while module.wait():
        seen = {"iteration": module.iteration()}
        for port in sys.argv[1:]:
            parts = module.parts(port)
            seen[port] = [[part.source, part.iteration, part.data.tolist()] for part in parts]
        with open(module.name() + ".seen", "a") as file:
            file.write(json.dumps(seen) + "\\n")
"""
# Makes the sum of what it gets.
SUM = """
    import leat.module as module
    while module.wait():
        module.put("sum", sum(part.data.sum() for port in PORTS for part in module.parts(port)), unit="K")
"""


def config(data_xml=ROW, scripts="", script="", **others):
    return xml(data_xml, log=GRAPH.format(sys.executable, scripts, script), **others)


def program(folder, name, code):
    """A file of this name in the folder; the command that runs it."""
    (pathlib.Path(folder) / f"{name}.py").write_text(textwrap.dedent(code))
    return [sys.executable, f"{name}.py"]


def note(folder, *ports):
    return [*program(folder, "note", NOTE), *ports]


def plan(folder, *modules):
    """Written beside and renamed: the server may look at any moment."""
    part = pathlib.Path(folder) / "plan.part"
    part.write_text(json.dumps({"leat_graph": 1, "modules": list(modules)}))
    part.rename(pathlib.Path(folder) / "plan.json")


def module(name, run, inputs=(), outputs=(), **others):
    return {"name": name, "run": run, "inputs": list(inputs), "outputs": [{"port": each} for each in outputs], **others}


def variable(name="a", port="u", **others):
    return {"port": port, "variable": name, **others}


def product(*sources, port="p", **others):
    return {"port": port, "sources": list(sources), **others}


def seen(folder, name):
    try:
        return [json.loads(line) for line in (pathlib.Path(folder) / f"{name}.seen").read_text().splitlines()]
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def graph_run(folder, text, ranks=1, **others):
    with Run(folder, text, ranks=ranks, **others) as run:
        run.init()
        yield run
        if all(rank.process.poll() is None for rank in run.ranks):
            run.finish()


def write_iterations(run, numbers, name="a", size=SIZE):
    for number in numbers:
        for rank in run.ranks:
            answer = rank.write(name, size, number * 100 + rank.number)
            assert answer.ok, answer
            rank.end()


def values(number, rank=0, count=8):
    return data(count, "f8", number * 100 + rank)


def wait_until(condition, what):
    until = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.01)


def modules_of(run):
    """{name: what `leat ctl SESSION graph` says of it}"""
    return {each["name"]: each for each in json.loads(ctl(run, "graph", "--json"))["result"]["modules"]}
