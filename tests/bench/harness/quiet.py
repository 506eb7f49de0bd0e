# SPDX-License-Identifier: Apache-2.0
"""Whether somebody else used the processors meanwhile: another program, or the host of a virtual machine."""

import os
import pathlib
import time

_TICKS = os.sysconf("SC_CLK_TCK")
_BUSY = ("user", "nice", "system", "irq", "softirq")
_NAMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def _processors():
    """Seconds since the machine was started, over all processors."""
    first = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return {name: int(ticks) / _TICKS for name, ticks in zip(_NAMES, first)}


class Watch:
    """From its making to others(): share of all processors that others had."""

    def __init__(self):
        self._began, self._at = time.monotonic(), _processors()

    def others(self, own_seconds):
        """own_seconds: what those who are measured have used themselves."""
        now = _processors()
        since = {name: now[name] - self._at[name] for name in _NAMES}
        used = sum(since[name] for name in _BUSY) - own_seconds + since["steal"]
        return max(0.0, used / ((time.monotonic() - self._began) * os.cpu_count()))
