# SPDX-License-Identifier: Apache-2.0
"""Command lines, times, sizes and tables of both commands: how they are read, and how they are shown."""
import argparse
import math
import os
import re
import signal
import sys

GOOD, BAD, USAGE = 0, 1, 2  # as server/cli/programs.hpp has them
TIMES_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_QUANTITY = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(.*)", re.ASCII | re.S)
_PAINTS = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}


class Refused(Exception):
    """Why there is no answer, for people, and the exit code: USAGE where the command line is wrong."""

    def __init__(self, why, code=USAGE):
        super().__init__(why, code)
        self.code = code

    def __str__(self):
        return self.args[0]


class Parser(argparse.ArgumentParser):
    """Options are written in full, and may be followed by "-1ms", which is refused for what it is."""

    def __init__(self, command, about, codes):
        super().__init__(prog=f"leat {command}", description=about, epilog=codes, allow_abbrev=False)
        self._negative_number_matcher = re.compile(r"-[\d.]")


def whole(least=1, most=2**63 - 1):
    """The type of an option: a whole number, or several with commas between them."""
    def read(text):
        if not re.fullmatch(r"-?\d{1,19}", text, re.ASCII) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text} is no whole number from {least} to {most}")
        return int(text)
    return read


def quantity(text):
    """("1.5", "ms") of "1.5ms"; None of what begins with no number."""
    found = _QUANTITY.fullmatch(text)
    return found and (float(found[1]), found[2])


def finite(text):
    """The number that a text, or whatever else, is; None of what is none, or not finite."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def counted(count, noun):
    return f"{count} {noun}{'s' * (count != 1)}"


def nearest(number):
    """The nearest whole number, from one half on the next."""
    return math.floor(number + 0.5)


def three_digits(number):
    return f"{number:.{2 if number < 9.995 else 1 if number < 99.95 else 0}f}"


def seconds_text(seconds):
    """ "41.2 ms", "12.1 s", "6 min 3 s", "2 h 5 min": as format_seconds of lib/base has it."""
    if seconds == 0:
        return "0 s"
    for most, scale, unit in ((0.9995e-6, 1e9, "ns"), (0.9995e-3, 1e6, "us"), (0.9995, 1e3, "ms"), (119.5, 1, "s")):
        if seconds < most:
            return f"{three_digits(seconds * scale)} {unit}"
    whole = nearest(seconds)
    large, small, units = (*divmod(whole, 60), ("min", "s")) if whole < 7200 else (whole // 3600, whole % 3600 // 60, ("h", "min"))
    return f"{large} {units[0]}" + f" {small} {units[1]}" * (small > 0)


def bytes_text(count):
    """ "30.0 MiB": as format_bytes of lib/base has it."""
    names, value = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], float(count)
    while value >= 1023.95 and len(names) > 1:
        value /= 1024
        names.pop(0)
    return f"{value:.{0 if value == int(value) or value >= 100 else 1}f} {names[0]}"


class Screen:
    """Where text goes: with colours on a terminal, unless NO_COLOR or TERM=dumb is set."""

    def __init__(self, stream=sys.stdout):
        is_terminal = stream.isatty()
        self._width = os.get_terminal_size(stream.fileno()).columns if is_terminal else 0
        self._colours = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"

    def painted(self, text, paint):
        return f"\033[{_PAINTS[paint]}m{text}\033[0m" if self._colours and paint and text else text

    def table(self, rows, right=(), may_break=True):
        """Lines, indented by two. A cell is a text, or (text, paint); `right`: columns that end alike. Where the terminal is too narrow
        each row may become a paragraph below its first cell, with no header."""
        rows = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
        widths = [max(len(text) for text, _ in column) for column in zip(*rows)]
        if may_break and self._width and sum(widths) + 2 * len(widths) > self._width:
            return "".join(self._paragraph(row) for row in rows[1:])
        lines = []
        for row in rows:
            blanks, line = 0, ""
            for i, (text, paint) in enumerate(row):
                gap = widths[i] - len(text)
                if text:
                    line += " " * (2 + blanks + gap * (i in right)) + self.painted(text, paint)
                    blanks = gap * (i not in right)
                else:
                    blanks += 2 + widths[i]
            lines.append(line + "\n")
        return "".join(lines)

    def _paragraph(self, row):
        text, column = f"  {row[0][0]}", self._width
        for word, paint in row[1:]:
            if word:
                if column + 2 + len(word) > self._width:
                    text, column = f"{text}\n    ", 4
                text += "  " + self.painted(word, paint)
                column += 2 + len(word)
        return text + "\n"


def run(command, answer):
    """The exit code of answer(): what it prints, or why there is nothing to print."""
    for each in (signal.SIGINT, signal.SIGPIPE):  # end it without a word, as other programs
        signal.signal(each, signal.SIG_DFL)
    try:
        code = answer() or GOOD
        sys.stdout.flush()
        return code
    except OSError as why:
        if why.filename is not None:
            raise
        print(f"leat {command}: cannot print: {why.strerror}", file=sys.stderr)
        os._exit(BAD)  # what is still to be printed has nowhere to go
    except Refused as why:
        sys.stdout.flush()
        print(f"leat {command}: {why}", file=sys.stderr)
        return why.code
