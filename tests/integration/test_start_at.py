# SPDX-License-Identifier: Apache-2.0
"""leat_start_at: the first iteration of a rank has a number of its own."""
import json
import os
import re
import signal
import subprocess
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, Run, data, same_bits, xml
from nodes_run import NodesRun

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
ALL = '<parameter name="p" type="double"/>' + ROW
N = 100


def step(rank, iteration):
    rank.must("set_double", "p", iteration / 3)
    assert rank.write("a", 20, 10 * iteration + rank.number).ok
    rank.end()


def start(run, iteration=N):
    run.init()
    for rank in run.ranks:
        rank.must("start_at", iteration)
        rank.must("iteration", iteration)


def expect_rows(path, iterations, ranks=2):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(iterations)
        assert file["parameters/p"][:].tolist() == [i / 3 for i in iterations]
        assert file["leat/iteration_complete"][:].tolist() == [1] * len(iterations)
        values = file["a"][:].reshape(-1, 5)
        for at, (iteration, rank) in enumerate((i, r) for i in iterations for r in range(ranks)):
            assert same_bits(values[at], data(5, "<i4", 10 * iteration + rank))


def test_iterations_have_the_numbers_that_ranks_said(tmp_path):
    with Run(tmp_path, xml(ALL), ranks=2) as run:
        start(run)
        for iteration in range(N, N + 4):
            for rank in run.ranks:
                step(rank, iteration)
        run.finish()
        assert "done: 4 iterations ended, 4 stored" in run.log()
        assert "begins with" not in run.log(), run.log()
    expect_rows(tmp_path / "run.h5", range(N, N + 4))
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert ledger["status"] == "LEAT_OK" and ledger["lost"] == 0
    assert all(entry["iterations"] == [N, N + 3, 1] for entry in ledger["entries"])


def test_it_may_be_any_number_that_files_have_room_for(tmp_path):
    with Run(tmp_path, xml(ALL)) as run:
        start(run, 2147483646)
        step(run.ranks[0], 2147483646)
        run.finish()
    expect_rows(tmp_path / "run.h5", [2147483646], ranks=1)


@pytest.mark.parametrize("number", [-1, 2147483647, 1 << 40])
def test_other_numbers_are_refused_and_change_nothing(tmp_path, number):
    with Run(tmp_path, xml(ALL)) as run:
        (rank,) = run.init()
        refused = rank.call("start_at", number)
        assert refused.status == "LEAT_ERROR_ARGUMENT" and "2147483646" in refused.error
        rank.must("iteration", 0)
        step(rank, 0)
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_STATE" and str(number) in answer.error, answer
    expect_rows(tmp_path / "run.h5", [0], ranks=1)


@pytest.mark.parametrize("begun", ["write", "end", "said", "signal"])
def test_a_rank_that_has_begun_cannot_begin_elsewhere(tmp_path, begun):
    actions = '</simulation>'
    text = xml(ALL).replace(actions, '<actions><event name="e"/></actions>' + actions)
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        if begun == "write":
            assert rank.write("a", 20, 0).ok
        elif begun == "end":
            rank.end()
        elif begun == "signal":
            rank.must("signal", "e")
        else:
            rank.must("start_at", 0)
        refused = rank.call("start_at", N)
        assert refused.status == "LEAT_ERROR_STATE" and "before the first leat_write" in refused.error
        rank.must("iteration", 1 if begun == "end" else 0)
        run.finalize()


def test_what_is_set_and_allocated_before_is_of_the_first_iteration(tmp_path):
    with Run(tmp_path, xml(ALL)) as run:
        (rank,) = run.init()
        rank.must("set_double", "p", N / 3)
        rank.must("alloc", "a", 0, 20, 10 * N)
        rank.must("start_at", N)
        rank.must("commit", "a", 0)
        rank.end()
        run.finish()
    expect_rows(tmp_path / "run.h5", [N], ranks=1)


