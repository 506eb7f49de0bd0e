# SPDX-License-Identifier: Apache-2.0
"""What is said of definitions: errors with their place, and of each kind of thing without an equal one line."""

from ..names import did_you_mean

LOST, NOTED = "no equal in Leat", "not needed in Leat; nothing is lost"


_MOST_NAMES = 8


def nearest(name, names):
    """'; did you mean "toce"?', or the names when they are few, or nothing."""
    names = [each for each in names if each]
    text = did_you_mean(name, names)
    return text if text.startswith("; did") or len(names) <= _MOST_NAMES else ""


class Wrong(Exception):
    """What makes a conversion impossible, and where."""

    def __init__(self, place, why):
        super().__init__(f"{place}: error: {why}" if place else f"error: {why}")
        self.place, self.why = place, why


class Report:
    def __init__(self):
        self.errors = []
        self._warnings = {}
        self._kinds = {}  # (fate, text) to [count, first place]

    def add(self, wrong):
        if not self.has(wrong):
            self.errors.append(str(wrong))

    def has(self, wrong):
        return str(wrong) in self.errors

    def warn(self, place, why):
        self._warnings.setdefault(f"{place}: warning: {why}")

    def without_equal(self, place, what, instead):
        self._add(LOST, place, what, instead)

    def not_needed(self, place, what, instead):
        self._add(NOTED, place, what, instead)

    def _add(self, fate, place, what, instead):
        self._kinds.setdefault((fate, what, instead), [0, place])[0] += 1

    @property
    def warnings(self):
        return list(self._warnings)

    def summary(self):
        """Its lines, those of what is lost first."""
        lines = []
        for fate in (LOST, NOTED):
            rows = [(key, value) for key, value in self._kinds.items() if key[0] == fate]
            if rows:
                lines.append(f"{fate}:")
            for (_, what, instead), (count, place) in rows:
                times = f"{count} times, first at" if count > 1 else "at"
                lines.append(f"  {what}: {instead} ({times} {place})")
        return lines
