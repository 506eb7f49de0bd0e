# SPDX-License-Identifier: Apache-2.0
"""Runs on several nodes with a network between them: servers and ranks are killed and stopped, cables cut, disks full or read-only,
parameters steered and events asked for meanwhile. network_judge.py says what became of it."""
import os
import signal
import subprocess
import sys
import time
import uuid

import network_judge
from cables import WAYS_TO_CUT, Nodes
from judge import Tally
from leat_run import BUILD
from simulation import processes_of, send
from world import WORLDS

# Of reductions of iterations that one node has dropped, each costs the others a third of a second.
LIMIT = 300.0
TIMEOUT = 4  # of <buffer>: a server is silent after 1 s, and nobody waits for it after 3 s
SHORT, LONG, ENDLESS = (0.05, 0.3), (1.3, 2.0), (3.5, 6.0)

XML = """<simulation name="run">
  <architecture><dedicated cores="1"/><buffer size="{size}" timeout="{timeout}s" when-full="{when_full}" scope="{scope}"/></architecture>
  <data>
    <parameter name="dt" type="double" value="1"/>
    <layout name="bytes" type="uint8" dimensions="16384"/><variable name="own" layout="bytes" store="out"/>
    <layout name="values" type="double" dimensions="8"/><variable name="t" layout="values"/>
  </data>
  <storage>
    <store name="out" type="hdf5" folder="out"/>
    <store name="snap" type="hdf5" folder="out" file="snap.h5"/>{stores}
  </storage>{scripts}
  <actions><event name="x" store="snap" scope="run"/></actions>
</simulation>
"""
STATISTICS = '\n    <store name="stats" type="statistics"/>'
SCRIPTS = '\n  <scripts interpreter="{python}"><folder path="analysis" timeout="20s" when-slow="wait"/></scripts>'
# Before a server gives something, it writes down what; afterwards, what came of it.
REDUCES = """
import json
import os
import numpy as np


def note(ctx, kind, *what):
    path = os.path.join(os.environ["SOAK_FOLDER"], f"reduced-{os.environ['SOAK_SESSION']}-{os.environ['SOAK_NODE']}.jsonl")
    with open(path, "ab", buffering=0) as file:
        file.write((json.dumps([kind, ctx.iteration, [ctx.server, ctx.servers, ctx.servers_missing or 0], *what]) + "\\n").encode())


def process(ds, ctx):
    blocks = ctx.blocks("t")
    given = np.concatenate([[2.0 ** ctx.server], np.sum([b.data for b in blocks], axis=0)])
    note(ctx, "gave", [b.rank for b in blocks], [float(v).hex() for v in given])
    total = ctx.reduce(given, "sum")
    note(ctx, "sum", [float(v).hex() for v in total])
    most = ctx.reduce("t", "max")
    note(ctx, "max", [float(most).hex()])
    every = ctx.reduce("t", "sum")
    note(ctx, "every", [float(every).hex()])
"""


