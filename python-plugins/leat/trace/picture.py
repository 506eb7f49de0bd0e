# SPDX-License-Identifier: Apache-2.0
"""A trace as SVG, by hand: a row for each rank, store, script and counter over the time of the run. Needs no library, here or where it is
looked at."""
import html

from ..planning.words import bytes_text, seconds_text
from ..report.svg import COLOURS
from . import packets

_WIDTH, _LEFT, _RIGHT = 1280, 150, 16
_ROW, _BAR, _COUNTER, _TITLE, _AXIS, _LEGEND, _STRIP = 22, 16, 34, 26, 26, 30, 16
_LEAST = 0.7  # of a slice that is drawn; such as are nearer to each other are drawn as one
_DIGIT = 7
_WIDE = 40  # arrows are drawn where an iteration is as wide, on average
_AMISS = ("dropped", "lost", "failed", "died", "skipped")

# What a slice is drawn as: by the begin of its name, the first that fits.
_KINDS = (("compute", "compute", "#c9d3dc"), ("leat_write", "leat_write", COLOURS[0]), ("leat_end", "leat_end_iteration", COLOURS[3]),
          ("wait", "wait", COLOURS[4]), ("idle", "idle", "#f2e6b8"), ("turn", "server", "#7a8793"))
_OF_TRACKS = (("store", "store", COLOURS[2]), ("script", "script", COLOURS[1]), ("pipeline", "pipeline", "#7fcdb5"))
_STYLE = ("text{font:12px system-ui,sans-serif;fill:#222}.s{font-size:10px;fill:#667}.h{font-weight:600}"
          ".a{stroke:#445;stroke-width:.7;opacity:.45;fill:none}")


def is_amiss(name):
    """Of a moment: something did not go as wished."""
    return any(word in name for word in _AMISS)


def of(nodes):
    """The picture of these nodes, as text."""
    return _Drawing(nodes).text()


def _tag(name, text="", **attributes):
    listed = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{listed}>{text}</{name}>" if text else f"<{name}{listed}/>"


def _kind(track, name):
    for begin, kind, colour in _KINDS:
        if name.startswith(begin):
            return kind, colour
    for begin, kind, colour in _OF_TRACKS:
        if track.name.startswith(begin):
            return kind, colour
    return "", "#99a"


def _is_rank(track):
    return track.name.startswith("rank ")


