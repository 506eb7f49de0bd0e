# SPDX-License-Identifier: Apache-2.0
"""`leat report`: one screen of what a run has made, or a page of it. Needs nothing but Python; with h5py it plots scalars of files."""
import json
import os
import sys
import time

from ..planning.words import Parser, Refused, Screen, bytes_text, counted, run, seconds_text
from ..trace import files as traces
from . import outcome as outcomes
from . import page, series

_MOST_VARIABLES, _MOST_FILES = 12, 8


def main():
    options = _parser().parse_args()
    return run("report", lambda: _answer(options))


def _parser():
    parser = Parser("report", "Shows what became of a run: variables, time, scripts, files; or makes a page of it.",
                    "Exit codes: 0 good; 1 there is nothing of such a run; 2 the command line is wrong.")
    add = parser.add_argument
    add("run", metavar="RUN", help="Name of the simulation, with the folder where it ran: heat, /scratch/me/heat, or one of its files")
    add("--html", nargs="?", const="", metavar="FILE", help="Makes a page, with plots and pictures of scripts (default: RUN.report.html)")
    add("--json", action="store_true", help="JSON on standard output, and nothing else")
    add("--interpreter", metavar="PYTHON", help="Python with h5py, for plots of scalars in files (default: python3 in PATH)")
    return parser


def _answer(options):
    found = outcomes.look(options.run)
    if options.json:
        print(json.dumps(_facts(found), indent=1))
    elif options.html is None:
        sys.stdout.write(_screen(found, Screen()))
    if options.html is not None:
        path = options.html or str(found.folder / f"{found.name}.report.html")
        numbers, why = series.of_run(found)
        _write(path, page.page(found, numbers, why, time.strftime("%Y-%m-%d %H:%M:%S %z")))
        if not options.json:
            print(f"made {path}")


def _write(path, text):
    """Whole, or not at all. What is no plain file is written as it is, and so is what a link leads to, as /dev/stdout: with its output in a
    file it leads to that, and the link must stay."""
    is_in_place = os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path))
    part = path if is_in_place else f"{path}.{os.getpid()}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        if part != path:
            os.replace(part, path)
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}", 1) from None


def _facts(found):
    return {"leat_run_report": 1, "name": found.name, "state": found.state, "lost": found.lost,
            "dropped_iterations": found.dropped_iterations, "stored_until": found.stored_until,
            "variables": [vars(each) for each in found.fates], "reports": found.reports,
            "scripts": [each for ledger in found.ledgers for each in ledger.get("scripts", [])],
            "files": [str(each) for each in found.files], "scripts_folders": [str(each) for each in found.scripts_folders],
            "traces": [str(each) for each in traces.of_run(found.folder / found.name)], "ledgers": [each["path"] for each in found.ledgers]}


def _screen(found, screen):
    lines = [f"{screen.painted(found.name, 'bold')}  {screen.painted(found.summary, 'green' if found.is_good else 'red')}\n"]
    rows = [[(each, "dim") for each in ("variable", "iterations", "bytes", "blocks", "stored", "skipped", "dropped", "lost")]]
    fates = [each for each in found.fates if each.is_counted]
    for each in fates[:_MOST_VARIABLES]:
        rows.append([each.name, str(each.iterations), bytes_text(each.bytes), str(each.written_blocks), str(sum(each.stored.values())),
                     str(each.skipped), str(each.dropped), (str(each.lost), "red" if each.lost else "")])
    if fates:
        lines.append(screen.table(rows, right=range(1, 8)))
    if len(fates) > _MOST_VARIABLES:
        lines.append(f"  and {len(fates) - _MOST_VARIABLES} more; --json has them all\n")
    lines += [f"  {each}\n" for each in found.uncounted()]
    facts = [*_time_facts(found), *_script_facts(found), *_file_facts(found)]
    return "".join(lines) + screen.table([[(name, "dim"), text] for name, text in facts], may_break=False)


def _time_facts(found):
    for report in found.reports:
        yield "time", (f"{counted(report['iterations'], 'iteration')} in {seconds_text(report['measured_seconds'])}; one took "
                       f"{seconds_text(report['iteration_seconds'])}, {seconds_text(report['inside_seconds'])} of it in Leat's calls")
        for kind in ("stores", "scripts"):
            for each in report[kind]:
                yield kind[:-1], f"{each['name']}: {counted(each['calls'], 'call')}, {seconds_text(each['seconds'])} at work"
        if report.get("advice"):
            yield "advice", report["advice"]


def _script_facts(found):
    for each in found.scripts_amiss:
        why = f": {each['why'].partition(chr(10))[0]}" if each.get("why") else ""
        yield "amiss", (f"{each.get('name', '')}: {each.get('failed', 0)} of {counted(each.get('calls', 0), 'call')} failed, "
                        f"{each.get('skipped', 0)} skipped{why}")


def _file_facts(found):
    for path in found.files[:_MOST_FILES]:
        yield "file", f"{path} ({bytes_text(path.stat().st_size)})"
    if len(found.files) > _MOST_FILES:
        yield "", f"and {len(found.files) - _MOST_FILES} more; --json has them all"
    for path in found.scripts_folders:
        yield "scripts", f"{path}/"
    for path in traces.of_run(found.folder / found.name):
        yield "trace", f"{path} ({bytes_text(path.stat().st_size)})"
    for each in found.ledgers:
        yield "ledger", each["path"]
    run_name = found.folder / found.name
    yield "next", f"leat ls {found.files[0]}" if found.files else f"leat report {run_name} --html"
    if found.files:
        yield "", f"leat report {run_name} --html"
