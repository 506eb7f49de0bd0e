# SPDX-License-Identifier: Apache-2.0
"""What became of a run, from what lies beside it: its ledgers and reports. Needs nothing but Python."""
import json
import os
import pathlib
from dataclasses import dataclass, field

from ..planning.words import BAD, Refused

# Iterations are counted one by one up to so many; more are taken as the ledger has them, in ranges that may overlap.
_MOST_COUNTED = 2_000_000
_FILES = ".h5", ".hdf5", ".nc", ".vtkhdf"


@dataclass
class Fate:
    """Of one variable."""
    name: str
    written_blocks: int = 0
    bytes: int = 0
    iterations: int = 0
    stored: dict = field(default_factory=dict)  # store: blocks
    skipped: int = 0  # blocks, as the XML allows
    dropped: int = 0
    lost: int = 0
    why: str = ""
    ranges: dict = field(default_factory=dict)  # fate: [first, last, step] of each entry


@dataclass
class Outcome:
    """Of all servers of the run."""
    name: str
    folder: pathlib.Path
    ledgers: list  # by their files' names
    reports: list
    fates: list
    stores: list  # names
    files: list  # paths of output
    scripts_folders: list

    @property
    def lost(self):
        return sum(each.get("lost", 0) for each in self.ledgers)

    @property
    def dropped_iterations(self):
        return sum(each.get("dropped_iterations", 0) for each in self.ledgers)

    @property
    def state(self):
        """The worst of all servers."""
        states = [each.get("state", "") for each in self.ledgers]
        return next((state for state in states if state != "finished"), "finished")


def look(run):
    """The run of this name: "heat", "folder/heat", "heat.h5", "heat.ledger.json". Refused where nothing of it is there."""
    path = pathlib.Path(run)
    name = path.name
    for suffix in (".ledger.json", ".report.json", ".run.json", *_FILES):
        name = name.removesuffix(suffix)
    ledgers = _of_one_run(_read_all(path.parent, name, "ledger"))
    if not ledgers:
        raise Refused(_why_none(path, name), BAD)
    sessions = {each.get("session") for each in ledgers}
    reports = [each for each in _read_all(path.parent, name, "report") if each.get("session") in sessions]
    stores = list(dict.fromkeys(store["name"] for each in ledgers for store in each.get("stores", [])))
    return Outcome(name, path.parent, ledgers, reports, _fates(ledgers), stores, _output_files(path.parent, name, ledgers),
                   sorted(each for each in path.parent.glob(f"{_escaped(name)}-scripts*") if each.is_dir()))


def _escaped(name):
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _why_none(path, name):
    if not path.parent.is_dir():
        return f'there is no folder "{path.parent}"'
    others = sorted(each.name.removesuffix(".ledger.json") for each in path.parent.glob("*.ledger.json"))
    there = f"; there are: {', '.join(others)}" if others else ""
    return f'no run "{name}" has been in {path.parent.resolve()}: there is no {name}.ledger.json{there}'


def _read_all(folder, name, kind):
    """All JSON files of a kind that are this simulation's, newest first."""
    found = []
    own = folder / f"{name}.{kind}.json"
    for path in [own, *folder.glob(f"{_escaped(name)}-*.{kind}.json")]:
        try:
            facts = json.loads(path.read_text(encoding="utf-8", errors="replace"))
            is_meant = path == own or facts.get("simulation") == name  # there may be a simulation heat-fine beside heat
            if is_meant and facts.get(f"leat_{kind}") == 1:
                found.append((path.stat().st_mtime, {**facts, "path": str(path)}))
        except (OSError, ValueError, AttributeError):
            continue
    return [facts for _, facts in sorted(found, key=lambda each: -each[0])]


def _of_one_run(ledgers):
    """Those of the newest run: its servers have one session, with a number behind it."""
    if not ledgers:
        return []
    first = ledgers[0].get("session", "")

    def base(session):
        head, _, number = session.rpartition(".")
        return head if number.isdigit() and head in sessions else session
    sessions = {each.get("session", "") for each in ledgers}
    same = [each for each in ledgers if base(each.get("session", "")) == base(first)]
    return sorted(same, key=lambda each: each["path"])


def _fates(ledgers):
    fates, counted = {}, {}
    for entry in (entry for ledger in ledgers for entry in ledger.get("entries", [])):
        name = entry.get("variable") or f"({entry.get('what', 'unknown')})"
        one = fates.setdefault(name, Fate(name))
        fate, blocks, iterations = entry.get("fate"), entry.get("blocks", 0), entry.get("iterations", [0, -1, 1])
        one.ranges.setdefault(fate, []).append(iterations)
        if fate == "written":
            one.written_blocks += blocks
            one.bytes += entry.get("bytes", 0)
            counted.setdefault(name, []).append(iterations)
        elif fate == "stored":
            one.stored[entry.get("store", "")] = one.stored.get(entry.get("store", ""), 0) + blocks
        elif fate in ("skipped", "dropped"):
            setattr(one, fate, getattr(one, fate) + blocks)
        elif fate in ("failed", "not written"):
            one.lost += blocks
            one.why = one.why or entry.get("why", "")
    for name, ranges in counted.items():
        fates[name].iterations = _count(ranges)
    return list(fates.values())


def _count(ranges):
    unique = {tuple(each) for each in ranges}
    lengths = [len(range(first, last + 1, max(1, step))) for first, last, step in unique]
    if sum(lengths) > _MOST_COUNTED:
        return max(last for _, last, _ in unique) - min(first for first, _, _ in unique) + 1
    return len(set().union(*(range(first, last + 1, max(1, step)) for first, last, step in unique)))


def _output_files(folder, name, ledgers):
    """Of this name, or such as stores with another `file` have written while the run was there."""
    begun = min((os.stat(each["path"]).st_mtime for each in ledgers), default=0)
    files = [each for suffix in _FILES for each in folder.glob(f"*{suffix}") if each.is_file() and not each.name.startswith(".")]

    names = {name, *(f"{name}-{each.get('node', '')}" for each in ledgers)}

    def is_of_run(path):
        return path.stem in names or abs(path.stat().st_mtime - begun) < _SECONDS_OF_CLOSING
    return sorted((each for each in files if is_of_run(each)), key=lambda each: (each.stem != name, each.name))


# Stores close their files right before the ledger is written for the last time.
_SECONDS_OF_CLOSING = 5
