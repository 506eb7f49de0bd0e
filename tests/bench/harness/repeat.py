# SPDX-License-Identifier: Apache-2.0
"""Repetitions of several cases in turn, without those that were disturbed; medians, ranges, and ratios within one
turn."""

import statistics
import time

from . import launch

# Of all processors: a few hundredths are always somebody's, and the kernel's own threads write the pages.
DISTURBED = 0.10


class Series:
    """The repetitions of each case: figures by name, and "others", the share of the machine that others had."""

    def __init__(self, measure, cases, repetitions, limit_s, say=print):
        """measure(case) gives figures. Turns are made until each case has enough quiet ones, or the time is over."""
        self.runs = {case: [] for case in cases}
        self.failures = {}
        self._until, turn = time.monotonic() + limit_s, 0
        while turn < 2 * repetitions and (turn < 1 or time.monotonic() < self._until):
            wanted = [case for case in cases if turn < repetitions or self._quiet_of(case) < repetitions]
            self._turn(measure, self._rotated(wanted, turn), turn, say)
            turn += 1

    def of(self, case):
        """Quiet runs; when there are none, all of them."""
        return [run for run in self.runs[case] if run["others"] <= DISTURBED] or self.runs[case]

    def disturbed(self, case):
        return bool(self.runs[case]) and self._quiet_of(case) == 0

    def discarded(self):
        return sum(len(self.runs[case]) - len(self.of(case)) for case in self.runs)

    def wrong_bytes(self):
        """Of cases that write something: what was not found as it should be, in all repetitions."""
        return sum(run.get("wanted_bytes", 0) - run.get("right_bytes", 0) for of in self.runs.values() for run in of)

    def figure(self, case, name):
        return spread(run[name] for run in self.of(case))

    def ratio(self, case, to, name):
        """Of two cases in the same turn; without common turns, of medians."""
        others = {run["turn"]: run[name] for run in self.of(to)}
        common = [run[name] / others[run["turn"]] for run in self.of(case) if others.get(run["turn"])]
        below = self.figure(to, name)
        if not common and below and below["median"]:
            common = [run[name] / below["median"] for run in self.of(case)]
        return spread(common)

    def _turn(self, measure, cases, turn, say):
        for case in cases:
            if case in self.failures or (turn > 0 and time.monotonic() > self._until):
                continue
            try:
                self.runs[case].append(measure(case) | {"turn": turn})
            except launch.Failed as why:
                self.failures[case] = str(why)
                say(f"{case} failed: {why}")

    def _quiet_of(self, case):
        return sum(run["others"] <= DISTURBED for run in self.runs[case])

    @staticmethod
    def _rotated(cases, by):
        """Each is first in some turn: what comes first may find another machine than what comes last."""
        by = by % max(1, len(cases))
        return cases[by:] + cases[:by]


def spread(values):
    """None of no values."""
    values = sorted(values)
    return (
        {"median": statistics.median(values), "least": values[0], "most": values[-1], "of": len(values)}
        if values
        else None
    )
