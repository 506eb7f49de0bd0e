# SPDX-License-Identifier: Apache-2.0
"""Runs that go on where an earlier one has ended: what is over periods is what one run makes."""
import contextlib
import json
import os
import signal

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from checkpoint_run import published
from control_run import wait_until
from derived_run import by_rank, fields, text
from leat_run import Run, same_bits, xml
from small_disk import small_disk

OPERATIONS = ("mean", "min", "max", "accumulate", "variance")
DERIVED = "".join(f'<variable name="{each}" expr="u" operation="{each}" every="8 s"/>' for each in OPERATIONS)
STORE = '<store name="out" type="hdf5" append="true"/>'


def part_of_run(folder, whole, times, first, last, ranks=2, derived=DERIVED, unit="s", after=None):
    arrays = by_rank(whole, ranks, times)
    for each in arrays:
        for key in [key for key in each if key[1] != "position" and not first <= key[1] < last]:
            del each[key]
        if first:
            each["run", "start"] = np.array(first)
    return write_arrays(folder, text(derived, ranks, True, bool(after), store=STORE).replace('unit="s"', f'unit="{unit}"'), arrays, after)


def over_time(folder):
    with h5py.File(folder / "run-over-8s.h5") as file:
        return {name: file[name][:] for name in (*OPERATIONS, "time", "time_bnds", "iteration")}


@pytest.mark.parametrize("cuts", [[16], [5], [7, 8, 9, 23]])
def test_a_run_in_several_parts_makes_what_one_run_makes(tmp_path, cuts):
    whole, times = fields(30, seed=8), np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, 30))
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    part_of_run(tmp_path / "whole", whole, times, 0, 30)
    for first, last in zip([0, *cuts], [*cuts, 30]):
        log = part_of_run(tmp_path / "parts", whole, times, first, last)
        assert not first or f"what is over periods goes on behind iteration {first - 1}" in log, log
    one, parts = over_time(tmp_path / "whole"), over_time(tmp_path / "parts")
    for name in one:
        assert same_bits(one[name], parts[name]), name


def kill_server_at(moments, last):
    def after(run, iteration):
        if iteration in moments and iteration < last - 3:  # who is killed at the very end has nobody who goes on
            for server in run.servers():
                os.kill(server, signal.SIGKILL)
    return after


def test_monthly_and_weekly_means_with_twenty_restarts_and_kills_at_random(tmp_path):
    """Steps of any length over half a year with a leap day: two of three restarts have a server that is killed in them, too."""
    dice, count = np.random.default_rng(), 150
    cuts = sorted(dice.choice(np.arange(2, count - 1), 20, replace=False).tolist())
    kills = set(dice.choice(np.arange(1, count - 1), 12, replace=False).tolist())
    print("cuts", cuts, "kills", kills)
    whole, times = fields(count, seed=4), np.cumsum(np.random.default_rng(2).uniform(0.4, 2.0, count))
    derived = "".join(f'<variable name="{name}_{n}" expr="u" operation="{name}" every="{every}"/>'
                      for n, every in enumerate(("1 mo", "7 d")) for name in OPERATIONS)
    for name, parts in (("whole", [0, count]), ("parts", [0, *cuts, count])):
        (tmp_path / name).mkdir()
        for first, last in zip(parts, parts[1:]):
            part_of_run(tmp_path / name, whole, times, first, last, derived=derived, unit="days since 2004-01-01",
                        after=kill_server_at(kills, last) if name == "parts" else None)
    for file, n in (("run-over-1mo.h5", 0), ("run-over-7d.h5", 1)):
        with h5py.File(tmp_path / "whole" / file) as one, h5py.File(tmp_path / "parts" / file) as parts:
            for name in (*(f"{each}_{n}" for each in OPERATIONS), "time", "time_bnds", "iteration"):
                assert same_bits(one[name][:], parts[name][:]), (file, name)
            assert len(one["time"]) > 4


