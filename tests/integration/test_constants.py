# SPDX-License-Identifier: Apache-2.0
"""What is written once, time-varying="false", is stored in whichever iteration it was written, whatever a store's `every` says."""
import json
import os
import pathlib
import signal
import time

import h5py
import numpy as np
import pytest
from checkpoint_run import doomed, read
from leat_run import Run, data, same_bits, xml
from nodes_run import NodesRun

DATA = ('<parameter name="p" type="double"/><layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
        '<variable name="x" layout="row" time-varying="false"/>')
FIRST, LAST = 5, 35
OWN_SHM = pathlib.Path(__file__).parents[1] / "support/own_shm.sh"


def store(takes='every="10"', kind="hdf5"):
    return f'<store name="out" type="{kind}" {takes}/>'


def write_constants(ranks):
    for rank in ranks:
        assert rank.write("x", 20, 70 + rank.number).ok


def step(ranks, number, end=True):
    for rank in ranks:
        rank.must("set_double", "p", number / 3)
        assert rank.write("a", 20, 10 * number + rank.number).ok
    if end:
        for rank in ranks:
            rank.end()


def expect(path, rows, ranks=2):
    with h5py.File(path) as file:
        assert same_bits(file["x"][:].reshape(-1, 5), np.array([data(5, "<i4", 70 + rank) for rank in range(ranks)]))
        found = file["iteration"][:].tolist() if "iteration" in file else []
        assert found == rows
        if rows:
            wanted = np.array([data(5, "<i4", 10 * number + rank) for number in rows for rank in range(ranks)])
            assert same_bits(file["a"][:].reshape(-1, 5), wanted)


def go(run, call, before=True, last=LAST, killed=()):
    ranks = run.init()
    if before:
        write_constants(ranks)
    for rank in ranks:
        rank.must(call, FIRST)
    if not before:
        write_constants(ranks)
    for number in range(FIRST, last + 1):
        step(ranks, number)
        if number in killed:
            os.kill(run.server(), signal.SIGKILL)
            time.sleep(0.2)  # a rank looks for it at most every 100 ms, and starts the next one then
    run.finish()
    assert "nothing lost" in run.log(), run.log()


@pytest.mark.parametrize("before", [True, False], ids=["before", "within"])
@pytest.mark.parametrize("call", ["begin", "start_at"])
def test_they_are_stored_where_the_first_iteration_is_not(tmp_path, call, before):
    with Run(tmp_path, xml(DATA, store=store()), ranks=2) as run:
        go(run, call, before)
    expect(tmp_path / "run.h5", [10, 20, 30])
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert ledger["lost"] == 0 and not ledger["warnings"], ledger


@pytest.mark.parametrize("killed", [(5,), (6, 9), (10,), (5, 20)], ids=str)
def test_a_server_that_is_killed_meanwhile_changes_nothing(tmp_path, killed):
    with Run(tmp_path, xml(DATA, store=store()), ranks=2) as run:
        go(run, "begin", killed=killed)
    expect(tmp_path / "run.h5", [10, 20, 30])


def test_where_no_iteration_is_taken_behind_them_it_is_said(tmp_path):
    both = store() + '<store name="never" type="hdf5" file="never.h5" every="100"/>'
    with Run(tmp_path, xml(DATA, store=both), ranks=2) as run:
        ranks = run.init()
        for number in range(5, 18):
            for rank in ranks:
                rank.must("begin", number)
            if number == 15:
                write_constants(ranks)
            step(ranks, number)
        run.finish()
        said = 'iteration 15: "x" (run.xml:3) was written once, and is not in store "out", which took no iteration from then on'
        assert said in run.log(), run.log()
    (warning,) = json.loads((tmp_path / "run.ledger.json").read_text())["warnings"]
    assert warning["what"] == "not due" and warning["variable"] == "x" and warning["first"] == 15


