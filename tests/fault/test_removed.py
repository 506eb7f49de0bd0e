# SPDX-License-Identifier: Apache-2.0
"""Somebody removes, renames or replaces what a run is writing; whole runs, judged by h5py and by what was said."""
import contextlib
import json
import os
import re
import shutil
import signal
import time

import h5py
import pytest
from leat_run import BUILD, Run, data, same_bits, xml
from test_disk_full import await_that, disk_of, rows_in

BYTES = 1 << 16
DATA = f'<layout name="big" type="uint8" dimensions="{BYTES}"/><variable name="big" layout="big"/>'
BEFORE, AFTER, MANY = 5, 4, 40  # iterations


def store(folder, options=""):
    return f'<store name="out" type="hdf5" folder="{folder}" {options}/>'


def remove(out):
    (out / "run.h5").unlink()


def remove_folder(out):
    shutil.rmtree(out)


def rename(out):
    (out / "run.h5").rename(out / "mine.h5")


def move_to_other_folder(out):
    (out.parent / "elsewhere").mkdir()
    (out / "run.h5").rename(out.parent / "elsewhere" / "run.h5")


def rename_folder(out):
    out.rename(out.parent / "renamed")


def replace(out):
    (out / "other").write_text("not of this run")
    (out / "other").rename(out / "run.h5")


def replace_by_copy(out):
    shutil.copy(out / "run.h5", out / "copy")
    (out / "copy").rename(out / "run.h5")


def remove_with_link_elsewhere(out):
    os.link(out / "run.h5", out.parent / "kept.h5")
    (out / "run.h5").unlink()


HARM = [remove, remove_folder, rename, move_to_other_folder, rename_folder, replace, replace_by_copy, remove_with_link_elsewhere]


def iterate(rank, numbers):
    for number in numbers:
        assert rank.write("big", BYTES, number).ok
        rank.end()


def check(path, numbers):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(numbers) and file["leat/iteration_complete"][:].all()
        for row, number in enumerate(numbers):
            assert same_bits(file["big"][row], data(BYTES, "u1", number)), number


def ledger(run, folder=None):
    return json.loads(((folder or run.folder) / "run.ledger.json").read_text())