class _Drawing:
    def __init__(self, nodes):
        self.nodes = nodes
        times = [time for node in nodes for track in node.tracks
                 for time in (*(s.begun for s in track.slices), *(s.ended for s in track.slices), *(n[0] for n in track.numbers))]
        self.begin, self.end = min(times, default=0), max(times, default=1)
        self.scale = (_WIDTH - _LEFT - _RIGHT) / max(1, self.end - self.begin)
        self.y = _LEGEND + _AXIS
        self.parts, self.kinds, self.rows, self.widths = [], {}, {}, []

    def x(self, time):
        return _LEFT + (min(max(time, self.begin), self.end) - self.begin) * self.scale

    def text(self):
        for node in self.nodes:
            self.parts.append(_tag("text", html.escape(node.title), x=8, y=self.y + 17, class_="h"))
            self.y += _TITLE
            self.iterations(node)
            for track in node.tracks:
                if track.unit:
                    self.counter(track)
                elif track.slices or track.moments:
                    self.track(track)
            self.y += 8
        self.arrows()
        height = self.y + 8
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">'
        ground = _tag("rect", width=_WIDTH, height=height, fill="#fff")
        return f"{head}<style>{_STYLE}</style>{ground}{self.legend()}{self.axis(height)}{''.join(self.parts)}</svg>\n"

    def label(self, name, height, **style):
        shown = name if len(name) <= 21 else name[:20] + "\u2026"
        self.parts.append(_tag("text", html.escape(shown) + _tag("title", html.escape(name)), x=_LEFT - 8, y=self.y + height / 2 + 4,
                               text_anchor="end", **style))

    def track(self, track):
        self.rows[id(track)] = self.y
        self.label(track.name, _BAR)
        least = 1 if _is_rank(track) else 0  # iterations of ranks have a row of their own
        for depth in range(least, 1 + max((each.depth for each in track.slices), default=-1)):
            self.slices(track, [each for each in track.slices if each.depth == depth], inset=3 * (depth - least))
        for time, name in track.moments:
            if is_amiss(name):
                self.moment(time, name)
        self.y += _ROW

    def iterations(self, node):
        """Those of the node's first rank, in two shades, with numbers where there is room."""
        rank = next((track for track in node.tracks if _is_rank(track) and track.slices), None)
        if not rank:
            return
        self.label("iteration", _STRIP)
        for each in rank.slices:
            left, width = self.x(each.begun), (each.ended - each.begun) * self.scale
            if each.depth > 0 or width < 2 * _LEAST:
                continue
            said = html.escape(f"{each.name}: {seconds_text((each.ended - each.begun) / 1e9)}")
            self.parts.append(_tag("rect", _tag("title", said), x=f"{left:.2f}", y=self.y, width=f"{width:.2f}", height=_STRIP,
                                   fill="#dfe5ec" if each.iteration % 2 else "#eef2f6"))
            self.widths.append(width)
            self.number(each.iteration, left, width, self.y + 12)
        self.y += _STRIP + 4

    def number(self, number, left, width, y, **style):
        if number >= 0 and width > 6 + _DIGIT * len(str(number)):
            self.parts.append(_tag("text", str(number), x=f"{left + width / 2:.2f}", y=y, text_anchor="middle", class_="s", **style))

    def slices(self, track, slices, inset):
        """Neighbours of one kind that are too thin to be told apart are one."""
        drawn = []
        for each in slices:
            kind, colour = _kind(track, each.name)
            self.kinds[kind] = colour
            left, right = self.x(each.begun), self.x(each.ended)
            is_thin = right - left < 2 * _LEAST
            if drawn and is_thin and drawn[-1][0] == kind and drawn[-1][5] and left - drawn[-1][3] < _LEAST:
                drawn[-1][3], drawn[-1][4] = max(drawn[-1][3], right), drawn[-1][4] + 1
                continue
            drawn.append([kind, colour, left, max(right, left + _LEAST), 1, is_thin, each])
        for kind, colour, left, right, count, _, first in drawn:
            took = seconds_text((first.ended - first.begun) / 1e9)
            of_iteration = f", iteration {first.iteration}" if first.iteration >= 0 and "iteration" not in first.name else ""
            more = f", {bytes_text(first.bytes)}" if first.bytes else ""
            said = f"{first.name}{of_iteration}: {took}{more}" if count == 1 else f"{count} times {kind}"
            self.parts.append(_tag("rect", _tag("title", html.escape(said)), x=f"{left:.2f}", y=self.y + 2 + inset,
                                   width=f"{right - left:.2f}", height=_BAR - 2 * inset, fill=colour))
            if count == 1 and not _is_rank(track):
                self.number(first.iteration, left, right - left, self.y + 14, style="fill:#fff")

    def moment(self, time, name):
        x = self.x(time)
        self.kinds["dropped, skipped, lost, failed"] = "#b00020"
        self.parts.append(_tag("path", _tag("title", html.escape(name)), d=f"M{x:.2f} {self.y + _BAR + 2}l-4 -8h8z", fill="#b00020"))

    def counter(self, track):
        if not track.numbers:
            return
        most = max(value for _, value in track.numbers) or 1
        self.label(track.name, _COUNTER - 14)
        self.label(f"at most {bytes_text(most) if track.unit == 3 else most}", _COUNTER + 12, class_="s")
        top, bottom = self.y + 2, self.y + _COUNTER
        path, last = f"M{self.x(track.numbers[0][0]):.2f} {bottom}", bottom
        at = -1.0
        peak = bottom
        for time, value in track.numbers:
            x, y = self.x(time), bottom - (bottom - top) * value / most
            if x - at < _LEAST / 2:
                peak, last = min(peak, y), y
                continue
            if at >= 0:
                path += f"V{peak:.1f}V{last:.1f}"
            path += f"H{x:.2f}"
            at, peak, last = x, y, y
        path += f"V{peak:.1f}V{last:.1f}H{self.x(self.end):.2f}V{bottom}Z"
        self.parts.append(_tag("path", d=path, fill="#56b4e9", opacity=0.6))
        self.y += _COUNTER + 8

    def arrows(self):
        if not self.widths or sum(self.widths) / len(self.widths) < _WIDE:
            return
        for (from_track, of_rank), (to_track, of_store) in packets.arrows_of(self.nodes):
            if id(from_track) not in self.rows or id(to_track) not in self.rows:
                continue
            x1, y1 = self.x(of_rank.begun), self.rows[id(from_track)] + _BAR
            x2, y2 = self.x(of_store.begun), self.rows[id(to_track)] + 2
            middle = (y1 + y2) / 2
            path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"
            self.parts.append(_tag("path", d=path, class_="a"))

    def legend(self):
        parts, x = [], _LEFT
        for kind, colour in self.kinds.items():
            if not kind:
                continue
            parts += [_tag("rect", x=x, y=10, width=12, height=12, fill=colour), _tag("text", html.escape(kind), x=x + 17, y=20)]
            x += 34 + 7 * len(kind)
        return "".join(parts)

    def axis(self, height):
        """Times of day mean nothing to a reader: from the begin of the run."""
        whole = (self.end - self.begin) / 1e9
        step = 10.0 ** -9
        for factor in (2, 2.5, 2) * 20:
            if whole / step <= 10:
                break
            step *= factor
        parts, at = [], 0.0
        while at <= whole:
            x = self.x(self.begin + int(at * 1e9))
            parts += [_tag("path", d=f"M{x:.1f} {_LEGEND + _AXIS - 4}V{height - 4}", stroke="#e4e8ee", stroke_width=1),
                      _tag("text", seconds_text(round(at, 9)), x=f"{x:.1f}", y=_LEGEND + _AXIS - 9, class_="s", text_anchor="middle")]
            at += step
        return "".join(parts)
