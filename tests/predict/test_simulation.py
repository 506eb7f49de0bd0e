# SPDX-License-Identifier: Apache-2.0
"""The parts of `leat predict`: small cases worked by hand, draws, bursts and traces."""
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from leat_predict import ROOT

sys.path.insert(0, str(ROOT / "python-plugins"))
from leat.planning import draws as d  # noqa: E402
from leat.planning.bursts import DrawnBursts, RecordedBursts, RecordedCompute  # noqa: E402
from leat.planning.simulation import Clocks, Costs, Machine, run_of, undisturbed_all_reduce_ns  # noqa: E402
from leat.planning.traces import read_text, read_traces  # noqa: E402
from leat.planning.words import Refused  # noqa: E402

DEFAULT = Machine(2500, 1500, 1000, 6, 0, 65535)
# Of round numbers: L = 100, o = 10, g = 5, G = 1. LogGOPSim (76451de), given the schedule that --export-goal writes, ends at the same
# times, but where it is said.
ROUND = {"L": 100, "o": 10, "g": 5, "G": 1, "O": 0, "S": 65535}


class NamedBursts:
    """Bursts of nodes that the test names, and none after them."""

    def __init__(self, events):
        self._events = events

    def first(self, node):
        return np.zeros(node.size, dtype=np.int64)

    def at(self, node, index):
        found = [self._events[n][i] if i < len(self._events[n]) else (1 << 60, 0) for n, i in zip(node, index)]
        return tuple(np.array(found, dtype=np.int64).T)


def after_one(arrivals, bursts=None, size=1, per_node=1, **machine):
    clocks = Clocks(Costs(Machine(**(ROUND | machine)), size), len(arrivals), per_node, NamedBursts(bursts) if bursts else None)
    clocks.compute(np.array(arrivals))
    clocks.all_reduce()
    return clocks.now.tolist()


def test_an_all_reduce_takes_the_closed_form_without_bursts():
    """V1. ceil(log2 P) (2o + L + (s-1)G), with L = 2500, o = 1500, G = 6 ns."""
    for ranks in (1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 65535, 65537):
        for size in (1, 8, 1000):
            costs, wanted = Costs(DEFAULT, size), math.ceil(math.log2(ranks)) * (2 * 1500 + 2500 + (size - 1) * 6)
            assert undisturbed_all_reduce_ns(costs, ranks) == wanted
            clocks = Clocks(costs, ranks)
            clocks.all_reduce()
            assert set(clocks.now.tolist()) == {wanted}


def test_of_two_ranks_the_later_one_ends_it():
    # Rank 0 sends at 0-10, rank 1 at 50-60. Rank 0 has the message at 160, and is done at 170; that to rank 1 is there at 110, it has
    # received at 120.
    assert after_one([0, 50]) == [170, 120]
    # Rank 1 sends at 500-510, and receives at once what came at 110: 520. Rank 0 has it at 610.
    assert after_one([0, 500]) == [620, 520]
    # Of 11 bytes the other ten arrive in 10 ns, behind o.
    assert after_one([0, 50], size=11) == [180, 130]


def test_rounds_are_chained():
    # Round 0, r from r-1. Sends: 0-10, 0-10, 200-210. Rank 0 from 2: there at 310, done 320. Rank 1 from 0: 110, done 120. Rank 2 from 1:
    # there at 110, received behind its send, done 220. Round 1, r from r-2. Sends: 320-330, 120-130, 220-230. Rank 0 from 1: there at 230,
    # received behind its send, done 340. Rank 1 from 2: 330, done 340. Rank 2 from 0: 430, done 440.
    # LogGOPSim's rank 0 is done at 330: it has paid the o of round 1 at 230, while it waited for round 0.
    assert after_one([0, 0, 200]) == [340, 340, 440]
    # Rank 3 arrives at 1000. Round 0: sends 0-10 thrice, 1000-1010. Rank 0 from 3: 1110, done 1120; ranks 1 and 2: 110, done 120; rank 3:
    # behind its send, 1020. Round 1, from r-2: sends 1130, 130, 130, 1030. Rank 0 from 2: there at 230, done 1140. Rank 1 from 3: there at
    # 1130, done 1140. Rank 2 from 0: 1230, done 1240. Rank 3 from 1: done 1040. LogGOPSim: 1130, 1150, 1240, 1040. Rank 0 has paid the o of
    # round 1 before; rank 3, which finds the messages of both rounds, pays for both before it sends on, so that rank 1 gets it later.
    assert after_one([0, 0, 0, 1000]) == [1140, 1140, 1240, 1040]
    assert after_one([0] * 5) == [360] * 5, "three rounds of 10 + 100 + 10"
    assert after_one([70]) == [70]


