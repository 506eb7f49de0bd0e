# SPDX-License-Identifier: Apache-2.0
"""The clocks of all ranks of a communicator, through computing and dissemination all-reduces, with bursts and without.

D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988): in round k, of ceil(log2 P), rank r sends
to rank r + 2^k and then receives from rank r - 2^k, both modulo P. It sends when it has received in the round before. A send takes o of
CPU time, then the message is gone, and its first byte is there L later. A receive begins when that is there and the rank has nothing
else to do; it takes o of CPU time, and then the other bytes their time. While a burst goes on, the ranks of its node do no CPU work; what
they do not do then (they wait for a message) it does not delay. All times are in ns."""
from dataclasses import dataclass

import numpy as np

from .draws import LONGEST_NS
from .words import Refused, nearest

NEVER = 2**63 - 1
_TOO_LATE = 2**61  # far enough from the end of 64 bits for one more iteration


@dataclass
class Machine:
    """The LogGOPS model: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: Simulating Large-Scale Applications in the LogGOPS Model",
    LSAP 2010."""
    L: int    # latency of the network, for the first byte
    o: int    # CPU time of a send, and of a receive
    g: int    # between two sends of a rank, and two receives
    G: float  # of a byte on the wire
    O: float  # CPU time of a byte  # noqa: E741
    S: int    # bytes: larger messages wait for their receiver


class Costs:
    """What every message of an all-reduce costs, of so many bytes."""

    def __init__(self, machine, size):
        if not 1 <= size <= machine.S:
            raise Refused(f"an all-reduce of {size} bytes: messages have from 1 to S = {machine.S} bytes; how larger ones wait for their "
                          "receivers is not simulated")
        more, most = size - 1, max(machine.G, machine.O)
        if more * most > LONGEST_NS:
            raise Refused(f"a message of {size} bytes would take more than eleven days")
        self.overhead, self.latency = machine.o, machine.L
        self.sending = nearest(more * machine.O)  # CPU time of the sender behind o, the message being gone
        self.receiving = nearest(more * most)     # of the receiver, behind o
        self.gap = machine.g + nearest(more * machine.G)  # between starts of two sends, and of two receives
        self.gap_can_bind = self.gap > 2 * self.overhead + self.sending + self.receiving  # a rank sends and receives in turns


