# SPDX-License-Identifier: Apache-2.0
"""What Leat promises of its speed, beside what the run measured; where the promise was not kept, what limits it."""

import dataclasses
import statistics

from .markdown import table, time_text
from .sections import alternatives

ABOUT = """What Leat is to reach, as ratios within this run. *Limit* says what is in the way where that was missed; the
tables below have the figures."""
SPARE, SHARED = "a spare core", "no core to spare"


@dataclasses.dataclass(frozen=True)
class Target:
    promise: str
    most: float
    measured: object  # of the sections: a number, or None when the run does not have it
    text: object  # of that number
    limit: str  # in the way, when it is more


def ratio(number):
    return f"{number:.2f}"


def _calls(sections, **wanted):
    """Rows of the write path, of one client unless another number is wanted."""
    of = {"clients": 1} | wanted
    names = ("clients", "bytes", "writes", "iterations", "compute_us", "source")
    for row in sections.get("write_path", []):
        case = dict(zip(names, row["case"]))
        if all(value(case[name]) if callable(value) else case[name] == value for name, value in of.items()):
            yield row


def _most(rows, figure):
    return max((figure(row) for row in rows), default=None)


def median(row, name):
    return row[name]["median"]


def _same_state(row):
    """Over the memcpy whose target is as cold as the memory that goes round: for blocks that the caches hold, the hot
    one is no comparison."""
    return median(row, "over_cold")


def _group(sections, placement, durable=False):
    for group in sections.get("alternatives", {}).get("groups", []):
        if (group["placement"], group["durable"]) == (placement, durable):
            return group["rows"]
    return {}


def _end_to_end(sections, placement):
    for group in sections.get("end_to_end", []):
        if group["placement"] == placement and not group["durable"]:
            yield from ((float(at), row["loop"]) for at, row in group["rows"].items() if row["loop"]["leat-write"])


def _beyond_the_copy(sections):
    """Loop over no output, less what the calls take."""
    rows = _group(sections, SPARE)
    if not rows or not rows["leat-write"]["loop_s"]:
        return None
    write, none = rows["leat-write"], rows["none"]
    in_calls = median(write, "calls_ms_per_iteration") / 1e3 * alternatives.ITERATIONS / median(none, "loop_s")
    return median(write, "loop_s_ratio") - in_calls


def _beside_pwrite(sections):
    """The worst of all C/W: Leat's loop over that of pwrite, no core to spare."""
    at_50_ms = _group(sections, SHARED)
    ratios = [loop["leat-write"]["median"] / loop["posix-write"]["median"] for _, loop in _end_to_end(sections, SHARED)]
    if at_50_ms:
        ratios.append(median(at_50_ms["leat-write"], "loop_s_ratio") / median(at_50_ms["posix-write"], "loop_s_ratio"))
    return max(ratios, default=None)


def _times_less_in_calls(sections, name):
    """Than the best of the ways that leave the simulation its one array."""
    rows = _group(sections, SPARE)
    others = [
        median(row, "calls_ms_per_iteration")
        for other, row in rows.items()
        if row["wanted"] and not other.startswith("leat") and other != "io-uring-flip"
    ]
    return median(rows[name], "calls_ms_per_iteration") / min(others) if name in rows and others else None


def _sleeps(sections):
    found = [median(row, "sleeps_per_iteration") for row in _calls(sections, compute_us=lambda us: us > 0)]
    found += [median(row, "sleeps") for name, row in _group(sections, SPARE).items() if name.startswith("leat")]
    return max(found, default=None)


def _growth(sections):
    """Processor time of a write by 64 clients over that by 4, which share the cores too."""
    rows = {tuple(row["case"]): median(row, "write_ns") for row in sections.get("scale", {}).get("rows", [])}
    return _most([n for (clients, n) in rows if clients == 64 and (4, n) in rows], lambda n: rows[64, n] / rows[4, n])


def _server(sections):
    return _most(sections.get("scale", {}).get("event_loop", []), lambda row: row["ns_per_block"])


def _short(us):
    return us <= 200


def _after_computing(size):
    """The first write after 2 ms and more of computing through all caches, over a memcpy in its place."""

    def worst(sections):
        rows = _calls(sections, bytes=size, compute_us=lambda us: us >= 2000)
        return _most(rows, lambda row: median(row, "first_write_p50") / median(row, "first_memcpy_p50"))

    return worst


def _by_the_names_of_damaris(sections):
    return _most(sections.get("damaris", {}).get("calls", {}).values(), lambda row: row["more_ns"])


def _cost_of(case, sections):
    """Of bursts, over the simulation without."""
    return sections["coordinated"]["ratios"][case]["median"] - 1 if "coordinated" in sections else None


