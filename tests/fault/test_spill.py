# SPDX-License-Identifier: Apache-2.0
"""Spilled iterations whose files are removed, cut or changed: what cannot be read back as it was written is lost by name, and
nothing else is."""
import json
import os
import shutil
import signal

import h5py
import pytest
from leat_run import Run, data, same_bits
from stored_blocks import stored_ranks
from test_full import BYTES, all_write, await_log, config, open_gate, seed, spill, write_behind_the_gate
from test_ledger import in_file, said

COUNT, MORE = 12, 15  # iterations before and after the server dies
RANKS = 2


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


def spilled(disk):
    """{iteration: file} of the only session that spills there."""
    (folder,) = disk.iterdir()
    return {int(p.name.split("-")[1].split(".")[0]): p for p in folder.iterdir()}


def first(files):
    """The iteration that was spilled first: in the segment there is nothing of it any more."""
    return min(files, key=lambda i: files[i].stat().st_mtime_ns)


def change(path, at, what):
    with open(path, "r+b") as file:
        file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        file.write(what)


def cut(path, bytes_):
    os.truncate(path, bytes_)


def one_file(victim, iteration):
    """Damages one file: the cells (variable, rank, iteration) that are lost by it."""
    both = {("big", rank, iteration) for rank in range(RANKS)}
    return {
        "nothing": lambda path: set(),
        "removed": lambda path: path.unlink() or both,
        "empty": lambda path: cut(path, 0) or both,
        "its second block cut": lambda path: cut(path, path.stat().st_size - 1) or {("big", 1, iteration)},
        "a bit of its first block": lambda path: change(path, -2 * BYTES + 777, b"\x99") or {("big", 0, iteration)},
        "its head": lambda path: change(path, 80, b"\x99\x98\x97") or both,
        "a pipe": lambda path: path.unlink() or os.mkfifo(path) or both,
        "a folder": lambda path: path.unlink() or path.mkdir() or both,
        "a link to a good one": lambda path: path.rename(f"{path}.away") and path.symlink_to(f"{path}.away") or both,
    }[victim]


def check_all_but(run, lost, count):
    """Each cell that is not in `lost` is in the file bit for bit, and the ledger, the status and the log speak of the others."""
    whole = json.loads((run.folder / "run.ledger.json").read_text())
    assert said(whole["entries"], "not written") == lost
    assert whole["lost"] == len(lost) and whole["status"] == ("LEAT_ERROR_LOST" if lost else "LEAT_OK")
    all_cells = {("big", rank, i) for rank in range(RANKS) for i in range(count)}
    assert not said(whole["entries"], "stored", store="out") & lost
    with h5py.File(run.folder / "run.h5") as file:
        assert in_file(file, ["big"]) == all_cells - lost
        for row, i in enumerate(file["iteration"][:].tolist()):
            for rank, got in stored_ranks(file, "big", row).items():
                assert same_bits(got, data(BYTES, "u1", seed(i, rank))), (i, rank)
            assert file["leat/iteration_complete"][row] == int(not any((("big", r, i) in lost) for r in range(RANKS)))
    for variable, rank, i in lost:
        assert f'rank {rank}: "{variable}" of iteration {i}: block 0 is lost: ' in run.log()


def die_and_damage(run, disk, damage):
    """The server is killed with iterations on the disk, something happens to them, and another server goes on."""
    write_behind_the_gate(run, COUNT)
    os.kill(run.server(), signal.SIGKILL)
    run.await_end()
    lost = damage(spilled(disk))
    open_gate(run)
    for iteration in range(COUNT, MORE):
        assert all_write(run, iteration) == ["LEAT_OK"] * RANKS
    answers = run.finalize()
    assert [a.status for a in answers] == ["LEAT_ERROR_LOST" if lost else "LEAT_OK"] * RANKS
    return lost


@pytest.mark.parametrize("victim", ["nothing", "removed", "empty", "its second block cut", "a bit of its first block", "its head",
                                    "a pipe", "a folder", "a link to a good one"])
def test_of_a_file_that_is_damaged_while_no_server_lives_the_damaged_blocks_are_lost_by_name(tmp_path, disk, victim):
    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        lost = die_and_damage(run, disk, lambda files: one_file(victim, first(files))(files[first(files)]))
    check_all_but(run, lost, MORE)


