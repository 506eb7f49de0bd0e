# SPDX-License-Identifier: Apache-2.0
"""Plugins that start where all ranks come out of a collective, runs="coordinated"."""
import json
import os
import re
import signal
import time

import pytest
from arrays_run import products
from control_run import Peer, wait_until
from leat_run import Run, xml
from worker_run import OUT, ROW, WAIT, chunks, has_stored, stored, sums, workers, write

A_WHILE = 0.3  # in which what may not happen would
LONG = 'defer-max="1h"'


def coordinated(more=LONG, **options):
    return OUT + chunks(f'runs="coordinated" {WAIT} {more}', at="hold", **options)


def collective(run, ranks=0):
    for rank in run.ranks:
        rank.must("after_collective", ranks)


def begun(folder):
    path = folder / "pieces"
    return len(path.read_text().splitlines()) if path.exists() else 0


def starts(run):
    with Peer(run) as peer:
        return next(store["starts"] for store in peer.ask("metrics")["result"]["stores"] if store["name"] == "pieces")


def counts(run):
    return tuple(starts(run)[how] for how in ("first", "later", "deferred", "at_once"))


def expect_all(folder, iterations):
    found, numbers = products(folder, "pieces")
    assert numbers == list(range(iterations)) == stored(folder)
    assert found["sum"].tolist() == sums(range(iterations))


def test_it_starts_at_the_collective_that_is_meant_and_not_before(tmp_path):
    with Run(tmp_path, xml(ROW, store=coordinated(LONG + ' collectives="2"'))) as run:
        (rank,) = run.init()
        collective(run)  # the ranks count
        for iteration in range(3):
            write(run, [iteration])
            wait_until(lambda: has_stored(tmp_path, list(range(iteration + 1))), "the store")
            collective(run)
            collective(run, ranks=5)  # not of this run's ranks
            time.sleep(A_WHILE)
            assert begun(tmp_path) == 8 * iteration, "before its collective"
            collective(run)
            wait_until(lambda: begun(tmp_path) == 8 * (iteration + 1), "the analysis")
        wait_until(lambda: counts(run) == (3, 0, 0, 0), "what it says of its starts")
        said = starts(run)
        assert 0 < said["lag_seconds"] <= said["longest_lag_seconds"] < said["waited_seconds"] and said["used_seconds"] > 0
        run.finish()
    expect_all(tmp_path, 3)
    assert re.search(r"of 3 starts, 3 were at the collective that was meant, 0 at a later one, 0 after defer-max, 0 at once", run.log())
    report = json.loads((tmp_path / "run.report.json").read_text())
    (of_store,) = [each for each in report["stores"] if each["name"] == "pieces"]
    assert of_store["starts"]["first"] == 3 and of_store["seconds"] < of_store["starts"]["waited_seconds"]


def test_who_has_missed_it_takes_the_next_one_that_is_meant(tmp_path):
    with Run(tmp_path, xml(ROW, store=coordinated(LONG + ' collectives="3"'))) as run:
        run.init()
        collective(run)
        write(run, [0])
        while not counts(run)[0] + counts(run)[1]:  # its process starts meanwhile
            collective(run)
        wait_until(lambda: begun(tmp_path) == 8, "the first one")
        os.kill(run.server(), signal.SIGSTOP)
        write(run, [1])
        for _ in range(4):  # past the third
            collective(run)
        os.kill(run.server(), signal.SIGCONT)
        time.sleep(A_WHILE)
        collective(run)
        time.sleep(A_WHILE)
        assert begun(tmp_path) == 8
        before = starts(run)["later"]
        collective(run)  # the sixth
        wait_until(lambda: starts(run)["later"] == before + 1, "a later start")
        run.finish()
    expect_all(tmp_path, 2)


def test_two_nodes_start_at_the_same_one_without_a_word(tmp_path):
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    with Run(folders[0], xml(ROW, store=coordinated())) as a, Run(folders[1], xml(ROW, store=coordinated())) as b:
        for run in (a, b):
            run.init()
            collective(run)
            write(run, [0])
        time.sleep(A_WHILE)
        assert [begun(folder) for folder in folders] == [0, 0]
        for run in (a, b):
            collective(run)
        wait_until(lambda: [counts(run)[0] for run in (a, b)] == [1, 1], "both")
        a.finish()
        b.finish()


def test_without_a_collective_it_waits_for_defer_max(tmp_path):
    with Run(tmp_path, xml(ROW, store=coordinated('defer-max="0.5s"'))) as run:
        run.init()
        collective(run)
        begin = time.monotonic()
        write(run, [0])
        wait_until(lambda: counts(run) == (0, 0, 1, 0), "deferral")
        assert time.monotonic() - begin >= 0.5 and starts(run)["waited_seconds"] >= 0.5
        run.finish()


def test_ranks_that_never_say_so_cost_no_time(tmp_path):
    with Run(tmp_path, xml(ROW, store=coordinated()), ranks=2) as run:
        run.init()
        write(run, range(3))
        run.finish()
    found, numbers = products(tmp_path, "pieces")
    assert numbers == list(range(3)) and found["sum"].tolist() == [2 * each for each in sums(range(3))]
    assert "no rank has said when it comes out of a collective of all ranks, by leat_after_collective or LD_PRELOAD" in run.log()


@pytest.mark.parametrize("who", ["ended", "killed", "waiting"])
def test_a_rank_that_cannot_come_to_a_collective_is_not_waited_for(tmp_path, who):
    data = '<layout name="row" type="uint8" dimensions="1000000"/><variable name="a" layout="row"/>'
    with Run(tmp_path, xml(data if who == "waiting" else ROW, buffer="4MiB", store=coordinated())) as run:
        (rank,) = run.init()
        run.server()
        collective(run)
        if who == "waiting":
            for iteration in range(8):  # more than the buffer holds
                assert rank.write("a", 1000000, iteration).ok
                rank.end()
        else:
            write(run, [0])
        if who == "killed":
            rank.kill()
        else:
            run.finish()
    if who != "waiting":
        expect_all(tmp_path, 1)
    assert begun(tmp_path) == (64 if who == "waiting" else 8)


@pytest.mark.parametrize("who", ["worker", "leatd"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_dies_or_stops_before_its_collective_costs_no_result(tmp_path, who, how):
    with Run(tmp_path, xml(ROW, timeout="3s", store=coordinated())) as run:
        (rank,) = run.init()
        run.server()
        collective(run)
        write(run, [0])
        wait_until(lambda: workers(run) and has_stored(tmp_path, [0]), "its process")
        (worker,) = workers(run)
        victim = worker if who == "worker" else run.server()
        os.kill(victim, how)
        time.sleep(A_WHILE)
        for iteration in range(1, 4):
            collective(run)
            write(run, [iteration])
        if how == signal.SIGSTOP:
            os.kill(victim, signal.SIGCONT)
        collective(run)
        run.finish()
    expect_all(tmp_path, 4)


@pytest.mark.parametrize("attributes, message", [
    ('runs="coordinate"', 'did you mean "coordinated"'),
    ('runs="coordinated" collectives="0"', "collectives"),
    ('runs="coordinated" defer-max="soon"', "defer-max"),
])
def test_bad_input(tmp_path, attributes, message):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(attributes))) as run:
        (answer,) = [rank.init() for rank in run.ranks]
        assert not answer.ok and message in answer.error, answer
