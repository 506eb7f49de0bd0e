# SPDX-License-Identifier: Apache-2.0
"""Says what became of a disturbed run on several nodes: what ranks were told, against what h5py reads in the parts, and what
servers did in each iteration, against each other. What differs has to be said by a server: in its ledger, its log, or finalize."""
import contextlib
import json
import math
import pathlib
import re
import shutil

import h5py
import numpy as np
from judge import ALLOWANCE, call_of, iterations_in
from leat_run import data, same_bits
from stored_blocks import stored_ranks

TYPES = {"own": ("u1", 16384, 0), "t": ("f8", 8, 1)}
NEVER = 1 << 62
START_LIMIT = 120.0     # of leat_init
FINALIZE_LIMIT = 30.0   # it waits for the stores, and these for servers and disks that are away for 6 s at most
SAID_ALONE = re.compile(r"from iteration (\d+) on this server goes on without the other servers of the run")
SAID_ALONE_AT_END = "after its last iteration this server goes on without the other servers of the run"
SAID_MISSING = re.compile(r"server (\S+) has reported nothing for too long: from iteration (\d+) on")
SAID_LATE = re.compile(r'parameter "dt": other servers give their ranks .* have it later')
SAID_DROPPED = re.compile(r"iterations? (\d+)(?:-(\d+))? dropped")


def block(world, variable, iteration, rank):
    """What network_rank writes."""
    dtype, count, place = TYPES[variable]
    seed = 1 + 1_000_000_007 * world + 1_000_003 * iteration + 101 * rank + place
    if variable == "own":
        return data(count, dtype, seed)
    bits = data(count, "u8", seed)
    whole, power = (bits & np.uint64(0xffffffff)).astype("u4").view("i4"), (bits >> np.uint64(32)) & np.uint64(31)
    return np.ldexp(whole.astype("f8"), power.astype("i4") - 16)


class RankSaid:
    """What one rank was told."""

    def __init__(self, job, rank):
        path = job.said(rank)
        text = path.read_text(errors="replace") if path.exists() else ""
        self.rank, self.node = rank, job.node_of[rank]
        self.calls = [call_of(line) for line in text.splitlines() if line.count(" ") >= 5]
        self.written = [(c.variable, int(c.iteration)) for c in self.calls if c.kind == "write" and c.status == "LEAT_OK"]
        self.ended = {int(c.iteration) for c in self.calls if c.kind == "end" and c.status in ("LEAT_OK", "LEAT_DROPPED")}
        self.values = {int(c.iteration): c.variable for c in self.calls if c.kind == "dt"}
        last = self.calls[-1] if self.calls else None
        self.finalized, self.message = (last.status, last.error) if last and last.kind == "finalize" else (None, "")
        self.told = iterations_in(self.message) if self.finalized not in (None, "LEAT_OK") else set()


class Part:
    """The file of one store of one node."""

    def __init__(self, job, node, store, folder):
        self.rows, self.why_not, self.stored, self.products = {}, "there is no file", [], {}
        mine = [rank for rank, number in enumerate(job.node_of) if number == node.number]  # the file has the name of one that came
        found = [path for rank in mine for path in node.seen(folder / "out").glob(f"{store}*.parts/{job.session}/rank{rank:06d}.h5")]
        if found:
            try:
                (path,) = found
                self.read(path)
            except (OSError, KeyError, ValueError) as error:
                self.why_not = str(error)

    def read(self, path):
        with h5py.File(path, locking=False) as file:
            numbers = file["iteration"][:].tolist() if "iteration" in file else []
            self.why_not = ""
            self.numbers = numbers
            self.rows = {number: row for row, number in enumerate(numbers)}
            self.stored = [{name: stored_ranks(file, name, row) if name in file else {} for name in TYPES} for row in range(len(numbers))]
            stats = file.get("products/stats")
            if stats is not None:
                self.products = {name: each[()] for name, each in stats.items() if isinstance(each, h5py.Dataset)}

    def block(self, variable, iteration, rank):
        row = self.rows.get(iteration)
        return None if row is None else self.stored[row][variable].get(rank)


class Ledger:
    """What the ledger of one node says of what is not stored."""

    def __init__(self, found):
        self.found = found or {}
        self.entries = [each for each in self.found.get("entries", []) if each["fate"] in ("failed", "not written", "dropped", "skipped")]
        self.text = json.dumps(self.found.get("warnings", []))

    def says(self, store, iteration, variable=None, rank=None):
        """That this is not in the file of the store."""
        return any(self.is_of(each, iteration, rank) and each.get("store", store) == store and
                   (variable is None or each["variable"] in (variable, None)) for each in self.entries)

    @staticmethod
    def is_of(entry, iteration, rank):
        first, last, step = entry["iterations"]
        is_there = first <= iteration <= last and ((iteration - first) % max(step, 1) == 0 or not entry.get("exact", True))
        return is_there and (rank is None or not entry["ranks"] or any(low <= rank <= high for low, high in entry["ranks"]))

    def store_failed(self, store):
        return any(each["name"] == store and "failed" in each for each in self.found.get("stores", []))


