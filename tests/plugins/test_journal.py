# SPDX-License-Identifier: Apache-2.0
"""`leat recover` over damaged, cut and foreign journals, and over things that are no files: it gives back what a good journal
gives back, to the last bit, or says that it does not, changes nothing and removes nothing."""
import os
import random
import shutil
import socket
import subprocess

import h5py
import numpy as np
import pytest
from journal_bytes import HEAD, length_of, with_inode
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits

VARIABLES = [variable("a", "f8", ["x"]), variable("r", "f8", ["?n"]), variable("g", "f4", ["y", "x"], **{"global": 1})]
SOON = 20  # seconds; nothing here waits for anything
NOT_FINISHED = 3
READY = (0x4E4F5754414B4531).to_bytes(8, "little")  # the state of a record whose changes may have begun


def blocks(plugin, i):
    return [plugin.block(0, (300,), i), plugin.block(1, (7 * i % 5,), i),
            plugin.block(2, (30, 40), i, position=[0, 0], **{"global": [30, 40]})]


def run_until(folder, write, count=8):
    folder.mkdir()
    wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=pwrite64:signal=KILL:when={write}"] if write else []
    plugin = Plugin(folder, VARIABLES, wrapper=wrapper, session="s1")
    try:
        for i in range(count):
            plugin.must(i, *blocks(plugin, i))
    except (ValueError, OSError):  # no answer
        pass
    plugin.kill()


def recover(path):
    return subprocess.run([BUILD / "bin/leat", "recover", path.name], cwd=path.parent, capture_output=True, text=True, timeout=SOON)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """(file, journal, file as a good journal makes it) of a run that was killed in the midst of a commit."""
    folder = tmp_path_factory.mktemp("killed")
    for write in range(150, 300):
        run = folder / str(write)
        run_until(run, write)
        file, journal = run / "run.h5", run / ".run.h5.journal"
        before, notes = file.read_bytes(), journal.read_bytes()
        if notes[8:16] == READY and "last commit is finished now" in recover(file).stdout and file.read_bytes() != before:
            assert os.listdir(run) == ["run.h5"]
            return before, notes, file.read_bytes()
    raise AssertionError("no kill fell into the changes of a commit")


class Beside:
    """A file, always the same inode, with a journal beside it."""

    def __init__(self, folder):
        self.file, self.journal, self.kept = folder / "run.h5", folder / ".run.h5.journal", folder / "run.h5.journal.damaged"
        self.file.touch()

    def put(self, data, notes):
        self.kept.unlink(missing_ok=True)
        with open(self.file, "r+b") as file:
            file.truncate(0)
            file.write(data)
        self.journal.write_bytes(notes)


def for_inode(notes, file):
    """The journal of a file that has another inode, as the store would have written it."""
    return with_inode(notes[:HEAD], file.stat().st_ino) + notes[HEAD:]


def test_each_flip_and_each_cut_of_a_journal_is_said_and_nothing_is_changed_or_removed(killed, tmp_path):
    data, notes, good = killed
    beside = Beside(tmp_path)
    notes = for_inode(notes, beside.file)
    beside.put(data, notes)
    assert recover(beside.file).returncode == 0 and beside.file.read_bytes() == good
    dice = random.Random(14)
    length = length_of(notes)
    variants = [notes[:cut] for cut in [0, 1, 7, 8, 95, 96, length - 1, length, length + 50, *dice.sample(range(length), 20)]]
    for at in [*range(0, HEAD, 2), *dice.sample(range(HEAD, length + HEAD), 60)]:
        flipped = bytearray(notes)
        flipped[at] ^= 1 << dice.randrange(8)
        variants.append(bytes(flipped))
    for variant in variants:
        beside.put(data, variant)
        done = recover(beside.file)
        assert done.returncode == NOT_FINISHED, (done, variant == notes)
        assert "its journal .run.h5.journal is damaged: " in done.stderr and "kept as run.h5.journal.damaged" in done.stderr
        assert "its last commit is NOT finished; " in done.stdout
        assert beside.file.read_bytes() == data and beside.kept.read_bytes() == variant and not beside.journal.exists()
    # Nothing was removed, so a good copy of the journal still helps.
    beside.put(data, notes)
    assert recover(beside.file).returncode == 0 and beside.file.read_bytes() == good


