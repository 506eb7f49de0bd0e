# SPDX-License-Identifier: Apache-2.0
"""append="true" of runs on several nodes, and with several servers of one: files, means and sums are those of a run in one piece."""
import os
import signal

import h5py
import numpy as np
import pytest
from checkpoint_run import doomed
from h5_compare import expect_same_view, parts_of
from leat_run import Run, await_death, data, same_bits, xml
from nodes_run import NodesRun

DATA = """
  <layout name="block" type="double" dimensions="4,6" global="8,12" names="y,x"/>
  <layout name="list" type="int" dimensions="3"/>
  <variable name="u" layout="block"/><variable name="own" layout="list"/>
  <variable name="mean" expr="u" operation="mean" every="4"/><variable name="sum" expr="u" operation="accumulate" every="4"/>
  <variable name="row" expr="u" select="y=5"/>"""
TEXT = xml(DATA, store='<store name="out" type="hdf5" append="true"/>')
NODES = [[0, 2], [1, 3]]
LAST = 14
FILES = ("run.h5", "run-over-4.h5")


def write(rank, number):
    y, x = 4 * (rank.number // 2), 6 * (rank.number % 2)
    rank.must("set_position", "u", 0, f"{y},{x}")
    rank.must("write", "u", 0, 4 * 6 * 8, 100 * number + rank.number)
    rank.must("write", "own", 0, 12, 100 * number + 50 + rank.number)


def iterate(ranks, number):
    for rank in ranks:
        write(rank, number)
    for rank in ranks:  # at the same time: with mode="sync" they wait for each other
        rank.start("end_iteration")
    for rank in ranks:
        assert rank.result().ok


def begin(run, first):
    run.init()
    for rank in run.ranks:
        if first:
            rank.must("start_at", first)


def part_of_run(run, first, end, after=None):
    with run:
        begin(run, first)
        for number in range(first, end):
            iterate(run.ranks, number)
            if after:
                after(run, number)
        run.finish()
    return run.log()


def nodes(folder, text=TEXT, those=NODES):
    folder.mkdir(exist_ok=True)
    return NodesRun(folder, text, those)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    part_of_run(nodes(folder), 0, LAST)
    return folder


def expect_same_output(folder, whole):
    for name in FILES:
        expect_same_view(folder / name, whole / name)


def test_one_piece_is_what_numpy_makes(whole):
    u = np.stack([np.block([[data(24, "f8", 100 * i + 2 * y + x).reshape(4, 6) for x in range(2)] for y in range(2)]) for i in range(LAST)])
    with h5py.File(whole / "run.h5") as file, h5py.File(whole / "run-over-4.h5") as over:
        assert same_bits(file["u"][:], u) and same_bits(file["row"][:], u[:, 5])
        assert over["iteration"][:].tolist() == [3, 7, 11]
        for row in range(3):
            i = 4 * row
            assert same_bits(over["sum"][row], ((u[i] + u[i + 1]) + u[i + 2]) + u[i + 3])
            assert same_bits(over["mean"][row], (((u[i] + u[i + 1]) + u[i + 2]) + u[i + 3]) / 4)


@pytest.mark.parametrize("cuts", [[6], [5, 10, 11]])
def test_a_run_in_several_pieces_leaves_what_one_leaves(tmp_path, whole, cuts):
    for first, end in zip([0, *cuts], [*cuts, LAST]):
        log = part_of_run(nodes(tmp_path / "run"), first, end)
        for server in (0, 1):
            assert not first or f"goes on behind iteration {first - 1}, as run.rank{server}.sums has it" in log, log
    expect_same_output(tmp_path / "run", whole)


def test_what_was_computed_in_vain_is_cut_off(tmp_path, whole):
    """The sums are those of the end of the first run: the log says that those of the beginning of the second are gone."""
    part_of_run(nodes(tmp_path / "run"), 0, 10)
    log = part_of_run(nodes(tmp_path / "run"), 8, LAST)
    assert log.count("2 that it had from there on were cut off") >= 2, log
    expect_same_view(tmp_path / "run/run.h5", whole / "run.h5")


@pytest.mark.parametrize("which", [0, 1])
def test_a_server_of_the_second_run_is_killed(tmp_path, whole, which):
    text = TEXT.replace("<dedicated", '<dedicated mode="sync"')
    part_of_run(nodes(tmp_path / "run", text), 0, 6)
    killed = []

    def kill(run, number):
        if number in (6, 9):
            killed.append(run.server_of(which))
            os.kill(killed[-1], signal.SIGKILL)
            await_death(killed[-1])

    part_of_run(nodes(tmp_path / "run", text), 6, LAST, after=kill)
    assert len(killed) == 2
    for name in FILES:  # the XML is another one
        ours, theirs = h5py.File(tmp_path / "run" / name), h5py.File(whole / name)
        with ours, theirs:
            for each in theirs:
                if isinstance(theirs[each], h5py.Dataset):
                    assert same_bits(ours[each][()], theirs[each][()]), (name, each)


def test_a_server_that_is_killed_before_it_has_begun(tmp_path, whole):
    """One has cut its part, the other one has had nothing yet: the server that follows cuts it."""
    part_of_run(nodes(tmp_path / "run"), 0, 8)
    with nodes(tmp_path / "run") as run:
        begin(run, 8)
        server = run.server_of(1)
        os.kill(server, signal.SIGKILL)
        await_death(server)
        for number in range(8, LAST):
            iterate(run.ranks, number)
        run.finish()
    expect_same_view(tmp_path / "run/run.h5", whole / "run.h5")


def test_what_a_killed_run_had_in_memory_is_cut_off_or_kept(tmp_path, whole):
    """All is killed with iterations in memory, which the next run on each node has stored before it goes on behind them."""
    with doomed(nodes(tmp_path / "run")) as run:
        begin(run, 0)
        for number in range(5):
            iterate(run.ranks, number)
        servers = [run.server_of(0), run.server_of(1)]
        for server in servers:
            os.kill(server, signal.SIGSTOP)
        for number in range(5, 9):
            iterate(run.ranks, number)
        for rank in run.ranks:
            rank.kill()
        for server in servers:
            os.kill(server, signal.SIGKILL)
            await_death(server)
    log = part_of_run(nodes(tmp_path / "run"), 7, LAST)
    assert log.count("behind 7 iterations, 0 to 6; 2 that it had from there on were cut off") == 2, log
    expect_same_view(tmp_path / "run/run.h5", whole / "run.h5")


@pytest.mark.parametrize("others", [[[0, 1], [2, 3]], [[0], [1], [2, 3]], [[0, 1, 2, 3]], [[0, 2], [1], [3]]],
                         ids=["other ranks", "more servers", "one server", "a part of the servers"])
def test_other_servers_are_refused_and_nothing_is_touched(tmp_path, others):
    part_of_run(nodes(tmp_path), 0, 3)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.h5")}
    with nodes(tmp_path, those=others) as run:
        begin(run, 3)
        iterate(run.ranks, 3)
        answers = run.finalize()
        assert all(not answer.ok for answer in answers), answers
        said = " ".join(answer.error for answer in answers) + run.log()
    assert "cannot append to run" in said and "nothing of which is changed" in said, said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.h5")} == before


def test_several_servers_of_one_node(tmp_path):
    text = TEXT.replace('<dedicated cores="1"/>', '<dedicated cores="2" servers="2"/>')
    assert text != TEXT

    def run(folder):
        folder.mkdir(exist_ok=True)
        return Run(folder, text, ranks=4)

    part_of_run(run(tmp_path / "whole"), 0, LAST)
    part_of_run(run(tmp_path / "run"), 0, 6)
    part_of_run(run(tmp_path / "run"), 6, LAST)
    assert sorted(parts_of(tmp_path / "run/run.h5")) == ["rank000000.h5", "rank000002.h5"]
    expect_same_output(tmp_path / "run", tmp_path / "whole")