def ledger_of(job, number, folder):
    """The newest of this node and session; a killed run's has a number in its name."""
    mine = [rank for rank, node in enumerate(job.node_of) if node == number]
    best = None
    for path in sorted(folder.glob("*.ledger.json"), key=lambda each: each.stat().st_mtime_ns):
        with contextlib.suppress(ValueError):
            found = json.loads(path.read_text())
            of = {rank for entry in found["entries"] for low, high in entry["ranks"] for rank in range(low, high + 1)}
            if found["session"].startswith(job.session) and of and of <= set(mine):
                best = found
    return Ledger(best)


class Server:
    """All that is known of one node of one job."""

    def __init__(self, job, node, said, folder):
        self.job, self.node, self.number = job, node, node.number
        self.said = [each for each in said if each.node == node.number]
        self.log = job.log_of(node.number) + (node.recovered if job.session in node.recovered else "")
        self.run, self.snap = Part(job, node, "run", folder), Part(job, node, "snap", folder)
        self.ledger = ledger_of(job, node.number, folder)
        self.alone_from = min([int(n) for n in SAID_ALONE.findall(self.log + self.ledger.text + " ".join(s.message for s in self.said))],
                              default=NEVER)
        if SAID_ALONE_AT_END in self.log + self.ledger.text:
            self.alone_from = min(self.alone_from, job.iterations)
        self.missing_from = NEVER  # as others say
        self.dropped = {i for low, high in SAID_DROPPED.findall(self.log) for i in range(int(low), int(high or low) + 1)}
        self.told = set().union(*(each.told for each in self.said)) if self.said else set()

    def has_ended(self, iteration):
        return all(iteration in each.ended for each in self.said)

    def has_written(self, iteration):
        return any((name, iteration) in each.written for each in self.said for name in TYPES)

    def explains(self, store, iteration, variable=None, rank=None):
        return iteration in self.told or iteration in self.dropped or self.ledger.says(store, iteration, variable, rank) or \
            self.ledger.store_failed(store)

    def is_apart(self, iteration):
        """It has said that it goes alone."""
        return iteration >= self.alone_from


def judge(run):
    for job in run.jobs:
        said = [RankSaid(job, rank) for rank in range(len(job.ranks))]
        servers = [Server(job, node, said, run.folder) for node in run.nodes.all]
        for one in servers:
            for name, first in SAID_MISSING.findall(one.log + one.ledger.text):
                for other in servers:
                    if other is not one and (other.node.name is None or name.startswith(other.node.name)):
                        other.missing_from = min(other.missing_from, int(first))
        judge_calls(run, job, said)
        for server in servers:
            judge_blocks(run, job, server)
        judge_same_iterations(run, servers)
        judge_events(run, servers)
        judge_steering(run, servers)
        judge_reductions(run, job, servers)
        judge_statistics(run, job, servers)
        run.tally.alone += sum(server.alone_from != NEVER for server in servers)
    judge_leftovers(run)


def judge_calls(run, job, said):
    for one in said:
        for call in one.calls:
            limit = {"init": START_LIMIT, "finalize": run.finalize_limit}.get(call.kind, run.timeout)
            if call.kind not in ("init", "finalize"):
                run.tally.worst = max(run.tally.worst, call.seconds - call.late)
            if call.seconds > limit + 0.1 + call.late + ALLOWANCE:
                run.tally.blame("hangs", f"rank {one.rank}: {call}")
        if one.rank not in job.killed and (not one.calls or one.calls[-1].kind not in ("finalize", "init")):
            run.tally.blame("lost", f"rank {one.rank} ended by itself after {one.calls[-1:]}")
        if one.rank not in job.killed and one.calls and one.calls[-1].kind == "init" and (
                one.calls[-1].status == "LEAT_ERROR_CONFIG" or not run.has_disturbed_start):
            run.tally.blame("lost", f"rank {one.rank}: {one.calls[-1]}")


