# SPDX-License-Identifier: Apache-2.0
"""What is written once, time-varying="false", is stored in whichever iteration it was written, whatever a store's `every` says."""
import contextlib
import json
import os
import pathlib
import signal
import sys
import time

import h5py
import numpy as np
import pytest
from checkpoint_run import doomed, read
from control_run import wait_until
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


def rows_in(path):
    with contextlib.suppress(OSError, KeyError, RuntimeError), h5py.File(path) as file:  # a commit may fall in the midst of it
        return file["iteration"][:].tolist()
    return []


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


def test_who_removes_the_file_that_they_are_kept_in_is_told_by_the_next_server(tmp_path):
    with Run(tmp_path, xml(DATA, store=store()), ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("begin", FIRST)
        write_constants(ranks)
        for number in range(FIRST, 21):
            step(ranks, number)
        wait_until(lambda: rows_in(tmp_path / "run.h5") == [10, 20], "iteration 20, and that all before it are done")
        (sums,) = pathlib.Path("/dev/shm").glob(f"*{run.session}*.sums")
        sums.unlink()
        os.kill(run.server(), signal.SIGKILL)
        for number in range(21, 25):
            step(ranks, number)
        run.finish()
        assert "sums, in which the server before this one kept" in run.log() and "is gone: " in run.log(), run.log()


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


@pytest.mark.parametrize("killed", [None, 12, 16])
def test_so_it_is_when_a_server_was_killed(tmp_path, killed):
    with Run(tmp_path, xml(DATA, store=store())) as run:
        (rank,) = run.init()
        for number in range(5, 18):
            rank.must("begin", number)
            if number == 15:
                write_constants([rank])
            step([rank], number)
            if number == killed:
                os.kill(run.server(), signal.SIGKILL)
                time.sleep(0.2)
        run.finish()
        assert 'is not in store "out"' in run.log(), run.log()


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


SCRIPT = """
import leat

@leat.on_iteration(variables=["x", "a"])
def see(ds, ctx):
    with open("seen", "a") as file:
        file.write("{} {}\\n".format(ctx.iteration, ds["x"].values.tobytes().hex() if "x" in ds else "-"))
"""


@pytest.mark.parametrize("attributes", ["", 'every="10"'])
def test_scripts_have_them_when_a_server_was_killed(tmp_path, attributes):
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/see.py").write_text(SCRIPT)
    scripts, seen = f'<scripts interpreter="{sys.executable}"><folder path="analysis"/></scripts>', tmp_path / "seen"
    with Run(tmp_path, xml(DATA, store=store(attributes), log=scripts)) as run:
        (rank,) = run.init()
        write_constants([rank])
        for number in range(12):
            step([rank], number)
            if number in (4, 8):
                wait_until(lambda n=number: (tmp_path / "seen").exists() and f"{n} " in (tmp_path / "seen").read_text(), "the script")
                os.kill(run.server(), signal.SIGKILL)
                time.sleep(0.2)
        run.finish()
        log = run.log()
    found = dict(line.split() for line in seen.read_text().splitlines())
    assert {"4", "8", "10", "11"} <= set(found) and set(found.values()) == {data(5, "<i4", 70).tobytes().hex()}, (found, log)


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


def test_alone_they_make_no_checkpoint(tmp_path):
    """A job that goes on writes them again, and may end before it has made a checkpoint: those that are there stay."""
    text = xml(CHECKPOINT, store=store() + '<store name="safe" type="checkpoint"/>')

    def go_on(expected, steps):
        with Run(tmp_path, text) as run:
            (rank,) = run.init()
            assert rank.write("checkpoint/x", 20, 1).ok
            assert rank.must("restart_step").value == expected, run.log()
            for number in range(expected, expected + 3):
                if number in steps:
                    assert rank.write("checkpoint/a", 20, number).ok
                rank.end()
            run.finish()
    go_on(0, [1, 2])
    for _ in range(3):
        go_on(3, [])
    go_on(3, [4])
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        assert rank.must("restart_step").value == 5
        for name, seed in (("a", 4), ("x", 1)):
            answer, got = read(rank, f"checkpoint/{name}", 20)
            assert answer.ok and got == data(5, "<i4", seed).tobytes(), answer
        rank.must("end_iteration")
        run.finish()


RAGGED = ('<parameter name="n" type="int"/><layout name="some" type="double" dimensions="?n"/>'
          '<layout name="row" type="int" dimensions="5"/><variable name="x" layout="some" time-varying="false"/>'
          '<variable name="a" layout="row"/>')


@pytest.mark.parametrize("attributes", ["", 'every="3"', 'split="4"', 'compression="deflate:2"'])
@pytest.mark.parametrize("when", [(1, 3), (3, 1), (0, 8), (4, 4)], ids=str)
def test_parts_of_any_size_may_come_in_several_iterations(tmp_path, when, attributes):
    with Run(tmp_path, xml(RAGGED, store=store(attributes)), ranks=2) as run:
        ranks = run.init()
        for number in range(10):
            for rank, its in zip(ranks, when):
                if number == its:
                    rank.must("set_int", "n", 2 + rank.number)
                    assert rank.write("x", 8 * (2 + rank.number), 70 + rank.number).ok
            for rank in ranks:
                assert rank.write("a", 20, 10 * number + rank.number).ok
                rank.end()
        run.finish()
        assert "warning" not in run.log().replace("warning: no core", ""), run.log()
    last = sorted(tmp_path.glob("run-split/*.h5")) if "split" in attributes else [tmp_path / "run.h5"]
    pieces = last or sorted(path for path in tmp_path.rglob("*.h5") if path.name != "run.h5")
    with h5py.File(pieces[-1]) as file:
        counts = [count for count in file["x_count"][:].ravel().tolist() if count >= 0]
        assert sorted(counts) == [2, 3]  # in the order in which they came first
        assert same_bits(file["x"][:5], np.concatenate([data(count, "<f8", 68 + count) for count in counts]))


GLOBAL = ('<layout name="all" type="double" dimensions="4" global="8"/><layout name="row" type="int" dimensions="5"/>'
          '<variable name="x" layout="all" time-varying="false"/><variable name="a" layout="row"/>')


@pytest.mark.parametrize("when", [(1, 4), (3, 8), (4, 1), (0, 5)], ids=str)
def test_each_piece_has_parts_of_all_ranks(tmp_path, when):
    with Run(tmp_path, xml(GLOBAL, store=store('split="4"')), ranks=2) as run:
        ranks = run.init()
        for number in range(12):
            for rank, its in zip(ranks, when):
                if number == its:
                    rank.must("set_position", "x", 0, 4 * rank.number)
                    assert rank.write("x", 32, 70 + rank.number).ok
            for rank in ranks:
                assert rank.write("a", 20, 10 * number + rank.number).ok
                rank.end()
        run.finish()
    pieces = sorted(path for path in tmp_path.rglob("*.h5") if path.name != "run.h5")
    assert len(pieces) == 3
    with h5py.File(pieces[-1]) as file:
        assert same_bits(file["x"][:], np.concatenate([data(4, "<f8", 70), data(4, "<f8", 71)]))


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


PARTS = """<parameter name="n,i0" type="int"/><layout name="cells" type="int" dimensions="n" global="12" position="i0" names="x"/>
<group name="checkpoint" keep="2"><variable name="a" layout="cells"/></group><variable name="c" layout="cells" time-varying="false"/>
<variable name="product" expr="c - c + 'checkpoint/a'"/><variable name="total" expr="c - c + 'checkpoint/a'" reduce="sum"/>"""
SPLIT = '<store name="out" type="hdf5" append="true" split="10"/>'


def in_parts(folder, count, first, last, seed, blocks=1):
    """All that is written, by iteration, and the constant."""
    with Run(folder, xml(PARTS.replace('type="int" dim', f'type="int" blocks="{blocks}" dim'), store=SPLIT), ranks=count) as run:
        ranks = run.init()
        each = 12 // count // blocks
        for rank in ranks:
            rank.must("set_int", "n", each)
            rank.must("set_int", "i0", blocks * each * rank.number)
            rank.must("restart_step")
        parts = [(rank, block) for rank in ranks for block in range(blocks)]
        for rank, block in parts:
            if block:
                rank.must("set_position", "c", block, each * (blocks * rank.number + block))
                rank.must("set_position", "checkpoint/a", block, each * (blocks * rank.number + block))
            assert rank.write("c", 4 * each, seed + 10 * rank.number + block, block).ok
        for number in range(first, last + 1):
            for rank, block in parts:
                assert rank.write("checkpoint/a", 4 * each, 100 * number + 10 * rank.number + block, block).ok
            for rank in ranks:
                rank.end()
        run.finish()
        assert "not made" not in run.log(), run.log()

    def array(seed):
        return np.concatenate([data(each, "<i4", seed + 10 * rank.number + block) for rank, block in parts])
    return {number: array(100 * number) for number in range(first, last + 1)}, array(seed)


@pytest.mark.parametrize("before, after", [((4, 1), (3, 1)), ((3, 1), (4, 1)), ((1, 4), (1, 2)), ((2, 2), (4, 1))])
def test_a_run_with_other_ranks_or_blocks_has_its_own(tmp_path, before, after):
    """What the run before had of other parts is in nothing that this one makes, nor in the file that it begins."""
    wanted, _ = in_parts(tmp_path, before[0], 0, 5, 5000, before[1])
    more, constant = in_parts(tmp_path, after[0], 6, 13, 7000, after[1])
    wanted.update(more)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(14))
        assert all(same_bits(file["product"][number].astype("<i4"), wanted[number]) for number in wanted)
        assert file["total"][:].tolist() == [float(wanted[number].sum(dtype="i8")) for number in wanted]
    (newest,) = tmp_path.glob("run.parts/*/rank000000.000001.h5")
    with h5py.File(newest) as file:
        assert same_bits(file["c"][:], constant)
