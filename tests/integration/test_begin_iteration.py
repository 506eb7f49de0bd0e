# SPDX-License-Identifier: Apache-2.0
"""leat_begin_iteration: iterations have the numbers of the code's own steps, gaps included."""
import json
import os
import re
import signal
import time

import h5py
import numpy as np
import pytest
from leat_run import Run, data, same_bits, xml
from nodes_run import NodesRun

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
ALL = '<parameter name="p" type="double"/>' + ROW
STEPS = [0, 10, 20, 21, 1000, 2_000_000_000]


def step(rank, number):
    rank.must("begin", number)
    rank.must("iteration", number)
    rank.must("set_double", "p", number / 3)
    assert rank.write("a", 20, 10 * (number % 100_000_000) + rank.number).ok
    rank.end()


def expect_rows(path, steps, ranks=2):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(steps)
        assert file["parameters/p"][:].tolist() == [i / 3 for i in steps]
        assert file["leat/iteration_complete"][:].tolist() == [1] * len(steps)
        values = file["a"][:].reshape(-1, 5)
        for at, (number, rank) in enumerate((i, r) for i in steps for r in range(ranks)):
            assert same_bits(values[at], data(5, "<i4", 10 * (number % 100_000_000) + rank))


@pytest.mark.parametrize("mode", ["async", "sync", "auto"])
def test_files_ledger_and_log_have_the_numbers_of_the_code(tmp_path, mode):
    text = xml(ALL).replace("<dedicated ", f'<dedicated mode="{mode}" ')
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        for number in STEPS:
            step(rank, number)
        run.finish()
        assert "done: 6 iterations ended, 6 stored" in run.log() and "leat_begin_iteration" not in run.log(), run.log()
    expect_rows(tmp_path / "run.h5", STEPS, ranks=1)
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert ledger["status"] == "LEAT_OK" and ledger["lost"] == 0 and not ledger["warnings"]


def test_the_call_may_be_left_out_and_made_again(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        rank.must("begin", 7)
        rank.must("begin", 7)
        assert rank.write("a", 20, 7).ok
        rank.must("begin", 7)  # it is in it
        rank.end()
        assert rank.write("a", 20, 8).ok
        rank.end()
        rank.must("begin", 9)
        assert rank.write("a", 20, 9).ok
        rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [7, 8, 9]


def test_a_number_that_cannot_be_is_refused_and_nothing_is_lost(tmp_path):
    actions = '</simulation>'
    text = xml(ALL).replace(actions, '<actions><event name="e"/></actions>' + actions)
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        for number in (-1, 2147483647, 1 << 40):
            refused = rank.call("begin", number)
            assert refused.status == "LEAT_ERROR_ARGUMENT" and "2147483646" in refused.error
        rank.must("iteration", 0)
        step(rank, 10)
        for number in (10, 3, 0):
            refused = rank.call("begin", number)
            assert refused.status == "LEAT_ERROR_STATE" and "is in iteration 11 already" in refused.error and "only grow" in refused.error
        rank.must("iteration", 11)
        rank.must("begin", 20)
        rank.must("set_double", "p", 20 / 3)
        assert rank.write("a", 20, 10 * 20).ok
        refused = rank.call("begin", 30)
        assert refused.status == "LEAT_ERROR_STATE" and "iteration 20" in refused.error and \
            "before the first leat_write of an iteration" in refused.error
        rank.end()
        rank.must("begin", 30)
        rank.must("signal", "e")
        assert rank.call("begin", 40).status == "LEAT_ERROR_STATE"
        run.finish()
    expect_rows(tmp_path / "run.h5", [10, 20], ranks=1)


def test_what_is_set_and_allocated_before_is_of_the_iteration_that_begins(tmp_path):
    with Run(tmp_path, xml(ALL)) as run:
        (rank,) = run.init()
        step(rank, 5)
        rank.must("set_double", "p", 50 / 3)
        rank.must("alloc", "a", 0, 20, 500)
        rank.must("begin", 50)
        rank.must("commit", "a", 0)
        rank.end()
        run.finish()
    expect_rows(tmp_path / "run.h5", [5, 50], ranks=1)


@pytest.mark.parametrize("first", ["who leaves it out", "who writes in it"])
def test_ranks_that_disagree_are_warned_of_once_and_lose_nothing(tmp_path, first):
    with Run(tmp_path, xml(ROW), ranks=2) as run:
        run.init()
        ahead, other = run.ranks if first == "who leaves it out" else run.ranks[::-1]
        for rank in run.ranks:
            rank.must("begin", 1)
            rank.end()

        def leaves_out():
            ahead.must("begin", 10)
            assert ahead.write("a", 20, 10).ok
            ahead.end()

        def writes_in():
            for number in range(2, 10):
                assert other.write("a", 20, number).ok
                other.end()
            other.must("begin", 10)
            assert other.write("a", 20, 11).ok
            other.end()

        for work in (leaves_out, writes_in) if first == "who leaves it out" else (writes_in, leaves_out):
            work()
        run.finish()
        log = run.log()
    assert len(re.findall("leatd run: warning: rank . has left iteration 2 out by leat_begin_iteration", log)) == 1, log
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert [w["what"] for w in ledger["warnings"]] == ["start"] and ledger["lost"] == 0
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(2, 11))
        assert file["block_count"][:].tolist() == [1] * 8 + [2]