def test_ranks_that_disagree_are_warned_of_once_and_lose_nothing(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=3) as run:
        run.init()
        run.ranks[0].must("start_at", 3)
        for rank in run.ranks[1:]:
            assert rank.write("a", 20, rank.number).ok
            rank.end()
        for rank in run.ranks[1:]:
            for _ in (1, 2):
                rank.end()
        for rank in run.ranks:
            assert rank.write("a", 20, 30 + rank.number).ok
            rank.end()
        run.finish()
        log = run.log()
    assert len(re.findall("leatd run: warning: rank . begins with iteration", log)) == 1 and "leat_start_at with the same number" in log
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert [w["what"] for w in ledger["warnings"]] == ["start"] and ledger["lost"] == 0
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 3]
        assert file["block_count"][:].tolist() == [2, 3]


def test_nothing_waits_for_iterations_before_it(tmp_path):
    """A buffer of some blocks: a rank that has yet to say where it begins is not left memory for a thousand iterations."""
    big = '<layout name="big" type="uint8" dimensions="1000000"/><variable name="a" layout="big"/>'
    with Run(tmp_path, xml(big, buffer="8MiB", timeout="5s"), ranks=2) as run:
        run.init()
        for rank in run.ranks:
            rank.must("start_at", 100000)
            began = time.monotonic()
            assert rank.write("a", 1000000, 1).ok
            assert time.monotonic() - began < 4
        for rank in run.ranks:
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [100000]


@pytest.mark.parametrize("mode", ["sync", "auto"])
def test_ranks_that_wait_for_their_output_do_so_from_there_on(tmp_path, mode):
    text = xml(ALL).replace("<dedicated ", f'<dedicated mode="{mode}" ')
    with Run(tmp_path, text, ranks=2) as run:
        start(run)
        for iteration in range(N, N + 6):
            for rank in run.ranks:
                rank.must("set_double", "p", iteration / 3)
                assert rank.write("a", 20, 10 * iteration + rank.number).ok
            for rank in run.ranks:
                rank.start("end_iteration")
            for rank in run.ranks:
                assert rank.result().ok
        run.finish()
    expect_rows(tmp_path / "run.h5", range(N, N + 6))


def kill(run):
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("after", ["said", "one said", "written", "ended"])
def test_a_server_that_is_killed_afterwards_is_followed_by_one_that_knows_it(tmp_path, after):
    with Run(tmp_path, xml(ALL), ranks=2) as run:
        a, b = run.init()
        a.must("start_at", N)
        if after == "one said":
            kill(run)
        b.must("start_at", N)
        if after == "said":
            kill(run)
        for rank in run.ranks:
            rank.must("set_double", "p", N / 3)
            assert rank.write("a", 20, 10 * N + rank.number).ok
        if after == "written":
            kill(run)
        for rank in run.ranks:
            rank.end()
        if after == "ended":
            kill(run)
        for iteration in (N + 1, N + 2):
            for rank in run.ranks:
                step(rank, iteration)
        run.finish()
        assert "has taken over" in run.log() and "begins with" not in run.log()
    expect_rows(tmp_path / "run.h5", range(N, N + 3))


def test_an_event_that_was_asked_for_before_happens_in_the_first_iteration(tmp_path):
    script = tmp_path / "s.py"
    script.write_text('import leat\n@leat.on_event("e")\ndef f(ctx):\n    ctx.result("at", ctx.iteration)\n')
    text = xml(ALL).replace("</simulation>", '<actions><event name="e"/></actions></simulation>')
    with Run(tmp_path, text, ranks=2) as run:
        run.init()
        subprocess.run([BUILD / "bin/leat", "ctl", run.session, "signal", "e"], check=True, timeout=LIMIT, env=run.environment,
                       stdout=subprocess.DEVNULL)
        for rank in run.ranks:
            rank.must("start_at", N)
        for rank in run.ranks:
            step(rank, N)
        run.finish()
    expect_rows(tmp_path / "run.h5", [N])


def test_several_servers_store_it_and_their_view_has_the_true_numbers(tmp_path):
    """An event of the whole run has them agree on each iteration, and on none before the first."""
    text = xml(ALL).replace("</simulation>", '<actions><event name="e" scope="run"/></actions></simulation>')
    with NodesRun(tmp_path, text, [[0, 1], [2, 3]]) as run:
        run.init()
        for rank in run.ranks:
            rank.must("start_at", 1_000_000_000)
        for iteration in range(1_000_000_000, 1_000_000_003):
            for rank in run.ranks:
                step(rank, iteration)
        run.finish()
    expect_rows(tmp_path / "run.h5", range(1_000_000_000, 1_000_000_003), ranks=4)
