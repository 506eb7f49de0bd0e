# SPDX-License-Identifier: Apache-2.0
"""What is done to the simulation: one function for each line of the table. Each gets an empty folder and the dice of its
turn, and returns a Tally. Nothing in them is decided by how fast the machine is."""
import concurrent.futures
import contextlib
import csv
import json
import re
import shutil
import subprocess
import time

import clusters
import damages
import graphs
import groups
import h5py
import networks
import simulated
import stagings
import test_resumed
from judge import Output, Said, Tally, judge, judge_block, judge_tables
from leat_run import Run, data, same_bits, xml
from simulation import Simulation, processes_of, with_scripts

MOST = 12  # disturbances of a run: a slow machine gets no more than a fast one

SLOW_SCRIPT = """
import time

def process(ds, ctx):
    time.sleep(0.02)
    ctx.scalar("i", ctx.iteration)
"""


def disturbed(run, pauses, disturb):
    """Starts the run, disturbs it after each pause until it ends, and waits for its end."""
    run.start().begun()
    for _ in range(MOST):
        if not run.goes_on_for(run.chance.uniform(*pauses)):
            break
        disturb()
    return run.finish()


def server_killed(folder, chance):
    run = Simulation(folder, chance)
    return judge(disturbed(run, (0.01, 0.3), run.kill_server), cleaned=True)


def server_stopped(folder, chance):
    run = Simulation(folder, chance)
    # Mostly short, so that there are many; the longest are longer than anything that Leat waits for meanwhile.
    return judge(disturbed(run, (0.01, 0.15), lambda: run.stop_server(chance.choice([0.05, 0.05, 0.1, 0.1, 0.3, 2.0]))))


def server_killed_and_stopped(folder, chance):
    run = Simulation(folder, chance, ranks=3)

    def disturb():
        if chance.random() < 0.5:
            run.kill_server()
        else:
            run.stop_server(chance.uniform(0.05, 0.3))
    return judge(disturbed(run, (0.01, 0.2), disturb), cleaned=True)


def rank_killed(folder, chance):
    run = Simulation(folder, chance, ranks=3)
    victim = chance.randrange(3)
    return judge(disturbed(run, (0.05, 0.4), lambda: run.kill_rank(victim)))


def start_disturbed(folder, chance):
    """Kills and stops at any moment of leat_init, of ranks and of servers that start."""
    run = Simulation(folder, chance, ranks=3, timeout=4).start()
    for _ in range(chance.randrange(1, 4)):
        run.goes_on_for(chance.uniform(0, 0.15))
        what = chance.random()
        if what < 0.4 and not run.killed:
            run.kill_rank(chance.randrange(3))
        elif what < 0.6:
            run.stop_rank(chance.randrange(3), chance.uniform(0.05, 0.5))
        elif what < 0.8:
            run.kill_server()
        else:
            run.stop_server(chance.uniform(0.05, 0.5))
    return judge(run.finish(), cleaned=True)


CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def two_containers(folder, chance):
    """One session name in two runtime folders, each rank in a process namespace of its own, one /dev/shm: two sessions."""
    runs = [Simulation(folder / name, chance, prefix=CONTAINER) for name in ("one", "two")]
    runs[1].session = runs[0].session
    for run in runs:
        run.start()
        run.goes_on_for(chance.uniform(0, 0.3))
    for _ in range(MOST):
        run = chance.choice(runs)
        if not run.goes_on_for(chance.uniform(0.02, 0.2)):
            break
        if chance.random() < 0.6:
            run.kill_server()
        else:
            run.stop_server(chance.uniform(0.05, 0.3))
    tally = Tally()
    for run in runs:
        run.finish()
    for run in runs:
        judge(run, cleaned=True, tally=tally)
    return tally


def rank_and_server_killed(folder, chance):
    run = Simulation(folder, chance, ranks=3)
    victim = chance.randrange(3)

    def disturb():
        if chance.random() < 0.3:
            run.kill_rank(victim)
        else:
            run.kill_server()
    return judge(disturbed(run, (0.02, 0.3), disturb), cleaned=True)


def rank_stopped(folder, chance):
    run = Simulation(folder, chance)
    return judge(disturbed(run, (0.02, 0.2), lambda: run.stop_rank(chance.randrange(2), chance.uniform(0.05, 0.3))))


