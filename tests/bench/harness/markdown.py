# SPDX-License-Identifier: Apache-2.0
"""Tables, and how figures are written in them."""


def table(head, rows):
    """The first column is text, the others are figures."""
    return [_line(head), _line(["---"] + ["---:"] * (len(head) - 1)), *map(_line, rows), ""]


def _line(cells):
    return "| " + " | ".join(cells) + " |"


def with_range(spread, digits=2):
    """ "1.03 (1.01-1.06)"; a dash of nothing."""
    if spread is None:
        return "-"
    median, least, most = (f"{spread[key]:.{digits}f}" for key in ("median", "least", "most"))
    return median if least == most else f"{median} ({least}-{most})"


def plain(spread, digits=2):
    return "-" if spread is None else f"{spread['median']:.{digits}f}"


def percent(spread):
    return "-" if spread is None else f"{100 * spread['median']:.0f} %"


def bytes_text(count):
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
