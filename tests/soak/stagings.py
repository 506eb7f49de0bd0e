# SPDX-License-Identifier: Apache-2.0
"""Runs with staging nodes: these, their servers, servers of nodes and ranks are killed and stopped, and cables cut. Judged by the values
that ranks wrote: each is in the view, or somebody says that it may not be."""
import json
import re
import signal
import subprocess

import h5py
import network_judge
import numpy as np
from cables import Nodes
from leat_run import BUILD, same_bits
from networks import LIMIT, TIMEOUT, Disturbed, Job
from simulation import processes_of, send
from stored_blocks import stored_blocks

XML = """<simulation name="run">
  <architecture>
    <dedicated cores="1"/><buffer size="{size}" timeout="{timeout}s" when-full="{when_full}" checksum="{checksum}"/>
    <network trust="{trust}"/><staging nodes="{nodes}" when-lost="{when_lost}" keep-until="{keep_until}" buffer="{staging}"/>
  </architecture>
  <data>
    <parameter name="dt" type="double" value="1"/>
    <layout name="bytes" type="uint8" dimensions="16384"/><variable name="own" layout="bytes"/>
    <layout name="values" type="double" dimensions="8"/><variable name="t" layout="values"/>
  </data>
  <storage>
    <store name="out" type="hdf5" folder="out" at="staging"/>
    <store name="snap" type="hdf5" folder="out" file="snap.h5" at="staging"/>
  </storage>
  <actions><event name="x" store="snap" scope="{scope}"/></actions>
</simulation>
"""
# How often each is done, among others.
DEEDS = {"kill_server": 4, "stop_server": 4, "kill_rank": 1, "kill_node": 1, "cut": 4, "kill_staging": 2, "stop_staging": 4}
SAID_MAY_BE_LOST = re.compile(r"had not said that iterations (\d+) to (\d+) are stored")
SAID_OF_THE_REST = ("nothing is sent to staging nodes any more", "broke at the end")
# It waits for servers that wait for staging nodes: half a minute for a card, and as long for the plan's.
FINALIZE_LIMIT = 120.0
BAD_FATES = ("failed", "not written", "dropped", "skipped")


class DisturbedStaging(Disturbed):
    """nodes: of the simulation, then staging nodes."""

    def __init__(self, folder, nodes, staging, jobs, chance):
        super().__init__(folder, nodes, jobs, chance)
        self.staging, self.finalize_limit = staging, FINALIZE_LIMIT
        self.receivers = [self.start_staging(node) for node in staging]

    def start_staging(self, node):
        with open(self.folder / f"staging{node.number}.err", "ab") as log:
            return subprocess.Popen([*node.prefix, BUILD / "lib" / "leat" / "plugins" / "staging-node", "run.xml"], cwd=self.folder,
                                    env=node.environment(), stderr=log, stdin=subprocess.DEVNULL)

    def receivers_of(self, node):
        """Processes; with those that stand in for a staging node on a node of the simulation."""
        return [pid for pid, words in processes_of(node.runtime).items() if words[0].endswith("staging-node")]

    def any_receiver(self):
        found = [(node, pid) for node in self.nodes.all for pid in self.receivers_of(node)]
        return self.chance.choice(found) if found else (None, None)

    def kill_staging(self):
        node, pid = self.any_receiver()
        if node:
            self.tell(f"kill staging-node of node {node.number}: {pid}")
            self.tally.kills += send(pid, signal.SIGKILL)

    def stop_staging(self):
        node, pid = self.any_receiver()
        if node:
            seconds = self.any_while()
            self.tell(f"stop staging-node of node {node.number} for {seconds:.2f} s: {pid}")
            self.tally.stops += send(pid, signal.SIGSTOP)
            self.later(seconds, lambda: [self.tell(f"goes on: {pid}"), send(pid, signal.SIGCONT)])

    def finish(self):
        super().finish()
        for each in self.receivers:
            each.wait()

    def living(self):
        for each in self.receivers:
            each.poll()
        return super().living()

    def log(self):
        """Of all."""
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.err"))) + \
            "".join(node.recovered for node in self.nodes.all)


