# SPDX-License-Identifier: Apache-2.0
"""The page: one HTML file with all that it shows in it, and no address of anything outside."""
import base64
import html
import re

from ..planning.words import bytes_text, counted, seconds_text
from . import svg

MOST_BYTES = 500_000
# What all but pictures may take; those have what is left.
_BYTES_OF_STRIPS = 80_000
_BYTES_OF_ROWS = 40_000  # of a table or list, without strips
_MOST_ROWS = 200
_MOST_TEXT = 300  # characters of a name or reason
_MOST_LOG = 20_000
_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml"}
_STYLE = """
:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:980px;margin:2em auto;padding:0 1em}
h1{margin:0}h2{margin:1.8em 0 .4em;font-size:1.15em}table{border-collapse:collapse;width:100%}
td,th{padding:.2em .7em .2em 0;text-align:left;vertical-align:top;border-bottom:1px solid #8884}
td.n,th.n{text-align:right}.bad{color:#d55e00;font-weight:600}.note{opacity:.75}svg{width:100%;height:auto;display:block}
svg text{font-size:11px;fill:currentColor}.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:1em}
figure{margin:0}figcaption{font-size:.85em;opacity:.8}img{max-width:100%}pre{overflow:auto;background:#8881;padding:.7em;font-size:12px}
.key span{margin-right:1.2em}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}code{background:#8882;padding:0 .25em}
"""


def _escaped(text, most=_MOST_TEXT):
    text = str(text)
    return html.escape(text if len(text) <= most else text[:most] + "...")


def _table(head, rows, numbers=()):
    """Cells are texts, or (text, class), or Markup."""
    def cell(tag, i, value):
        text, kind = value if isinstance(value, tuple) else (value, "")
        kinds = " ".join(filter(None, (kind, "n" if i in numbers else "")))
        inside = text if isinstance(text, Markup) else _escaped(text)
        return f"<{tag}{f' class={chr(34)}{kinds}{chr(34)}' if kinds else ''}>{inside}</{tag}>"
    lines = ["<tr>" + "".join(cell("th", i, each) for i, each in enumerate(head)) + "</tr>"] if head else []
    shown, more = _as_many_as_fit("<tr>" + "".join(cell("td", i, each) for i, each in enumerate(row)) + "</tr>" for row in rows)
    return f"<table>{''.join(lines)}{shown}</table>{more}"


def _as_many_as_fit(rows):
    """(rows of HTML as one text, a note of how many are left out)."""
    rows, count, room = list(rows), 0, _BYTES_OF_ROWS
    for row in rows[:_MOST_ROWS]:
        room -= len(re.sub("<svg.*?</svg>", "", row).encode())
        if room < 0:
            break
        count += 1
    return "".join(rows[:count]), f'<p class="note">and {len(rows) - count} more, in the ledger</p>' if count < len(rows) else ""


class Markup(str):
    """Of this module: not to be escaped."""


def page(outcome, series, why_no_series, made):
    """`made`: when, for people."""
    name = _escaped(outcome.name)
    above = [f"<h1>{name}</h1>", _summary(outcome), _variables(outcome), _time(outcome), _scripts(outcome), _plots(series, why_no_series)]
    below = [_amiss(outcome), _files(outcome), _log(outcome)]
    taken = sum(len(each.encode()) for each in (*above, *below)) + 4 * len(_STYLE)
    parts = [*above, _pictures(outcome, MOST_BYTES - taken), *below]
    foot = f'<p class="note">Made by leat report, {_escaped(made)}.</p>'
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{name}</title><style>{_STYLE}</style></head><body>\n" + "\n".join(filter(None, parts)) + foot + "</body></html>\n")


def _section(title, inside):
    return f"<h2>{_escaped(title)}</h2>\n{inside}" if inside else ""


def _summary(outcome):
    first = outcome.ledgers[0]
    facts = [("state", (outcome.summary, "" if outcome.is_good else "bad")),
             ("session", first.get("session", "")), ("ranks", first.get("ranks", "")),
             ("servers", ", ".join(each.get("node", "") for each in outcome.ledgers)), ("folder", outcome.folder.resolve())]
    facts += [("not counted", (each, "bad")) for each in outcome.uncounted()]
    return _table([], [list(each) for each in facts])


def _variables(outcome):
    ranges = [each for fate in outcome.fates for some in fate.ranges.values() for each in some]
    if not ranges:
        return ""
    first, last = min(each[0] for each in ranges), max(each[1] for each in ranges)
    rows, room = [], _BYTES_OF_STRIPS
    for each in outcome.fates[:_MOST_ROWS + 1]:
        strip = svg.strip(each.ranges, first, last)
        room -= len(strip)
        rows.append([each.name, each.iterations, bytes_text(each.bytes),
                     ", ".join(f"{store} {blocks}" for store, blocks in each.stored.items()) or "-", each.skipped, each.dropped,
                     (each.lost, "bad" if each.lost else ""), Markup(strip if room > 0 else "")])
    key = "".join(f'<span><i style="background:{colour}"></i>{fate}</span>' for fate, colour in
                  (("stored", svg.OF_FATES["stored"]), ("written, in no store", svg.OF_FATES["written"]),
                   ("skipped or dropped", svg.OF_FATES["dropped"]), ("lost", svg.OF_FATES["failed"])))
    rows += [[each.name] for each in outcome.fates[_MOST_ROWS + 1:]]
    return _section("Variables", _table(["name", "iterations", "bytes", "blocks stored", "skipped", "dropped", "lost",
                                         f"iterations {first} to {last}"], rows, {1, 2, 4, 5, 6}) + f'<p class="key">{key}</p>')


