# SPDX-License-Identifier: Apache-2.0
"""Examples that go on after the end of a job: in parts, killed on the way, and what NumPy makes of their raw output."""
import os
import pathlib
import signal
import subprocess
import time

import h5py
from h5_compare import expect_same
from leat_run import BUILD, LIMIT

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
WHO = ["session", "leat/ledger", "leat/ledger_length"]


def environment(folder):
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**os.environ, **more, "LEAT_RUNTIME_DIR": str(folder / "r")}


def prepared(folder, xml, raw):
    """The XML of an example in a folder of its own. raw: what `<variable name=...` of those to be kept in each iteration begin with."""
    folder.mkdir()
    text = xml.read_text()
    for name in raw:
        head, found, tail = text.partition(f'<variable name="{name}"')
        assert found
        text = head + found + tail.replace('store="', 'store="raw, ', 1)
    kept = '<storage>\n    <store name="raw" type="hdf5" file="raw.h5" append="true"/>'
    (folder / xml.name).write_text(text.replace("<storage>", kept))
    return folder


def processes_of(folder):
    """Those of a run in this folder, by what their environment says."""
    mark, found = f"LEAT_RUNTIME_DIR={folder / 'r'}".encode(), []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def until(what):
    end = time.monotonic() + 2 * LIMIT
    while not (seen := what()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return seen


def iterations(path):
    try:
        with h5py.File(path) as file:
            return file["iteration"][:].tolist()
    except OSError:
        return []


def checkpoints(folder):
    return sorted(int(path.name[len("checkpoint-"):].split(".")[0]) for path in folder.glob("*.checkpoint/checkpoint-*.index"))


def kill_behind(folder, ranks, program, xml, file, row):
    """SIGKILL for all processes of a run that would not end, once `file` has so many rows. The newest checkpoint then."""
    words = ["mpirun", "--oversubscribe", "-n", str(ranks), str(BUILD / "bin" / program), xml, "100000000"]
    with open(folder / "said", "w") as said:
        run = subprocess.Popen(words, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    until(lambda: len(iterations(folder / file)) > row)
    (session,) = {name for pid in processes_of(folder) for name in session_of(pid)}
    while found := processes_of(folder):
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        run.poll()
    run.wait()
    # What they had handed over lies in memory; the next run on the node would store it, too.
    done = subprocess.run([BUILD / "bin/leat", "recover", session], cwd=folder, env=environment(folder), capture_output=True, text=True)
    # Nothing may be left, and the iteration in which ranks died may lack something: that is 1.
    assert done.returncode in (0, 1) and "are stored now" in done.stderr or "no session of this name was killed" in done.stderr, done
    until(lambda: not processes_of(folder))
    return checkpoints(folder)[-1]


def session_of(pid):
    """Of a server; of others none."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []
    return words[words.index("--session") + 1:][:1] if "--session" in words else []


def expect_same_output(folder, whole, but=()):
    names = sorted(path.name for path in whole.glob("*.h5"))
    assert names == sorted(path.name for path in folder.glob("*.h5")) and len(names) > 2
    for name in names:
        expect_same(folder / name, whole / name, but=[*WHO, *but])