def workers_killed(folder, chance):
    run = Simulation(folder, chance, iterations=40, more=with_scripts(folder, SLOW_SCRIPT))
    return judge_script(run, judge(disturbed(run, (0.05, 0.3), run.kill_worker)))


def judge_script(run, tally):
    """Each iteration has one line in the script's table, or the log says how many have none."""
    seen, path = [], run.folder / "run-scripts" / "soaked.csv"
    if path.exists():
        with open(path, newline="") as file:
            seen = [int(row["iteration"]) for row in csv.DictReader(file)]
    told = sum(int(n) for n in re.findall(r'script "soaked" .*?skipped (\d+) iterations?', run.log()))
    told += sum(int(n) for n in re.findall(r'script "soaked" was called for none of (\d+) iterations?', run.log()))
    told += sum(int(n) for n in re.findall(r'script "soaked" failed (\d+) times?', run.log()))
    if len(seen) != len(set(seen)):
        tally.blame("wrong", f"the script's table has the iterations {seen}")
    missing = set(range(run.iterations)) - set(seen)
    if len(missing) > told and "not called any more" not in run.log():
        tally.blame("lost", f"the script's iterations {sorted(missing)}, {told} of which the log speaks of", len(missing) - told)
    return tally


def segment_full(folder, chance):
    """A segment of few iterations, a script that must see all and is slow, and servers that die meanwhile."""
    run = Simulation(folder, chance, iterations=40, pause=0.001, buffer="1MiB", timeout=60,
                     more=with_scripts(folder, SLOW_SCRIPT))
    return judge(disturbed(run, (0.1, 0.6), run.kill_server), cleaned=True)


def segment_full_too_long(folder, chance):
    """Longer than the timeout: writes are refused, and what was not refused is in the file."""
    run = Simulation(folder, chance, pause=0.001, buffer="1MiB", timeout=0.2)
    return judge(disturbed(run, (0.01, 0.1), lambda: run.stop_server(chance.uniform(0.1, 0.6))), whole=False)


def rings_full(folder, chance):
    """Stops longer than the timeout, while the event rings fill up in a few iterations: what was handed over lies under its
    iteration, and everything that was refused is in the ledger."""
    run = Simulation(folder, chance, ranks=3, pause=0.001, timeout=0.1, filler=chance.choice([700, 1500, 4000]))
    tally = judge(disturbed(run, (0.01, 0.15), lambda: run.stop_server(chance.uniform(0.2, 1.0))), whole=False)
    return judge_ledger(run, tally)


def rings_full_and_killed(folder, chance):
    """As above, and servers and a rank are killed meanwhile."""
    run = Simulation(folder, chance, ranks=3, pause=0.001, timeout=0.3, filler=1500)
    victim = chance.randrange(3)

    def disturb():
        run.stop_server(chance.uniform(0.4, 1.0))
        if chance.random() < 0.4:
            run.kill_server()
        elif chance.random() < 0.2:
            run.kill_rank(victim)
    return judge_ledger(run, judge(disturbed(run, (0.01, 0.15), disturb), whole=False, cleaned=True))


def judge_ledger(run, tally):
    """Each write that was refused is there; of what a rank could not say before it ended, the number."""
    entries = json.loads((run.folder / "run.ledger.json").read_text())["entries"]
    told, untold = set(), 0
    for entry in entries:
        if entry["fate"] != "not written":
            continue
        if entry["variable"] is None:
            untold += entry["blocks"]
            continue
        first, last, step = entry["iterations"]
        told |= {(entry["variable"], rank, iteration) for iteration in range(first, last + 1, step)
                 for low, high in entry["ranks"] for rank in range(low, high + 1)}
    for number in range(len(run.ranks)):
        refused = [(c.variable, number, int(c.iteration)) for c in Said(run, number).calls
                   if c.kind == "write" and c.status != "LEAT_OK" and c.variable != "step"]
        silent = [each for each in refused if each not in told]
        if len(silent) > untold:
            tally.blame("lost", f"refused and not in the ledger: {sorted(silent)[:5]}", len(silent) - untold)
        untold -= min(untold, len(silent))
    return tally


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 4 MB; None where we may not make one."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, check=False)
    try:
        yield folder if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)