def _time(outcome):
    rows, bars = [], ""
    for report in outcome.reports:
        parts = [("computing", report["compute_seconds"]), ("in Leat's calls", report["inside_seconds"])]
        beside = [("stores", report["store_seconds"]), ("scripts", report["script_seconds"])]
        node = next((each.get("node", "") for each in outcome.ledgers if each.get("session") == report.get("session")), "")
        told = [(name, seconds, seconds_text(seconds)) for name, seconds in parts]
        bars += (f'<p>{_escaped(node)}: an iteration took {seconds_text(report["iteration_seconds"])}, at most '
                 f'{seconds_text(report["iteration_longest_seconds"])}; {_escaped(", ".join(f"{n} {t}" for n, _, t in told))}. Beside it '
                 f'{_escaped(", ".join(f"{n} {seconds_text(s)}" for n, s in beside))}.</p>' + svg.shares(told))
        rows += [[each["name"], kind, each["calls"], seconds_text(each["seconds"]),
                  seconds_text(each["seconds"] / max(1, each["calls"]))] for kind in ("stores", "scripts") for each in report[kind]]
        bars += (f'<p>The buffer held {bytes_text(report["buffer_most_used_bytes"])} of {bytes_text(report["buffer_bytes"])} at most; '
                 f'all in {seconds_text(report["measured_seconds"])}.</p>')
        if report.get("advice"):
            bars += f"<p>{_escaped(report['advice'])}</p>"
    return _section("Time", bars + (_table(["name", "", "calls", "at work", "a call"], rows, {2, 3, 4}) if rows else ""))


def _scripts(outcome):
    rows = [[each.get("name", ""), each.get("calls", 0), (each.get("failed", 0), "bad" if each.get("failed") else ""),
             each.get("skipped", 0), each.get("why", "")] for each in outcome.scripts_amiss]
    return _section("Scripts that failed or left iterations out",
                    _table(["name", "calls", "failed", "skipped", "first failure"], rows, {1, 2, 3}) if rows else "")


def _figure(inside, caption):
    return f"<figure>{inside}<figcaption>{_escaped(caption)}</figcaption></figure>"


def _plots(series, why):
    figures = "".join(_figure(plot, f"{each.name} ({each.unit})" if each.unit else each.name)
                      for each in series if (plot := svg.line_plot(each)))
    note = f'<p class="note">Without numbers of files: {_escaped(why)}.</p>' if why else ""
    return _section("Numbers over iterations", (f'<div class="grid">{figures}</div>' if figures else "") + note)


def _pictures(outcome, room):
    """The newest first, as many as there is room for."""
    paths = [each for folder in outcome.scripts_folders for each in folder.rglob("*")
             if each.suffix.lower() in _TYPES and each.is_file() and not each.is_symlink()]
    paths.sort(key=lambda each: (-each.stat().st_mtime, each.name))
    figures, left = [], 0
    for path in paths:
        size = path.stat().st_size * 4 // 3 + 2 * len(path.name) + 200
        if size > room:
            left += 1
            continue
        room -= size
        data = base64.b64encode(path.read_bytes()).decode()
        figures.append(_figure(f'<img alt="" src="data:{_TYPES[path.suffix.lower()]};base64,{data}">', path.name))
    folders = _escaped(", ".join(map(str, outcome.scripts_folders)))
    note = f'<p class="note">{counted(left, "picture")} more in {folders}</p>' if left else ""
    return _section("Pictures of scripts", (f'<div class="grid">{"".join(figures)}</div>' if figures else "") + note)


def _amiss(outcome):
    lines = []
    for ledger in outcome.ledgers:
        lines += [f"rank {each.get('rank', '?')} died in iteration {each.get('iteration', '?')}" for each in ledger.get("died", [])]
        lines += [f"store {each.get('name', '')}: {each['failed']}" for each in ledger.get("stores", []) if each.get("failed")]
        lines += [each.get("text", "") for each in ledger.get("warnings", [])]
        lines += (ledger.get("placement") or {}).get("warnings", [])
    for entry in (entry for ledger in outcome.ledgers for entry in ledger.get("entries", [])):
        if entry.get("fate") in ("failed", "not written", "dropped"):
            first, last, _ = entry.get("iterations", [0, -1, 1])
            where = f" in {entry['store']}" if "store" in entry else ""
            lines.append(f"{entry.get('variable') or entry.get('what', '')}, iterations {first} to {last}, {entry['fate']}{where}: "
                         f"{entry.get('why', '')}")
    listed, more = _as_many_as_fit(f"<li>{_escaped(each)}</li>" for each in lines)
    return _section("What is to be looked at", f"<ul>{listed}</ul>{more}" if listed else "")


def _files(outcome):
    rows = [[path.name, bytes_text(path.stat().st_size)] for path in outcome.files]
    rows += [[path.name + "/", counted(sum(each.is_file() for each in path.rglob("*")), "file")] for path in outcome.scripts_folders]
    rows += [[each["path"].rpartition("/")[2], ""] for each in (*outcome.ledgers, *outcome.reports)]
    return _section("Files", _table([], rows, {1}))


def _log(outcome):
    for path in (outcome.folder / f"{outcome.name}.log", outcome.folder / f"{outcome.name}.leat.log"):
        try:
            with open(path, "rb") as file:
                start = max(0, file.seek(0, 2) - _MOST_LOG)
                file.seek(start)
                text = file.read(_MOST_LOG).decode("utf-8", "replace")
        except OSError:
            continue
        whole_lines = text.partition("\n")[2] if start else text
        return _section(f"Log, {path.name}", f"<pre>{_escaped(whole_lines, _MOST_LOG)}</pre>")
    return ""
