# SPDX-License-Identifier: Apache-2.0
"""Iterations as they are stored, while the run goes on and until it is over."""
import os
import time

from .facts import counted

_LOOK, _LOOK_AT_WRITER = 0.05, 0.5  # seconds between two looks at the time of the file, and at who writes it
_GONE = 5.0        # so long nobody writes, or lives, before the run counts as over: a server that dies is followed by another one
_HELD_BACK = 10.0  # so long an iteration may wait for the servers that have not stored it: then, in a view that is newer, it is given


class Following:
    """The loop behind Run.follow(). after: only iterations with greater numbers; None: all."""

    def __init__(self, run, timeout, after):
        self._run, self._timeout, self._after = run, timeout, after
        self._told, self._seen = set(), {}  # _seen: {number: since when it is there and waits}
        self._stamp = self._gone_since = self._refreshed = None

    def go(self):
        until = time.monotonic() + self._timeout
        while True:
            is_gone = self._run.state != "running"  # before it is read: what was stored before the end is seen
            self._refresh()
            is_over = self._run.state == "ended" or (is_gone and self._is_gone_for_long())
            for number in self._ready(is_over):
                self._told.add(number)
                yield self._run[number]
                until = time.monotonic() + self._timeout
            if is_over:
                return
            self._gone_since = (self._gone_since or time.monotonic()) if is_gone else None
            self._wait(until)

    def _refresh(self):
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._run.refresh()
            self._stamp, self._refreshed = stamp, time.monotonic()

    def _stamp_now(self):
        try:
            about = os.stat(self._run.file)
        except OSError:
            return self._stamp  # a view that is just replaced; or gone for good, and then nobody writes it
        return about.st_ino, about.st_size, about.st_mtime_ns

    def _is_gone_for_long(self):
        since = time.monotonic() - self._gone_since if self._gone_since else 0
        untouched = time.time() - self._stamp[2] / 1e9 if self._stamp else 0
        return max(since, untouched) > _GONE

    def _ready(self, is_over):
        """Numbers to tell. A view may have an iteration of some servers, and of others not yet, or not when it was made: it waits for a
        view in which all have it, or a later one."""
        new = [number for number in self._run.iterations if number not in self._told and (self._after is None or number > self._after)]
        if is_over or not self._run.is_view:
            return new
        last = max(set(self._run.iterations).difference(self._run.incomplete), default=-1)
        return [number for number in new
                if number <= last or self._refreshed - self._seen.setdefault(number, self._refreshed) > _HELD_BACK]

    def _wait(self, until):
        began = time.monotonic()
        while self._stamp_now() == self._stamp and time.monotonic() - began < _LOOK_AT_WRITER:
            if time.monotonic() > until:
                raise TimeoutError(f"{self._run.file}: nothing was stored for {self._timeout:g} seconds behind "
                                   f"{counted(len(self._told), 'iteration')}, though its run is not over; follow(timeout=...) waits longer")
            time.sleep(_LOOK)