def disk_full(folder, chance):
    """Others fill the disk and make room again."""
    with small_disk(folder / "out") as disk:
        if disk is None:
            return Tally(notes=["skipped: only root can make a small disk"])
        run = Simulation(folder, chance)
        filler = disk / "others"

        def disturb():
            if filler.exists():
                filler.unlink()
            else:
                with contextlib.suppress(OSError):
                    filler.write_bytes(bytes(4 << 20))
        tally = judge(disturbed(run, (0.02, 0.3), disturb), whole=False)
        if tally.bad():
            shutil.copytree(disk, folder / "was-out", dirs_exist_ok=True)
        return tally


def files_removed(folder, chance):
    """Somebody removes, renames or replaces the file that is written, or its whole folder: it is there again at the end."""
    run = Simulation(folder, chance)
    harm, out = Harm(chance), run.folder / "out"
    disturbed(run, (0.02, 0.3), lambda: harm.do(out))
    harm.put_last_file_in_place(out)
    return judge(run)


class Harm:
    def __init__(self, chance):
        self.chance, self.removed, self.count = chance, [], 0

    def do(self, out):
        path = out / "run.h5"
        if not path.exists() or not (out / ".run.h5.lock").exists():
            return  # not yet there, or at its end
        self.count += 1
        kind = self.chance.choice(["remove", "rename", "replace", "folder"])
        self.removed.append(open(path, "rb"))
        if kind == "rename":
            path.rename(out / f"mine{self.count}.h5")
        elif kind == "folder":
            shutil.rmtree(out, ignore_errors=True)
        else:
            path.unlink()
        if kind == "replace":
            with contextlib.suppress(OSError):
                path.symlink_to("nowhere")

    def put_last_file_in_place(self, out):
        """What the run has written last is run.h5; what was removed in the instant in which the run ended, too."""
        path = out / "run.h5"
        others = sorted(out.glob("run.*.h5"), key=lambda other: other.stat().st_mtime_ns)
        if path.is_symlink() and others:
            path.unlink()
            others[-1].rename(path)
        if not path.exists() and self.removed:
            out.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_bytes(self.removed[-1].read())
        for file in self.removed:
            file.close()


def all_killed(folder, chance):
    """At any moment, leat_init included; the next start stores what was in memory, and cleans."""
    run = Simulation(folder, chance).start()
    run.goes_on_for(chance.uniform(0, 0.6))
    if chance.random() < 0.5:  # so that much is in memory
        run.stop_server(chance.uniform(0, 0.1), go_on=False)
    run.kill_all()
    run.finish()
    following = Simulation(folder / "next", chance, iterations=3)
    following.runtime = run.runtime
    following.start()
    if chance.random() < 0.3:  # and with it what stores it
        following.goes_on_for(chance.uniform(0, 0.3))
        following.kill_all()
        run.kills += following.kills
        following.kills = 0
        following.finish()
        following = Simulation(folder / "third", chance, iterations=3)
        following.runtime = run.runtime
        following.start()
    following.finish()
    run.await_drained()
    tally = judge(following)
    judge_killed(run, tally)
    with_the_next_run_in_that_folder = {".run.h5.journal", ".run.h5.part", ".run.ledger.json.part"}
    left = [name for name in run.leftovers() if name not in with_the_next_run_in_that_folder]
    if left:
        tally.blame("leftovers", ", ".join(left), len(left))
    return tally


def judge_killed(run, tally):
    """All that a call had returned LEAT_OK for is in the file, once and right."""
    tally.add(Tally(kills=run.kills, stops=run.stops, server_stops=run.server_stops))
    run.recover()
    output = Output(run)
    if output.iterations != list(range(len(output.iterations))):
        tally.blame("wrong", f"the file has the iterations {output.iterations}")
    for rank in range(len(run.ranks)):
        for handed in Said(run, rank).handed_over():
            judge_block(run, output, handed, set(), tally)
    judge_tables(run, output, tally)


TURNS = 2


def file_writer_killed(folder, chance):
    """The hdf5 store, killed at random ones of its writes and followed by another, three times in one file."""
    folder.mkdir(parents=True)
    whole, writes = test_resumed.undisturbed_six(folder)
    tally = Tally(runs=1)
    for turn in range(TURNS):
        path = folder / f"killed{turn}"
        kill_writer(path, chance, writes, tally)
        try:
            test_resumed.expect_same(path / "run.h5", whole)
        except AssertionError as error:
            tally.blame("wrong", str(error)[:300])
    return tally