@pytest.mark.parametrize("after", ["begun", "one begun", "written", "ended"])
def test_a_server_that_is_killed_meanwhile_is_followed_by_one_that_knows_it(tmp_path, after):
    def kill():
        for pid in run.servers():
            os.kill(pid, signal.SIGKILL)

    with Run(tmp_path, xml(ALL), ranks=2) as run:
        a, b = run.init()
        for rank in (a, b):
            step(rank, 3)
        a.must("begin", 300)
        if after == "one begun":
            kill()
        b.must("begin", 300)
        if after == "begun":
            kill()
        for rank in run.ranks:
            rank.must("set_double", "p", 100.0)
            assert rank.write("a", 20, 3000 + rank.number).ok
        if after == "written":
            kill()
        for rank in run.ranks:
            rank.end()
        if after == "ended":
            kill()
        for number in (400, 401):
            for rank in run.ranks:
                step(rank, number)
        run.finish()
        assert "has taken over" in run.log() and "left iteration" not in run.log()
    expect_rows(tmp_path / "run.h5", [3, 300, 400, 401])


@pytest.mark.parametrize("killed", [False, True], ids=["", "after a server was killed"])
@pytest.mark.parametrize("first", ["start_at", "begin", "written"])
def test_a_rank_that_is_ahead_by_a_gap_waits_for_nobody(tmp_path, first, killed):
    """Numbers without an iteration need no memory: the buffer has room for six blocks."""
    big = '<layout name="big" type="uint8" dimensions="1000000"/><variable name="a" layout="big"/>'
    with Run(tmp_path, xml(big, buffer="8MiB", timeout="30s"), ranks=2) as run:
        run.init()
        for rank in run.ranks:
            if first == "start_at":
                rank.must("start_at", 201)
            else:
                rank.must("begin", 201)
            if first == "written":
                assert rank.write("a", 1000000, 201).ok
                rank.end()
        if killed:
            os.kill(run.server(), signal.SIGKILL)
        for rank in run.ranks:  # one after the other: the second one is in iteration 201 or 202 as long as the first one writes
            for number in (1_000_000, 1_000_500):
                rank.must("begin", number)
                began = time.monotonic()
                assert rank.write("a", 1000000, number).ok
                rank.end()
                assert time.monotonic() - began < 20
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [201] * (first == "written") + [1_000_000, 1_000_500]


@pytest.mark.parametrize("kills", [False, True], ids=["all live", "a server is killed"])
def test_servers_agree_on_the_iterations_that_there_are_and_on_none_between(tmp_path, kills):
    """With a round for each number this would take hours."""
    text = xml(ALL).replace("</simulation>", '<actions><event name="e" scope="run"/></actions></simulation>')
    steps = [1_000_000 * i for i in range(1, 40)]
    with NodesRun(tmp_path, text, [[0, 1], [2, 3]]) as run:
        run.init()
        for number in steps:
            for rank in run.ranks:
                step(rank, number)
            if kills and number == 20_000_000:
                os.kill(run.server_of(1), signal.SIGKILL)
        run.finish()
    expect_rows(tmp_path / "run.h5", steps, ranks=4)


def test_means_and_reductions_over_servers_have_rows_of_true_iterations_alone(tmp_path):
    every = ('<variable name="m" expr="a" operation="mean" every="100" store="out"/>'
             '<variable name="r" expr="a" reduce="sum(x)" store="out"/>')
    text = xml('<layout name="row" type="int" dimensions="5" names="x"/><variable name="a" layout="row"/>' + every)
    steps = [0, 30, 60, 130, 160, 330, 399]
    with NodesRun(tmp_path, text, [[0], [1]]) as run:
        run.init()
        for number in steps:
            for rank in run.ranks:
                rank.must("begin", number)
                assert rank.write("a", 20, number + rank.number).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        values = file["a"][:].reshape(7, 2, 5)
        assert file["iteration"][:].tolist() == steps
        assert np.array_equal(np.ravel(file["r"][:]), values.sum(axis=(1, 2)))
    with h5py.File(tmp_path / "run-over-100.h5") as file:
        means = file["m"][:]
    windows = [[0, 1, 2], [3, 4], [5, 6]]
    assert same_bits(means.reshape(3, 2, 5), np.array([np.add.reduce(values[w].astype("f8")) / len(w) for w in windows]))


