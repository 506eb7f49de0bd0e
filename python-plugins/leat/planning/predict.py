# SPDX-License-Identifier: Apache-2.0
"""`leat predict`: what bursts of analytics cost a simulation whose ranks meet in collectives."""
import json
import sys

from .words import BAD, TIMES_NS, Parser, Refused, counted, nearest, quantity, run, whole

_MOST_RANKS = 1 << 24  # more than any machine has, in some gigabytes
_MOST_COLLECTIVES = 10**9  # nobody waits for more
_USUAL_PERIODS = 5  # of the bursts in a run, unless something else is asked for


def main():
    options = _parser().parse_args()
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        from ..scripting.interpreters import without
        print("leat predict: " + without("NumPy", error, "--interpreter {}"), file=sys.stderr)
        return BAD
    return run("predict", lambda: _answer(options))


def _answer(options):
    from .predict_report import Report, write_goal
    question = Question(options)
    if options.export_goal:
        write_goal(question, options.export_goal)
        if not question.has_bursts:
            return
    report = Report(question)
    told = report.told()
    sys.stdout.write(json.dumps(told, indent=2) + "\n" if options.json else report.screen())
    sys.stdout.flush()
    if options.plot:
        from .picture import draw
        from .predict_picture import paint
        draw(told, options.plot, paint)


def _parser():
    parser = Parser("predict", "Says what bursts of analytics cost a simulation whose ranks meet in collectives.",
                    "Starts nothing, and looks at no machine: docs/explanation/predictions.md says what to measure. Exit codes: 0 good; "
                    "1 a trace, or what was asked, makes no sense; 2 the command line is wrong.")
    add = parser.add_argument
    add("--ranks", nargs="+", required=True, type=_list_of(whole(1)), metavar="P,P", help="Ranks that meet in collectives, like 1024,65536")
    add("--per-node", type=whole(1), default=1, metavar="N", help="Ranks of a node (default: 1)")
    compute, burst = parser.add_mutually_exclusive_group(), parser.add_mutually_exclusive_group()
    compute.add_argument("--compute", metavar="TIME", help="Computing between two collectives, like 10ms (the median)")
    add("--imbalance", type=float, default=0, metavar="X", help="Standard deviation of its logarithm, over ranks and time (default: 0)")
    compute.add_argument("--collective-traces", nargs="+", default=[], metavar="FILE",
                         help='Instead: traces of collectives, "start_ns duration_ns", a file of a rank')
    add("--bytes", type=whole(1), default=8, metavar="N", help="Bytes of a message of the all-reduce (default: 8)")
    add("--collectives", type=whole(1), default=0, metavar="N", help="How many (default: as many as --for, or the traces, have)")
    add("--for", dest="length", metavar="TIME", help="How long a run is, with bursts (default: five times --every)")
    burst.add_argument("--burst", metavar="TIME", help="How long analytics take the cores of a node, like 40ms (the median)")
    add("--spread", type=float, default=0, metavar="X", help="Standard deviation of its logarithm (default: 0, all alike)")
    add("--every", metavar="TIME", help="From the start of a burst to the next, like 2s")
    burst.add_argument("--burst-traces", nargs="+", default=[], metavar="FILE",
                       help='Instead: traces of analytics, "start_ns duration_ns", a file of a node')
    add("--sigma", nargs="+", type=_list_of(str), default=[["none"]], metavar="TIME,TIME", help="How well the nodes' bursts are "
        "synchronised: standard deviations, like 1ms,10ms,none (default: none, not at all)")
    add("--seed", type=whole(0), default=1, metavar="N", help="The first seed (default: 1)")
    add("--seeds", type=whole(1, 1000), default=3, metavar="N", help="How many are simulated (default: 3)")
    for letter, name, value, what in (("L", "latency", "2500ns", "Of the network"),
                                      ("o", "overhead", "1500ns", "CPU time of a send, and of a receive"),
                                      ("g", "gap", "1us", "Between two messages of a rank"),
                                      ("G", "gap-per-byte", "6ns", "Time of a byte on the wire"),
                                      ("O", "overhead-per-byte", "0ns", "CPU time of a byte")):
        add(f"-{letter}", f"--{name}", default=value, metavar="TIME", help=f"{what} (default: {value})")
    add("-S", "--rendezvous", type=whole(), default=65535, metavar="N",
        help="Bytes from which on messages wait for receivers (default: 65535)")
    add("--export-goal", metavar="FILE", help="A file for the same schedule in GOAL, for LogGOPSim")
    add("--plot", metavar="FILE", help="A picture, .png, .svg or .pdf, of the slowdown over ranks and sigma")
    add("--interpreter", metavar="PYTHON", help="Python with NumPy, and with matplotlib for --plot (default: python3 in PATH)")
    add("--json", action="store_true", help="JSON on standard output, and nothing else")
    return parser


