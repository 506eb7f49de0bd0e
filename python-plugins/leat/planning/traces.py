# SPDX-License-Identifier: Apache-2.0
"""Traces: what happened when, and for how long, of one rank or node. Text, a line for each event, its start and its duration in ns:

    # until 20000000000
    1000000000 41000000
    3000000000 39500000

Lines that begin with # are comments; "# until" says when the recording ended."""
import re
from dataclasses import dataclass

import numpy as np

from .draws import LONGEST_NS
from .words import BAD, Refused

_EVENT = re.compile(r"[ \t]*(-?\d{1,19})(?:[ \t]+(-?\d{1,19})?[ \t]*)?")
_UNTIL = re.compile(r"(\d{1,19})[ \t]*")


@dataclass
class Trace:
    name: str           # of its file
    begin: np.ndarray   # ns, of each event; none begins before the one before it ends
    duration: np.ndarray
    until: int          # ns, when the recording ended: not before the last event does

    @property
    def span(self):
        """ns, after which it may be repeated."""
        return self.until - int(self.begin[0])

    @property
    def end(self):
        return self.begin + self.duration


def read_traces(files):
    return [_read(file) for file in files]


def _read(file):
    try:
        with open(file, encoding="latin-1", newline="") as stream:
            return read_text(stream.read(), file)
    except IsADirectoryError:
        raise Refused(f"the trace {file} cannot be read: it is a folder; name its files", BAD) from None
    except OSError as why:
        raise Refused(f"the trace {file} cannot be read: {why.strerror}", BAD) from None


def read_text(text, name):
    """Refuses, with file and line, what is no trace: lines out of order, overlaps, gaps (empty lines, numbers that are missing), a file
    that was cut off."""
    lines = text.split("\n")
    was_cut = bool(lines[-1])
    if not was_cut:
        lines.pop()
    events, until, line_of_last, begin_of_last, free, number = [], None, 0, 0, -1, 0

    def wrong(why):
        return Refused(f"{name}:{number}: {why}", BAD)

    for number, line in enumerate(lines, 1):
        line = line[:-1] if line.endswith("\r") else line
        if line.startswith("# until "):
            said = _UNTIL.fullmatch(line, 8)
            if not said or int(said[1]) > LONGEST_NS:
                raise wrong('"# until" is followed by a time in nanoseconds')
            until = int(said[1])
        elif not line.startswith("#"):
            begin, duration = _event(line, wrong)
            if begin < free:
                when = (f"before the event of line {line_of_last} does, at {begin_of_last}: sort the lines" if begin < begin_of_last else
                        f"while the event of line {line_of_last} lasts until {free}: events of one trace cannot overlap")
                raise wrong(f"it starts at {begin}, {when}")
            events.append((begin, duration))
            line_of_last, begin_of_last, free = number, begin, begin + duration
    if was_cut:
        raise wrong("the last line has no end: was its writer killed? Remove that line")
    if not events:
        raise Refused(f"{name}: there is no event in it", BAD)
    if until is not None and until < free:
        raise Refused(f'{name}: "# until {until}" is before the end of the last event, {free}', BAD)
    begin, duration = np.array(events, dtype=np.int64).T
    if until is None:  # behind the last event as long a pause as usual
        until = max(free, begin_of_last + (begin_of_last - int(begin[0])) // (len(events) - 1)) if len(events) > 1 else free
    return Trace(name, begin, duration, until)


def _event(line, wrong):
    if not line.strip(" \t"):
        raise wrong("an empty line: was an event left out?")
    shown = '"' + re.sub(r"[^ -~]", "?", line[:40]) + '"'
    said = _EVENT.fullmatch(line)
    if said and not said[2]:
        raise wrong(f"the duration is missing: {shown}")
    if not said:
        raise wrong(f'{shown} is not "start_ns duration_ns", two whole numbers of nanoseconds')
    begin, duration = int(said[1]), int(said[2])
    if not (0 <= begin <= LONGEST_NS and 0 <= duration <= LONGEST_NS):
        raise wrong(f"times are from 0 to {LONGEST_NS} ns; begin to count when the recording begins")
    return begin, duration