def test_a_run_that_goes_on_before_the_end_of_the_earlier_one_says_what_it_has_not(tmp_path):
    whole, times = fields(30, seed=8), np.arange(30) + 1.0
    part_of_run(tmp_path, whole, times, 0, 20)
    log = part_of_run(tmp_path, whole, times, 12, 30)
    assert "what is over periods begins with iteration 12: run.sums has what it had come to at the end of iteration 19" in log, log
    found = over_time(tmp_path)
    assert found["time_bnds"].tolist() == [[1, 8], [13, 16], [16, 24]]  # the second has what came from iteration 12 on
    assert same_bits(found["max"][1], whole["u"][12:16].max(axis=0))


COUNTED = """<parameter name="n" type="int" value="6"/>
<layout name="row" type="double" dimensions="n"/><variable name="u" layout="row" store="none"/>
<variable name="s" expr="u" operation="accumulate" every="8" store="out"/>"""


def counted(folder, first, last, before=lambda run, i: None, ends=Run.finish, more="", n=6):
    """By numbers of iterations, on two ranks; before(run, i) comes before the writes of each."""
    folder.mkdir(exist_ok=True)
    with Run(folder, xml(COUNTED + more, store=STORE), ranks=2) as run:
        run.init()
        for rank in run.ranks:
            rank.must("set_int", "n", n)
            if first:
                rank.must("start_at", first)
        for i in range(first, last):
            before(run, i)
            for rank in run.ranks:
                assert rank.write("u", 8 * n, 10 * i + rank.number).ok
                if more and i % 3 == 2:
                    assert rank.write("checkpoint/c", 8 * n, i).ok
                rank.end()
        ends(run)
        if ends == kill_everything:  # the next run on the node stores what was in memory, and removes it
            run.check_nothing_left = lambda: None
    return run.log()


def sums(folder):
    with h5py.File(folder / "run.h5") as file:
        return {name: file[name][:] for name in ("s", "iteration", "iteration_bnds")}


def kill_server(run, *_):
    os.kill(run.server(), signal.SIGKILL)


def kill_everything(run):
    for rank in run.ranks:
        rank.kill()
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)
    run.await_end()


def warnings(folder):
    return json.loads((folder / "run.ledger.json").read_text())["warnings"]


@pytest.mark.parametrize("killed", [5, 6, 12])
def test_a_server_that_is_killed_in_a_run_that_goes_on_is_followed_by_one_that_has_the_sums_of_the_run_before(tmp_path, killed):
    counted(tmp_path / "whole", 0, 24)
    counted(tmp_path / "parts", 0, 5)
    counted(tmp_path / "parts", 5, 24, lambda run, i: kill_server(run) if i == killed else None)
    one, parts = sums(tmp_path / "whole"), sums(tmp_path / "parts")
    for name in one:
        assert same_bits(one[name], parts[name]), name


def test_without_the_sums_of_the_run_before_the_first_period_says_what_it_has(tmp_path):
    counted(tmp_path, 0, 5)
    (tmp_path / "run.sums").unlink()
    log = counted(tmp_path, 5, 24)
    assert '"s" (run.xml:' in log and "what is over periods begins with iteration 5: there is neither run-4.sums nor run.sums" in log, log
    (said,) = warnings(tmp_path)
    assert said["what"] == "periods" and said["variable"] == "s" and said["first"] == 5, said
    found = sums(tmp_path)
    assert found["iteration_bnds"].tolist() == [[5, 7], [8, 15], [16, 23]] and found["iteration"].tolist() == [7, 15, 23]


def test_a_run_that_goes_on_where_a_period_begins_lacks_nothing(tmp_path):
    counted(tmp_path, 0, 8)
    (tmp_path / "run.sums").unlink()
    assert "what is over periods begins" not in counted(tmp_path, 8, 16) and not warnings(tmp_path)
    assert sums(tmp_path)["iteration_bnds"].tolist() == [[0, 7], [8, 15]]


def test_other_blocks_than_in_the_run_before_are_a_warning(tmp_path):
    counted(tmp_path, 0, 5)
    counted(tmp_path, 5, 16, n=4)
    (said,) = warnings(tmp_path)
    assert said["what"] == "periods" and "its blocks were (6) and are (4) in iteration 5" in said["text"], said
    assert sums(tmp_path)["iteration_bnds"].tolist() == [[5, 7], [8, 15]]