def test_of_a_store_that_waits_for_an_event_or_a_condition(tmp_path):
    events = '<actions><event name="save" store="out"/></actions>'
    for name, takes, actions in (("event", "", events), ("condition", 'when="p &gt;= 10"', "")):
        folder = tmp_path / name
        folder.mkdir()
        text = xml(DATA, store=store(takes), log=actions)
        with Run(folder, text, ranks=2) as run:
            ranks = run.init()
            write_constants(ranks)
            for number in range(32):
                if actions and number in (30, 31):
                    ranks[0].must("signal", "save")
                step(ranks, number)
            run.finish()
        expect(folder / "run.h5", [30, 31])


def test_one_that_is_written_again_is_written_where_it_is_due(tmp_path):
    """A code that writes its coordinates in each iteration pays for one in ten."""
    with Run(tmp_path, xml(DATA, store=store()), ranks=2) as run:
        ranks = run.init()
        for number in range(FIRST, 15):
            for rank in ranks:
                rank.must("begin", number)
                assert (rank.call("wanted", "x").status == "LEAT_OK") == (number in (FIRST, 10)), number
                assert rank.write("x", 20, (90 if number < 10 else 70) + rank.number).ok
            step(ranks, number)
        run.finish()
    expect(tmp_path / "run.h5", [10])


def test_each_rank_by_itself(tmp_path):
    """Also where a rank writes its part later than others."""
    with Run(tmp_path, xml(DATA, store=store()), ranks=2) as run:
        ranks = run.init()
        for number in range(15):
            if number == 0:
                write_constants(ranks[:1])
            if number == 7:
                write_constants(ranks[1:])
            step(ranks, number)
        run.finish()
    expect(tmp_path / "run.h5", [0, 10])


@pytest.mark.parametrize("again", [True, False], ids=["written again", "not again"])
def test_a_run_that_goes_on_keeps_them(tmp_path, again):
    text = xml(DATA, store=store('every="10" append="true"'))
    with Run(tmp_path, text, ranks=2) as run:
        go(run, "begin")
    with Run(tmp_path, text, ranks=2) as run:
        ranks = run.init()
        if again:
            write_constants(ranks)
        for rank in ranks:
            rank.must("start_at", 26)
        for number in range(26, 45):
            step(ranks, number)
        run.finish()
    expect(tmp_path / "run.h5", [10, 20, 30, 40])