def judge_blocks(run, job, server):
    """What a rank was told LEAT_OK for is in the part bit for bit, or somebody says that it is not."""
    tally = run.tally
    if server.run.rows and server.run.numbers != sorted(set(server.run.numbers)):
        tally.blame("wrong", f"node {server.number}: iterations twice or out of order: {server.run.numbers}")
    silent = []
    for one in server.said:
        for variable, iteration in one.written:
            got = server.run.block(variable, iteration, one.rank)
            tally.compared += 1
            if got is None:
                if not server.explains("out", iteration, variable, one.rank):
                    silent.append((variable, iteration, one.rank))
            elif not same_bits(np.ravel(got), block(job.world, variable, iteration, one.rank)):
                tally.blame("wrong", f"node {server.number}: {variable} of iteration {iteration}, rank {one.rank}")
    if silent:
        why = f" ({server.run.why_not})" if server.run.why_not else ""
        tally.blame("lost", f"node {server.number}{why}: nobody speaks of {silent[:4]} and {max(0, len(silent) - 4)} more", len(silent))
    for iteration, row in server.run.rows.items():
        strange = [rank for blocks in server.run.stored[row].values() for rank in blocks if job.node_of[rank] != server.number]
        if strange:
            tally.blame("wrong", f"node {server.number}: blocks of ranks {strange} in iteration {iteration}")


def pairs(servers):
    return [(first, second) for first in servers for second in servers if first is not second]


def drops(run):
    """`scope` of its buffer, when it drops iterations; else nothing."""
    found = re.search(r'when-full="drop-iteration" scope="(\w+)"', (run.folder / "run.xml").read_text())
    return found[1] if found else ""


def judge_same_iterations(run, servers):
    """With scope="run" an iteration that one drops is dropped on all."""
    for first, second in pairs(servers) if drops(run) == "run" else []:
        for iteration in [] if second.run.why_not else first.run.rows:
            if iteration in second.run.rows or not second.has_ended(iteration):
                continue
            run.tally.compared += 1
            is_said = first.is_apart(iteration) or second.is_apart(iteration) or min(first.missing_from, second.missing_from) <= iteration
            is_lost = second.ledger.store_failed("out") or second.ledger.says("out", iteration) and iteration not in second.dropped
            if not is_said and not is_lost and second.has_written(iteration):
                run.tally.blame("wrong", f"iteration {iteration} is on node {first.number} and was dropped on node {second.number}")


def deferred(run, first, second):
    """Iterations in which an event happens on the first one later than on the second, as it has dropped the one in which it was to happen
    by itself, as it may. Each stands for one that it has dropped before."""
    by_itself = [i for i in sorted(first.dropped) if drops(run) == "node" or i >= first.missing_from]
    owed = [i for i in by_itself if i in second.snap.rows or i in second.dropped]
    found = set()
    for iteration in sorted(set(first.snap.rows) - set(second.snap.rows)):
        if owed and owed[0] < iteration:
            owed.pop(0)
            found.add(iteration)
    return found


def judge_events(run, servers):
    """Events of the run happen in the same iteration on all servers that are together."""
    for first, second in pairs(servers):
        later = deferred(run, first, second)
        for iteration in first.snap.rows:
            is_apart = first.is_apart(iteration) or second.is_apart(iteration) or iteration in later
            if is_apart or not second.has_ended(iteration) or iteration not in second.run.rows:
                continue
            run.tally.events += 1
            if iteration not in second.snap.rows and not second.explains("snap", iteration):
                run.tally.blame("wrong", f"event x: iteration {iteration} on node {first.number}, not on node {second.number}")


def judge_steering(run, servers):
    """Ranks of all servers that are together have the same value in an iteration."""
    with_others = [each for each in servers if not SAID_LATE.search(each.log + each.ledger.text)]
    for iteration in sorted({i for server in with_others for each in server.said for i in each.values}):
        found = {}
        for server in with_others:
            if not server.is_apart(iteration):
                for each in server.said:
                    if iteration in each.values:
                        found.setdefault(each.values[iteration], []).append(each.rank)
        run.tally.steered += any(value != "1.000000" for value in found)
        if len(found) > 1:
            run.tally.blame("wrong", f"dt in iteration {iteration}: {found}")
            return


def reductions_of(run, job):
    """({(node, iteration): (ranks, values)}, {(kind, iteration): [(node, place, values)]}), place: (server, servers, missing).
    Blames what a server gave twice, and not alike."""
    gave, got = {}, {}
    for node in range(len(run.nodes.all)):
        path = run.folder / f"reduced-{job.session}-{node}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                kind, iteration, place, *ranks, values = json.loads(line)
            except ValueError:
                continue  # its worker was killed
            values = [float.fromhex(each) for each in values]
            if kind != "gave":
                got.setdefault((kind, iteration), []).append((node, place, values))
            elif gave.setdefault((node, iteration), (ranks[0], values[1:])) != (ranks[0], values[1:]):
                run.tally.blame("wrong", f"node {node} gave {gave[node, iteration]} and {(ranks[0], values)} in iteration {iteration}")
    return gave, got


