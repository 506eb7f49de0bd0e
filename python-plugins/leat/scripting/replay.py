# SPDX-License-Identifier: Apache-2.0
"""`leat replay`: scripts on a stored run, called as in the run itself."""
import argparse
import faulthandler
import os
import pathlib
import shutil
import signal
import sys
import time
from dataclasses import dataclass

from ..vtk.painter import Painter

GOOD, BAD, USAGE = 0, 1, 2  # as server/cli/programs.hpp has them
_MOST_FAILURES = 3          # in a row; what <folder failures="..."> has by default
_REDRAW_SECONDS = 0.1


def main():
    options = _options()
    faulthandler.enable()
    os.environ["MPLBACKEND"] = "Agg"
    missing = [path for path in options.scripts if not os.path.isfile(path)]
    if missing:
        return _refuse(f"there is no script {', '.join(missing)}")
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        from .interpreters import without
        return _refuse(without("NumPy", error, "--interpreter {}"))
    from ..files.reading import CannotRead
    from .stored_run import StoredRun
    try:
        run = StoredRun(options.file)
        run.expect_variables()
        replay = Replay(run, options)
    except (CannotRead, OSError) as why:
        return _refuse(str(why))
    try:
        return replay.go()
    finally:
        run.close()


def _options():
    parser = argparse.ArgumentParser(
        prog="leat replay", allow_abbrev=False,
        description="Runs analysis scripts on a stored run, as they would have run beside it.",
        epilog="Exit codes: 0 all calls went well; 1 a script failed, or nothing could be replayed; 2 the command line is wrong.")
    add = parser.add_argument
    add("file", metavar="FILE", help="What a store of type hdf5 has written")
    add("scripts", nargs="+", metavar="SCRIPT", help="Python scripts")
    add("--output", metavar="FOLDER", help="For what the scripts make (default: <simulation>-replay)")
    add("--from", type=int, dest="first", metavar="ITERATION", help="The first iteration")
    add("--to", type=int, dest="last", metavar="ITERATION", help="The last iteration")
    add("--nodes", type=int, default=1, metavar="N",
        help="Functions of the whole run find the data on so many servers, each a worker of Dask in this process (default: 1)")
    add("--interpreter", metavar="PYTHON", help="Python with NumPy and h5py (default: python3 in PATH)")
    options = parser.parse_intermixed_args()
    if None not in (options.first, options.last) and options.first > options.last:
        parser.error(f"--from {options.first} is behind --to {options.last}")
    if options.nodes < 1:
        parser.error(f"--nodes {options.nodes}: at least 1")
    return options


def _refuse(message):
    print(f"leat replay: {message}", file=sys.stderr)
    return BAD


@dataclass
class Tally:
    """How one script fared. results: its ResultFile; table: its Table, once it has one."""
    script: object
    results: object
    table: object = None
    calls: int = 0
    failures: int = 0
    in_a_row: int = 0
    seconds: float = 0.0
    first_error: str = ""
    usable: bool = True


class Services:
    """What a Context needs of the world around. `current`: name of the script that is at work."""

    def __init__(self, model, output, say, nodes):
        self.model, self.current = model, ""
        self._nodes = nodes
        self._output, self._say = output, say
        self._painter = Painter(lambda text: self.log("warning", text), sys.stderr.fileno())

    def log(self, level, text):
        self._say(f'script "{self.current}": {text}')

    has_all_ranks = True

    def place(self):
        from .reductions import OneServer
        return OneServer

    def servers(self):
        return self.place().servers

    def reduce(self, function, signature, columns, meanwhile=None):
        return self.place()().reduce(function, signature, columns)

    def call_over_run(self, script, function, iteration, context):
        from ..cluster.replayed import call
        call(script, function, iteration, context, self._nodes)

    def set(self, parameter, value, scope):
        self.log("info", f"ctx.set(\"{parameter}\", {value!r}): only told, a replay has no simulation to steer")

    def signal(self, event):
        self.log("info", f"ctx.signal(\"{event}\"): only told, a replay has no run in which it happens")

    def image(self, script, name, iteration, picture):
        from . import outputs
        return outputs.write_image(self._output / script, name, iteration, picture)

    def draw(self, wish, iteration):
        return self._painter.draw(wish, iteration, self.has_all_ranks)

    def draw_of_run(self, wish, iteration, gather, place):
        return self._painter.draw_of_run(wish, iteration, gather, place)