def test_a_journal_of_another_file_or_of_a_changed_one_is_not_applied(killed, tmp_path):
    data, notes, _ = killed
    beside = Beside(tmp_path)
    other = tmp_path / "of-the-other-inode"
    other.touch()
    beside.put(data, for_inode(notes, other))
    done = recover(beside.file)
    assert done.returncode == NOT_FINISHED and "is of another file, or of the one from which this was copied" in done.stderr
    assert beside.file.read_bytes() == data and beside.kept.exists()
    run_until(tmp_path / "other", 0, 1)  # the inode given out again
    foreign = (tmp_path / "other/run.h5").read_bytes()
    beside.put(foreign, for_inode(notes, beside.file))
    done = recover(beside.file)
    assert done.returncode == NOT_FINISHED and "does not fit the file" in done.stderr, done
    assert beside.file.read_bytes() == foreign and beside.kept.exists()


def test_journals_that_were_kept_do_not_replace_each_other(killed, tmp_path):
    data, notes, _ = killed
    beside = Beside(tmp_path)
    for cut in (10, 20, 30):
        beside.file.write_bytes(data)
        beside.journal.write_bytes(notes[:cut])
        assert recover(beside.file).returncode == NOT_FINISHED
    assert [p.stat().st_size for p in sorted(tmp_path.glob("run.h5.journal.damaged*"))] == [10, 20, 30]


@pytest.mark.parametrize("resumed", [0, 1])
def test_the_next_writer_keeps_file_and_journal_and_says_so(killed, tmp_path, resumed):
    data, notes, _ = killed
    beside = Beside(tmp_path)
    beside.put(data, for_inode(notes, beside.file)[:length_of(notes) - 200])
    plugin = Plugin(tmp_path, VARIABLES, session="s1", resumed=resumed)
    plugin.must(7, *blocks(plugin, 7))
    warnings = plugin.finish()
    assert "cannot be finished: its journal" in warnings and "run.h5.journal.damaged" in warnings, warnings
    assert (tmp_path / "run.1.h5").read_bytes() == data and beside.kept.exists() and not beside.journal.exists()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [7] and same_bits(file["a"][0].reshape(-1), array((300,), "f8", 7))


def make(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # a short name
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(here)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to("nowhere")


@pytest.mark.parametrize("kind, said", [("pipe", "is a pipe, and no file"), ("socket", "is a socket, and no file"),
                                        ("device", "is a device, and no file")])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, kind, said):
    path = tmp_path / "run.h5"
    make(kind, path)
    for verb in ("recover", "ls"):
        done = subprocess.run([BUILD / "bin/leat", verb, path.name], cwd=tmp_path, capture_output=True, text=True, timeout=SOON)
        assert verb == "ls" or done.returncode == 1 and said in done.stderr, done


@pytest.mark.parametrize("kind, said", [("pipe", "is a pipe"), ("folder", "is a folder"), ("socket", "is a socket"),
                                        ("device", "is a link"), ("link", "is a link")])
def test_what_is_no_journal_is_said_and_kept_and_is_not_in_the_way(killed, tmp_path, kind, said):
    beside = Beside(tmp_path)
    beside.file.write_bytes(killed[2])
    make(kind, beside.journal)
    done = recover(beside.file)
    assert done.returncode == NOT_FINISHED and said in done.stderr and os.path.lexists(beside.kept), done
    assert beside.file.read_bytes() == killed[2]
    beside.file.unlink()
    make(kind, beside.journal)
    plugin = Plugin(tmp_path, VARIABLES)
    plugin.must(0, *blocks(plugin, 0))
    plugin.finish()
    assert recover(beside.file).returncode == 0


def test_data_whose_checksum_says_that_they_changed_are_not_good(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options={"compression": "deflate:1"})
    for i in range(4):
        plugin.must(i, *blocks(plugin, i))
    plugin.finish()
    path = tmp_path / "run.h5"
    assert recover(path).returncode == 0
    with h5py.File(path) as file:
        chunk = file["g"].id.get_chunk_info(2)
    whole = path.read_bytes()
    for at in np.linspace(chunk.byte_offset + 20, chunk.byte_offset + chunk.size - 1, 10, dtype=int):
        changed = bytearray(whole)
        changed[at] ^= 4
        path.write_bytes(changed)
        done = recover(path)
        assert done.returncode == 1 and 'damaged: data of "g", rows ' in done.stderr, done
    shutil.rmtree(tmp_path)