def is_own_alone(server, place):
    """An outcome of what this server alone has given, as it says. Scripts are behind, so it may be of an iteration before the one from
    which on it says that it is alone."""
    return server.alone_from != NEVER and place[2] == place[1] - 1


def judge_reductions(run, job, servers):
    gave, got = reductions_of(run, job)
    for (node, iteration), (ranks, values) in gave.items():
        blocks = [block(job.world, "t", iteration, rank) for rank in ranks]
        if not same_bits(np.array(values), np.sum(blocks, axis=0)):
            run.tally.blame("wrong", f"the script of node {node} got other blocks in iteration {iteration}")
    for (kind, iteration), outcomes in got.items():
        for node, place, values in outcomes:
            run.tally.reduced += 1
            judge_outcome(run, job, kind, iteration, servers[node], place, values, gave)
        together = [each for each in outcomes if not is_own_alone(servers[each[0]], each[1])]
        if len({(place[2], *(v.hex() for v in values)) for _, place, values in together}) > 1:
            begins = [(node, place, values[:2]) for node, place, values in together]
            run.tally.blame("wrong", f"reduction {kind} of iteration {iteration}: {begins}")


def judge_outcome(run, job, kind, iteration, server, place, values, gave):
    """What NumPy, or an exact sum, makes of what the servers gave. One that never met the others knows itself alone."""
    number, count, missing = place
    who = f"{kind} of iteration {iteration} on node {server.number}"
    nodes = [server.number] if count == 1 else list(range(len(run.nodes.all)))
    if count != len(nodes) or nodes[number] != server.number or (count == 1 and server.alone_from > 0):
        run.tally.blame("wrong", f"{who}: it takes itself for server {number} of {count}, and does not say that it is alone")
        return
    of = [node for place, node in enumerate(nodes) if int(values[0]) >> place & 1] if kind == "sum" else nodes
    if kind != "sum" and missing:
        return  # of whom is not known
    if missing != count - len(of) or any((node, iteration) not in gave for node in of):
        run.tally.blame("wrong", f"{who}: of {of}, {missing} missing, given by {[n for n in nodes if (n, iteration) in gave]}")
        return
    if kind == "sum":
        expected, values = [math.fsum(column) for column in zip(*(gave[node, iteration][1] for node in of))], values[1:]
    else:
        every = np.concatenate([block(job.world, "t", iteration, rank) for node in of for rank in gave[node, iteration][0]])
        expected = [float(every.max()) if kind == "max" else math.fsum(every)]
    if [v.hex() for v in expected] != [v.hex() for v in values]:
        run.tally.blame("wrong", f"{who}: {values} instead of {expected}")


def judge_statistics(run, job, servers):
    """Those of which no server is missing are NumPy's of all blocks of the run."""
    for server in servers:
        made = server.run.products
        if "t_servers_missing" not in made or server.alone_from == 0:
            continue  # who never met the others knows of none
        for row, iteration in enumerate(made["iteration"].tolist()):
            if made["t_servers_missing"][row] != 0:
                continue
            written = [each.rank for one in servers for each in one.said if ("t", iteration) in each.written]
            every = np.concatenate([block(job.world, "t", iteration, rank) for rank in written] or [np.empty(0)])
            run.tally.reduced += 1
            if made["t_count"][row] != len(every) or made["t_min"][row] != every.min() or made["t_max"][row] != every.max():
                found = [made[name][row] for name in ("t_count", "t_min", "t_max")]
                run.tally.blame("wrong", f"statistics of iteration {iteration}: {found}, of ranks {written}: "
                                         f"{[len(every), every.min(), every.max()]}")


def judge_leftovers(run):
    """Of servers that were killed, locks and cards may be there that go with a later run: failure-model.md names them."""
    left = []
    for node in run.nodes.all:
        found = [each for each in node.seen("/dev/shm").iterdir() if any(job.session in each.name for job in run.jobs)]
        found += [each for each in node.runtime.iterdir() if each.suffix != ".late"] if node.runtime.exists() else []
        found += [each for each in node.seen(run.out).rglob("*") if re.search(r"\.(part|journal)$", each.name)]
        left += [f"node {node.number}: {each.name}" for each in found]
    if run.tally.server_kills == 0:
        left += [each.name for each in [*run.folder.glob(".*"), *run.out.glob(".*"), *run.folder.glob("run.group")]]
    if left:
        run.tally.blame("leftovers", ", ".join(sorted(set(left))), len(set(left)))


def keep(run):
    """What a node alone sees, before it goes."""
    for node in run.nodes.all:
        if node.has_small_disk:
            with contextlib.suppress(OSError, shutil.Error):
                shutil.copytree(node.seen(run.out), pathlib.Path(run.folder) / f"out-of-{node.number}", dirs_exist_ok=True)