class Job:
    """One run: a session whose ranks are on all nodes."""

    def __init__(self, folder, nodes, each, chance):
        self.folder, self.nodes, self.chance = folder, nodes, chance
        self.session = f"net-{uuid.UUID(int=chance.getrandbits(128)).hex[:8]}-{os.getpid()}"
        self.world, self.iterations = chance.randrange(WORLDS), 0
        self.node_of = [number for number, count in enumerate(each) for _ in range(count)]
        self.each, self.ranks, self.killed = each, [None] * len(self.node_of), set()

    def start(self, iterations, pauses):
        self.iterations = iterations
        for rank, number in enumerate(self.node_of):
            node, place = self.nodes.all[number], rank - self.node_of.index(number)
            words = ["run.xml", self.session, rank, len(self.ranks), place, self.each[number], iterations, int(1e6 * pauses[number]),
                     self.said(rank)]
            environment = {**node.environment(), "SOAK_WORLD": str(self.world), "SOAK_SESSION": self.session,
                           "SOAK_NODE": str(number), "SOAK_FOLDER": str(self.folder)}
            with open(self.errors(rank), "ab") as log:
                self.ranks[rank] = subprocess.Popen([*node.prefix, BUILD / "bin" / "network_rank", *map(str, words)], cwd=self.folder,
                                                    env=environment, stderr=log, stdin=subprocess.DEVNULL)

    def said(self, rank):
        return self.folder / f"{self.session}.{rank}.said"

    def errors(self, rank):
        return self.folder / f"{self.session}.{rank}.err"

    def runs(self):
        return any(rank.poll() is None for rank in self.ranks)

    def has_ended(self, iteration):
        """A rank that lives has."""
        return any(self.said(rank).exists() and f"\nend {iteration} " in self.said(rank).read_text()
                   for rank in range(len(self.ranks)) if rank not in self.killed)

    def has_begun(self):
        return all(self.said(rank).exists() and self.said(rank).read_text().startswith("init") for rank in range(len(self.ranks)))

    def log_of(self, number):
        return "".join(self.errors(rank).read_text(errors="replace") for rank, node in enumerate(self.node_of)
                       if node == number and self.errors(rank).exists())