def test_all_is_killed_before_the_iteration_that_is_taken_is_stored(tmp_path):
    """The next start on the node stores what was in memory, with what was written once before that."""
    text = xml(DATA, store=store('every="10" append="true"'))
    with doomed(Run(tmp_path, text, ranks=2)) as run:
        ranks = run.init()
        write_constants(ranks)
        for rank in ranks:
            rank.must("begin", FIRST)
        for number in range(FIRST, 13):
            step(ranks, number)
            if number == 7:
                os.kill(run.server(), signal.SIGSTOP)
        for rank in ranks:
            rank.kill()
    with Run(tmp_path, text, ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("start_at", 13)
        for number in range(13, 25):
            step(ranks, number)
        run.finish()
    expect(tmp_path / "run.h5", [10, 20])


def test_where_there_is_no_room_to_keep_them_they_are_said_to_be_lost(tmp_path):
    text = xml('<layout name="big" type="double" dimensions="500000"/><variable name="x" layout="big" time-varying="false"/>'
               '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>', store=store(), buffer="8MiB")
    with Run(tmp_path, text, environment={"OWN_SHM": "size=14m"}, prefix=[OWN_SHM]) as run:
        (rank,) = run.init()
        rank.must("begin", 5)
        assert rank.write("x", 4_000_000, 7).ok
        for number in range(5, 12):
            assert rank.write("a", 20, number).ok
            rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and '"x", block 0 of rank 0, is not kept' in run.log(), (answer, run.log())
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [10] and same_bits(file["a"][:].ravel(), data(5, "<i4", 10))


def test_of_several_servers(tmp_path):
    with NodesRun(tmp_path, xml(DATA, store=store()), [[0, 1], [2, 3]]) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("begin", FIRST)
        write_constants(ranks)
        for number in range(FIRST, 22):
            step(ranks, number)
        run.finish()
    expect(tmp_path / "run.h5", [10, 20], ranks=4)


CHECKPOINT = ('<parameter name="p" type="double"/><layout name="row" type="int" dimensions="5"/>'
              '<group name="checkpoint" store="safe" keep="2"><variable name="a" layout="row"/>'
              '<variable name="x" layout="row" time-varying="false"/></group>'
              '<variable name="y" layout="row" time-varying="false" store="out"/><variable name="b" layout="row" store="out"/>')


def test_each_checkpoint_has_them_and_they_may_be_written_before_the_restart(tmp_path):
    text = xml(CHECKPOINT, store=store('every="10" append="true"') + '<store name="safe" type="checkpoint" every="10"/>')

    def go_on(expected, until):
        with Run(tmp_path, text) as run:
            (rank,) = run.init()
            assert rank.write("y", 20, 70).ok
            assert rank.must("restart_step").value == expected, run.log()
            rank.must("iteration", expected)
            if expected:
                answer, got = read(rank, "checkpoint/x", 20)
                assert answer.ok and got == data(5, "<i4", 1).tobytes(), answer
            for number in range(expected, until):
                assert rank.write("checkpoint/a", 20, number).ok and rank.write("b", 20, number).ok
                if number in (5, 35):
                    assert rank.write("checkpoint/x", 20, 1).ok
                rank.end()
            run.finish()
            return run.log()

    assert "warning" not in go_on(0, 34)
    assert "cut off" not in go_on(31, 47)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 10, 20, 30, 40] and same_bits(file["y"][:].ravel(), data(5, "<i4", 70))
        assert all(same_bits(file["b"][at].ravel(), data(5, "<i4", 10 * at)) for at in range(5))


@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_number_that_is_refused_is_said_at_the_end(tmp_path, strict):
    text = xml(DATA)
    with Run(tmp_path, text, environment={"LEAT_STRICT": strict}) as run:
        (rank,) = run.init()
        rank.must("start_at", 41)
        refused = rank.call("begin", 40)
        assert refused.status == "LEAT_ERROR_STATE" and "numbers only grow" in refused.error
        step([rank], 40)
        rank.must("begin", 42)
        step([rank], 42)
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_STATE", answer
        assert "under other numbers than the code said" in answer.error and "iteration 40 cannot begin" in answer.error, answer
        assert "under other numbers" in rank.stderr()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [41, 42]


def test_a_number_that_is_said_again_in_time_is_none(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        rank.must("start_at", 41)
        assert rank.call("begin", 40).status == "LEAT_ERROR_STATE"
        rank.must("begin", 45)
        step([rank], 45)
        assert rank.call("begin", -1).status == "LEAT_ERROR_ARGUMENT"
        run.finish()


@pytest.mark.parametrize("again", [True, False], ids=["written again", "not again"])
def test_coordinates_that_the_file_has_are_not_missed_in_a_run_that_goes_on(tmp_path, again):
    text = xml('<layout name="line" type="double" dimensions="5" names="x"/><variable name="x" layout="line" time-varying="false"/>'
               '<mesh name="m" type="rectilinear" coordinates="x"/><variable name="a" layout="line" mesh="m"/>',
               store=store('append="true"'))
    for first in (0, 3):
        with Run(tmp_path, text) as run:
            (rank,) = run.init()
            rank.must("start_at", first)
            if again or first == 0:
                assert rank.write("x", 40, 7).ok
                rank.end()
            rank.must("begin", first + 1)
            assert rank.write("a", 40, first).ok
            run.finish()
            assert "never written" not in run.log(), run.log()
