# SPDX-License-Identifier: Apache-2.0
"""Says what became of a disturbed run: what ranks were told, against what h5py reads in the file."""
import re
from collections import namedtuple
from dataclasses import dataclass, field

import h5py
import numpy as np
from leat_run import same_bits
from simulation import results_without_leat
from stored_blocks import places_on_levels, stored_blocks
from world import ON_MESH, ROWS, World

# A call may take the timeout and 0.1 s; beyond that, what a sleeping thread of the same process was late by meanwhile, and
# this, for the processes that it waits for while the machine has others to run.
ALLOWANCE = 1.0


@dataclass
class Tally:
    """A line of the table; everything in it that is counted as bad is 0, or the soak fails."""
    runs: int = 0
    kills: int = 0
    stops: int = 0
    server_kills: int = 0
    server_stops: int = 0
    cycles: int = 0
    moments: int = 0
    cuts: int = 0        # of cables between nodes
    full_disks: int = 0
    read_only: int = 0
    alone: int = 0       # servers that went on without the others, and said so
    compared: int = 0    # blocks and iterations of runs on several nodes,
    events: int = 0      # events of the run, iterations with a steered value, and reductions: so often the judge looked
    steered: int = 0
    reduced: int = 0
    hangs: int = 0
    lost: int = 0
    wrong: int = 0
    leftovers: int = 0
    worst: float = 0.0   # seconds of the longest call
    added: float = 0.0   # seconds in calls for each disturbance, in the worst run
    notes: list = field(default_factory=list)

    def bad(self):
        return self.hangs + self.lost + self.wrong + self.leftovers

    def blame(self, kind, text, count=1):
        setattr(self, kind, getattr(self, kind) + count)
        if len(self.notes) < 20:
            self.notes.append(f"{kind}: {text}")

    def add(self, other):
        for name, value in vars(other).items():
            mine = getattr(self, name)
            setattr(self, name, max(mine, value) if name in ("worst", "added") else mine + value)


Call = namedtuple("Call", "kind iteration variable number status seconds late error")  # number: of the block
Handed = namedtuple("Handed", "variable iteration rank number")


class Said:
    """What one rank was told, call by call."""

    def __init__(self, run, rank):
        self.rank, self.calls, self.result = rank, [], None
        path = run.folder / f"rank{rank}.said"
        text = path.read_text(errors="replace") if path.exists() else ""
        for line in text.splitlines():
            if line.startswith("result "):
                self.result = line.split()[1]
            else:
                self.calls.append(call_of(line))

    def handed_over(self):
        """All that a LEAT_OK was given for, in the order of calls."""
        return [Handed(c.variable, int(c.iteration), self.rank, c.number) for c in self.calls
                if c.kind == "write" and c.status == "LEAT_OK" and c.variable != "step"]

    def ended(self):
        return {int(c.iteration) for c in self.calls if c.kind == "end"}

    def finalize(self):
        """(status, message); the last call of a rank that was not killed."""
        last = self.calls[-1] if self.calls else None
        return (last.status, last.error) if last and last.kind == "finalize" else (None, "")


def call_of(line):
    kind, iteration, what, status, ns, late, *error = line.split(" ", 6)
    variable, _, number = what.partition(":")
    return Call(kind, iteration, variable, int(number or 0), status, int(ns) / 1e9, int(late) / 1e9, *(error or [""]))


class Array(np.ndarray):
    """A dataset in memory. Of its attributes, those that stored_blocks asks for."""
    attrs, dimension = {}, None


def in_memory(dataset):
    array = np.asarray(dataset[()]).view(Array)
    array.attrs = {name: dataset.attrs[name] for name in ("leat_blocks", "leat_layout") if name in dataset.attrs}
    if dataset.ndim and len(dataset.dims[0]):
        array.dimension = dataset.dims[0][0].name
    return array