class Disturbed:
    """What is done to the jobs of a turn, and how often."""

    def __init__(self, folder, nodes, jobs, chance):
        self.folder, self.nodes, self.jobs, self.chance = folder, nodes, jobs, chance
        self.out, self.tally = folder / "out", Tally(runs=1)
        self.undone, self.story, self.begin = [], [], time.monotonic()
        self.steers, self.has_disturbed_start = [], False
        self.timeout, self.finalize_limit = TIMEOUT, network_judge.FINALIZE_LIMIT

    def tell(self, text):
        self.story.append(f"{time.monotonic() - self.begin:7.3f} {text}")

    def any_node(self):
        return self.chance.choice(self.nodes.all)

    def any_while(self):
        low, high = self.chance.choice([SHORT, SHORT, LONG, ENDLESS])
        return self.chance.uniform(low, high)

    def goes_on_for(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(job.runs() for job in self.jobs):
            self.undo(late_only=True)
            time.sleep(0.005)
        return any(job.runs() for job in self.jobs)

    def later(self, seconds, action):
        """Something that is undone while other things are done."""
        self.undone.append((time.monotonic() + seconds, action))

    def undo(self, late_only=False):
        now = time.monotonic()
        due = [each for each in self.undone if not late_only or each[0] <= now]
        self.undone = [each for each in self.undone if each not in due]
        for _, action in sorted(due, key=lambda each: each[0]):
            action()

    # ---- what is done

    def kill_server(self):
        node = self.any_node()
        pids = [pid for pid in node.servers() if send(pid, signal.SIGKILL)]
        self.tell(f"kill leatd of node {node.number}: {pids}")
        self.tally.kills += len(pids)
        self.tally.server_kills += len(pids)

    def stop_server(self):
        node, seconds = self.any_node(), self.any_while()
        pids = [pid for pid in node.servers() if send(pid, signal.SIGSTOP)]
        self.tell(f"stop leatd of node {node.number} for {seconds:.2f} s: {pids}")
        self.tally.stops += len(pids)
        self.tally.server_stops += len(pids)
        self.later(seconds, lambda: [self.tell(f"goes on: {pids}"), *(send(pid, signal.SIGCONT) for pid in pids)])

    def kill_rank(self):
        job = self.chance.choice(self.jobs)
        alive = [number for number, rank in enumerate(job.ranks) if rank.poll() is None]
        if alive:
            self.kill_ranks(job, [self.chance.choice(alive)])

    def kill_node(self):
        """Server and ranks of a node, so that nothing of it goes on."""
        job, node = self.chance.choice(self.jobs), self.any_node()
        for pid in node.servers():
            send(pid, signal.SIGSTOP)
        self.kill_ranks(job, [rank for rank, number in enumerate(job.node_of) if number == node.number])
        killed = [pid for pid in node.servers() if send(pid, signal.SIGKILL)]
        self.tell(f"kill leatd of node {node.number}: {killed}")
        self.tally.kills += len(killed)
        self.tally.server_kills += len(killed)

    def kill_ranks(self, job, numbers):
        for number in numbers:
            if job.ranks[number].poll() is None:
                self.tell(f"kill rank {number} of {job.session}")
                job.killed.add(number)
                self.tally.kills += send(job.ranks[number].pid, signal.SIGKILL)
                job.ranks[number].wait()

    def cut(self):
        if not self.nodes.has_network:
            return
        node, seconds, how = self.any_node(), self.any_while(), self.chance.choice(WAYS_TO_CUT)
        self.tell(f"cut node {node.number} off ({how}) for {seconds:.2f} s")
        self.tally.cuts += 1
        self.nodes.cut(node, how)
        self.later(seconds, lambda: [self.tell(f"mend node {node.number} ({how})"), self.nodes.mend(node, how)])

    def fill_disk(self):
        for node in self.nodes.all:
            if node.has_small_disk:
                seconds = self.any_while()
                self.tell(f"disk of node {node.number} is full for {seconds:.2f} s")
                self.tally.full_disks += 1
                node.fill(self.out)
                self.later(seconds, lambda node=node: [self.tell(f"room on node {node.number}"), node.free(self.out)])

    def make_read_only(self):
        node, seconds = self.any_node(), self.any_while()
        if not node.is_read_only and node.make_read_only(self.out):
            self.tell(f"out is read-only on node {node.number} for {seconds:.2f} s")
            self.tally.read_only += 1
            self.later(seconds, lambda: [self.tell(f"writable on node {node.number}"), node.make_writable(self.out)])

    def ask(self, *words):
        job, node = self.chance.choice(self.jobs), self.any_node()
        self.tell(f"leat ctl {' '.join(words)} on node {node.number}")
        self.steers.append(subprocess.Popen([*node.prefix, BUILD / "bin" / "leat", "ctl", job.session, *words, "--wait", "0"],
                                            cwd=self.folder, env=node.environment(), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def steer(self):
        self.ask("set", f"dt={2 + len(self.steers)}")

    def signal_event(self):
        self.ask("signal", "x")

    # ---- the end

    def finish(self):
        """Undoes all, and waits for all ranks and servers; what does not end hangs, and is killed."""
        until = time.monotonic() + LIMIT
        while self.living() and time.monotonic() < until:
            self.undo(late_only=True)
            time.sleep(0.02)
        self.undo()
        for pid, words in self.living().items():
            self.tally.blame("hangs", f"does not end: {pid} {' '.join(words)}")
            send(pid, signal.SIGKILL)
        for each in [*self.steers, *(rank for job in self.jobs for rank in job.ranks)]:
            each.wait()
        self.tell("all have ended")
        self.recover()
        (self.folder / "story").write_text("\n".join(self.story) + "\n")

    def living(self):
        found = {}
        for node in self.nodes.all:
            found |= processes_of(node.runtime)
        return {pid: words for pid, words in found.items() if pid not in [each.pid for each in self.steers if each.poll() is not None]}

    def recover(self):
        """As the next start on each node does; leat recover FILE finishes a commit in the midst of which a server was killed."""
        for node in self.nodes.all:
            node.enlarge_disk(self.out)
            for verb in ("recover", "clean"):
                self.leat(node, verb)
            for journal in node.seen(self.out).glob("*.parts/*/.*.h5.journal"):
                self.leat(node, "recover", self.out / journal.relative_to(node.seen(self.out)).with_name(journal.name[1:-len(".journal")]))

    def leat(self, node, *words):
        done = subprocess.run([*node.prefix, BUILD / "bin" / "leat", *words], cwd=self.folder, env=node.environment(),
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        self.tell(f"{' '.join(map(str, words))} on node {node.number}: {done.returncode} {done.stdout.strip()} {done.stderr.strip()}")
        node.recovered += done.stdout + done.stderr
        # The rank was told, and it is in the ledger still; or the XML wants it so.
        meant = ('when-full="error" does not wait', 'when-lost="fail"')
        if done.returncode != 0 and not any(each in done.stderr for each in meant):
            self.tally.blame("lost", f"leat {words} on node {node.number}: {done.stdout} {done.stderr}")


# How often each is done, among others.
DEEDS = {"kill_server": 5, "stop_server": 5, "kill_rank": 1, "kill_node": 1, "cut": 5, "fill_disk": 2, "make_read_only": 1}


def nodes_disturbed(folder, chance):
    """2 to 5 nodes with a network; XML, disturbances and their moments by the dice."""
    folder.mkdir(parents=True)
    count = chance.choice([2, 2, 3, 3, 4, 5])
    each = [chance.choice([1, 1, 2, 3] if count < 4 else [1, 1, 2]) for _ in range(count)]
    jobs_at_once = 2 if count == 2 and chance.random() < 0.25 else 1
    write_xml(folder, chance)
    with Nodes(folder, count) as nodes:
        if chance.random() < 0.3:
            chance.choice(nodes.all).give_small_disk(folder / "out", chance.choice([6, 12]))
        (folder / "out").mkdir(exist_ok=True)
        jobs = [Job(folder, nodes, each, chance) for _ in range(jobs_at_once)]
        run = Disturbed(folder, nodes, jobs, chance)
        play(run, jobs, chance)
        network_judge.judge(run)
        if run.tally.bad():
            network_judge.keep(run)
        return run.tally


def write_xml(folder, chance):
    when_full, scope = chance.choice(["wait", "drop-iteration", "drop-iteration"]), chance.choice(["run", "run", "node"])
    stores = STATISTICS if chance.random() < 0.6 else ""
    has_script = chance.random() < 0.6
    (folder / "run.xml").write_text(XML.format(size=chance.choice(["2MiB", "4MiB", "16MiB"]), timeout=TIMEOUT, when_full=when_full,
                                               scope=scope, stores=stores,
                                               scripts=SCRIPTS.format(python=sys.executable) if has_script else ""))
    (folder / "analysis").mkdir()
    (folder / "analysis" / "reduces.py").write_text(REDUCES)


def play(run, jobs, chance):
    iterations, pause = chance.choice([150, 250, 350]), chance.choice([0.008, 0.015, 0.025])
    pauses = [pause * chance.choice([1, 1, 1.2]) for _ in run.nodes.all]
    for job in jobs:
        job.start(iterations, pauses)
    if chance.random() < 0.25:  # in leat_init, and in the meeting
        run.goes_on_for(chance.uniform(0, 0.4))
        run.has_disturbed_start = True
        chance.choice([run.kill_server, run.stop_server, run.kill_rank, run.cut])()
    while not run.has_disturbed_start and not all(job.has_begun() for job in jobs) and run.goes_on_for(0.02):
        pass
    for _ in range(chance.randint(3, 7)):
        if not run.goes_on_for(chance.uniform(0.05, 0.8)):
            break
        chance.choice([run.steer, run.steer, run.signal_event, lambda: None])()
        getattr(run, chance.choices(list(DEEDS), list(DEEDS.values()))[0])()
    if chance.random() < 0.4:  # in leat_finalize
        until = time.monotonic() + LIMIT
        while any(job.runs() and not job.has_ended(iterations - 1) for job in jobs) and time.monotonic() < until:
            run.goes_on_for(0.02)
        run.goes_on_for(chance.uniform(0, 0.15))
        chance.choice([run.kill_server, run.kill_server, run.stop_server, run.cut])()
    run.finish()
