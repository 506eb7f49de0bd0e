# SPDX-License-Identifier: Apache-2.0
"""Servers of several nodes write one run."""
import os
import signal
import time

import h5py
import numpy as np
from leat_run import BUILD, LIMIT, await_file, data, same_bits, xml
from nodes_run import NodesRun
from stored_blocks import stored_ranks

DATA = """
  <layout name="block" type="double" dimensions="4,6" global="8,12" names="y,x"/>
  <layout name="list" type="int" dimensions="3"/>
  <variable name="u" layout="block"/><variable name="own" layout="list"/>"""


def iterate(ranks, number):
    for rank in ranks:
        y, x = 4 * (rank.number // 2), 6 * (rank.number % 2)
        rank.must("set_position", "u", 0, f"{y},{x}")
        rank.must("write", "u", 0, 4 * 6 * 8, 100 * number + rank.number)
        rank.must("write", "own", 0, 12, 100 * number + 50 + rank.number)
    for rank in ranks:
        rank.end()


def expect(path, rows, missing=()):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(rows)) and file["u"].shape == (rows, 8, 12)
        for i in range(rows):
            for rank in range(4):
                y, x = 4 * (rank // 2), 6 * (rank % 2)
                got = file["u"][i, y:y + 4, x:x + 6]
                if (i, rank) in missing:
                    assert np.isnan(got).all()
                else:
                    assert same_bits(got, data(24, "f8", 100 * i + rank).reshape(4, 6)), (i, rank)
            if not missing:
                own = stored_ranks(file, "own", i)
                assert list(own) == [0, 1, 2, 3]
                assert same_bits(np.array(list(own.values())), np.array([data(3, "i4", 100 * i + 50 + r) for r in range(4)]))


def test_two_servers_write_a_part_each_and_one_view(tmp_path):
    with NodesRun(tmp_path, xml(DATA), [[0, 2], [1, 3]]) as run:
        ranks = run.init()
        assert len(run.servers()) == 2
        for i in range(4):
            iterate(ranks, i)
        run.finish()
    assert sorted(p.name for p in (tmp_path / "run.parts" / run.session).iterdir()) == ["rank000000.h5", "rank000001.h5"]
    expect(tmp_path / "run.h5", 4)


def test_a_server_that_takes_over_goes_on_with_its_part(tmp_path):
    with NodesRun(tmp_path, xml(DATA), [[0, 1], [2, 3]]) as run:
        ranks = run.init()
        for i in range(3):
            iterate(ranks, i)
        os.kill(run.servers()[1], signal.SIGKILL)
        for i in range(3, 6):
            iterate(ranks, i)
        run.finish()
    assert len(list((tmp_path / "run.parts" / run.session).iterdir())) == 2
    expect(tmp_path / "run.h5", 6)


def test_a_server_whose_ranks_all_died_in_leat_init_touches_no_file(tmp_path):
    """It would open its store under the last rank's number, which is that of the other node's part."""
    starts = {"LD_PRELOAD": str(BUILD / "lib" / "libleat_start_steps.so"), "LEAT_STEP": f"leat_rank connect 3 before {int(signal.SIGKILL)}"}
    with NodesRun(tmp_path, xml(DATA, timeout="4s"), [[2, 3], [0, 1]],
                  each=[{}, {**starts, "LEAT_STEP_FILE": str(tmp_path / "step")}]) as run:
        for place, rank in enumerate((0, 1)):
            run.ranks[rank].start("init_ranks", run.config, run.session, rank, 4, place, 2)
        await_file(tmp_path / "step")
        for rank in (0, 1):
            run.ranks[rank].process.kill()
            run.ranks[rank].process.wait()
        living = [run.ranks[2], run.ranks[3]]
        for place, rank in enumerate(living):
            rank.start("init_ranks", run.config, run.session, rank.number, 4, place, 2)
        assert all(rank.result().ok for rank in living)
        for i in range(3):
            iterate(living, i)
        run.server_of(0)
        until = time.monotonic() + LIMIT
        while len(run.servers()) > 1:  # the one without ranks gives them up, and ends
            assert time.monotonic() < until
            time.sleep(0.01)
        for i in range(3, 6):
            iterate(living, i)
        assert {answer.status for answer in run.finalize(living)} <= {"LEAT_OK"}
        for runtime in run.all_runtimes:
            for late in runtime.glob("*.late"):
                late.unlink()
    assert [p.name for p in (tmp_path / "run.parts").glob("*/*.h5")] == ["rank000002.h5"]
    assert len(list(tmp_path.glob("run*.ledger.json"))) == 1
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(6))
        for i in range(6):
            for rank in (2, 3):
                assert same_bits(file["u"][i, 4:8, 6 * (rank % 2):6 * (rank % 2) + 6], data(24, "f8", 100 * i + rank).reshape(4, 6))