def staging_disturbed(folder, chance):
    """1 to 3 nodes of a simulation and 1 to 3 staging nodes; XML, disturbances and their moments by the dice."""
    folder.mkdir(parents=True)
    each = [chance.choice([1, 1, 2]) for _ in range(chance.choice([1, 2, 2, 3]))]
    count = chance.choice([1, 2, 2, 3])
    when_lost = write_xml(folder, chance, count)
    (folder / "out").mkdir()
    with Nodes(folder, len(each) + count) as nodes:
        job = Job(folder, nodes, each, chance)
        run = DisturbedStaging(folder, nodes, nodes.all[len(each):], [job], chance)
        play(run, job, chance)
        judge(run, job, when_lost)
        return run.tally


def write_xml(folder, chance, count):
    when_lost = chance.choice(["node", "node", "other", "fail"])
    (folder / "run.xml").write_text(XML.format(
        size=chance.choice(["2MiB", "16MiB"]), timeout=TIMEOUT, when_full=chance.choice(["wait", "wait", "drop-iteration", "error"]),
        checksum=chance.choice(["none", "crc32c"]), trust=chance.choice(["none", "job"]), nodes=count, when_lost=when_lost,
        staging=chance.choice(["0B", "2MiB", "32MiB"]),
        keep_until=chance.choice(["received", "stored"]), scope=chance.choice(["rank", "node", "run"])))
    return when_lost


def play(run, job, chance):
    iterations, pause = chance.choice([100, 200]), chance.choice([0.008, 0.02])
    job.start(iterations, [pause] * len(job.each))
    if chance.random() < 0.2:  # in leat_init, and while staging nodes are looked for
        run.goes_on_for(chance.uniform(0, 0.5))
        run.has_disturbed_start = True
        chance.choice([run.kill_server, run.stop_server, run.kill_staging, run.stop_staging, run.cut])()
    while not run.has_disturbed_start and not job.has_begun() and run.goes_on_for(0.02):
        pass
    for _ in range(chance.randint(1, 5)):
        if not run.goes_on_for(chance.uniform(0.05, 0.8)):
            break
        getattr(run, chance.choices(list(DEEDS), list(DEEDS.values()))[0])()
    if chance.random() < 0.4:  # in leat_finalize
        while job.runs() and not job.has_ended(iterations - 1):
            run.goes_on_for(0.02)
        run.goes_on_for(chance.uniform(0, 0.15))
        chance.choice([run.kill_server, run.stop_server, run.kill_staging, run.stop_staging, run.cut])()
    run.finish()


class Said:
    """What servers, in logs and ledgers, and finalize say of what may be missing."""

    def __init__(self, run, job, ranks):
        self.job, self.ranks = job, {each.rank: each for each in ranks}
        self.entries = []
        for path in run.folder.glob("*.ledger.json"):
            with open(path, encoding="utf-8") as file:
                self.entries += [each for each in json.load(file).get("entries", []) if each["fate"] in BAD_FATES]
        self.logs = {node.number: job.log_of(node.number) + node.recovered for node in run.nodes.all}

    def explains(self, variable, iteration, rank):
        log = self.logs[self.job.node_of[rank]] + self.ranks[rank].message
        return any(int(low) <= iteration <= int(high) for low, high in SAID_MAY_BE_LOST.findall(log)) or \
            any(text in log for text in SAID_OF_THE_REST) or iteration in self.ranks[rank].told or \
            any(network_judge.Ledger.is_of(each, iteration, rank) and each["variable"] in (variable, None) for each in self.entries)