def test_the_gap_between_sends_is_waited_for_where_that_is_longer():
    # g = 500. Sends of round 0 at 0-10, received at 110-120; the next sends begin at 500, not at 120. There at 610, which is 500 behind the
    # receive at 110: done 620. g = 600: sends at 600, there at 710, which again is the 600 of two receives. Done 720.
    assert after_one([0] * 4, g=500) == [620] * 4 and after_one([0] * 4, g=600) == [720] * 4


def test_the_sender_is_held_for_each_byte_where_that_is_cpu_time():
    # O = 50, two bytes. The send takes 10, the message is gone; the sender works 50 more, to 60. There at 110: 10, and 50 for the byte.
    assert after_one([0, 0], size=2, O=50) == [170, 170]
    # O = 150: the sender works to 160, and then receives what is there at 110: 170, and 150.
    assert after_one([0, 0], size=2, O=150) == [320, 320]


@pytest.mark.parametrize("arrivals, bursts, wanted", [
    # Computing: 30 of 50 are computed when it begins, 20 when it has ended at 130. Sent at 160, there at 260.
    ([0, 50], [[], [(30, 100)]], [270, 170]),
    # A send and its message: 0-5 and, behind the burst, 105-110.
    ([0, 0], [[(5, 100)], []], [120, 220]),
    # Not the network: from when the message is gone until it is there.
    ([0, 0], [[(10, 100)], [(20, 90)]], [120, 120]),
    # A receive, until they end: the message is there at 110, in the midst of the burst that ends at 300.
    ([0, 0], [[(50, 250)], []], [310, 120]),
    # The rest of a receive in whose midst they begin: 4 of 10 before it, 6 behind it.
    ([0, 0], [[(114, 50)], []], [170, 120]),
    # By all that follow each other: the second is due while the first still goes on, and begins when that ends.
    ([0, 0], [[(110, 50), (130, 70)], []], [240, 120]),
    # Nothing before the run, or while ranks wait.
    ([0, 500], [[(-100, 90), (20, 400)], []], [620, 520]),
])
def test_bursts_delay(arrivals, bursts, wanted):
    assert after_one(arrivals, bursts) == wanted


def test_bursts_of_a_node_delay_all_its_ranks():
    # Ranks 0 and 1 are one node: both have sent at 110, ranks 2 and 3 at 10. Round 0, from r-1: 0 from 3: behind its send, 120. 1 from 0:
    # 210, 220. 2 from 1: 220. 3: 120. Round 1, from r-2: sent 130, 230, 230, 130. 0 from 2: 330, 340. 1 from 3: behind its send, 240. 2
    # from 0: behind its send, 240. 3 from 1: 340.
    assert after_one([0] * 4, [[(0, 100)], []], per_node=2) == [340, 240, 240, 340]


@pytest.mark.parametrize("ranks, every", [(8, 1000), (13, 1000), (64, 200)])
def test_iterations_that_are_skipped_end_as_if_they_had_been_simulated(ranks, every):
    bursts = (3 * 10**6, 0.5, every * 10**6, 10**6, 1, ranks)
    costs, length = Costs(DEFAULT, 8), 4 * every * 10**6
    skipping, all_of_them = (run_of(costs, ranks, 1, SimpleNamespace(of_all=of_all, before=lambda _: np.full(ranks, 10**6)),
                                    DrawnBursts(*bursts), 0, length) for of_all in (10**6, None))
    assert skipping == all_of_them and skipping.ns >= length


@pytest.mark.parametrize("machine, size", [((0, 0, 0, 1e15, 0, 10), 3), ((0, 0, 0, 0, 0, 10), 0), ((0, 0, 0, 0, 0, 10), 11)])
def test_a_machine_that_cannot_be_is_refused(machine, size):
    with pytest.raises(Refused, match="from 1 to S = 10 bytes" if size != 3 else "eleven days"):
        Costs(Machine(*machine), size)


def test_a_machine_may_have_fractions_of_nanoseconds_for_a_byte():
    assert Costs(Machine(0, 0, 0, 0.08, 0, 65535), 1001).receiving == 80


