#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Disturbs simulations for minutes and says in a table what came of it; `make soak`, `make soak MINUTES=2`.

A turn is one scenario with its own dice. The same seed gives the same turns; when which one of them falls into what a
process just does is up to the machine."""
import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("soak", "support", "plugins", "integration")]

from judge import ALLOWANCE, Tally  # noqa: E402
from scenarios import ELSEWHERE, SCENARIOS  # noqa: E402
from simulation import chance_of  # noqa: E402

LANES = 2
FULL = 10  # minutes, of which this much is asked
ASKED = {"server_kills": (100, "SIGKILLs of the server"), "server_stops": (100, "SIGSTOPs and SIGCONTs of the server"),
         "cycles": (1000, "cycles of start and stop"), "moments": (500, "kills of the file writer at a write")}
# On several nodes. Cables can be cut only where the system lets us make networks, so nothing is asked of it.
NETWORKS = {"cuts": "cut cables", "full_disks": "full disks", "read_only": "read-only folders",
            "alone": "servers that said they went alone", "compared": "blocks and iterations", "events": "events of the run",
            "steered": "iterations with a steered value", "reduced": "reductions compared"}
COLUMNS = {"runs": "runs", "kills": "kills", "stops": "stops", "hangs": "hangs", "lost": "lost", "wrong": "wrong bytes",
           "leftovers": "leftovers"}


class Soak:
    def __init__(self, folder, seed, names, minutes):
        self.folder, self.seed, self.minutes = folder, seed, minutes
        self.tallies = {name: Tally() for name in names}
        self.used = dict.fromkeys(names, 0.0)
        self.turns = dict.fromkeys(names, 0)
        self.lock = threading.Lock()
        self.begin = self.said = time.monotonic()

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            for lane in [pool.submit(self.lane) for _ in range(LANES)]:
                lane.result()
        if sys.stdout.isatty():
            print("\r\033[K", end="")

    def lane(self):
        while turn := self.next_turn():
            begin = time.monotonic()
            tally = self.play(*turn)
            with self.lock:
                self.used[turn[0]] += time.monotonic() - begin
                self.tallies[turn[0]].add(tally)
                self.progress()

    def next_turn(self):
        """(scenario, number) of the one that had least of its share; without minutes, of each one that had no turn."""
        with self.lock:
            late = self.minutes and time.monotonic() - self.begin > 60 * self.minutes
            fresh = [name for name in self.turns if self.turns[name] == 0]
            if not fresh and (late or not self.minutes):
                return None
            name = fresh[0] if fresh else min(self.turns, key=lambda n: self.used[n] / SCENARIOS[n][1])
            self.turns[name] += 1
            self.used[name] += 0.1  # so that the other lane takes something else meanwhile
            return name, self.turns[name]

    def play(self, name, number):
        folder = self.folder / f"{name.replace(' ', '-').replace(',', '')}-{number}"
        try:
            tally = SCENARIOS[name][0](folder, chance_of(self.seed, name, number))
        except Exception:  # whatever a test of ours fell over, the others go on
            tally = Tally(runs=1)
            tally.blame("wrong", traceback.format_exc())
        tally.notes = [f"{folder}: {note}" for note in tally.notes]
        if tally.bad():
            (folder / "why").write_text("\n".join(tally.notes))
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return tally

    def progress(self):
        total = self.total()
        line = (f"{time.monotonic() - self.begin:4.0f} s: {sum(self.turns.values())} turns, {total.kills} kills, "
                f"{total.stops} stops, {total.cycles} cycles, {total.bad()} bad")
        if sys.stdout.isatty():
            print(f"\r\033[K{line}", end="", flush=True)
        elif time.monotonic() - self.said > 30:
            self.said = time.monotonic()
            print(line, flush=True)

    def total(self):
        total = Tally()
        for tally in self.tallies.values():
            total.add(tally)
        return total

    def too_few(self):
        """What was asked of a whole soak and not reached."""
        total = self.total()
        return [name for name, (count, _) in ASKED.items() if self.minutes >= FULL and getattr(total, name) < count]


def table(tallies):
    lines = [["scenario", *COLUMNS.values(), "worst call", "verdict"]]
    for name, tally in tallies.items():
        skipped = any("skipped" in note for note in tally.notes)
        verdict = "FAILED" if tally.bad() else "skipped" if skipped else "ok"
        lines.append([name, *(str(getattr(tally, column)) for column in COLUMNS), f"{tally.worst:.2f} s", verdict])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.rjust(width) if 0 < i < len(line) - 1 else cell.ljust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def report(soak):
    total = soak.total()
    print(table({**soak.tallies, "all": total}))
    print(f"\nseed {soak.seed}, {time.monotonic() - soak.begin:.0f} s. A call hangs when it takes longer than the timeout + 0.1 s "
          f"+ {ALLOWANCE:g} s + what the machine made that process late by.")
    for name, (count, what) in ASKED.items():
        print(f"{getattr(total, name):6d} {what} (a soak of {FULL} minutes: at least {count})")
    print("on several nodes: " + ", ".join(f"{getattr(total, name)} {what}" for name, what in NETWORKS.items()))
    print(f"{total.added:6.2f} s in calls for each kill or stop, in the worst run")
    for note in total.notes:
        print(note)
    if total.bad():
        print(f"kept for you: {soak.folder}; again: tests/soak/soak.py --seed {soak.seed}")


def options(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=FULL, help="0: each scenario once, but those that are tests elsewhere")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "leat-soak",
                        help="a short path: sockets lie below it")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="this scenario; may be given several times")
    return parser.parse_args(words)


def main(words=None):
    chosen = options(words)
    print(f"seed {chosen.seed}", flush=True)
    folder = chosen.folder.absolute() / str(chosen.seed)
    shutil.rmtree(folder, ignore_errors=True)
    names = chosen.only or [name for name in SCENARIOS if chosen.minutes or name not in ELSEWHERE]
    soak = Soak(folder, chosen.seed, names, chosen.minutes)
    soak.run()
    report(soak)
    return 1 if soak.total().bad() or soak.too_few() else 0


if __name__ == "__main__":
    sys.exit(main())
