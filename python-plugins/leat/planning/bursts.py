# SPDX-License-Identifier: Apache-2.0
"""When analytics take the cores of each node, and how long each rank computes: drawn from distributions, or as it was recorded.

Bursts of a node are counted from an index of its own on; there is no last one. They are told as they are due: a burst begins when the
one before it has ended, and takes as long as ever. `sigma`: how nodes lie to each other, at random when None, otherwise at common
times, each moved by a normal deviate of that standard deviation, in ns. All times are in ns."""
import numpy as np

from .draws import COMPUTE, DURATION, LONGEST_NS, PHASE, START, TRACE_OF_NODE, TRACE_OF_RANK, Draws, exp_of, rounded
from .words import BAD, Refused, nearest

_AT_ONCE = 1 << 14  # random numbers that are drawn at once: more do not fit into a cache, and fewer keep Python busy


class DrawnBursts:
    """Log-normal durations. Synchronised, burst k is due at (k + 1/2) every; otherwise each node begins at a random moment. When a node has
    burst k, all others soon will: it is drawn for all of them at once, and kept while it is one of the last two."""

    def __init__(self, median, spread, every, sigma, seed, nodes):
        _check_drawn(median, spread, every)
        _check_sigma(sigma, every)
        self._median, self._spread, self._every, self._sigma, self._draws = median, spread, every, sigma, Draws(seed)
        self._nodes, self._kept = nodes, np.full(2, -2)  # which bursts
        self._phase = self._draws.below(every, PHASE, np.arange(nodes)) if sigma is None else None
        self._begin, self._duration = (np.empty((2, nodes), dtype=np.int64) if is_drawn else None for is_drawn in (sigma, spread))

    def first(self, node):
        """Index of the first one that may still go on at time 0: without a common time, of the one that began before the run."""
        return np.full(node.size, -1 if self._sigma is None else 0)

    def at(self, node, index):
        """(begin, duration) of each."""
        begin, duration = index * self._every + (self._every // 2 if self._sigma is not None else self._phase[node]), np.int64(self._median)
        if not self._sigma and not self._spread:
            return begin, duration
        place = index % 2
        for k in sorted(set(index[index > self._kept[place]].tolist())):
            self._keep(k)
        older = (index != self._kept[place]).nonzero()[0]
        if self._sigma:
            begin += self._kept_or_drawn(self._begin, self._moves, node, index, older)
        if self._spread:
            duration = self._kept_or_drawn(self._duration, self._durations, node, index, older)
        return begin, duration

    @staticmethod
    def _kept_or_drawn(kept, draw, node, index, older):
        values = kept[index % 2, node]
        if older.size:
            values[older] = draw(node[older], index[older])
        return values

    def _keep(self, k):
        self._kept[k % 2] = k
        for first in range(0, self._nodes, _AT_ONCE):
            some = slice(first, min(self._nodes, first + _AT_ONCE))
            node = np.arange(some.start, some.stop)
            if self._sigma:
                self._begin[k % 2, some] = self._moves(node, k)
            if self._spread:
                self._duration[k % 2, some] = self._durations(node, k)

    def _moves(self, node, index):
        return rounded(self._sigma * self._draws.normal(START, node, index))

    def _durations(self, node, index):
        return self._draws.log_normal_ns(self._median, self._spread, DURATION, node, index)


class RecordedBursts:
    """Node n has trace n where there are as many traces as nodes, otherwise one drawn at random. Each is repeated when it ends.
    Synchronised, all keep the times of their recording; otherwise each node begins at a random moment of its trace."""

    def __init__(self, traces, sigma, seed, nodes):
        for trace in traces:
            _check_trace(trace)
            _check_sigma(sigma, trace.span // len(trace.begin))
        self._traces, self._sigma, self._draws = traces, sigma, Draws(seed)
        self._size, self._span = (np.array([of(t) for t in traces]) for of in (lambda t: len(t.begin), lambda t: t.span))
        self._start = np.cumsum(self._size) - self._size
        origin = min(int(trace.begin[0]) for trace in traces)
        self._begin = np.concatenate([t.begin - (t.begin[0] if sigma is None else origin) for t in traces])
        self._duration = np.concatenate([t.duration for t in traces])
        self._of = _one_each(len(traces), nodes, self._draws, TRACE_OF_NODE)
        if sigma is None:
            self._rotation = self._draws.below(self._span[self._of], PHASE, np.arange(nodes))
        else:  # those that are synchronised must stay so
            self._span = np.full(len(traces), self._span.max())

    def first(self, node):
        found = np.zeros(node.size, dtype=np.int64)
        for i, trace in enumerate(self._traces if self._sigma is None else ()):
            mine = self._of[node] == i
            found[mine] = np.searchsorted(trace.end - trace.begin[0], self._rotation[node[mine]], side="right")
        return found

    def at(self, node, index):
        of = self._of[node]
        turn, which = np.divmod(index, self._size[of])
        which += self._start[of]
        begin = self._begin[which] + turn * self._span[of]
        if self._sigma is None:
            return begin - self._rotation[node], self._duration[which]
        return begin + rounded(self._sigma * self._draws.normal(START, node, index)), self._duration[which]


class DrawnCompute:
    """CPU time of each rank before a collective: log-normal, or the same of all where `spread` is 0."""

    def __init__(self, median, spread, seed, ranks):
        if not 1 <= median <= LONGEST_NS:
            raise Refused(f"ranks compute for 1 to {LONGEST_NS} ns between collectives")
        if not 0 <= spread <= 5:
            raise Refused("the imbalance of ranks is from 0, all alike, to 5")
        self._median, self._spread, self._draws, self._ranks = median, spread, Draws(seed), ranks
        self.of_all = None if spread else median  # ns, where all ranks are alike
        self._at_once, self._first, self._times = max(1, _AT_ONCE // ranks), -1, None

    def before(self, collective):
        first = collective - collective % self._at_once
        if first != self._first:
            rank, index = np.tile(np.arange(self._ranks), self._at_once), np.repeat(np.arange(first, first + self._at_once), self._ranks)
            times = self._draws.log_normal_ns(self._median, self._spread, COMPUTE, rank, index)
            self._first, self._times = first, times.reshape(self._at_once, self._ranks)
        return self._times[collective - first]


class RecordedCompute:
    """From traces of collectives, one of a rank: it computes from the end of one to the start of the next. Rank r has trace r where there
    are as many traces as ranks, otherwise one drawn at random; collective n is collective n of it, so that what happens on all ranks at
    once still does. Repeated from the first when it ends."""
    of_all = None

    def __init__(self, traces, seed, ranks):
        first = traces[0]
        if len(first.begin) < 2:
            raise Refused(f"{first.name}: one collective does not say how long ranks compute between two")
        for trace in traces:
            if len(trace.begin) != len(first.begin):
                raise Refused(f"{trace.name} has {len(trace.begin)} collectives, {first.name} has {len(first.begin)}: all ranks of a "
                              "communicator are in all of them, so one trace has a gap", BAD)
        self._times = np.array([trace.begin[1:] - trace.end[:-1] for trace in traces]).T.copy()
        self._of = _one_each(len(traces), ranks, Draws(seed), TRACE_OF_RANK)

    def before(self, collective):
        return self._times[collective % len(self._times)][self._of]


def _one_each(traces, places, draws, purpose):
    return np.arange(places) if traces == places else draws.below(traces, purpose, np.arange(places))


def _check_sigma(sigma, interval):
    if sigma is not None and sigma > interval // 4:
        raise Refused(f"bursts {interval} ns apart cannot be synchronised to {sigma} ns: from 0 to a quarter of that can be; sigma none is "
                      "for bursts that are not synchronised")


def _check_drawn(median, spread, every):
    if not 0 <= spread <= 5:
        raise Refused("the spread of bursts is from 0, all alike, to 5")
    mean = median * float(exp_of(np.float64(spread * spread / 2)))
    if mean >= every:
        raise Refused(f"bursts of {nearest(mean)} ns on average, every {every} ns, leave the simulation no time: it would never end")


def _check_trace(trace):
    if len(trace.begin) == 1 and trace.until == trace.end[-1]:
        raise Refused(f'{trace.name}: of one event nobody knows when it happens again; say when the recording ended: "# until '
                      '20000000000"', BAD)
    if trace.duration.sum() >= trace.span:
        raise Refused(f"{trace.name}: its bursts leave the simulation no time: it would never end", BAD)
