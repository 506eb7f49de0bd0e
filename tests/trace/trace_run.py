# SPDX-License-Identifier: Apache-2.0
"""A Run that writes a trace, and the trace as Perfetto's own messages have it."""
import json
import pathlib
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from leat_run import BUILD, LIMIT, xml
from readers import python_of

DATA = ('<layout name="row" type="double" dimensions="1024" names="x"/><variable name="a" layout="row"/><variable name="b" layout="row"/>')
BYTES = 8192


def config(data=DATA, path="run.pftrace", **others):
    return xml(data, **others).replace('<simulation name="run"', f'<simulation name="run" trace="{path}"')


def write(run, iterations, names=("a", "b"), between=lambda: None):
    for iteration in iterations:
        for rank in run.ranks:
            for name in names:
                assert rank.write(name, BYTES, iteration).ok
        between()
        for rank in run.ranks:
            rank.end()


def leat(folder, *words, **others):
    return subprocess.run([BUILD / "bin/leat", *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT, **others)


@dataclass
class Slice:
    begun: int
    name: str
    depth: int
    facts: dict
    ended: int = None
    within: "Slice" = None


@dataclass
class Track:
    name: str
    node: str
    slices: list = field(default_factory=list)
    moments: list = field(default_factory=list)
    numbers: list = field(default_factory=list)
    open: int = 0  # slices without an end
    more_ends: int = 0  # than begins

    def named(self, name):
        return [each for each in self.slices if each.name == name]


class Trace:
    def __init__(self, path):
        done = subprocess.run([python_of("perfetto"), pathlib.Path(__file__).parent / "decode.py", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        self.bytes, self.packets, self.clocks = found["bytes"], found["packets"], found["clocks"]
        self.roots = {int(uuid): each for uuid, each in found["tracks"].items() if each["parent"] == 0}
        tracks = {int(uuid): Track(each["name"], self.roots[each["parent"]]["name"])
                  for uuid, each in found["tracks"].items() if each["parent"] != 0}
        self.said = Counter(event["type"] for event in found["events"])
        # As Perfetto does: by time, and of the same time in the order of the file.
        stacks = {uuid: [] for uuid in tracks}
        for event in sorted(found["events"], key=lambda event: event["at"]):
            self.take(tracks[event["track"]], stacks[event["track"]], event)
        for uuid, stack in stacks.items():
            tracks[uuid].open = len(stack)
        self.all = list(tracks.values())

    @staticmethod
    def take(track, stack, event):
        if event["type"] == "begin":
            stack.append(Slice(event["at"], event["name"], len(stack), event, within=stack[-1] if stack else None))
            track.slices.append(stack[-1])
        elif event["type"] == "end" and stack:
            stack.pop().ended = event["at"]
        elif event["type"] == "end":
            track.more_ends += 1
        elif event["type"] == "instant":
            track.moments.append(event["name"])
        else:
            track.numbers.append(event["value"])

    def __getitem__(self, name):
        (found,) = [track for track in self.all if track.name == name]
        return found

    @property
    def ranks(self):
        return sorted((track for track in self.all if track.name.startswith("rank ")), key=lambda track: track.name)

    def count(self, name):
        return sum(len(track.named(name)) for track in self.ranks)

    def check_whole(self):
        """Each begin has its end, and what lies within another slice does so in time."""
        for track in self.all:
            assert (track.open, track.more_ends) == (0, 0), track
            for each in track.slices:
                assert each.begun <= each.ended, each
                assert each.within is None or each.within.begun <= each.begun and each.ended <= each.within.ended, each