def test_sums_of_another_xml_are_named_so(tmp_path):
    for factor, (first, last) in ((2, (0, 5)), (3, (5, 8))):
        more = f'<variable name="more" expr="{factor}*u" operation="max" every="6" store="none"/>' + CHECKPOINTS
        log = counted(tmp_path, first, last, more=more)
    assert "run.sums cannot be taken: it is of another XML" in log, log


CHECKPOINTS = '<group name="checkpoint" keep="2"><variable name="c" layout="row"/></group>'


def test_as_many_sums_stay_as_checkpoints_whatever_is_killed(tmp_path):
    for first, last in ((0, 7), (6, 13), (12, 19)):
        counted(tmp_path, first, last, lambda run, i: kill_server(run) if i % 6 == 1 else None, kill_everything, CHECKPOINTS)
    counted(tmp_path, 18, 22, more=CHECKPOINTS)
    left = {path.name for path in tmp_path.glob("run-*.sums")}
    assert {"run-17.sums", "run-20.sums"} <= left and len(left) <= 3, left


def test_a_checkpoint_that_comes_to_nothing_leaves_the_one_before_its_sums(tmp_path):
    with Run(tmp_path, xml(COUNTED + CHECKPOINTS.replace("2", "1"), store=STORE), ranks=2) as run:
        run.init()
        for i in range(6):
            for rank in run.ranks:
                assert rank.write("u", 48, i).ok
                assert i % 3 < 2 or rank.write("checkpoint/c", 48, i).ok
            run.ranks[0].end()
            run.ranks[1].end() if i < 5 else run.ranks[1].kill()
        run.finalize(run.ranks[:1])
    assert "no checkpoint is made of it, since a rank died in it" in run.log()
    assert [path.name for path in tmp_path.glob("run-*.sums")] == ["run-2.sums"]


def test_the_sums_of_the_newest_checkpoint_stay_where_later_ones_find_no_room(tmp_path):
    folder = tmp_path / "run.checkpoint"
    folder.mkdir()
    with small_disk(folder, "64k"), Run(tmp_path, xml(COUNTED + CHECKPOINTS.replace("2", "1"), store=STORE)) as run:
        (rank,) = run.init()
        for i in range(15):
            assert rank.write("u", 48, i).ok
            assert i % 3 < 2 or rank.write("checkpoint/c", 48, i).ok
            rank.end()
            if i == 3:
                wait_until(lambda: published(folder) == [2], "the first checkpoint")
                with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
                    while filler.write(bytes(512)):
                        pass
        run.finalize()
        assert published(folder) == [2], run.log()
    assert "run-2.sums" in [path.name for path in tmp_path.glob("run-*.sums")]


def test_xml_that_was_laid_out_anew_goes_on(tmp_path):
    counted(tmp_path, 0, 8)
    text = xml(COUNTED.replace('expr="u"', 'expr=" u "'), store=STORE)
    with Run(tmp_path, text, ranks=1) as run:
        run.init()
        run.ranks[0].must("start_at", 8)
        for i in range(8, 16):
            assert run.ranks[0].write("u", 48, i).ok
            run.ranks[0].end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [7, 15]


@pytest.mark.parametrize("was, is_now, said_of_it", [
    ("accumulate", "mean", 'what its values are (cell_methods) is "iteration: sum" in the file, and "iteration: mean" in the XML'),
    ('expr="u"', 'expr="2*u"', 'how it is made (leat_definition) is "u, operation accumulate, every 8" in the file, and "2*u,')])
def test_other_values_do_not_go_behind_those_that_are_there(tmp_path, was, is_now, said_of_it):
    counted(tmp_path, 0, 8)
    before = (tmp_path / "run.h5").read_bytes()
    assert was in COUNTED
    text = xml(COUNTED.replace(was, is_now), store=STORE)
    with Run(tmp_path, text, ranks=1) as run:
        run.init()
        run.ranks[0].must("start_at", 8)
        for i in range(8, 16):
            assert run.ranks[0].write("u", 48, i).ok
            run.ranks[0].end()
        (said,) = run.finalize()
    assert said.status == "LEAT_ERROR_LOST" and (tmp_path / "run.h5").read_bytes() == before
    assert f'variable "s": {said_of_it}' in run.log(), run.log()