class Progress:
    """One line on a terminal that says how far it is; nothing elsewhere."""

    def __init__(self, stream, total):
        self._stream, self._total = stream, total
        self._shows, self._drawn, self._next = stream.isatty(), False, 0.0

    def show(self, done, number):
        if self._shows and (time.monotonic() >= self._next or done == self._total):
            self._stream.write(f"\r\033[Kiteration {number}, {done} of {self._total}")
            self._stream.flush()
            self._drawn, self._next = True, time.monotonic() + _REDRAW_SECONDS

    def clear(self):
        if self._drawn:
            self._stream.write("\r\033[K")
            self._drawn = False

    def say(self, text):
        """A message that stays; the line is drawn again below it."""
        self.clear()
        self._stream.write(text + "\n")
        self._stream.flush()
        self._next = 0.0


class Replay:
    """run: StoredRun. options: of the command line."""

    def __init__(self, run, options):
        from .outputs import put_aside
        self._run, self._file = run, options.file
        self._rows = [row for row, number in enumerate(run.iterations) if _within(number, options.first, options.last)]
        if not self._rows:
            from ..files.reading import CannotRead
            raise CannotRead(_why_nothing(run, options))
        default = f"{run.model.simulation}-replay"
        self._output = pathlib.Path(options.output or default)
        # Pictures of an earlier replay must not stand among those of this one. A folder that the user named stays as it is.
        is_own = not options.output and self._output.is_dir()
        self._aside = put_aside(self._output) if is_own else None
        self._output.mkdir(parents=True, exist_ok=True)
        self._progress = Progress(sys.stderr, len(self._rows))
        self._services = Services(run.model, self._output, self._progress.say, options.nodes)
        self._interrupted = False
        self._tallies = [self._loaded(name, path) for name, path in unique_names(options.scripts).items()]

    def go(self):
        """Exit code."""
        signal.signal(signal.SIGINT, self._interrupt)
        try:
            self._call_all()
        except KeyboardInterrupt:
            pass  # between two calls
        for tally in self._tallies:
            tally.script.close()
            tally.results.close()
        self._progress.clear()
        self._show_end()
        return BAD if self._interrupted or any(t.failures for t in self._tallies) else GOOD

    def _interrupt(self, *_):
        self._interrupted = True
        raise KeyboardInterrupt

    def _call_all(self):
        for done, row in enumerate(self._rows):
            self._progress.show(done, self._run.iterations[row])
            iteration = self._run.iteration(row)
            self._call_each(iteration)
            for products, by_plugins in self._run.published(iteration.number):
                iteration.products = products
                self._call_each(iteration, by_plugins)
            if self._interrupted:
                return
        self._progress.show(len(self._rows), self._run.iterations[self._rows[-1]])

    def _call_each(self, iteration, has_variables=True):
        for tally in self._tallies:
            if tally.usable and not self._interrupted:
                self._call(tally, iteration, has_variables)

    def _loaded(self, name, path):
        from .outputs import put_aside
        from .result_file import ResultFile
        from .script import Script, ScriptError
        for suffix in (".csv", ".h5"):
            put_aside(self._output / (name + suffix))
        tally = Tally(Script(name, os.path.abspath(path), self._run.model), ResultFile(self._output / f"{name}.h5"))
        with self._speaking(name):
            try:
                tally.script.load()
            except (ScriptError, OSError) as why:
                self._fail(tally, str(why), "")
                tally.usable = False
        return tally

    def _call(self, tally, iteration, has_variables):
        iteration.offer(None if has_variables else set())
        due = tally.script.due(iteration)
        if not due:
            return
        every = any(f.variables is None for f in due)
        iteration.offer(None if every and has_variables else {v.name for f in due for v in (*f.variables, *f.beside)})
        began = time.monotonic()
        with self._speaking(tally.script.name):
            context, error = tally.script.call(iteration, self._services, lambda: [])
        tally.seconds += time.monotonic() - began
        if self._interrupted:
            return
        error = "\n".join(filter(None, [error, self._keep_results(tally, context)]))
        tally.calls += 1
        tally.in_a_row = tally.in_a_row + 1 if error else 0
        if error:
            self._fail(tally, error, f", iteration {iteration.number}")

    def _keep_results(self, tally, context):
        """Returns "" or what went wrong."""
        from .outputs import Table, results_of
        results = results_of(context)
        try:
            if context.scalars:
                tally.table = tally.table or Table(self._output / f"{tally.script.name}.csv")
                tally.table.add(context.iteration, context.scalars)
            if results:
                tally.results.add(context.iteration, results)
            return ""
        except (OSError, ValueError) as why:
            return f"its results are not stored: {why}"

    def _fail(self, tally, error, where):
        tally.failures += 1
        tally.first_error = tally.first_error or _brief(error)
        if tally.in_a_row >= _MOST_FAILURES:
            tally.usable = False
            error += f"\nThat was failure {tally.in_a_row} in a row: it is not called any more, as in a run."
        self._progress.say(f'script "{tally.script.name}"{where}: {error}')

    def _speaking(self, name):
        """While this lasts, what is printed is the script's."""
        self._services.current = name
        return _Speaking(self._services.log)

    def _show_end(self):
        numbers = [self._run.iterations[row] for row in self._rows]
        print(f"{self._run.model.simulation}: {_counted(len(numbers), 'iteration')} of {self._file}, "
              f"{numbers[0]} to {numbers[-1]}{', interrupted' if self._interrupted else ''}\n")
        rows = [["script", "calls", "seconds", "failures", ""]]
        for tally in self._tallies:
            stopped = "" if tally.usable or not tally.calls else "; not called any more"
            rows.append([tally.script.name, str(tally.calls), f"{tally.seconds:.3g}", str(tally.failures),
                         tally.first_error + stopped])
        print(_table(rows, shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0))
        if self._aside:
            print(f"{self._output} was there already and is called {self._aside} now")
        print(f"results: {self._output}{os.sep}{'' if any(self._output.iterdir()) else '  (nothing was made)'}")


