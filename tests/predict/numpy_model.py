# SPDX-License-Identifier: Apache-2.0
"""What docs/explanation/predictions.md says, written a second time, slowly and with NumPy: draws, bursts, all-reduces."""
import math

import numpy as np

PHASE, START, DURATION, TRACE_OF_NODE, TRACE_OF_RANK, COMPUTE = range(6)
MASK = (1 << 64) - 1


def mixed(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def mixed_with(key, word):
    return mixed((key + 0x9E3779B97F4A7C15 * (word + 1)) & MASK)


class Draws:
    def __init__(self, seed):
        self.seed = seed

    def _key(self, purpose, place, index):
        return mixed_with(mixed_with(mixed_with(mixed(self.seed), purpose), place), index)

    def uniform(self, purpose, place, index=0):
        return (self._key(purpose, place, index) >> 11) / 2**53

    def below(self, end, purpose, place, index=0):
        return int(self.uniform(purpose, place, index) * end)

    def normal(self, purpose, place, index=0):
        key = self._key(purpose, place, index)
        for attempt in range(0, 1000, 2):
            x, y = (2 * ((mixed_with(key, attempt + i) >> 11) / 2**53) - 1 for i in range(2))
            square = x * x + y * y
            if 0 < square < 1:
                return x * math.sqrt(-2 * math.log(square) / square)
        raise AssertionError

    def log_normal(self, median, spread, purpose, place, index=0):
        return math.floor(median * math.exp(spread * self.normal(purpose, place, index)) + 0.5) if spread else median


def one_after_the_other(events):
    """[begin, end] of bursts that wait for those before them."""
    made, free = [], -(10**18)
    for begin, duration in events:
        begin = max(begin, free)
        free = begin + duration
        made.append((begin, free))
    return made


def drawn_bursts(node, until, seed, median, spread, every, sigma=None):
    draws, events = Draws(seed), []
    for k in range(0 if sigma is not None else -1, until // every + 2):
        duration = draws.log_normal(median, spread, DURATION, node, k)
        if sigma is None:
            begin = k * every + draws.below(every, PHASE, node)
        else:
            begin = k * every + every // 2 + math.floor(sigma * draws.normal(START, node, k) + 0.5)
        events.append((begin, duration))
    return one_after_the_other(events)


def recorded_bursts(node, nodes, until, seed, traces, sigma=None):
    """Traces are (events, span) each."""
    draws, made = Draws(seed), []
    events, span = traces[node if len(traces) == nodes else draws.below(len(traces), TRACE_OF_NODE, node)]
    origin = min(events[0][0] for events, _ in traces)
    for turn in range(2 + until // span):
        for i, (begin, duration) in enumerate(events):
            if sigma is None:
                begin += turn * span - events[0][0] - draws.below(span, PHASE, node)
            else:
                begin += turn * max(span for _, span in traces) - origin
                begin += math.floor(sigma * draws.normal(START, node, turn * len(events) + i) + 0.5)
            made.append((begin, duration))
    return one_after_the_other([burst for burst in made if sigma is not None or sum(burst) > 0])


def work_done(bursts, begin, work):
    """When work that can begin then is done."""
    for start, end in bursts:
        if begin + work <= start:
            break
        work -= max(0, start - begin)
        begin = max(begin, end)
    return begin + work


def run(compute, bursts, rounds_of, costs):
    """Times of all ranks after each collective; compute[collective][rank], bursts[rank]; the gap does not bind."""
    ranks = len(bursts)
    now, after = np.zeros(ranks, dtype=np.int64), []
    work = np.vectorize(lambda rank, begin, ns: work_done(bursts[rank], begin, ns), otypes=[np.int64])
    everyone = np.arange(ranks)
    for times in compute:
        now = work(everyone, now, times)
        for k in range(rounds_of(ranks)):
            gone = work(everyone, now, costs["o"])
            there = np.roll(gone, 2**k) + costs["L"]
            now = work(everyone, np.maximum(gone, there), costs["o"]) + costs["bytes"]
        after.append(now)
    return after


def rounds_of(ranks):
    return math.ceil(math.log2(ranks))
