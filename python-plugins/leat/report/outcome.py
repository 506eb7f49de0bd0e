# SPDX-License-Identifier: Apache-2.0
"""What became of a run, from what lies beside it: its ledgers and reports. Needs nothing but Python; see `files` for what h5py adds."""
import os
import pathlib
import platform
import time
from dataclasses import dataclass, field

from .. import control
from ..planning.words import BAD, Refused, counted
from . import files
from .written import read_all

# Iterations are counted one by one up to so many; more are taken as the ledger has them, in ranges that may overlap.
_MOST_COUNTED = 2_000_000


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

    @property
    def is_counted(self):
        """False: the ledger knows of iterations only, as of those that were dropped."""
        return bool(self.written_blocks or self.stored or self.skipped or self.dropped or self.lost)


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

    @property
    def is_killed(self):
        """It says that it runs, and nothing of it does on this node any more."""
        return self.state == "running" and any(_is_dead(each) for each in self.ledgers if each.get("state") == "running")

    @property
    def is_good(self):
        return self.lost == 0 and self.state in ("finished", "running") and not self.is_killed

    @property
    def summary(self):
        result = "nothing lost" if self.lost == 0 else f"{counted(self.lost, 'write')} LOST"
        if self.is_killed:
            return f"killed: nothing of it runs here any more; as of {self._last_written}, {result}"
        return f"running; as of {self._last_written}, {result}" if self.state == "running" else f"{self.state}, {result}"

    @property
    def _last_written(self):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(max(os.stat(each["path"]).st_mtime for each in self.ledgers)))

    @property
    def stored_until(self):
        """{store: the last iteration that it had when a server took over}: none of these is counted."""
        found = {}
        for store in (store for each in self.ledgers for store in each.get("stores", [])):
            if store.get("stored_until") is not None:
                found[store.get("name", "")] = max(store["stored_until"], found.get(store.get("name", ""), -1))
        return found

    @property
    def scripts_amiss(self):
        """What the ledgers say of scripts that failed or left iterations out."""
        return [each for ledger in self.ledgers for each in ledger.get("scripts", [])
                if each.get("failed") or each.get("skipped") or each.get("why")]

    def uncounted(self):
        """Sentences of what the numbers leave out."""
        for store, last in self.stored_until.items():
            yield f'a server died: store "{store}" has what it wants up to iteration {last}, which is not counted here'
        drained = [each["drained"] for each in self.ledgers if each.get("drained")]
        if drained:
            yield (f"everything of it was killed; {counted(sum(each.get('iterations', 0) for each in drained), 'iteration')} that were in "
                   "memory were stored afterwards")
        dropped = [each for fate in self.fates for each in fate.ranges.get("dropped", [])]
        if self.dropped_iterations:
            yield f"{counted(self.dropped_iterations, 'iteration')} dropped, as the XML allows{_listed(dropped)}"


def look(run):
    """The run of this name: "heat", "folder/heat", "heat.h5", "heat.ledger.json". Refused where nothing of it is there."""
    path = pathlib.Path(run)
    name = path.name
    for suffix in (".ledger.json", ".report.json", ".run.json", *files.ENDINGS):
        name = name.removesuffix(suffix)
    found, damaged = read_all(path.parent, name, "ledger")
    ledgers = _of_one_run(found)
    if not ledgers:
        raise Refused(_why_none(path, name, damaged), BAD)
    runs = {each.get("run_id") for each in ledgers}
    reports = [each for each in read_all(path.parent, name, "report")[0] if each["run_id"] in runs]
    stores = list(dict.fromkeys(store.get("name", "") for each in ledgers for store in each.get("stores", [])))
    return Outcome(name, path.parent, ledgers, reports, _fates(ledgers), stores, files.of_run(path.parent, name, ledgers),
                   files.scripts_folders(path.parent, ledgers))


def _is_dead(ledger):
    is_here = ledger.get("node") in (platform.node(), platform.node().partition(".")[0])
    try:
        is_ours = os.stat(ledger["path"]).st_uid == os.geteuid()  # of others nothing is to be seen
        return is_here and is_ours and not control.lives(ledger.get("session", ""))
    except OSError:
        return False


def _why_none(path, name, damaged):
    if not path.parent.is_dir():
        return f'there is no folder "{path.parent}"'
    if damaged:
        return f"{damaged[0]} is damaged, or of another version of Leat"
    others = sorted(each.name.removesuffix(".ledger.json") for each in path.parent.glob("*.ledger.json"))
    there = f"; there are: {', '.join(others)}" if others else ""
    return f'no run "{name}" has been in {path.parent.resolve()}: there is no {name}.ledger.json{there}'


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
    fates, counts = {}, {}
    for entry in (entry for ledger in ledgers for entry in ledger.get("entries", [])):
        name = entry.get("variable") or f"({entry.get('what', 'unknown')})"
        one = fates.setdefault(name, Fate(name))
        fate, blocks, iterations = entry.get("fate"), entry.get("blocks", 0), entry.get("iterations", [0, -1, 1])
        one.ranges.setdefault(fate, []).append(iterations)
        if fate == "written":
            one.written_blocks += blocks
            one.bytes += entry.get("bytes", 0)
            counts.setdefault(name, []).append(iterations)
        elif fate == "stored":
            one.stored[entry.get("store", "")] = one.stored.get(entry.get("store", ""), 0) + blocks
        elif fate in ("skipped", "dropped"):
            setattr(one, fate, getattr(one, fate) + blocks)
        elif fate in ("failed", "not written"):
            one.lost += blocks
            one.why = one.why or entry.get("why", "")
    for name, ranges in counts.items():
        fates[name].iterations = _count(ranges)
    return list(fates.values())


def _count(ranges):
    unique = {tuple(each) for each in ranges}
    lengths = [len(range(first, last + 1, max(1, step))) for first, last, step in unique]
    if sum(lengths) > _MOST_COUNTED:
        return max(last for _, last, _ in unique) - min(first for first, _, _ in unique) + 1
    return len(set().union(*(range(first, last + 1, max(1, step)) for first, last, step in unique)))


def _listed(ranges):
    """": 3, 7 to 12, ..." of [first, last, step]."""
    most = 5
    told = [str(first) if first == last else f"{first} to {last}" for first, last, _ in sorted({tuple(each) for each in ranges})]
    return f": {', '.join(told[:most])}{', ...' if len(told) > most else ''}" if told else ""