def _coordinated_over_each_by_itself(sections):
    costs = [_cost_of(case, sections) for case in ("coordinated", "each by itself")]
    return costs[0] / costs[1] if None not in costs and costs[1] > 0 else None


def _missed_by_prediction(sections):
    """The most that a measured time differs from the predicted one, as a share of that."""
    if "coordinated" not in sections:
        return None
    of = sections["coordinated"]
    return max(abs(of["ratios"][case]["median"] / of["predicted"][case] - 1) for case in of["ratios"])


def _of_predictions(name):
    def figure(sections):
        return median(sections["predict"]["figures"], name) if "predict" in sections else None

    return figure


def _of_plans(*names):
    def figure(sections):
        return _most((row[name] for row in sections.get("plans", []) for name in names), lambda spread: spread["median"])

    return figure


def _of_places(sections):
    return _most(sections.get("places", {}).get("ratios", {}).values(), lambda row: row["median"])


def _of_network(part, figure, servers):
    """Of so many servers; a quick bench has fewer."""

    def measured(sections):
        row = sections.get("network", {}).get(part, {})
        return row[figure] if row.get("servers") == servers else None

    return measured


def _copied_for_chunks(sections):
    return _most(sections.get("cluster", {}).get("calls", []), lambda row: row["copied_bytes"])


def _scheduled_chunks(sections):
    rows = [row for row in sections.get("cluster", {}).get("scheduled", []) if row["workers"] == 64]
    return _most(rows, lambda row: statistics.median(row["ns"]))


def _beside_deisa(sections):
    beside = sections.get("cluster", {}).get("beside")
    return 1 / beside["ratio"] if beside and beside["servers"] == 4 else None