def judge(run, job, when_lost):
    ranks = [network_judge.RankSaid(job, rank) for rank in range(len(job.ranks))]
    network_judge.judge_calls(run, job, ranks)
    subprocess.run([BUILD / "bin" / "leat", "view", "out/run.h5"], cwd=run.folder, capture_output=True, timeout=LIMIT, check=False)
    found, why_not = blocks_in(run, run.out / "run.h5")
    judge_blocks(run, job, ranks, found, why_not)
    snap, _ = blocks_in(run, run.out / "snap.h5")
    judge_values(run, job, {key: array for key, array in snap.items() if key in found})
    judge_status(run, job, ranks, found)
    judge_leftovers(run, job)
    run.tally.alone += "from here on" in run.log()
    run.tell(f"when-lost={when_lost}: {len(found)} blocks in the view")


def is_fill(array):
    """The place of a block that is not there, beside one of the same layout that is."""
    return np.isnan(array).all() if array.dtype.kind == "f" else (array == array.flat[0]).all()


def blocks_in(run, path):
    """({(variable, iteration, rank): array} of blocks that are there, why there is none)."""
    found = {}
    try:
        with h5py.File(path, locking=False) as file:
            numbers = file["iteration"][:].tolist()
            if numbers != sorted(set(numbers)):
                run.tally.blame("wrong", f"{path.name}: iterations twice or out of order: {numbers}")
            for row, number in enumerate(numbers):
                for name in network_judge.TYPES:
                    if name in file:
                        blocks = stored_blocks(file, name, row)
                        found |= {(name, number, rank): array for (rank, _), array in blocks.items() if not is_fill(array)}
    except (OSError, KeyError) as error:
        return found, str(error)
    return found, ""


def judge_values(run, job, found):
    for (variable, iteration, rank), array in found.items():
        run.tally.compared += 1
        if not same_bits(np.ravel(array), network_judge.block(job.world, variable, iteration, rank)):
            run.tally.blame("wrong", f"{variable} of iteration {iteration}, rank {rank}")


def judge_blocks(run, job, ranks, found, why_not):
    written = {(variable, iteration, each.rank) for each in ranks for variable, iteration in each.written}
    judge_values(run, job, found)
    said, silent = Said(run, job, ranks), []
    for key in sorted(written - set(found), key=lambda each: each[1:]):
        variable, iteration, rank = key
        is_open = rank in job.killed and iteration not in ranks[rank].ended
        if not is_open and not said.explains(variable, iteration, rank):
            silent.append(key)
    if silent:
        run.tally.blame("lost", f"{why_not} nobody speaks of {silent[:4]} and {max(0, len(silent) - 4)} more", len(silent))


def judge_status(run, job, ranks, found):
    """Who was told LEAT_OK at the end has all in the view, but what the XML lets be dropped."""
    if 'when-full="drop-iteration"' in (run.folder / "run.xml").read_text():
        return
    for each in ranks:
        missing = [(v, i) for v, i in each.written if (v, i, each.rank) not in found]
        if each.finalized == "LEAT_OK" and missing:
            run.tally.blame("lost", f"rank {each.rank} was told LEAT_OK at the end, without {missing[:3]} of {len(missing)}", len(missing))


def judge_leftovers(run, job):
    left = []
    for node in run.nodes.all:
        left += [f"node {node.number}: {each.name}" for each in node.seen("/dev/shm").iterdir() if job.session in each.name]
        left += [f"node {node.number}: {each.name}" for each in node.runtime.iterdir() if each.suffix != ".late"] \
            if node.runtime.exists() else []
    left += [each.name for each in run.out.rglob("*") if re.search(r"\.(part|journal)$", each.name)]
    if run.tally.kills == 0:  # cards of who was killed go with a later run
        left += [each.name for each in [*run.folder.glob(".*"), *run.folder.glob("run.staging"), *run.folder.glob("run.group")]]
    if left:
        run.tally.blame("leftovers", ", ".join(sorted(set(left))), len(set(left)))