def kill_writer(path, chance, writes, tally):
    stored = 0
    for attempt in range(3):
        moment = test_resumed.killed_at(chance.randint(1, writes // 2))
        stored = test_resumed.run_until_killed(path, max(0, stored - 1), moment, int(attempt > 0), 6)
        tally.kills += stored < 6
        tally.moments += stored < 6
    test_resumed.finish(path, max(0, stored - 1))


ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
SESSIONS, CYCLES = 3, 12


def start_and_stop(folder, chance):
    """Sessions that begin, write once and end, as fast as they can, several at once on the node."""
    tally = Tally(runs=1)
    with concurrent.futures.ThreadPoolExecutor(SESSIONS) as pool:
        for one in pool.map(lambda number: cycles(folder / str(number)), range(SESSIONS)):
            tally.add(one)
    return tally


def cycles(folder):
    folder.mkdir(parents=True)
    tally = Tally()
    run = Run(folder, xml(ROW))
    (rank,) = run.ranks
    for number in range(CYCLES):
        cycle(run, rank, f"cycle{number}", tally)
    rank.stop_process()
    until = time.monotonic() + 60
    while processes_of(run.runtime) and time.monotonic() < until:
        time.sleep(0.01)
    left = [*run.segments(), *run.runtime.iterdir(), *processes_of(run.runtime)]
    if left:
        tally.blame("leftovers", str(left), len(left))
    return tally


def cycle(run, rank, name, tally):
    (run.folder / f"{name}.xml").write_text(xml(ROW, name=name, buffer="4MiB"))
    for words in (("init_ranks", f"{name}.xml", f"{run.session}-{name}", 0, 1), ("write", "a", 0, 20, 7),
                  ("end_iteration",), ("finalize",)):
        before = time.monotonic()
        answer = rank.call(*words)
        tally.worst = max(tally.worst, time.monotonic() - before)
        if not answer.ok:
            tally.blame("lost", f"{words}: {answer}")
    with h5py.File(run.folder / f"{name}.h5") as file:
        if not same_bits(file["a"][0].reshape(-1), data(5, "i4", 7)):
            tally.blame("wrong", name)
    tally.cycles += 1


# Tests have a small part of these by themselves.
ELSEWHERE = {"appending run killed", "files damaged", "20,000 variables", "1,000 simulated servers"}
# In the order of the table, with the share of the time that each gets.
SCENARIOS = {
    "server killed": (server_killed, 2),
    "server stopped": (server_stopped, 3),
    "server killed and stopped": (server_killed_and_stopped, 1),
    "rank killed": (rank_killed, 1),
    "rank and server killed": (rank_and_server_killed, 1),
    "rank stopped": (rank_stopped, 1),
    "killed and stopped while it starts": (start_disturbed, 1),
    "two containers, servers killed": (two_containers, 1),
    "script workers killed": (workers_killed, 1),
    "modules of a graph killed": (graphs.modules_killed, 2),
    "segment full, server killed": (segment_full, 1),
    "segment full for too long": (segment_full_too_long, 1),
    "rings full for too long": (rings_full, 2),
    "rings full, killed": (rings_full_and_killed, 1),
    "disk full": (disk_full, 1),
    "files removed": (files_removed, 1),
    "everything killed": (all_killed, 1),
    "file writer killed": (file_writer_killed, 4),
    "appending run killed": (damages.appender_killed, 2),
    "splitting run killed": (damages.splitter_killed, 2),
    "files damaged": (damages.files_damaged, 2),
    "20,000 variables": (damages.many_variables, 1),
    "start and stop": (start_and_stop, 3),
    "late ranks of a second server": (groups.late_ranks_of_a_second_server, 1),
    "nodes disturbed in leat_init": (groups.nodes_disturbed_in_init, 1),
    "absent ranks with sync": (groups.absent_ranks_with_sync, 1),
    "nodes with a network": (networks.nodes_disturbed, 6),
    "1,000 simulated servers": (simulated.simulated_servers, 1),
    "staging nodes": (stagings.staging_disturbed, 4),
    "function of the whole run": (clusters.function_of_the_whole_run, 2),
    "server rank dies in leat_split": (groups.server_rank_dies_in_split, 1),
}
