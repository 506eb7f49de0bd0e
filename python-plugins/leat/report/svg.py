# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, by hand: they need no library, here or where they are looked at."""
import html

WIDTH, HEIGHT = 420, 150
_BAR, _STRIP = 8, 14
_CELLS = 140  # of a strip
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 8, 8, 22
# Told apart by most eyes, after Okabe and Ito, "Color Universal Design".
COLOURS = "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"
# Those behind are drawn over those before them.
OF_FATES = {"written": COLOURS[5], "stored": COLOURS[2], "skipped": COLOURS[1], "dropped": COLOURS[1], "failed": COLOURS[4],
            "not written": COLOURS[4]}


def _tag(name, text="", **attributes):
    listed = "".join(f' {key.replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{listed}>{text}</{name}>"


def _svg(height, inside, label):
    return _tag("svg", inside, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label)


def number_text(value):
    return str(int(value)) if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def line_plot(series):
    """Of a Series: a line, broken where there is no number."""
    points = [(x, y) for x, y in zip(series.x, series.y) if x is not None]
    values = [y for _, y in points if y is not None]
    if not values:
        return ""
    low, high, first, last = min(values), max(values), points[0][0], points[-1][0]
    scale_x = (WIDTH - _LEFT - _RIGHT) / ((last - first) or 1)
    span = high / 2 - low / 2  # halves: the difference of two numbers may be none

    def place(x, y):
        share = (y / 2 - low / 2) / span if span else 0.5
        return f"{_LEFT + (x - first) * scale_x:.1f},{HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM):.1f}"

    parts, run = [], []
    for x, y in [*points, (last, None)]:
        if y is not None:
            run.append(place(x, y))
        elif run:
            parts.append(_tag("polyline", points=" ".join(run), fill="none", stroke=COLOURS[0], stroke_width=1.5) if len(run) > 1 else
                         _tag("circle", cx=run[0].split(",")[0], cy=run[0].split(",")[1], r=2, fill=COLOURS[0]))
            run = []
    return _svg(HEIGHT, _axes(low, high, first, last) + "".join(parts), series.name)


def _axes(low, high, first, last):
    bottom = HEIGHT - _BOTTOM
    text = [_tag("path", d=f"M{_LEFT} {_TOP}V{bottom}H{WIDTH - _RIGHT}", fill="none", stroke="currentColor", opacity=0.4)]
    for value, y in ((high, _TOP + 8), (low, bottom)):
        text.append(_tag("text", number_text(value), x=_LEFT - 4, y=y, text_anchor="end"))
    text.append(_tag("text", number_text(first), x=_LEFT, y=HEIGHT - 6))
    text.append(_tag("text", f"iteration {number_text(last)}", x=WIDTH - _RIGHT, y=HEIGHT - 6, text_anchor="end"))
    return "".join(text)


def shares(parts):
    """[(name, seconds, text)] as one bar."""
    whole = sum(seconds for _, seconds, _ in parts) or 1
    inside, x = [], 0.0
    for i, (name, seconds, text) in enumerate(parts):
        width = WIDTH * seconds / whole
        inside.append(_tag("rect", _tag("title", html.escape(f"{name}: {text}")), x=f"{x:.1f}", y=0, width=f"{width:.1f}", height=_BAR,
                           fill=COLOURS[i % len(COLOURS)]))
        x += width
    return _svg(_BAR, "".join(inside), "where the time went")


def strip(ranges, first, last):
    """Which iterations have which fate: {fate: [[first, last, step], ...]}, in one strip of cells of equal width."""
    cells = min(_CELLS, last - first + 1)
    inside = []
    for fate, colour in OF_FATES.items():
        has = sorted({cell for each in ranges.get(fate, []) for cell in _cells(each, first, last, cells)})
        path, i = "", 0
        while i < len(has):
            end = i
            while end + 1 < len(has) and has[end + 1] == has[end] + 1:
                end += 1
            x, width = has[i] * WIDTH / cells, (end - i + 1) * WIDTH / cells
            path += f"M{x:.4g} 0h{width:.4g}v{_STRIP}h-{width:.4g}z"
            i = end + 1
        inside += [_tag("path", d=path, fill=colour)] if path else []
    return _svg(_STRIP, "".join(inside), "iterations")


def _cells(range_, first, last, cells):
    """Of those iterations. Where they are more than the cells there is one in each from the first to the last."""
    begin, end, step = range_
    numbers, span = range(begin, end + 1, max(1, step)), last - first + 1
    if len(numbers) <= cells:
        return {(i - first) * cells // span for i in numbers}
    return range((begin - first) * cells // span, (end - first) * cells // span + 1)
