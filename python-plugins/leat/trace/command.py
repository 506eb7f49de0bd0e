# SPDX-License-Identifier: Apache-2.0
"""`leat trace`: one screen of where the time of a run went, one trace of all of its nodes, or a picture of it. Needs nothing but Python."""
import os
import sys

from ..planning.words import BAD, Parser, Refused, Screen, bytes_text, counted, run, seconds_text
from . import files, packets, picture

_MOST_ROWS = 40


def main():
    options = _parser().parse_args()
    return run("trace", lambda: _answer(options))


def _parser():
    parser = Parser("trace", "Shows what ranks, stores and scripts of a run did when: from the traces that its servers wrote.",
                    "Exit codes: 0 good; 1 there is no such trace, or it cannot be written; 2 the command line is wrong.")
    add = parser.add_argument
    add("run", metavar="RUN", help="A trace, the folder where it is, the name of the simulation, or one of its files")
    add("-o", "--output", metavar="FILE", help="Puts the traces of all nodes of the run into one file, for ui.perfetto.dev")
    add("--svg", metavar="FILE", help="Draws it")
    add("--interpreter", metavar="PYTHON", help="Python to be used (default: python3 in PATH)")
    return parser


def _answer(options):
    found = files.of_run(options.run)
    if not found:
        how = f'<simulation trace="run{files.ENDING}"> or LEAT_TRACE=run{files.ENDING}'
        raise Refused(f'there is no trace of "{options.run}": a run writes one with {how}', BAD)
    data = b"".join(files.whole(path) for path in found)
    if options.output:
        _write(options.output, packets.JOINED + data)
    if options.svg:
        _write(options.svg, picture.of(packets.nodes_of(data)).encode())
    for path in (options.output, options.svg):
        if path:
            print(f"made {path}")
    if not options.output and not options.svg:
        sys.stdout.write(_screen(found, packets.nodes_of(data), len(data), Screen()))


def _write(path, data):
    """Whole, or not at all."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}", BAD) from None


def _screen(found, nodes, size, screen):
    slices = [each for node in nodes for track in node.tracks for each in track.slices]
    begin, end = min((each.begun for each in slices), default=0), max((each.ended for each in slices), default=0)
    lines = [f"{screen.painted(seconds_text((end - begin) / 1e9), 'bold')} of {counted(len(nodes), 'server')}, "
             f"{counted(len(slices), 'slice')} in {bytes_text(size)}\n"]
    rows = [[(each, "dim") for each in ("track", "slices", "at work", "share", "most of it")]]
    tracks = [(node, track) for node in nodes for track in node.tracks if track.slices]
    for node, track in tracks[:_MOST_ROWS]:
        rows.append([f"{track.name}" if len(nodes) == 1 else f"{node.title}: {track.name}", *_figures(track, end - begin)])
    lines.append(screen.table(rows, right=range(1, 4)))
    if len(tracks) > _MOST_ROWS:
        lines.append(f"  and {len(tracks) - _MOST_ROWS} more\n")
    moments = [(time, name) for node in nodes for track in node.tracks for time, name in track.moments if picture.is_amiss(name)]
    facts = [["amiss", f"{name} (at {seconds_text((time - begin) / 1e9)})"] for time, name in sorted(moments)[:5]]
    facts += [["file", str(path)] for path in found]
    facts += [["next", "open it at ui.perfetto.dev" if len(found) == 1 else f"leat trace {found[0]} -o whole{files.ENDING}"],
              ["", f"leat trace {found[0]} --svg run.svg"]]
    return "".join(lines) + screen.table([[(name, "dim"), text] for name, text in facts], may_break=False)


def _figures(track, whole):
    """Of what is not iterations of a rank, which are all of its time, and is within nothing else."""
    depth = 1 if track.name.startswith("rank ") else 0
    shown = [each for each in track.slices if each.depth == depth]
    by_name = {}
    for each in shown:
        name = "iteration" if each.iteration >= 0 and each.name == f"iteration {each.iteration}" else each.name
        by_name[name] = by_name.get(name, 0) + each.ended - each.begun
    work = sum(time for name, time in by_name.items())
    most = max(by_name, key=by_name.get, default="")
    share = f"{100 * work / whole:.0f}%" if whole else ""
    return str(len(shown)), seconds_text(work / 1e9), share, f"{most} ({seconds_text(by_name[most] / 1e9)})" if most else ""