class Output:
    """The file: block(handed) is None where there is none."""

    def __init__(self, run):
        self.arrays = {}
        path = run.folder / "out" / "run.h5"
        if path.exists():
            with h5py.File(path) as file:
                for group in ("", "leat/", "parameters/"):
                    self.note(group, file.get(group or "/", {}))
        self.iterations = self.arrays["iteration"].tolist() if self.arrays else []
        self.rows = {number: row for row, number in enumerate(self.iterations)}
        in_blocks = [name for name, array in self.arrays.items() if "leat_blocks" in array.attrs]
        self.blocks = self.of_rows(stored_blocks, in_blocks)
        self.places = self.of_rows(places_on_levels, [name for name in in_blocks if name in ON_MESH])

    def note(self, group, members):
        """Reads each dataset once: there are many rows to look at."""
        self.arrays |= {group + name: in_memory(found) for name, found in members.items() if isinstance(found, h5py.Dataset)}

    def of_rows(self, read, names):
        return {name: [read(self.arrays, name, row) for row in range(len(self.iterations))] for name in names}

    def block(self, handed):
        row = self.rows.get(handed.iteration)
        if row is None or handed.variable not in self.arrays:
            return None
        if handed.variable == "grid":
            return self.grid(row, handed.rank)
        return self.blocks[handed.variable][row].get((handed.rank, handed.number))

    def grid(self, row, rank):
        rows = self.arrays["grid"][row, ROWS * rank:ROWS * (rank + 1)]
        return None if np.isnan(rows).all() else rows

    def place(self, handed):
        return self.places[handed.variable][self.rows[handed.iteration]][handed.rank, handed.number]

    def is_complete(self, iteration):
        return bool(self.arrays["leat/iteration_complete"][self.rows[iteration]])


def judge(run, whole=True, cleaned=False, tally=None):
    """whole: every iteration must be in the file, and every call have returned LEAT_OK. cleaned: what was left at the end
    may go with the next start on the node."""
    tally = Tally() if tally is None else tally
    tally.add(Tally(runs=1, kills=run.kills, stops=run.stops, server_kills=run.server_kills, server_stops=run.server_stops))
    said = [Said(run, rank) for rank in range(len(run.ranks))]
    for text in run.hung:
        tally.blame("hangs", f"does not end: {text}")
    judge_times(run, said, tally)
    judge_simulation(run, said, tally)
    judge_leftovers(run, cleaned, tally)
    judge_output(run, said, Output(run), whole, tally)
    return tally


def judge_times(run, said, tally):
    for number, one in enumerate(said):
        for call in one.calls:
            if call.kind == "finalize":
                continue  # waits as long as something goes on; one that hangs is seen by its process
            tally.worst = max(tally.worst, call.seconds - call.late)
            if call.seconds > run.timeout + 0.1 + call.late + ALLOWANCE:
                tally.blame("hangs", f"rank {number}: {call}")
        disturbed = max(1, run.kills + run.stops)
        tally.added = max(tally.added, sum(c.seconds - c.late for c in one.calls) / disturbed)


def judge_simulation(run, said, tally):
    """Its own results are those that it has without Leat."""
    alone = results_without_leat(len(run.ranks), run.iterations, run.world)
    for number, one in enumerate(said):
        if number not in run.killed and one.result != alone[number]:
            tally.blame("wrong", f"rank {number} computed {one.result} instead of {alone[number]}")


def judge_leftovers(run, cleaned, tally):
    if cleaned:
        run.clean()
    left = run.leftovers()
    if left:
        tally.blame("leftovers", ", ".join(left), len(left))


def judge_output(run, said, output, whole, tally):
    if output.iterations != sorted(set(output.iterations)):
        tally.blame("wrong", f"iterations twice or out of order: {output.iterations}")
    missing, told = set(), set() if whole else told_of(said)
    for one in said:
        for handed in one.handed_over():
            if handed.iteration not in output.rows:
                missing.add(handed.iteration)
            else:
                judge_block(run, output, handed, told, tally)
    judge_tables(run, output, tally)
    silent = missing - told
    if silent:
        tally.blame("lost", f"iterations {sorted(silent)}, of which nobody spoke", len(silent))
    if whole:
        judge_whole(run, said, output, tally)