KIB = 1024
TARGETS = (
    Target(
        "write of 64 KiB and more, over `memcpy` to memory as cold",
        1.05,
        lambda s: _most(_calls(s, bytes=lambda b: b >= 64 * KIB, compute_us=_short), _same_state),
        ratio,
        "the memory: what goes round is further away than one target",
    ),
    Target(
        "write of 64 KiB, over the hottest `memcpy`",
        1.25,
        lambda s: _most(_calls(s, bytes=64 * KIB, compute_us=200), lambda row: median(row, "over_hot")),
        ratio,
        "the cache next to the core: one source and one target fit into it, a buffer that goes round does not",
    ),
    Target(
        "the same, right after 2 ms and more of computing",
        1.05,
        _after_computing(64 * KIB),
        ratio,
        "the client's own words (ring, lease, variable) are as cold as the target: some ten lines from memory",
    ),
    Target(
        "write of 1 KiB, short computing",
        150,
        lambda s: _most(_calls(s, bytes=KIB, compute_us=_short), lambda row: median(row, "write_p50")),
        time_text,
        "a copy to cold memory, and lines of the ring that the server has read: both come from another cache",
    ),
    Target(
        "write of 1 KiB, right after 2 ms and more, over `memcpy` in its place",
        1.05,
        _after_computing(KIB),
        ratio,
        "as above; the `memcpy` alone takes more than the 150 ns that are wished for",
    ),
    Target(
        "`leat_commit`, short computing",
        100,
        lambda s: _most(_calls(s, bytes=lambda b: b <= 1024 * KIB, compute_us=_short), lambda row: median(row, "commit_p50")),
        time_text,
        "two lines, of the ring and of the block, that are not in the core's cache; 50 ns where they are",
    ),
    Target(
        "p99.9 of a write of 64 KiB, over its p50",
        1.5,
        lambda s: _most(
            _calls(s, bytes=64 * KIB, compute_us=200), lambda row: median(row, "write_p999") / median(row, "write_p50")
        ),
        ratio,
        "interrupts, and the first use of memory",
    ),
    Target(
        "end of an iteration, short computing",
        500,
        lambda s: _most(
            _calls(s, bytes=lambda b: b <= 1024 * KIB, compute_us=_short), lambda row: median(row, "end_iteration_p50")
        ),
        time_text,
        "lines that the server has read",
    ),
    Target(
        "a write by 64 clients, over one by 4",
        1.25,
        _growth,
        ratio,
        "64 processes on few cores: each finds the caches full of the others' things",
    ),
    Target("server, for a small block", 1000, _server, time_text, "few blocks share what an iteration costs"),
    Target(
        "a call by the name that Damaris has for it, beyond Leat's",
        50,
        _by_the_names_of_damaris,
        time_text,
        "a table of what is allocated and not committed",
    ),
    Target(
        "a server in a rank of the job, over one in a process of its own: a write, an end of iteration, the run",
        1.05,
        _of_places,
        ratio,
        "what MPI does in that process beside it",
    ),
    Target(
        "an iteration of 65,536 ranks in `leat predict`, with bursts",
        5e6,
        _of_predictions("with_bursts_ns"),
        time_text,
        "the caches: three arrays of half a megabyte, read sixteen times",
    ),
    Target("the same, memory of a rank", 64, _of_predictions("bytes_per_rank"), lambda count: f"{count:.0f} B", ""),
    Target(
        'bursts with `runs="coordinated"`, over the cost of each at a moment of its own',
        0.5,
        _coordinated_over_each_by_itself,
        ratio,
        "",
    ),
    Target("time with them, beside what `leat predict` says: difference", 0.05, _missed_by_prediction, ratio, ""),
    Target(
        "the time of a run, over what `leat plan` says by its report, at any C/W",
        1.10,
        _of_plans("sync_by_own", "async_by_own"),
        ratio,
        "the closing of files, which no iteration has, and what all cores together get of the memory",
    ),
    Target(
        'the time of a run with `mode="auto"`, over `mode="sync"`, at any C/W',
        1.05,
        _of_plans("auto_over_sync"),
        ratio,
        "iterations that try what is slower, in a short run",
    ),
    Target("sleeps of a client per iteration", 0.05, _sleeps, ratio, "a server that did not get its core in time"),
    Target(
        "loop with a spare core, `leat_write`, beyond the copy",
        1.01,
        _beyond_the_copy,
        ratio,
        "what the simulation finds in its caches after the copy, and the memory that the server uses at the same time",
    ),
    Target(
        "loop with a spare core, `leat_alloc` and `leat_commit`",
        1.01,
        lambda s: median(_group(s, SPARE)["leat-commit"], "loop_s_ratio") if _group(s, SPARE) else None,
        ratio,
        "memory that goes round is colder than an array of one's own",
    ),
    Target(
        "time in `leat_write`, over the best other way with one array",
        0.2,
        lambda s: _times_less_in_calls(s, "leat-write"),
        ratio,
        "the copy, which those need too; `pwrite` takes four times as long",
    ),
    Target(
        "time in `leat_commit`, over the best other way with one array",
        0.2,
        lambda s: _times_less_in_calls(s, "leat-commit"),
        ratio,
        "",
    ),
    Target(
        "loop without a spare core, over that of `pwrite`, at any C/W",
        1.0,
        _beside_pwrite,
        ratio,
        "processor time: `leat_write` copies twice where `pwrite` copies once, and no core is idle; the second copy "
        "is as long as the row *in calls* says",
    ),
    Target(
        "agreement of 256 servers, 50 us from one to the next",
        5e6,
        _of_network("agreement", "ns", 256),
        time_text,
        "the processor time of the root",
    ),
    Target(
        "1,024 servers of this machine find each other",
        2e9,
        _of_network("connecting", "ns", 1024),
        time_text,
        "processor time, on so many cores as this machine has",
    ),
    Target("memory of each of them", 1024, _of_network("connecting", "kib_per_server", 1024), lambda kib: f"{kib:.0f} KiB", ""),
    Target(
        "a round of 1,000 bins of 8 servers of this machine",
        2e6,
        _of_network("bins", "ns", 8),
        time_text,
        "processor time",
    ),
    Target(
        "a flood of strangers, of a core",
        0.04,
        lambda s: _most(s.get("network", {}).get("strangers", []), lambda row: row["share"]),
        lambda share: f"{100 * share:.1f} %",
        "",
    ),
    Target("bytes copied for a chunk that is used where it lies", 0, _copied_for_chunks, str, ""),
    Target(
        "chunks of 64 servers and 2 variables are there, with each Dask",
        300e6,
        _scheduled_chunks,
        time_text,
        "Dask's scheduler: some ms for each task of one process that is scheduler, client and 64 workers on the cores of this machine",
    ),
    Target(
        "from the write to the function of the whole run, over deisa-dask, 4 servers",
        1 / 5,
        _beside_deisa,
        ratio,
        "processor time of what all servers do on the cores of this machine: the round of the run wakes some threads "
        "of each of them, and the write copies the data",
    ),
    Target("lines of the XML of OPM Flow, in Leat's own language", 25, lambda s: s.get("damaris", {}).get("lines"), str, ""),
)


def page(sections):
    rows = []
    for target in TARGETS:
        measured = target.measured(sections)
        if measured is None:
            continue
        met = measured <= target.most
        rows.append([target.promise, f"<= {target.text(target.most)}", target.text(measured),
                     "yes" if met else "**no**", "" if met else target.limit])
    return table(["promise", "to reach", "here", "reached", "limit"], rows) if rows else []