class _Speaking:
    def __init__(self, log):
        from .worker import LogStream
        self._streams = LogStream(log, "info"), LogStream(log, "warning")

    def __enter__(self):
        self._before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self._streams

    def __exit__(self, *_):
        sys.stdout, sys.stderr = self._before
        for stream in self._streams:
            stream.end_line()


def unique_names(paths):
    """{name: path}, as server/workers/python/script_files.cpp names them: the second monitor.py is called after its folder too."""
    named = {}
    for path in dict.fromkeys(os.path.abspath(path) for path in paths):
        name, folder = pathlib.Path(path).stem, pathlib.Path(path).parent
        while name in named:
            name, folder = f"{folder.name or 'again'}_{name}", folder.parent
        named[name] = path
    return named


def _within(number, first, last):
    return (first is None or number >= first) and (last is None or number <= last)


def _why_nothing(run, options):
    if not run.iterations:
        return f"{options.file} has no iteration: its run ended, or was killed, before the first was stored"
    return (f"{options.file} has no iteration {'' if options.first is None else f'from {options.first} '}"
            f"{'' if options.last is None else f'to {options.last}'}".rstrip() +
            f": it has {_counted(len(run.iterations), 'iteration')}, {run.iterations[0]} to {run.iterations[-1]}")


def _brief(error):
    """Of a traceback the last line, which says what was wrong; else the first."""
    lines = error.rstrip("\n").split("\n")
    return lines[-1] if error.startswith("Traceback") else lines[0]


def _counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _table(rows, width):
    """Columns; numbers to the right. What is too long for the terminal is cut at its end."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if c in (0, len(row) - 1) else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths))]
        line = "  " + "  ".join(cells).rstrip()
        lines.append(line if not width or len(line) <= width else line[:width - 3] + "...")
    return "\n".join(lines) + "\n"
