# SPDX-License-Identifier: Apache-2.0
"""Disturbances of runs with several servers, or with ranks that wait for each other: ranks come late, never, or are killed or stopped
on their way. Whatever returned LEAT_OK is stored under its rank and iteration, or the run has said that it is not."""
import contextlib
import os
import signal
import threading
import time

import h5py
from judge import Tally
from leat_run import Run, data, same_bits, xml
from nodes_run import NodesRun
from stored_blocks import stored_ranks

SIZE = 24
LIST = f'<layout name="list" type="double" dimensions="{SIZE}"/><variable name="own" layout="list"/>'
SERVERS = '<dedicated cores="2" servers="2"/>'
ITERATIONS, LIMIT = 12, 90


class Rank(threading.Thread):
    """Comes after a while, writes, and ends; keeps what was accepted. status: of leat_finalize, or of a failed start; "" of who
    was killed before."""

    def __init__(self, rank, init, pause, iterations=ITERATIONS):
        super().__init__()
        self.rank, self.init, self.pause, self.iterations = rank, init, pause, iterations
        self.accepted, self.status, self.error, self.worst = [], "", "", 0.0

    def call(self, *words):
        begin = time.monotonic()
        answer = self.rank.call(*words)
        self.worst = max(self.worst, time.monotonic() - begin)
        return answer

    def run(self):
        with contextlib.suppress(AssertionError, BrokenPipeError, OSError, ValueError):  # it was killed
            time.sleep(self.pause)
            answer = self.call(*self.init)
            if not answer.ok:
                self.status, self.error = answer.status, answer.error
            for number in range(self.iterations) if answer.ok else []:
                if self.call("write", "own", 0, 8 * SIZE, 100 * number + self.rank.number).ok:
                    self.accepted.append(number)
                self.call("end_iteration")
            if answer.ok:
                self.status, self.error = self.call("finalize").status, ""


def judge_ranks(folder, ranks, tally, kills=0, stops=0):
    """Of what was accepted by ranks whose leat_finalize was LEAT_OK, all is in the file, bit for bit."""
    tally.add(Tally(runs=1, kills=kills, stops=stops))
    for rank in ranks:
        rank.join(LIMIT)
        tally.hangs += rank.is_alive()
    path = folder / "run.h5"
    if not path.exists():
        if any(rank.status == "LEAT_OK" and rank.accepted for rank in ranks):
            tally.blame("lost", "there is no file")
        return tally
    with h5py.File(path) as file:
        rows = {number: row for row, number in enumerate(file["iteration"][:].tolist())}
        for rank in ranks:
            for number in rank.accepted if rank.status == "LEAT_OK" else []:
                stored = stored_ranks(file, "own", rows[number]) if number in rows and "own" in file else {}
                if rank.rank.number not in stored:
                    tally.blame("lost", f"rank {rank.rank.number}, iteration {number}, accepted and finalized")
                elif not same_bits(stored[rank.rank.number].ravel(), data(SIZE, "f8", 100 * number + rank.rank.number)):
                    tally.blame("wrong", f"rank {rank.rank.number}, iteration {number}")
    return tally


@contextlib.contextmanager
def ended(run, tally):
    """Whatever happens, no process of the run is left; a server that does not end is a hang."""
    try:
        yield
        with contextlib.suppress(AssertionError):
            run.await_end(LIMIT)
        if run.servers():
            tally.blame("hangs", "a server does not end")
    finally:
        for rank in run.ranks:
            rank.process.kill()
            rank.process.wait()
        for pid in run.servers():
            os.kill(pid, signal.SIGKILL)


def late_ranks_of_a_second_server(folder, chance):
    folder.mkdir(parents=True)
    tally = Tally()
    text = xml(LIST, timeout="8s").replace('<dedicated cores="1"/>', SERVERS)
    run = Run(folder, text, ranks=3)
    ranks = [Rank(rank, ("init_ranks", run.config, run.session, rank.number, 3), chance.choice([0, 0, 0.3, 1.5]) if rank.number == 2 else 0)
             for rank in run.ranks]
    with ended(run, tally):
        for rank in ranks:
            rank.start()
        judge_ranks(folder, ranks, tally)
        if any(rank.status not in ("LEAT_OK", "LEAT_ERROR_STATE") for rank in ranks):
            tally.blame("lost", str([(rank.status, rank.error) for rank in ranks]))
    return tally


