# SPDX-License-Identifier: Apache-2.0
"""`leat convert FILE...` of definitions of XIOS: writes XML for Leat on standard output, and says what has no equal."""

import argparse
import sys

from . import tables, tree, write
from .convert import Converter
from .report import Report, Wrong, nearest

GOOD, BAD = 0, 1
_WITHOUT_DATES = "2000-01-01 00:00:00"


def main():
    options = _parser().parse_args()
    report = Report()
    try:
        text = _converted(options, report)
    except Wrong as wrong:
        report.add(wrong)
    except RecursionError:
        report.add(Wrong(options.files[0], "references go on over too many elements"))
    for line in [*report.errors, *report.warnings]:
        print(line, file=sys.stderr)
    if report.errors:
        count = len(report.errors)
        print(f"{count} error{'s' * (count != 1)} in {', '.join(options.files)}; nothing is written", file=sys.stderr)
        return BAD
    for line in report.summary():
        print(line, file=sys.stderr)
    return _print(text)


def _print(text):
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        print(f"leat convert: cannot write: {error.strerror}", file=sys.stderr)
        return BAD
    return GOOD


def _parser():
    parser = argparse.ArgumentParser(
        prog="leat convert", allow_abbrev=False,
        description="Writes definitions of XIOS as XML for Leat, to standard output.",
        epilog="What has no equal in Leat is said on standard error, and in a comment of the output. "
               "Exit codes: 0 good; 1 the definitions have errors, and nothing is written; 2 the command line is wrong.")
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="iodef.xml, which names the others, or several of them")
    add("--context", metavar="ID", help="Which context; needed when there are several beside that of XIOS itself")
    add("--since", metavar="DATE", help='What the time counts from, like "1900-01-01", where no <calendar> says it')
    add("--calendar", metavar="NAME", choices=sorted({*write.CALENDARS.values(), "proleptic_gregorian"} - {"none"}),
        help="Calendar of the CF conventions, where no <calendar> says it")
    add("--interpreter", metavar="PYTHON", help="Python to be used (default: python3 in PATH)")
    return parser


def _converted(options, report):
    roots = [tree.read(file) for file in options.files]
    for root in roots:
        _refuse_other_roots(root)
        tree.check(root, report)
    context = _context(roots, options.context, report)
    converter = Converter(context, report).run()
    time = _time_of(context, options, report)
    if not converter.files and not report.errors:
        raise Wrong(options.files[0], "no file of these definitions has a field in it that is written: nothing is to be done. "
                    "Look at enabled=, and name all files, or the iodef.xml that takes them in")
    if report.errors:
        return None
    head = [f"Made by leat convert of {', '.join(options.files)}. Layouts are of type double: where the code writes",
            "single precision, write float. Periods count from midnight and from the first of the month.", *report.summary()]
    return write.document(converter, time, head)


def _refuse_other_roots(root):
    if root.tag not in ("simulation", "context") and not root.tag.endswith("_definition"):
        known = [each for each in tables.ELEMENTS if each.endswith("_definition")]
        raise Wrong(root.place, f"definitions of XIOS begin with <simulation>, <context> or a definition, not with <{root.tag}>" +
                    nearest(root.tag, ["simulation", "context", *known]))


def _context(roots, wanted, report):
    """The one that is meant; definitions without one are put into it."""
    loose = [root for root in roots if root.tag not in ("simulation", "context")]
    contexts = {}
    for root in roots:
        for each in [root, *root.children]:
            if each.tag != "context":
                continue
            if each.id in contexts:
                contexts[each.id].children += each.children
                contexts[each.id].attributes.update(each.attributes)
            else:
                contexts[each.id] = each
    if "xios" in contexts and wanted != "xios":
        report.not_needed(contexts.pop("xios").place, '<context id="xios">', "settings of XIOS itself")
    if not contexts:
        contexts = {"": tree.Element("context", {}, roots[0].place, None)}
    if wanted is not None and wanted not in contexts:
        raise Wrong(roots[0].place, f'there is no <context id="{wanted}">' + nearest(wanted, contexts))
    if wanted is None and len(contexts) > 1:
        names = ", ".join(f'"{each}"' for each in sorted(contexts))
        raise Wrong(roots[0].place, f"there are several contexts, {names}, and a run of Leat is one of them; choose one with --context")
    context = contexts[wanted] if wanted is not None else next(iter(contexts.values()))
    for each in loose:
        each.parent = context
    context.children += loose
    return context


def _time_of(context, options, report):
    """Unit and calendar of the time."""
    element = next((each for each in context.within() if each.tag == "calendar"), context)
    origin = element.get("time_origin") or element.get("start_date")
    kind = (element.get("type") if element is not context else element.get("calendar_type")) or ""
    calendar = write.CALENDARS.get(kind.strip().lower())
    if kind and calendar is None:
        known = ["Gregorian", "Julian", "NoLeap", "AllLeap", "D360"]
        report.warn(element.place, f'type="{kind}" is no calendar of XIOS' + nearest(kind, known))
    date = write.date_of(options.since or origin)
    if options.since and not date:
        raise Wrong("", f'--since: "{options.since}" is no date like "1900-01-01"')
    if origin and not date:
        report.warn(element.place, f'"{origin}" is no date that Leat reads')
    if not date or not (calendar or options.calendar):
        report.without_equal(element.place, "a calendar that the program gives by calls",
                             "say it with --since and --calendar, or in <time>")
    for name in ("start_date", "timestep"):
        if element.get(name):
            report.not_needed(element.place, f"{name} of the calendar", "the simulation sets the time in each iteration")
    if calendar == "standard" and date and date < "1582-10-15":
        calendar = "proleptic_gregorian"
    return f"seconds since {date or _WITHOUT_DATES}", options.calendar or calendar or "standard"