def test_draws_are_the_same_for_ever():
    """numpy_model.py makes the same numbers. A change of them changes every prediction."""
    draws = d.Draws(1)
    assert draws.uniform(d.PHASE, np.array([0]))[0] == float.fromhex("0x1.b56c0a4dcd968p-1")
    assert draws.normal(d.START, np.array([7]), 3)[0] == float.fromhex("0x1.1e96cba395f63p+1")
    assert draws.log_normal_ns(40_000_000, 0.15, d.DURATION, np.array([65535]), 2)[0] == 33565256


def test_draws_of_different_places_purposes_and_seeds_differ():
    def one(seed=1, purpose=d.PHASE, place=1, index=2):
        return d.Draws(seed).uniform(purpose, np.array([place]), index)[0]
    assert one() == one() and len({one(), one(place=2, index=1), one(purpose=d.START), one(seed=2)}) == 4


def test_draws_of_times_are_never_longer_than_sums_of_them_can_be():
    assert d.Draws(1).log_normal_ns(d.LONGEST_NS // 2, 5, d.COMPUTE, np.arange(1000)).max() == d.LONGEST_NS


def test_draws_have_the_moments_of_their_distributions():
    many = np.arange(200_000)
    z = d.Draws(3).normal(d.START, many // 100, many % 100)
    assert abs(d.Draws(3).uniform(d.PHASE, many).mean() - 0.5) < 0.003
    assert abs(z.mean()) < 0.01 and abs((z**2).mean() - 1) < 0.01 and abs((z**3).mean()) < 0.04 and abs((z**4).mean() - 3) < 0.06


def test_logarithms_and_exponentials_are_right_to_the_last_bits_of_a_double():
    x = np.exp(np.arange(-690, 690, 0.53))
    assert (np.abs(d.log_of(x) - np.log(x)) <= 4e-16 * np.maximum(1, np.abs(np.log(x)))).all()
    x = np.arange(-40, 40, 0.37)
    assert (np.abs(d.exp_of(x) - np.exp(x)) <= 5e-16 * np.exp(x)).all()
    assert d.log_of(np.array([1.0]))[0] == 0 and d.exp_of(np.array([0.0]))[0] == 1


def some(*numbers):
    return np.array(numbers, dtype=np.int64)


def test_drawn_bursts_are_at_common_times_when_they_are_synchronised():
    begin, duration = DrawnBursts(40, 0, 1000, 0, 1, 1001).at(some(0, 1, 1000), some(0, 1, 7))
    assert begin.tolist() == [500, 1500, 7500] and duration == 40


def test_drawn_bursts_begin_anywhere_when_they_are_not():
    nodes, bursts = np.arange(1000), DrawnBursts(40, 0, 1000, None, 1, 1000)
    assert set(bursts.first(nodes).tolist()) == {-1}, "that before the run may still go on"
    phase = bursts.at(nodes, 0 * nodes)[0]
    assert (phase >= 0).all() and (phase < 1000).all() and abs(phase.mean() - 500) < 30
    assert (bursts.at(nodes, 0 * nodes + 3)[0] == phase + 3000).all()


def test_drawn_bursts_are_the_same_in_whatever_order_they_are_asked_for():
    nodes, index = np.arange(40) % 5, np.arange(40) // 5
    together = DrawnBursts(40, 0.5, 1000, 100, 1, 5).at(nodes, index)
    one, shuffled = DrawnBursts(40, 0.5, 1000, 100, 1, 5), np.random.default_rng(1).permutation(40)
    for i in shuffled:
        begin, duration = one.at(nodes[i:i + 1], index[i:i + 1])
        assert (begin[0], duration[0]) == (together[0][i], together[1][i])


TRACES = [read_text("# until 1500\n1000 10\n1100 20\n1300 30\n", "a"), read_text("# until 1450\n1050 40\n", "b")]


def test_recorded_bursts_keep_their_times_when_they_are_synchronised():
    begin, duration = RecordedBursts(TRACES, 0, 1, 2).at(some(0, 1, 0, 1), some(1, 0, 3, 1))
    assert begin.tolist() == [100, 50, 500, 550], "from the first start of all; once more, and all together"
    assert duration[-1] == 40


def test_recorded_bursts_begin_anywhere_in_their_traces_when_they_are_not():
    nodes, bursts = np.arange(1000), RecordedBursts(TRACES, None, 1, 1000)
    first = bursts.first(nodes)
    begin, duration = bursts.at(nodes, first)
    before = bursts.at(nodes, np.maximum(first - 1, 0))
    assert (begin + duration > 0).all(), "it is not over"
    assert ((first == 0) | (before[0] + before[1] <= 0)).all(), "and is the first that is not"
    of_a = duration != 40
    assert (bursts.at(nodes, first + np.where(of_a, 3, 1))[0] - begin == np.where(of_a, 500, 400)).all()
    assert abs(of_a.sum() - 500) < 60, "each node has one of them"


@pytest.mark.parametrize("bursts, why", [((1000, 0, 1000, None), "leave the simulation no time"),
                                         ((800, 0.8, 1000, None), "bursts of 1102 ns on average"),
                                         ((10, 0, 1000, 251), "a quarter"), ((10, -1, 1000, None), "spread")])
def test_bursts_that_leave_no_time_are_refused(bursts, why):
    with pytest.raises(Refused, match=why):
        DrawnBursts(*bursts, 1, 1)


@pytest.mark.parametrize("text, why", [("# until 200\n0 100\n100 100\n", "t: its bursts leave"), ("0 100\n", "# until")])
def test_recorded_bursts_that_leave_no_time_are_refused(text, why):
    with pytest.raises(Refused, match=why):
        RecordedBursts([read_text(text, "t")], None, 1, 1)


def test_recorded_computing_is_from_the_end_of_a_collective_to_the_next():
    times = RecordedCompute([read_text("# until 400\n100 5\n205 10\n315 5\n", "a")], 1, 1)
    assert [times.before(i).tolist() for i in range(3)] == [[100]] * 3
    for traces in (TRACES, TRACES[1:]):  # one rank was in more collectives; one collective
        with pytest.raises(Refused):
            RecordedCompute(traces, 1, 2)


def test_a_trace_is_lines_of_starts_and_durations():
    trace = read_text("# analytics of node 3\n100 20\n 300\t5 \r\n# the end\n", "n.trace")
    assert (trace.begin.tolist(), trace.end.tolist(), trace.duration.tolist()) == ([100, 300], [120, 305], [20, 5])
    ends = {"# until 1000\n100 20\n300 5\n": 1000, "100 20\n300 5\n500 1\n": 700, "100 20\n120 900\n": 1020, "# until 1000\n100 20\n": 1000}
    assert {text: read_text(text, "t").until for text in ends} == ends and read_text("# until 1000\n100 20\n", "t").span == 900


NO_NUMBERS = [(f"{line}\n", f'n.trace:1: "{line}" is not "start_ns duration_ns", two whole numbers of nanoseconds')
              for line in ("a 5", "1.5 5", "100 20 3", "100,20", "0x10 5", "100 99999999999999999999")]
OUT_OF_RANGE = [(f"{line}\n", "n.trace:1: times are from 0 to 1000000000000000 ns; begin to count when the recording begins")
                for line in ("-5 20", "5 -20", "2000000000000000 1")]


@pytest.mark.parametrize("text, why", [
    ("", "n.trace: there is no event in it"),
    ("100 20\n90 5\n", "n.trace:2: it starts at 90, before the event of line 1 does, at 100: sort the lines"),
    ("100 20\n# between\n119 5\n", "n.trace:3: it starts at 119, while the event of line 1 lasts until 120: events of one trace cannot "
     "overlap"),
    ("100 20\n\n200 5\n", "n.trace:2: an empty line: was an event left out?"),
    ("100 20\n200 5\n\n", "n.trace:3: an empty line: was an event left out?"),
    ("100 20\n200\n", 'n.trace:2: the duration is missing: "200"'),
    ("100 20\n200 5", "n.trace:2: the last line has no end: was its writer killed? Remove that line"),
    ("# until 110\n100 20\n", 'n.trace: "# until 110" is before the end of the last event, 120'),
    ("# until soon\n100 20\n", 'n.trace:1: "# until" is followed by a time in nanoseconds'),
    *NO_NUMBERS, *OUT_OF_RANGE])
def test_what_is_no_trace_is_refused_with_its_line(text, why):
    with pytest.raises(Refused) as refused:
        read_text(text, "n.trace")
    assert str(refused.value) == why


def test_traces_that_cannot_be_read_are_said():
    for file, why in (("no/such/file", "No such file"), ("/", "it is a folder")):
        with pytest.raises(Refused, match=why):
            read_traces([file])
