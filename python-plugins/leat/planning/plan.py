# SPDX-License-Identifier: Apache-2.0
"""`leat plan`: how long a run would take, by where its output and analyses are done. Needs no NumPy."""
import json
import sys

from . import staging, ways
from .plan_input import Input
from .words import BAD, Parser, Refused, Screen, bytes_text, counted, nearest, run, seconds_text, whole

# Computing over output in the picture: at least from here to there, and to twice as far as this run is.
_LEAST_RATIO, _MOST_RATIO, _POINTS = 0.25, 4, 120
_MOST_MARKED = 128  # more cores than this are not marked one by one


def main():
    options = _parser().parse_args()
    return run("plan", lambda: _answer(options))


def _answer(options):
    given = Input(options)
    sys.stdout.write(json.dumps(_told(given), indent=1, sort_keys=True) + "\n" if options.json else PlanScreen(given).text())
    sys.stdout.flush()
    if options.plot:
        from .picture import draw
        from .plan_picture import paint
        draw(_for_picture(given), options.plot, paint)


def _parser():
    parser = Parser("plan", "Says how long a run would take, with dedicated cores, without, and in one go.",
                    "Exit codes: 0 good; 1 the XML or the report is not good; 2 the command line is wrong, or something is not known.")
    add, count = parser.add_argument, {"type": whole(1, 1 << 31), "metavar": "N"}
    add("file", nargs="?", metavar="FILE", help="The XML of the simulation")
    add("--from", dest="source", metavar="REPORT", help="The report of a run: NAME.report.json")
    add("--compute", metavar="TIME", help="That an iteration computes, like 50ms")
    add("--ranks", **count, help="Ranks of a node that do so (default: 1)")
    add("--cores", **count, help="Of a node (default: the ranks and the dedicated cores)")
    add("--iterations", **count, help="Of the run (default: 1000, or as reported)")
    add("--disk", metavar="RATE", help="What the disk takes from a node, like 1.2GiB/s")
    add("--measure", metavar="FOLDER", help="Writes 256 MiB into this folder, and takes its speed for --disk")
    add("--analysis", metavar="TIME", help="That scripts and plugins compute in an iteration, on one core")
    add("--parallel", **count, help="Cores that they can use (default: 1)")
    add("--sequential", type=_percent, default=0, metavar="PERCENT",
        help="Percent of --compute that more cores do not make shorter (default: 0)")
    add("--bytes", metavar="SIZE", help="That a node hands over in an iteration (default: as the XML says)")
    add("--nodes", type=whole(2, 65536), metavar="N", help="Of the run, staging nodes among them: says what these gain or cost")
    add("--staging", type=whole(1, 65535), metavar="N", help="Of these (default: as the XML says)")
    add("--network", metavar="RATE", help="What the network carries from one node, like 10GB/s; with --nodes")
    add("--staging-disk", metavar="RATE", help="What the disk takes from one of them (default: as from any node)")
    add("--set", action="append", default=[], metavar="NAME=VALUE",
        help="Value of a parameter, as the simulation would set it; several are separated by commas, or said one by one")
    add("--plot", metavar="FILE", help="A picture: PNG, SVG or PDF; needs matplotlib")
    add("--interpreter", metavar="PYTHON", help="Python with matplotlib, for --plot (default: python3 in PATH)")
    add("--json", action="store_true", help="JSON on standard output, and nothing else")
    return parser


def _percent(text):
    if not 0 <= float(text) <= 100:
        raise ValueError
    return float(text)


def _told(given):
    """All figures, for JSON: times in seconds, sizes in bytes."""
    load, all_ways = given.load, ways.ways(given.load)
    listed = [{"way": way.kind, "dedicated_cores": way.dedicated, "iteration_seconds": way.iteration, "total_seconds": way.total,
               "limit": way.limit, "best": way is ways.best(all_ways)} for way in all_ways]
    return {"leat_plan": 1, "simulation": given.simulation, "compute_seconds": load.compute, "inside_seconds": load.inside,
            "output_seconds": load.output, "analysis_seconds": load.analysis, "computing_cores": load.computing, "cores": load.cores,
            "iterations": load.iterations, "bytes": given.bytes, "buffer_bytes": given.buffer_bytes, "ways": listed,
            "staging": staging.told(given) if given.nodes else None}


