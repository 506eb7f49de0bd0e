# SPDX-License-Identifier: Apache-2.0
"""mode="auto": whatever it decides and however often, all is stored once and in order; no wait is without a bound."""
import json
import os
import signal
import time

import h5py
import pytest
from leat_run import Run, data, same_bits, xml
from stored_blocks import stored_ranks

BYTES = 4096
ARRAY = f'<layout name="l" type="uint8" dimensions="{BYTES}"/><variable name="a" layout="l"/>'


def config(place="process", timeout="30s"):
    return xml(ARRAY, timeout=timeout).replace("<dedicated ", f'<dedicated place="{place}" mode="auto" ')


def write(ranks, iterations, pause=0.0):
    for iteration in iterations:
        for rank in ranks:
            rank.must("write", "a", 0, BYTES, seed(rank.number, iteration))
        time.sleep(pause)
        for rank in ranks:
            rank.start("end_iteration")
        for rank in ranks:
            answer = rank.result()
            assert answer.ok, answer


def seed(rank, iteration):
    return (7 * iteration + rank) % 251


def check_stored(folder, ranks, iterations):
    with h5py.File(folder / "run.h5") as file:
        assert list(file["iteration"]) == list(range(iterations))
        for row in range(iterations):
            found = stored_ranks(file, "a", row)
            assert sorted(found) == list(range(ranks)), row
            assert all(same_bits(found[r], data(BYTES, "u1", seed(r, row))) for r in found), row


def decided(run):
    """What the report says, which has to follow from its own numbers."""
    report = json.loads((run.folder / "run.report.json").read_text())
    mode = report["mode"]
    assert report["synchronous"] == (mode["decided"] == "sync")
    waiting, beside = mode["sync"], mode["async"]
    if beside is None:
        part = "compute_seconds" if mode["decided"] == "sync" else "output_seconds"
        assert waiting[part] <= 0.03 * waiting["iteration_seconds"]
    elif mode["changes"] == 0:
        assert (mode["decided"] == "async") == (beside["iteration_seconds"] < 0.97 * waiting["iteration_seconds"])
    assert f'from iteration {mode["since_iteration"]} on ranks' in run.log() and mode["why"] in run.log()
    return mode


@pytest.mark.parametrize("place", ["process", "thread"])
def test_all_is_stored_while_it_tries_and_after(tmp_path, place):
    with Run(tmp_path, config(place), ranks=2) as run:
        ranks = run.init()
        write(ranks, range(60), pause=0.01)
        write(ranks, range(60, 160))
        write(ranks, range(160, 200), pause=0.01)
        run.finish()
        decided(run)
    check_stored(tmp_path, 2, 200)


def test_a_short_run_waits_and_decides_nothing(tmp_path):
    with Run(tmp_path, config()) as run:
        write(run.init(), range(4))
        run.finish()
    report = json.loads((tmp_path / "run.report.json").read_text())
    assert report["mode"] == {"decided": None} and report["synchronous"]


@pytest.mark.parametrize("at", [3, 9, 40])
def test_the_next_server_begins_anew(tmp_path, at):
    """Killed before it has decided, amid what it tries, and after it has."""
    with Run(tmp_path, config(), ranks=2) as run:
        ranks = run.init()
        write(ranks, range(at), pause=0.01)
        os.kill(run.server(), signal.SIGKILL)
        write(ranks, range(at, at + 60), pause=0.01)
        run.finish()
        decided(run)
    check_stored(tmp_path, 2, at + 60)


def test_a_rank_that_does_not_end_the_iteration_costs_the_others_the_timeout_and_no_error(tmp_path):
    with Run(tmp_path, config(timeout="1s"), ranks=2) as run:
        a, b = run.init()
        a.must("write", "a", 0, BYTES, seed(0, 0))
        began = time.monotonic()
        assert a.call("end_iteration").ok and time.monotonic() - began >= 1
        b.must("write", "a", 0, BYTES, seed(1, 0))
        b.must("end_iteration")
        run.finish()
    check_stored(tmp_path, 2, 1)


def test_a_killed_rank_is_not_waited_for(tmp_path):
    with Run(tmp_path, config(), ranks=2) as run:
        a, b = run.init()
        write([a, b], range(3))
        b.kill()
        write([a], range(3, 40), pause=0.005)
        run.finalize([a])


def test_a_server_that_is_stopped_longer_than_the_timeout(tmp_path):
    with Run(tmp_path, config(timeout="1s")) as run:
        (rank,) = run.init()
        write([rank], range(2))
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        rank.must("write", "a", 0, BYTES, seed(0, 2))
        rank.must("end_iteration")
        os.kill(server, signal.SIGCONT)
        write([rank], range(3, 30), pause=0.01)
        run.finish()
    check_stored(tmp_path, 1, 30)
