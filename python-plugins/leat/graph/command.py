# SPDX-License-Identifier: Apache-2.0
"""leat graph: checks a graph, draws it, writes its plan, runs a simulation with it."""
import argparse
import os
import runpy
import sys
import traceback

from .assemble import current, lines_of_hosts
from .parts import GraphError

_SAID = {"node": "on the dedicated cores", "idle": "in idle time", "harvest": "while ranks idle", "staging": "on staging nodes"}
_EXIT = "Exit codes: 0 good; 1 the graph has errors; 2 the command line is wrong; with a command: its own."


def main():
    if sys.argv[1:2] == ["join"]:
        from .join import main as join
        return join(sys.argv[2:])
    options = _options()
    os.environ["LEAT_GRAPH_COMMAND"] = str(os.getpid())
    try:
        if not _execute(options.file):
            return 1
        from .plan import plan_of, write_plan
        if options.check:
            plan_of(current)
            print(f"{options.file} is good: {_described(current)}")
            return 0
        path = write_plan(current, options.output)
        if options.svg:
            _draw(options.svg)
    except GraphError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"leat graph: {error}", file=sys.stderr)
        return 1
    for line in lines_of_hosts(current):
        print(line, file=sys.stderr if options.command else sys.stdout)
    if options.command:
        return _run(options.command, path)
    print(f"{os.path.relpath(path)}: {_described(current)}")
    if options.svg:
        print(f"{options.svg}: its picture")
    print(f"Run the simulation with it:  leat graph {options.file} -- mpirun -n 4 ./simulation")
    return 0


def _options():
    parser = argparse.ArgumentParser(prog="leat graph", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EXIT,
                                     usage="leat graph FILE.py [--svg FILE] [-o FILE] [--check] [-- COMMAND ...]",
                                     description="Checks a graph of modules that a file in Python describes, and writes its plan for the "
                                                 "servers of a run. Behind -- stands the command of the simulation, which is run with it. "
                                                 "`leat graph join --help`: modules on another host.")
    parser.add_argument("file", metavar="FILE.py", help="what describes the graph, see help(leat.graph)")
    parser.add_argument("--svg", metavar="FILE", help="draw the graph")
    parser.add_argument("-o", "--output", metavar="FILE", help="the plan (default: NAME.graph.json, after the simulation)")
    parser.add_argument("--check", action="store_true", help="only say whether it is good")
    parser.add_argument("--interpreter", metavar="PYTHON", help="the interpreter for the file (default: python3)")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.command = words[at + 1:]
    if "--" in words and not options.command:
        parser.error("behind -- stands a command")
    return options


def _execute(file):
    """Whether the file has described a graph; what is wrong is said."""
    if not os.path.isfile(file):
        print(f"leat graph: there is no file {file}", file=sys.stderr)
        return False
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    sys.argv = [file]
    try:
        runpy.run_path(file, run_name="__main__")
    except GraphError:
        raise
    except SystemExit as end:
        if end.code:
            print(end.code if isinstance(end.code, str) else f"{file} has ended with status {end.code}", file=sys.stderr)
            return False
    except Exception:
        text = traceback.format_exc().splitlines()
        print("\n".join([text[0], *_frames_of(text, file)]), file=sys.stderr)
        return False
    if current.place is None:
        print(f"{file}: error: it describes no graph: it ends with leat.graph.run()", file=sys.stderr)
        return False
    return True


def _frames_of(text, file):
    """From the user's first line on."""
    for i, line in enumerate(text):
        if f'"{file}"' in line:
            return text[i:]
    return text[1:]


def _described(graph):
    where = {}
    for each in graph.modules.values():
        kind, _, host = each.where.partition(":")
        said = f"on {host}" if host else _SAID[kind]
        where[said] = where.get(said, 0) + 1
    return f"{len(graph.modules)} module{'s' * (len(graph.modules) != 1)}, " + ", ".join(f"{n} {said}" for said, n in where.items())


def _draw(path):
    from .draw import svg_of
    from .plan import plan_of
    with open(path, "w") as file:
        file.write(svg_of(plan_of(current)))


def _run(command, path):
    os.environ["LEAT_GRAPH"] = path
    os.environ.pop("LEAT_GRAPH_COMMAND")
    sys.stdout.flush()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"leat graph: cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
