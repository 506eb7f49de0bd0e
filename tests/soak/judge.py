# SPDX-License-Identifier: Apache-2.0
"""Says what became of a disturbed run: what ranks were told, against what h5py reads in the file."""
import re
from collections import namedtuple
from dataclasses import dataclass, field

import h5py
import numpy as np
from leat_run import data, same_bits
from simulation import results_without_leat
from stored_blocks import stored_blocks

# A call may take the timeout and 0.1 s; beyond that, what a sleeping thread of the same process was late by meanwhile, and
# this, for the processes that it waits for while the machine has others to run.
ALLOWANCE = 1.0
BLOCKS = {"small": ("i8", 8), "large": ("f4", 16384), "leased": ("u1", 4096)}
SEEDS = {"small": 0, "large": 1, "ragged": 2, "grid": 3, "leased": 4}
ROWS, COLUMNS = 6, 20


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


Call = namedtuple("Call", "kind iteration variable status seconds late error")


class Said:
    """What one rank was told, call by call."""

    def __init__(self, path):
        self.calls, self.result = [], None
        text = path.read_text(errors="replace") if path.exists() else ""
        for line in text.splitlines():
            if line.startswith("result "):
                self.result = line.split()[1]
            else:
                self.calls.append(call_of(line))

    def handed_over(self):
        """(iteration, variable) of all that a LEAT_OK was given for."""
        return {(int(c.iteration), c.variable) for c in self.calls
                if c.kind == "write" and c.status == "LEAT_OK" and c.variable != "step"}

    def ended(self):
        return {int(c.iteration) for c in self.calls if c.kind == "end"}

    def finalize(self):
        """(status, message); the last call of a rank that was not killed."""
        last = self.calls[-1] if self.calls else None
        return (last.status, last.error) if last and last.kind == "finalize" else (None, "")


def call_of(line):
    kind, iteration, variable, status, ns, late, *error = line.split(" ", 6)
    return Call(kind, iteration, variable, status, int(ns) / 1e9, int(late) / 1e9, *(error or [""]))


def bytes_of(variable, iteration, rank, count, dtype):
    return data(count, dtype, 1 + 1_000_003 * iteration + 101 * rank + SEEDS[variable])


class Output:
    """The file: block(variable, iteration, rank) is None where there is none."""

    def __init__(self, path):
        self.rows, self.arrays, self.blocks, self.iterations = {}, {}, {}, []
        if not path.exists():
            return
        with h5py.File(path) as file:
            file.visititems(lambda name, found: self.note(name, found))
            self.iterations = self.arrays["iteration"].tolist()
            self.blocks = {name: [stored_blocks(file, name, row) for row in range(len(self.iterations))]
                           for name in self.arrays if "leat_blocks" in file[name].attrs}
        self.rows = {number: row for row, number in enumerate(self.iterations)}

    def note(self, name, found):
        if isinstance(found, h5py.Dataset):
            self.arrays[name] = found[()]

    def block(self, variable, iteration, rank):
        row = self.rows.get(iteration)
        if row is None or variable not in self.arrays:
            return None
        if variable == "grid":
            return self.grid(row, rank)
        of_rank = [block for (writer, _), block in self.blocks[variable][row].items() if writer == rank]
        return of_rank[0] if len(of_rank) == 1 else None

    def grid(self, row, rank):
        rows = self.arrays["grid"][row, ROWS * rank:ROWS * (rank + 1)]
        return None if np.isnan(rows).all() else rows

    def is_complete(self, iteration):
        return bool(self.arrays["leat/iteration_complete"][self.rows[iteration]])

    def times(self, variable, iteration, rank):
        """How often the block is there."""
        if variable == "grid" or self.rows.get(iteration) is None:
            return 0
        return sum(writer == rank for writer, _ in self.blocks[variable][self.rows[iteration]])


def wanted(variable, iteration, rank):
    if variable == "grid":
        return bytes_of("grid", iteration, rank, (ROWS + 2) * COLUMNS, "f8").reshape(ROWS + 2, COLUMNS)[1:-1]
    if variable == "ragged":
        return bytes_of("ragged", iteration, rank, (7 * iteration + 3 * rank) % 61, "u2")
    dtype, count = BLOCKS[variable]
    return bytes_of(variable, iteration, rank, count, dtype)


def judge(run, whole=True, cleaned=False, tally=None):
    """whole: every iteration must be in the file, and every call have returned LEAT_OK. cleaned: what was left at the end
    may go with the next start on the node."""
    tally = Tally() if tally is None else tally
    tally.add(Tally(runs=1, kills=run.kills, stops=run.stops, server_kills=run.server_kills, server_stops=run.server_stops))
    said = [Said(run.folder / f"rank{n}.said") for n in range(len(run.ranks))]
    for text in run.hung:
        tally.blame("hangs", f"does not end: {text}")
    judge_times(run, said, tally)
    judge_simulation(run, said, tally)
    judge_leftovers(run, cleaned, tally)
    judge_output(run, said, Output(run.folder / "out" / "run.h5"), whole, tally)
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
    alone = results_without_leat(len(run.ranks), run.iterations)
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
    for rank, one in enumerate(said):
        for iteration, variable in sorted(one.handed_over()):
            if iteration not in output.rows:
                missing.add(iteration)
            else:
                judge_block(output, variable, iteration, rank, told, tally)
    silent = missing - told
    if silent:
        tally.blame("lost", f"iterations {sorted(silent)}, of which nobody spoke", len(silent))
    if whole:
        judge_whole(run, said, output, tally)


def judge_block(output, variable, iteration, rank, told, tally):
    got, place = output.block(variable, iteration, rank), f'"{variable}" of rank {rank} in iteration {iteration}'
    if output.times(variable, iteration, rank) > 1:
        tally.blame("wrong", f"{place} is there twice")
    elif got is None:
        is_said = iteration in told and not output.is_complete(iteration)
        if not is_said:
            tally.blame("lost", f"{place}, which was handed over")
    elif not same_bits(got.reshape(-1), wanted(variable, iteration, rank).reshape(-1)):
        tally.blame("wrong", place)


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
    head = next((line for line in lines if "iterations" in line and "ranks" in line), None)
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