def left_in(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


@contextlib.contextmanager
def harmed_run(folder, harm, options=""):
    """A run whose first iterations are in its file when harm comes to that, its rank, and the folder of the file."""
    out = folder / "out"
    out.mkdir()
    with Run(folder, xml(DATA, store=store("out", options))) as run:
        (rank,) = run.init()
        iterate(rank, range(BEFORE))
        await_that(lambda: rows_in(out / "run.h5") == list(range(BEFORE)), run.log())
        harm(out)
        yield run, rank, out


@pytest.mark.parametrize("durability", ["close", "iteration"])
@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_what_was_removed_renamed_or_replaced_is_whole_at_the_end(tmp_path, harm, durability):
    with harmed_run(tmp_path, harm, f'durability="{durability}"') as (run, rank, out):
        iterate(rank, range(BEFORE, BEFORE + 1))
        await_that(lambda: "while this run was writing it" in run.log(), "it is not said at once")
        iterate(rank, range(BEFORE + 1, BEFORE + AFTER))
        run.finish()
    name = "run.1.h5" if "replace" in harm.__name__ else "run.h5"
    check(out / name, range(BEFORE + AFTER))
    assert f"out/{name}" in run.log() and not left_in(out)
    told = ledger(run)
    assert told["status"] == "LEAT_OK" and told["lost"] == 0
    if harm is replace:
        assert (out / "run.h5").read_text() == "not of this run"


@pytest.mark.parametrize("harm", [remove, remove_folder, replace], ids=lambda harm: harm.__name__)
def test_also_when_nothing_is_written_after_it(tmp_path, harm):
    with harmed_run(tmp_path, harm) as (run, _, out):
        run.finish()
    check(out / ("run.1.h5" if harm is replace else "run.h5"), range(BEFORE))


def test_again_and_again(tmp_path):
    with Run(tmp_path, xml(DATA, store=store("."))) as run:
        (rank,) = run.init()
        for number in range(BEFORE):
            iterate(rank, [number])
            await_that(lambda: rows_in(tmp_path / "run.h5") == list(range(number + 1)), run.log())
            (tmp_path / "run.h5").unlink()
        run.finish()
    check(tmp_path / "run.h5", range(BEFORE))


def test_the_folder_in_which_the_run_works(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    with Run(work, xml(DATA)) as run:
        run.environment.clear()
        (rank,) = run.init()
        iterate(rank, range(BEFORE))
        await_that(lambda: rows_in(work / "run.h5") == list(range(BEFORE)), run.log())
        log = os.open(work / "rank0.err", os.O_RDONLY)
        shutil.rmtree(work)
        iterate(rank, range(BEFORE, BEFORE + AFTER))
        run.finish()
        (work / "rank0.err").write_bytes(os.read(log, 1 << 20))
        os.close(log)
    check(work / "run.h5", range(BEFORE + AFTER))
    assert ledger(run)["lost"] == 0 and ledger(run)["state"] == "finished"


@pytest.mark.parametrize("room_again", [True, False], ids=["room again", "no room again"])
def test_without_room_for_it_the_loss_is_known(tmp_path, room_again):
    folder = tmp_path / "disk"
    with disk_of("mounted", folder) as disk:
        with Run(tmp_path, xml(DATA, store=store(folder))) as run:
            (rank,) = run.init()
            iterate(rank, range(MANY))
            await_that(lambda: rows_in(folder / "run.h5") == list(range(MANY)), run.log())
            disk.fill(run)
            (folder / "run.h5").unlink()
            iterate(rank, range(MANY, 2 * MANY))
            await_that(lambda: f"iteration {2 * MANY - 1}: " in run.log(), run.log())
            if room_again:
                disk.make_room(run)
                iterate(rank, [2 * MANY])
            (answer,) = run.finalize()
            assert answer.status == "LEAT_ERROR_LOST"
        told = ledger(run)
        lost = {n for e in told["entries"] if e["fate"] == "failed" for n in range(e["iterations"][0], e["iterations"][1] + 1)}
        if room_again:
            stored = [n for n in range(2 * MANY + 1) if n not in lost]
            assert "failed" not in told["stores"][0] and 2 * MANY - 1 in lost and len(stored) > MANY
            check(folder / "run.h5", stored)
        else:
            assert 2 * MANY - 1 in lost and f"{2 * MANY - len(lost)} iterations, 0 to" in told["stores"][0]["failed"]
            assert not (folder / "run.h5").exists()


@pytest.mark.parametrize("harm", [remove, replace, replace_by_copy, rename], ids=lambda harm: harm.__name__)
def test_a_server_that_takes_over_goes_on_with_the_right_file(tmp_path, harm):
    with harmed_run(tmp_path, harm) as (run, rank, out):
        iterate(rank, [BEFORE])
        await_that(lambda: "while this run was writing it" in run.log(), "it is not said at once")
        os.kill(run.server(), signal.SIGKILL)
        iterate(rank, range(BEFORE + 1, BEFORE + AFTER))
        run.finish()
    check(out / ("run.1.h5" if "replace" in harm.__name__ else "run.h5"), range(BEFORE + AFTER))
    assert not left_in(out)


def test_what_a_store_had_before_the_others_is_lost_with_its_file_and_said_to_be(tmp_path):
    """The server dies while another store is at an iteration that this one has."""
    gate = f'<store name="gate" library="{BUILD}/lib/leat/test/gate.so"/>'
    with Run(tmp_path, xml(DATA, store='<store name="out" type="hdf5"/>' + gate)) as run:
        (rank,) = run.init()
        iterate(rank, [0])
        await_that(lambda: (tmp_path / "begun-0").exists(), "the gate has nothing")
        killed = run.server()
        os.kill(killed, signal.SIGKILL)
        (tmp_path / "run.h5").unlink()
        (tmp_path / "gate-open").touch()
        iterate(rank, [1])
        (answer,) = run.finalize()
    assert rows_in(tmp_path / "run.h5") == [1]
    assert answer.status == "LEAT_ERROR_LOST"
    assert "up to iteration 0 at least, is lost" in ledger(run)["stores"][0]["failed"]


def test_a_file_that_is_removed_before_a_server_takes_over_is_lost_and_said_to_be(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        iterate(rank, range(BEFORE))
        await_that(lambda: rows_in(tmp_path / "run.h5") == list(range(BEFORE)), run.log())
        end = BEFORE
        for is_removed in (True, False):  # the second one finds the file of the first, and what was lost before
            killed = run.server()
            os.kill(killed, signal.SIGKILL)
            if is_removed:
                (tmp_path / "run.h5").unlink()
            while not set(run.servers()) - {killed}:
                iterate(rank, [end])
                end += 1
                time.sleep(0.05)
            await_that(lambda: rows_in(tmp_path / "run.h5")[-1:] == [end - 1], run.log())
        (answer,) = run.finalize()
    first = rows_in(tmp_path / "run.h5")[0]  # what the dead server had not noted as stored was stored again
    check(tmp_path / "run.h5", range(first, end))
    assert (answer.status == "LEAT_ERROR_LOST") == (first > 0)
    if first > 0:
        said = re.search(r"up to iteration (\d+).* is lost", ledger(run)["stores"][0]["failed"])
        assert said and int(said[1]) < first, ledger(run)["stores"]
