# SPDX-License-Identifier: Apache-2.0
"""On which cores, and when, plugins run: runs="server" and runs="sync", with the same results."""
import json
import os
import signal

import h5py
import numpy as np
import pytest
from arrays_run import store, write_arrays
from leat_run import BUILD, Run, await_file, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
OUT = '<store name="out" type="hdf5"/>'
CORES = len(os.sched_getaffinity(0))


def gate(runs, name="gate"):
    return f'<store name="{name}" library="{BUILD}/lib/leat/test/gate.so" runs="{runs}"/>'


def pieces(runs, meet):
    return store("pieces", "", meet=meet).replace('type=""', f'library="{BUILD}/lib/leat/test/pieces.so" runs="{runs}"')


def test_the_end_of_an_iteration_waits_for_what_runs_in_sync(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + gate("sync"))) as run:
        (rank,) = run.init()
        rank.must("write", "a", 0, 20, 1)
        rank.start("end_iteration")
        await_file(tmp_path / "begun-0")
        assert not rank.has_answered()
        (tmp_path / "gate-open").touch()
        assert rank.result().ok
        rank.end()  # nothing is written: there is nothing to wait for
        run.finish()


def test_it_waits_for_nothing_else(tmp_path):
    with Run(tmp_path, xml(ROW, store=gate("server") + '<store name="stats" type="statistics" runs="sync" every="2"/>')) as run:
        (rank,) = run.init()
        for i in range(2):  # the second is not one of those that it takes
            rank.must("write", "a", 0, 20, i)
            rank.end()
        await_file(tmp_path / "begun-0")
        assert not (tmp_path / "begun-1").exists()
        rank.must("write", "a", 0, 20, 2)
        rank.start("end_iteration")
        assert not rank.has_answered()  # the stores are not done with the one before
        (tmp_path / "gate-open").touch()
        assert rank.result().ok
        run.finish()


@pytest.mark.parametrize("runs", ["sync", "server"])
def test_pieces_are_done_on_all_cores_while_the_simulation_waits(tmp_path, runs):
    meet = CORES if runs == "sync" else 1
    with Run(tmp_path, xml(ROW, store=OUT + pieces(runs, meet))) as run:
        (rank,) = run.init()
        for i in range(3):
            rank.must("write", "a", 0, 20, i)
            rank.end()
        run.finish()
    assert (tmp_path / "pieces.txt").read_text() == "".join(f"{i} 40 {meet}\n" for i in range(3))


def test_another_server_ends_the_wait_for_one_that_was_killed(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + gate("sync"), timeout="30s")) as run:
        (rank,) = run.init()
        rank.must("write", "a", 0, 20, 1)
        rank.start("end_iteration")
        await_file(tmp_path / "begun-0")
        os.kill(run.server(), signal.SIGKILL)
        (tmp_path / "gate-open").touch()
        assert rank.result().ok
        run.finish()


def test_an_iteration_that_fails_is_not_waited_for_any_longer(tmp_path):
    failing = pieces("sync", 1).replace("</store>", '<option name="fail" value="piece"/></store>')
    with Run(tmp_path, xml(ROW, store=OUT + failing)) as run:
        (rank,) = run.init()
        for i in range(3):
            rank.must("write", "a", 0, 20, i)
            rank.end()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and "told to fail in piece 7" in end.error
    entries = json.loads((tmp_path / "run.ledger.json").read_text())["entries"]
    assert {entry["iterations"][0] for entry in entries if entry["fate"] == "failed"} == {1}


DATA = ('<layout name="t" type="double" dimensions="?"/><variable name="T" layout="t" store="out,stats,counts"/>'
        '<layout name="p" type="double" dimensions="?,3"/><variable name="x" layout="p" store="out,g,bonds"/>')


def analyses(runs):
    four = (store("stats", "statistics") + store("counts", "histogram", bins=9) + store("g", "radial", rmax=0.2) +
            store("bonds", "bonds", cutoff=0.1, adjacency="yes"))
    return OUT + (four.replace("type=", f'runs="{runs}" type=') if runs else four)


@pytest.mark.parametrize("runs, environment", [("sync", None), ("", "sync"), ("sync", "server")])
def test_results_are_the_same_bits(tmp_path, monkeypatch, runs, environment):
    chance = np.random.default_rng(3)
    ranks = [{("T", i): chance.normal(size=90000 + i) for i in range(3)} | {("x", i): chance.random((3000, 3)) for i in range(3)}
             for _ in range(2)]
    found = []
    for name, how in (("usual", ""), ("other", runs)):
        (tmp_path / name).mkdir()
        if how == runs and environment:
            monkeypatch.setenv("LEAT_RUNS", environment)
        write_arrays(tmp_path / name, xml(DATA, buffer="64MiB", store=analyses(how)), ranks)
        with h5py.File(tmp_path / name / "run.h5") as file:
            own = {}
            file["products"].visititems(lambda path, item, own=own: own.update({path: item[()].tobytes()})
                                        if isinstance(item, h5py.Dataset) else None)
            found.append(own)
    assert len(found[0]) > 12 and found[0] == found[1]