def _list_of(read):
    return lambda text: [read(each) for each in text.split(",")]


class Question:
    """The options, read and checked; times are in ns."""

    def __init__(self, options):
        from .simulation import Costs, Machine
        self.ranks, self.sigmas = (sum(lists, []) for lists in (options.ranks, options.sigma))
        self.per_node, self.bytes, self.seed, self.seeds = options.per_node, options.bytes, options.seed, options.seeds
        self.machine = Machine(*(nearest(_ns(f"--{name}", getattr(options, name))) for name in ("latency", "overhead", "gap")),
                               _ns("--gap-per-byte", options.gap_per_byte), _ns("--overhead-per-byte", options.overhead_per_byte),
                               options.rendezvous)
        self._read_job(options)
        self._read_bursts(options)
        self._read_length(options)
        self.costs = Costs(self.machine, self.bytes)

    @property
    def has_bursts(self):
        return bool(self.every or self.burst_traces)

    def _read_job(self, options):
        from .traces import read_traces
        if not options.compute and not options.collective_traces:
            raise Refused("how long do ranks compute between collectives? Say --compute 10ms, or --collective-traces FILE...")
        self.compute = nearest(_ns("--compute", options.compute)) if options.compute else 0  # median
        if options.compute and not self.compute:
            raise Refused("--compute: ranks compute between collectives")
        self.imbalance, self.collective_traces = options.imbalance, read_traces(options.collective_traces)
        for ranks in self.ranks:
            if ranks > _MOST_RANKS:
                raise Refused(f"--ranks: {ranks} are more than {_MOST_RANKS}")

    def _read_bursts(self, options):
        from .traces import read_traces
        if not (options.burst or options.burst_traces or options.export_goal):
            raise Refused("what do analytics do? Say --burst 40ms --every 2s, or --burst-traces FILE...")
        if bool(options.burst) != bool(options.every):
            raise Refused("--burst and --every belong together: how long bursts are, and how far apart they begin")
        self.burst = nearest(_ns("--burst", options.burst)) if options.burst else 0  # median
        self.every = nearest(_ns("--every", options.every)) if options.every else 0
        if options.burst and not self.every:
            raise Refused("--every: bursts begin some time apart")
        self.spread, self.burst_traces = options.spread, read_traces(options.burst_traces)
        self.sigmas = [None if text == "none" else nearest(_ns("--sigma", text)) for text in self.sigmas]

    def _read_length(self, options):
        """As many collectives as were recorded, or some turns of the bursts. 0: no limit."""
        self.collectives, self.length = options.collectives, nearest(_ns("--for", options.length)) if options.length else 0
        if self.collectives > _MOST_COLLECTIVES:
            raise Refused(f"--collectives: {self.collectives} are more than {_MOST_COLLECTIVES}")
        if self.collectives or self.length:
            return
        if self.collective_traces:
            self.collectives = len(self.collective_traces[0].begin) - 1
        elif self.every:
            self.length = _USUAL_PERIODS * self.every
        elif self.burst_traces:
            self.length = self.burst_traces[0].span
        else:
            self.collectives = 1

    def job_text(self):
        text = f"all-reduces of {counted(self.bytes, 'byte')}, "
        if self.collective_traces:
            return text + f"computing between them as in {counted(len(self.collective_traces), 'trace')}"
        from .predict_report import short_time, three_digits
        return text + f"{short_time(self.compute)} of computing between them" + (
            f" (imbalance {three_digits(self.imbalance)})" if self.imbalance > 0 else "")

    def bursts_text(self):
        from .predict_report import short_time, three_digits
        if self.burst_traces:
            text = f"bursts as in {counted(len(self.burst_traces), 'trace')}"
        else:
            spread = f" (spread {three_digits(self.spread)})" if self.spread > 0 else ""
            text = f"bursts of {short_time(self.burst)}{spread} every {short_time(self.every)}"
        return f"{text} on each node of {counted(self.per_node, 'rank')}"


def _ns(option, text):
    number, unit = quantity(text) or (None, None)
    if number is None:
        raise Refused(f'{option}: "{text}" is no time; write one like 40ms')
    if unit not in TIMES_NS:
        said = f'the unit "{unit}"' if unit else "no unit"
        raise Refused(f'{option}: "{text}" has {said}; units are ns, us, ms, s, min, h')
    if number * TIMES_NS[unit] > 10**15:
        raise Refused(f'{option}: "{text}" is longer than eleven days')
    return number * TIMES_NS[unit]