def _for_picture(given):
    """Each way over computing beside the same output, and the run over dedicated cores; `iteration_seconds` are a mean over the run, which
    has a begin and an end."""
    load, served = given.load, given.load.output + given.load.analysis
    if served <= 0 or load.compute <= 0:
        lack = "has no output" if served <= 0 else "computes nothing"
        raise Refused(f"--plot: an iteration {lack}: all ways are alike, and there is nothing to draw", BAD)
    ratio = load.compute / served
    low, high = min(_LEAST_RATIO, ratio / 2), max(_MOST_RATIO, ratio * 2)
    ratios = [low * (high / low) ** (i / _POINTS) for i in range(_POINTS + 1)]
    all_ways = ways.ways(load)
    lines = [{"name": way.name, "dedicated_cores": way.dedicated, "best": way is ways.best(all_ways),
              "iteration_seconds": way.total / load.iterations, "total_seconds": way.total,
              "over_ratios": [(x, ways.again(way, ways.replace(load, compute=x * served)).total / load.iterations) for x in ratios]}
             for way in all_ways]
    title = (f"{given.simulation}: {counted(load.cores, 'core')} of a node, computing {seconds_text(load.compute)} with {load.computing}, "
             f"output and analysis {seconds_text(served)}, {counted(load.iterations, 'iteration')}")
    marked = range(1, load.cores, max(1, load.cores // _MOST_MARKED))
    return {"title": title, "ratio": ratio, "lines": lines, "over_cores": [(k, ways.dedicated(load, k).total) for k in marked]}


class PlanScreen:
    """All there is to see, for people."""

    def __init__(self, given):
        self._given, self._load, self._ways, self._screen = given, given.load, ways.ways(given.load), Screen()
        self._best = ways.best(self._ways)
        self._served = "output and analyses" if given.load.analysis > 0 else "output"

    def text(self):
        load, bold = self._load, lambda text: self._screen.painted(text, "bold")
        return (f"{bold(self._given.simulation)}: {counted(load.cores, 'core')} of a node, {counted(load.iterations, 'iteration')}\n\n"
                f"{bold('An iteration')}\n{self._iteration()}{self._buffer()}{self._measured()}\n"
                f"{bold('Ways to run it')}\n{self._comparison()}\n{self._verdict()}"
                f"{staging.text(self._given, self._served, self._screen) if self._given.nodes else ''}")

    def _iteration(self):
        given, load = self._given, self._load
        handed = f"{bytes_text(given.bytes)} handed over"
        if given.placeholders:
            handed += f", with {', '.join(given.placeholders)} of the XML (--set for another value)"
        estimated = ", without the analyses that shared them: estimated" if given.computing_is_estimated else ""
        disk = f"at {bytes_text(int(given.bytes_per_second))}/s" if given.bytes_per_second else "of stores, as it was measured"
        rows = [("computing", seconds_text(load.compute), f"with {counted(load.computing, 'core')}{estimated}"),
                ("in Leat's calls", seconds_text(load.inside), handed), ("output", seconds_text(load.output), disk)]
        if load.analysis > 0:
            rows.append(("analyses", seconds_text(load.analysis), "of scripts, on one core"))
        return self._screen.table(rows, right=(1,), may_break=False)

    def _buffer(self):
        given = self._given
        if not given.buffer_bytes or not given.bytes:
            return ""
        fit = given.buffer_bytes // given.bytes
        room = self._screen.painted(f"room for {counted(fit, 'iteration')}", "red" if fit == 0 else "yellow" if fit == 1 else "green")
        wanted = f", and two are wanted: {bytes_text(2 * given.bytes)}" if fit < 2 else ""
        return f"  buffer of {bytes_text(given.buffer_bytes)}: {room}{wanted}\n"

    def _measured(self):
        given = self._given
        if given.measured is None:
            return ""
        return f"\n  the run took {seconds_text(given.measured)}, the model says {seconds_text(given.expected)}\n"

    def _comparison(self):
        rows = [[(head, "dim") for head in ("", "an iteration", "whole run", "", "limited by", "")]]
        for way in self._ways:
            rows.append([(self._in_words(way), "green" if way is self._best else ""), seconds_text(way.iteration), seconds_text(way.total),
                         (self._against_best(way), "dim"), self._limit(way), ("this run" if way.is_like(self._given.was) else "", "bold")])
        return self._screen.table(rows, right=(1, 2, 3), may_break=False)

    def _in_words(self, way):
        cores = self._load.cores - way.dedicated
        return (f"{way.name}: {counted(cores, 'core')} compute{'s' * (cores == 1)}" +
                {"synchronous": f", then wait for {self._served}", "dynamic": ", the server works where they wait"}.get(way.kind, ""))

    def _limit(self, way):
        if way.kind == "synchronous":
            return "one after the other"
        return {"compute": "computing", "output": self._served, "cores": "all cores busy"}[way.limit]

    def _against_best(self, way):
        more = nearest((way.total / self._best.total - 1) * 100) if way is not self._best else None
        return "best" if more is None else f"+{more} %" if more else "alike"

    def _verdict(self):
        given, best = self._given, self._best
        run_as_it_was = next((way for way in self._ways if way.is_like(given.was)), None)
        other = run_as_it_was or self._ways[0]  # the first is mode="sync"
        if best is run_as_it_was:
            said = "so was this run, and no other way is faster"
        elif best is other:
            said = "no other way is faster"
        else:
            than = "this run" if run_as_it_was else f"with {other.name}"
            said = f"{nearest((1 - best.total / other.total) * 100)} % less time than {than}"
        text = f"{self._screen.painted(best.name, 'green')}: {said}\n"
        for way in self._ways:
            full = ways.iterations_until_full(self._load, way, given.bytes, given.buffer_bytes)
            if way.dedicated == given.dedicated and full is not None:
                text += self._screen.painted(f"with {way.name} the server does not keep up", "yellow") + (
                    f": after {counted(nearest(full), 'iteration')} the buffer is full, and ranks wait for it\n"
                    if full < self._load.iterations else ", and the buffer has room for what is behind\n")
        return text
