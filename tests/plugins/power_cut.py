# SPDX-License-Identifier: Apache-2.0
"""What a disk may hold after a power cut, from strace's record of a run: what was waited for (fsync), and of all else any
part, torn at sectors. Names in the folder count likewise."""
import re
from dataclasses import dataclass, field

from journal_bytes import HEAD, MAGIC, is_whole, of_another_boot, with_inode

STRACE = ["strace", "-qq", "-xx", "-s", "100000000", "-e",
          "trace=openat,linkat,rename,renameat,renameat2,unlink,unlinkat,close,pwrite64,pwritev,write,fallocate,ftruncate,fsync,fdatasync"]
SECTOR = 512
FILE, JOURNAL, FOLDER = "file", "journal", "folder"


@dataclass
class Call:
    name: str
    arguments: str
    result: int

    def texts(self):
        return [bytes.fromhex(t.replace("\\x", "")) for t in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', self.arguments)]

    def numbers(self):
        return [int(n) for n in re.findall(r"(?<![\w\"])-?\d+(?!\w)", re.sub(r'"[^"]*"', "", self.arguments))]


def calls_in(path):
    for line in path.read_text().splitlines():
        if found := re.match(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)", line):
            yield Call(found[1], found[2], int(found[3]))


@dataclass
class Event:
    """One change, or a wait (kind "sync") for all changes before it of the same `of`."""
    kind: str
    of: str
    at: int = 0
    data: bytes = b""
    said: int = 0  # iterations that were said to be stored, before this


@dataclass
class Record:
    events: list = field(default_factory=list)
    named_part: bool = False


def record_of(trace, name="run.h5"):
    """The events of the output file, its journal and its folder."""
    record, of, said = Record(), {}, -1  # the first answer is that of open()
    for call in calls_in(trace):
        def add(kind, which, at=0, data=b""):
            record.events.append(Event(kind, which, at, data, max(said, 0)))

        if call.result < 0:
            continue
        if call.name == "openat":
            path = call.texts()[0].decode()
            of.pop(call.result, None)
            if path.endswith("journal.part"):
                of[call.result] = JOURNAL
            elif "O_TMPFILE" in call.arguments or path.endswith(f".{name}.part"):
                # The journal is made when there is something in the file.
                of[call.result] = JOURNAL if FILE in of.values() else FILE
                record.named_part |= path.endswith(".part")
            elif "O_DIRECTORY" in call.arguments:
                of[call.result] = FOLDER
        elif call.name in ("linkat", "rename", "renameat", "renameat2"):
            add("name", JOURNAL if call.texts()[-1].endswith(b".journal") else FILE)
        elif call.name in ("unlink", "unlinkat") and call.texts()[0].endswith(b".journal"):
            add("unname", JOURNAL)
        elif call.name == "close":
            of.pop(call.numbers()[0], None)
        elif call.name == "write" and call.numbers()[0] == 1:
            said += b'"code":0' in call.texts()[0]
        elif call.name in ("pwrite64", "pwritev", "fallocate", "ftruncate", "fsync", "fdatasync") and call.numbers()[0] in of:
            which, numbers = of[call.numbers()[0]], call.numbers()
            if call.name in ("pwrite64", "pwritev"):
                add("write", which, numbers[-1], b"".join(call.texts()))
            elif call.name == "fallocate":
                add("length", which, numbers[-1] + numbers[-2])
            elif call.name == "ftruncate":
                add("cut", which, numbers[-1])
            else:
                add("sync", which)
    record.events.append(Event("end", "", said=max(said, 0)))
    return record


def pieces(event):
    """A write as the disk does it: sector by sector."""
    if event.kind != "write":
        return [event]
    ends = list(range((event.at // SECTOR + 1) * SECTOR, event.at + len(event.data), SECTOR)) + [event.at + len(event.data)]
    begins = [event.at] + ends[:-1]
    return [Event("write", event.of, b, event.data[b - event.at:e - event.at]) for b, e in zip(begins, ends)]


class Disk:
    """After a cut behind `events`; `dice` decides on what was not waited for."""

    def __init__(self, events, dice):
        self.content = {FILE: bytearray(), JOURNAL: bytearray()}
        self.names = set()
        synced = {}  # index of the last wait
        for i, event in enumerate(events):
            if event.kind == "sync":
                synced[event.of] = i
        luck = {of: dice.choice([0.0, 0.1, 0.5, 0.9, 1.0]) for of in (FILE, JOURNAL, FOLDER)}
        for i, event in enumerate(events):
            waits_for = FOLDER if event.kind in ("name", "unname") else event.of
            is_safe = i < synced.get(waits_for, -1)
            for piece in pieces(event):
                if is_safe or dice.random() < luck.get(waits_for, 0):
                    self.do(piece)

    def do(self, event):
        content = self.content.get(event.of)
        if event.kind == "write":
            end = event.at + len(event.data)
            content.extend(bytes(max(0, end - len(content))))
            content[event.at:end] = event.data
        elif event.kind == "length":
            content.extend(bytes(max(0, event.at - len(content))))
        elif event.kind == "cut":
            del content[event.at:]
        elif event.kind == "name":
            self.names.add(event.of)
        elif event.kind == "unname":
            self.names.discard(event.of)

    def write_to(self, folder, name="run.h5"):
        if FILE in self.names:
            (folder / name).write_bytes(self.content[FILE])
        if JOURNAL in self.names:
            # The records name the file by its inode, which is another one here, and the boot before the cut.
            inode = (folder / name).stat().st_ino if FILE in self.names else 0
            text = bytes(self.content[JOURNAL])
            for found in [m.start() for m in re.finditer(MAGIC, text)]:
                head = text[found:found + HEAD]
                if len(head) == HEAD and is_whole(head):
                    text = text[:found] + of_another_boot(with_inode(head, inode)) + text[found + HEAD:]
            (folder / f".{name}.journal").write_bytes(text)