@pytest.mark.parametrize("what", ["files", "session's folder", "disk"])
def test_when_all_that_was_spilled_is_gone_the_segment_is_stored_and_the_rest_is_lost_by_name(tmp_path, disk, what):
    def damage(files):
        folder = next(disk.iterdir())
        if what == "files":
            for path in files.values():
                path.unlink()
        else:
            shutil.rmtree(folder if what == "session's folder" else disk)
        return {("big", rank, i) for i in files for rank in range(RANKS)}

    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        lost = die_and_damage(run, disk, damage)
        assert ("nothing can be spilled: there is no folder" in run.log()) == (what == "disk")
    # The one that was written last may have been in the segment still.
    found = said(json.loads((tmp_path / "run.ledger.json").read_text())["entries"], "not written")
    assert found <= lost and len(found) >= len(lost) - RANKS
    check_all_but(run, found, MORE)


def test_files_that_are_removed_while_the_server_lives_are_read_all_the_same(tmp_path, disk):
    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        write_behind_the_gate(run, COUNT)
        assert len(spilled(disk)) >= 6
        shutil.rmtree(disk)
        for rank in run.ranks:
            rank.start("iterate", "big", BYTES, seed(COUNT, rank.number), 6)
        await_log(run, "cannot spill iteration")
        assert "No such file or directory; the simulation waits for the stores" in run.log()
        open_gate(run)
        assert all(rank.result().ok for rank in run.ranks)
        run.finish()
    check_all_but(run, set(), COUNT + 6)


def test_a_journal_that_is_removed_while_the_server_lives_is_written_anew_and_nothing_is_lost(tmp_path, disk):
    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        write_behind_the_gate(run, 8)
        (journal,) = run.runtime.glob("*.journal")
        journal.unlink()
        for iteration in range(8, COUNT):
            assert all_write(run, iteration) == ["LEAT_OK"] * RANKS
        os.kill(run.server(), signal.SIGKILL)
        open_gate(run)
        for iteration in range(COUNT, MORE):
            assert all_write(run, iteration) == ["LEAT_OK"] * RANKS
        run.finish()
    check_all_but(run, set(), MORE)


def test_when_the_journal_is_removed_while_no_server_lives_all_that_it_spoke_of_counts_as_lost(tmp_path, disk):
    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        def damage(files):
            (journal,) = run.runtime.glob("*.journal")
            journal.unlink()
            return set(files)

        spilled_ones = die_and_damage(run, disk, damage)
    entries = json.loads((tmp_path / "run.ledger.json").read_text())["entries"]
    lost = {(rank, i) for _, rank, i in said(entries, "not written")}
    with h5py.File(tmp_path / "run.h5") as file:
        there = {(rank, i) for _, rank, i in in_file(file, ["big"])}
    assert lost | there == {(rank, i) for rank in range(RANKS) for i in range(MORE)} and not lost & there
    assert {i for _, i in lost} <= spilled_ones and "the journal of the session, " in run.log()


def test_servers_that_die_one_after_the_other_lose_nothing_that_was_spilled(tmp_path, disk):
    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        write_behind_the_gate(run, COUNT)
        last = COUNT
        for _ in range(3):
            os.kill(run.server(), signal.SIGKILL)
            run.await_end()
            for _ in range(3):
                assert all_write(run, last) == ["LEAT_OK"] * RANKS
                last += 1
        open_gate(run)
        run.finish()
        assert list(disk.iterdir()) == []
    check_all_but(run, set(), last)


def test_with_few_descriptors_the_simulation_waits_and_nothing_is_lost(tmp_path, disk):
    with Run(tmp_path, config(spill(disk), room=6), ranks=RANKS) as run:
        run.init()
        os.system(f"prlimit --pid {run.server()} --nofile=60:60")
        for rank in run.ranks:
            rank.start("iterate", "big", BYTES, seed(0, rank.number), 20)
        await_log(run, "files open (ulimit -n)")
        assert 10 <= len(spilled(disk)) <= 13
        open_gate(run)
        assert all(rank.result().ok for rank in run.ranks)
        run.finish()
    check_all_but(run, set(), 20)