class Clocks:
    """40 bytes a rank, and what is needed in between; 56 where the gap between messages can bind."""

    def __init__(self, costs, ranks, per_node=1, bursts=None, rounds=None):
        self.now = np.zeros(ranks, dtype=np.int64)  # in a collective: when the rank's message was gone
        self._after = np.zeros_like(self.now)       # the same after the round that is being computed
        self._costs, self._bursts, self._per_node = costs, bursts, per_node
        self._rounds = rounds_among(ranks) if rounds is None else rounds
        if costs.gap_can_bind:
            self._may_send, self._may_receive = np.zeros_like(self.now), np.zeros_like(self.now)
        # The burst of each rank that is next or goes on.
        self.begin = np.full(ranks, NEVER)
        if bursts:
            self._next = bursts.first(np.arange(ranks) // per_node).astype(np.int32)
            self._end = np.full(ranks, -NEVER)
            self._take_next(np.arange(ranks))

    def compute(self, ns):
        """All ranks compute for so long. How long the first one that has done so waits for the last one."""
        self.now = self._done(slice(None), self.now, ns)
        return int(self.now.max()) - int(self.now.min())

    def all_reduce(self):
        if self._rounds == 0:
            return
        costs = self._costs
        self.now = self._send(slice(None), self.now)
        for k in range(self._rounds):
            distance, is_last = 1 << k, k == self._rounds - 1
            np.add(self.now[:-distance], costs.latency, out=self._after[distance:])
            np.add(self.now[-distance:], costs.latency, out=self._after[:distance])
            np.maximum(self._after, self.now + costs.sending if costs.sending else self.now, out=self._after)
            self._after += costs.overhead + costs.receiving + (0 if is_last else costs.overhead)
            # Almost always nothing interrupts a rank, and one comparison says so.
            late = np.arange(self.now.size) if costs.gap_can_bind else (self._after > self.begin).nonzero()[0]
            if late.size:
                self._after[late] = self._receive(late, self.now[(late - distance) % self.now.size], is_last)
            self.now, self._after = self._after, self.now

    def _receive(self, rank, gone, is_last):
        """What left its sender at `gone`, and the send that follows, unless there is none."""
        costs = self._costs
        begin = np.maximum(self._done(rank, self.now[rank], costs.sending), gone + costs.latency)
        if costs.gap_can_bind:
            begin = np.maximum(begin, self._may_receive[rank])
            self._may_receive[rank] = begin + costs.gap
        received = self._done(rank, begin, costs.overhead) + costs.receiving
        return received if is_last else self._send(rank, received)

    def _send(self, rank, begin):
        if self._costs.gap_can_bind:
            begin = np.maximum(begin, self._may_send[rank])
            self._may_send[rank] = begin + self._costs.gap
        return self._done(rank, begin, self._costs.overhead)

    def _done(self, rank, begin, work):
        """When CPU work that each of `rank` can begin at `begin` is done. For each rank `begin` never decreases from call to call."""
        end = begin + work
        at = (end > self.begin[rank]).nonzero()[0]
        if not at.size:
            return end
        rank = at if isinstance(rank, slice) else rank[at]
        begin = begin[at]
        work = work[at] if isinstance(work, np.ndarray) else np.full(at.size, work)
        while at.size:
            work = work - np.maximum(self.begin[rank] - begin, 0)  # it begins in the midst of the work
            begin = np.maximum(begin, self._end[rank])
            self._take_next(rank)
            end[at] = done = begin + work
            still = (done > self.begin[rank]).nonzero()[0]
            at, rank, begin, work = at[still], rank[still], begin[still], work[still]
        return end

    def _take_next(self, rank):
        begin, duration = self._bursts.at(rank // self._per_node, self._next[rank].astype(np.int64))
        self._next[rank] += 1
        self.begin[rank] = begin = np.maximum(begin, self._end[rank])
        self._end[rank] = begin + duration


@dataclass
class Run:
    collectives: int
    ns: int  # until the last rank is done
    mean_arrival_spread: float  # ns from the first to the last rank that arrives


def run_of(costs, ranks, per_node, compute, bursts, collectives, length):
    """Until so many collectives have been, or the first one that ends so late; 0: no limit.

    Where nothing can tell ranks apart, one is simulated. Where all compute alike and nothing interrupts them, the pattern of their times
    soon only moves on: each is where the one stood whose message takes the longest way to it, 2^rounds - 1 ranks before, and some time
    later. An all-reduce treats all ranks alike, so it goes on like that until the next burst, and needs not be simulated."""
    alike, rounds = compute.of_all is not None, rounds_among(ranks)
    clocks = Clocks(costs, 1 if alike and not bursts else ranks, per_node, bursts, rounds)
    can_skip = alike and not costs.gap_can_bind
    step = compute.of_all + undisturbed_all_reduce_ns(costs, ranks) if can_skip else 0
    count = ns = spreads = 0
    while not count or not (collectives and count >= collectives or length and ns >= length):
        before, quiet_until = clocks.now.copy() if can_skip else None, int(clocks.begin.min())
        spread = clocks.compute(compute.of_all if alike else compute.before(count))
        clocks.all_reduce()
        count, ns, spreads = count + 1, int(clocks.now.max()), spreads + spread
        if can_skip and ns <= quiet_until and (clocks.now == np.roll(before, 2**rounds - 1) + step).all():
            left = [(min(quiet_until, _TOO_LATE + step) - ns) // step]
            left += [collectives - count] if collectives else []
            left += [-((ns - length) // step)] if length else []
            skipped = max(0, min(left))
            clocks.now = np.roll(clocks.now, skipped * (2**rounds - 1)) + skipped * step
            count, ns, spreads = count + skipped, ns + skipped * step, spreads + skipped * spread
        if ns > _TOO_LATE:
            raise Refused("a run of more than 70 years: ask for fewer collectives")
    return Run(count, ns, spreads / count)


def rounds_among(ranks):
    """Of a dissemination among so many: ceil(log2 ranks)."""
    return (ranks - 1).bit_length()


def undisturbed_all_reduce_ns(costs, ranks):
    """One of ranks that arrive together, and are not interrupted: all are alike."""
    clocks = Clocks(costs, 1, rounds=rounds_among(ranks))
    clocks.all_reduce()
    return int(clocks.now[0])