@pytest.mark.parametrize("split", ["", ' split="every 2"'])
def test_what_does_not_vary_alone_cuts_nothing_off_the_file_that_a_run_goes_on_in(tmp_path, split):
    """As of a code that writes its coordinates first and then ends, since it does not find what it restarts from."""
    text = xml('<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/><variable name="x" layout="row" '
               'time-varying="false"/>', store=f'<store name="out" type="hdf5" append="true"{split}/>')

    def go(steps, seed=7):
        with Run(tmp_path, text) as run:
            (rank,) = run.init()
            assert rank.write("x", 20, seed).ok
            for number in steps:
                assert rank.write("a", 20, number).ok
                rank.end()
            run.finish()
        return run.log()
    go(range(3))
    log = go([])
    assert "cut off" not in log and "removed" not in log, log
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2] and same_bits(file["x"][:].ravel(), data(5, "<i4", 7))
        assert all(same_bits(file["a"][number].ravel(), data(5, "<i4", number)) for number in range(3))


CONSTANT = ('<parameter name="p" type="double"/><layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
            '<variable name="x" layout="row" time-varying="false"/>')


def expect_constants(path, values):
    with h5py.File(path) as file:
        assert same_bits(file["x"][:].reshape(-1, 5), np.array([data(5, "<i4", each) for each in values]))


@pytest.mark.parametrize("killed", ["never", "written", "one begun", "begun", "after 300"])
@pytest.mark.parametrize("who", ["all", "one"])
@pytest.mark.parametrize("call", ["begin", "start_at"])
def test_what_does_not_vary_may_be_written_before_and_is_of_the_first_iteration(tmp_path, call, who, killed):
    with Run(tmp_path, xml(CONSTANT), ranks=2) as run:
        def kill(moment):
            if killed == moment:
                os.kill(run.server(), signal.SIGKILL)

        a, b = run.init()
        for rank in (a, b) if who == "all" else (a,):
            assert rank.write("x", 20, 70 + rank.number).ok
        kill("written")
        a.must(call, 300)
        kill("one begun")
        b.must(call, 300)
        a.must("iteration", 300)
        kill("begun")
        for number in (300, 400):
            for rank in (a, b):
                step(rank, number)
            kill(f"after {number}")
        run.finish()
        log = run.log()
    assert "begins with" not in log and "left iteration" not in log and "nothing lost" in log, log
    assert killed != "never" or "done: 2 iterations ended, 2 stored" in log, log
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert ledger["lost"] == 0 and not ledger["warnings"]
    expect_rows(tmp_path / "run.h5", [300, 400])
    expect_constants(tmp_path / "run.h5", [70, 71] if who == "all" else [70])


def test_of_a_rank_that_dies_before_its_first_iteration_they_are_stored_too(tmp_path):
    for order in ("dies first", "dies last"):
        folder = tmp_path / order
        folder.mkdir()
        with Run(folder, xml(CONSTANT), ranks=2) as run:
            a, b = run.init()
            for rank in (a, b):
                assert rank.write("x", 20, 70 + rank.number).ok
            if order == "dies first":
                b.kill()
            a.must("begin", 300)
            if order == "dies last":
                b.kill()
            step(a, 300)
            step(a, 310)
            run.finalize([a])
            assert "begins with" not in run.log(), run.log()
        with h5py.File(folder / "run.h5") as file:
            assert file["iteration"][:].tolist() == [300, 310]
            assert file["leat/iteration_complete"][:].tolist() == [0, 0]
        expect_constants(folder / "run.h5", [70, 71])


def test_a_run_that_goes_on_may_write_them_before_it_says_where(tmp_path):
    """The file of the run before is not touched by an iteration 0 that there never was."""
    text = xml(CONSTANT, store='<store name="out" type="hdf5" append="true"/>')
    for steps in ((10, 20, 30), (20, 25, 40)):
        with Run(tmp_path, text) as run:
            (rank,) = run.init()
            assert rank.write("x", 20, 7).ok
            for number in steps:
                step(rank, number)
            run.finish()
    expect_rows(tmp_path / "run.h5", [10, 20, 25, 40], ranks=1)
    expect_constants(tmp_path / "run.h5", [7])


def test_they_are_of_the_first_iteration_also_where_servers_are_several(tmp_path):
    with NodesRun(tmp_path, xml(CONSTANT), [[0, 1], [2, 3]]) as run:
        run.init()
        for rank in run.ranks:
            assert rank.write("x", 20, 70 + rank.number).ok
        for rank in run.ranks:
            rank.must("begin", 300)
        for number in (300, 400):
            for rank in run.ranks:
                step(rank, number)
        run.finish()
    expect_rows(tmp_path / "run.h5", [300, 400], ranks=4)
    expect_constants(tmp_path / "run.h5", [70, 71, 72, 73])


def test_what_varies_still_keeps_a_rank_from_beginning_elsewhere(tmp_path):
    with Run(tmp_path, xml(CONSTANT)) as run:
        (rank,) = run.init()
        assert rank.write("x", 20, 7).ok and rank.write("a", 20, 1).ok
        refused = rank.call("begin", 5)
        assert refused.status == "LEAT_ERROR_STATE" and "iteration 0" in refused.error
        rank.end()
        rank.must("begin", 5)
        assert rank.write("x", 20, 8).ok
        assert rank.call("begin", 6).status == "LEAT_ERROR_STATE"  # it is in its first iteration, or later, already
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_STATE" and "iteration 5 cannot begin" in answer.error, answer
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 5]