def judge_block(run, output, handed, told, tally):
    got, world = output.block(handed), World(run.world)
    if got is None:
        is_said = handed.iteration in told and not output.is_complete(handed.iteration)
        if not is_said:
            tally.blame("lost", f"{handed}, which was handed over")
    elif not same_bits(got, world.block(*handed)):
        tally.blame("wrong", str(handed))
    elif handed.variable in ON_MESH and output.place(handed) != world.place(*handed[1:]):
        tally.blame("wrong", f"{handed}: level and first cell {output.place(handed)}, not {world.place(*handed[1:])}")


def judge_tables(run, output, tally):
    """No block that nobody wrote, and patches by level, rank and number in each iteration."""
    world = World(run.world)
    for variable, rows in output.blocks.items():
        for iteration, blocks in zip(output.iterations, rows):
            strange = [owner for owner in blocks
                       if owner[0] >= len(run.ranks) or world.shape(variable, iteration, *owner) is None]
            if strange:
                tally.blame("wrong", f'"{variable}" in iteration {iteration} has blocks that nobody wrote: {strange}')
    for variable, rows in output.places.items():
        for iteration, places in zip(output.iterations, rows):
            order = [(level, *owner) for owner, (level, _) in places.items()]
            if order != sorted(order):
                tally.blame("wrong", f'"{variable}" in iteration {iteration}: (level, rank, number) are {order}')


def told_of(said):
    """Iterations that may be missing, wholly or in part: somebody has said so."""
    told = set()
    for one in said:
        status, message = one.finalize()[:2]
        if status != "LEAT_OK":
            told |= iterations_in(message)
    return told


def iterations_in(message):
    """Those that the table of leat_finalize names: "8, 15-59" in its column of that name."""
    lines = message.replace("|", "\n").split("\n")
    head = next((line for line in lines if all(word in line for word in ("iterations", "ranks", "bytes"))), None)
    if head is None:
        return set()
    first, end = head.index("iterations"), head.index("bytes")
    named = set()
    for line in lines[lines.index(head) + 1:]:
        for low, high in re.findall(r"(\d+)(?:-(\d+))?", line[first:end]):
            named |= set(range(int(low), int(high or low) + 1))
    return named


def judge_whole(run, said, output, tally):
    for number, one in enumerate(said):
        if number in run.killed:
            continue
        refused = [call for call in one.calls if call.status != "LEAT_OK"]
        if refused:
            tally.blame("lost", f"rank {number}: {refused[0]}", len(refused))
    if run.killed or output.iterations != list(range(run.iterations)):
        if not run.killed:
            tally.blame("lost", f"the file has the iterations {output.iterations}")
        return
    steps = output.arrays["parameters/step"].tolist()
    if steps != [number - number % 3 for number in range(run.iterations)]:
        tally.blame("wrong", f"parameter step: {steps}")
    complete = output.arrays["leat/iteration_complete"].tolist()
    if complete != [1] * run.iterations:
        tally.blame("wrong", f"iteration_complete: {complete}")
    judge_dimensions(run, output, tally)


def judge_dimensions(run, output, tally):
    """Variables of particles share theirs as long as they have as many."""
    world = World(run.world)
    as_many = all(world.particles_are_as_many(iteration, rank)
                  for iteration in range(run.iterations) for rank in range(len(run.ranks)))
    dimensions = [output.arrays[name].dimension for name in ("position", "kind")]
    if (dimensions[0] == dimensions[1]) != as_many:
        tally.blame("wrong", f"the dimensions {dimensions} of particles, {'' if as_many else 'not '}as many in both")