def nodes_disturbed_in_init(folder, chance):
    """Two emulated nodes; all ranks of one are killed, or stopped for a while, at some moment of leat_init."""
    folder.mkdir(parents=True)
    tally = Tally()
    run = NodesRun(folder, xml(LIST, timeout="3s"), [[0, 1], [2, 3]])
    ranks = [Rank(rank, ("init_ranks", run.config, run.session, rank.number, 4, rank.number % 2, 2), 0) for rank in run.ranks]
    with ended(run, tally):
        for rank in ranks:
            rank.start()
        time.sleep(chance.uniform(0, 0.25))
        kills = chance.random() < 0.6
        victims = run.ranks[2:] if chance.random() < 0.7 else run.ranks[:1]
        for victim in victims:
            victim.process.send_signal(signal.SIGKILL if kills else signal.SIGSTOP)
        if not kills:
            time.sleep(chance.choice([0.1, 1, 5]))
            for victim in victims:
                victim.process.send_signal(signal.SIGCONT)
        judge_ranks(folder, ranks, tally, kills=len(victims) * kills, stops=len(victims) * (not kills))
    return tally


def absent_ranks_with_sync(folder, chance):
    """A rank never comes, is stopped, or is killed, while the others wait for the ends of iterations."""
    folder.mkdir(parents=True)
    tally, timeout = Tally(), 3
    text = xml(LIST, timeout=f"{timeout}s").replace('cores="1"/>', 'cores="1" mode="sync"/>')
    run = Run(folder, text, ranks=3)
    ranks = [Rank(rank, ("init_ranks", run.config, run.session, rank.number, 3), 0) for rank in run.ranks]
    what = chance.choice(["absent", "stopped", "killed"])
    with ended(run, tally):
        begun = ranks[:2] if what == "absent" else ranks
        for rank in begun:
            rank.start()
        time.sleep(chance.uniform(0, 0.3))
        if what != "absent":
            run.ranks[2].process.send_signal(signal.SIGSTOP if what == "stopped" else signal.SIGKILL)
        for rank in ranks[:2]:
            rank.join(ITERATIONS * timeout)
            if rank.is_alive():
                tally.blame("hangs", f"each iteration costs the timeout: {what}")
        if what == "stopped":
            run.ranks[2].process.send_signal(signal.SIGCONT)
        judge_ranks(folder, begun, tally, kills=what == "killed", stops=what == "stopped")
    return tally


def server_rank_dies_in_split(folder, chance):
    """place="ranks": one of two server ranks is stopped for a while, or killed, which ends the job as MPI has it."""
    from test_places import XML, Job
    folder.mkdir(parents=True)
    tally = Tally(runs=1)
    job = Job(folder, "write", 6, xml=XML.format(cores=2, more='servers="2"'), LEAT_SPLIT_TIMEOUT="5")
    try:
        job.await_said(0, "split")
        time.sleep(chance.uniform(0, 0.2))
        kills = chance.random() < 0.5
        with contextlib.suppress(ProcessLookupError):
            victim = job.pid(chance.choice([2, 5]))
            os.kill(victim, signal.SIGKILL if kills else signal.SIGSTOP)
            if not kills:
                time.sleep(chance.choice([0.2, 3]))
                os.kill(victim, signal.SIGCONT)
        tally.kills, tally.stops = int(kills), int(not kills)
        until = time.monotonic() + LIMIT
        while job.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if job.process.poll() is None:
            tally.blame("hangs", job.output()[-300:])
    except AssertionError as error:
        tally.blame("hangs", str(error)[:300])
    finally:
        job.process.kill()
        job.process.wait()
    for part in (folder / "run.parts").glob("*/*.h5"):
        with h5py.File(part) as file:
            if file["iteration"][:].tolist() != list(range(len(file["iteration"]))):
                tally.blame("wrong", f"{part.name}: {file['iteration'][:].tolist()}")
    return tally
