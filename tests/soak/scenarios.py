# SPDX-License-Identifier: Apache-2.0
"""What is done to the simulation: one function for each line of the table. Each gets an empty folder and the dice of its
turn, and returns a Tally. Nothing in them is decided by how fast the machine is."""
import concurrent.futures
import contextlib
import csv
import re
import shutil
import subprocess
import time

import h5py
import test_resumed
from judge import Output, Said, Tally, judge, judge_block
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
    told = sum(int(n) for n in re.findall(r'script "soaked": .*?(\d+) iterations? left out', run.log()))
    told += sum(int(n) for n in re.findall(r'script "soaked": .*?(\d+) FAILED', run.log()))
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


def all_killed(folder, chance):
    """At any moment, leat_init included; what was stored stays, and the next start cleans."""
    run = Simulation(folder, chance).start()
    run.goes_on_for(chance.uniform(0, 0.6))
    run.kill_all()
    run.finish()
    tally = judge_killed(run)
    following = Simulation(folder / "next", chance, iterations=3)
    following.runtime = run.runtime
    judge(following.start().finish(), tally=tally)
    tally.runs -= 1  # it belongs to the first
    with_the_next_run_in_that_folder = {".run.h5.journal", ".run.h5.part"}
    left = [name for name in run.leftovers() if name not in with_the_next_run_in_that_folder]
    if left:
        tally.blame("leftovers", ", ".join(left), len(left))
    return tally


def judge_killed(run):
    """All that is in the file is right; nothing was promised of what was not stored yet."""
    tally = Tally(runs=1, kills=run.kills)
    path = run.folder / "out" / "run.h5"
    if path.exists():
        run.recover()
        output = Output(path)
        if output.iterations != list(range(len(output.iterations))):
            tally.blame("wrong", f"the file has the iterations {output.iterations}")
        for rank in range(len(run.ranks)):
            judge_stored(run, output, rank, tally)
    return tally


def judge_stored(run, output, rank, tally):
    for iteration, variable in sorted(Said(run.folder / f"rank{rank}.said").handed_over()):
        if iteration in output.rows:
            judge_block(output, variable, iteration, rank, tally)


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


# In the order of the table, with the share of the time that each gets.
SCENARIOS = {
    "server killed": (server_killed, 2),
    "server stopped": (server_stopped, 3),
    "server killed and stopped": (server_killed_and_stopped, 1),
    "rank killed": (rank_killed, 1),
    "rank and server killed": (rank_and_server_killed, 1),
    "rank stopped": (rank_stopped, 1),
    "script workers killed": (workers_killed, 1),
    "segment full, server killed": (segment_full, 1),
    "segment full for too long": (segment_full_too_long, 1),
    "disk full": (disk_full, 1),
    "everything killed": (all_killed, 1),
    "file writer killed": (file_writer_killed, 4),
    "start and stop": (start_and_stop, 3),
}
