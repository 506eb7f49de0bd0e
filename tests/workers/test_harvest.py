# SPDX-License-Identifier: Apache-2.0
"""Plugins that work while ranks idle, runs="harvest"."""
import contextlib
import os
import re
import signal
import time

import pytest
from arrays_run import products
from control_run import Peer, wait_until
from leat_run import Run, await_death, xml
from worker_run import OUT, ROW, WAIT, chunks, stored, sums, workers, write

HARVEST = f'runs="harvest" {WAIT}'
A_WHILE = 0.3  # in which what may not happen would
WORTH = 0.02  # of a phase that is worth it


def idle(rank, seconds=WORTH, site="exchange"):
    rank.must("idle_begin", site)
    time.sleep(seconds)
    rank.must("idle_end")


def pieces(folder):
    path = folder / "pieces"
    return path.read_text().splitlines() if path.exists() else []


def idle_use(run):
    with Peer(run) as peer:
        return next(store["idle"] for store in peer.ask("metrics")["result"]["stores"] if store["name"] == "pieces")


@contextlib.contextmanager
def in_the_midst_of_a_phase(folder):
    """A run of one rank, which idles, and whose plugin holds pieces of iteration 0; it ends well."""
    with Run(folder, xml(ROW, store=OUT + chunks(HARVEST, at="hold"))) as run:
        (rank,) = run.init()
        run.server()
        idle(rank)  # the first of a site is left alone
        (folder / "hold").touch()
        write(run, range(1))
        time.sleep(A_WHILE)
        assert not pieces(folder), "it works while no rank idles"
        rank.must("idle_begin", "exchange")
        wait_until(lambda: pieces(folder), "the plugin works in the phase")
        yield run
        with contextlib.suppress(FileNotFoundError):
            (folder / "hold").unlink()
        write(run, range(1, 3))
        run.finish()
    found, iterations = products(folder, "pieces")
    assert iterations == [0, 1, 2] == stored(folder) and found["sum"].tolist() == sums(range(3))
    assert found["idle"].tolist() == [8] * 3


def test_it_works_while_ranks_idle_and_is_suspended_at_the_border_of_pieces(tmp_path):
    with in_the_midst_of_a_phase(tmp_path) as run:
        (rank,) = run.ranks
        rank.must("idle_end")
        (tmp_path / "hold").unlink()
        time.sleep(A_WHILE)
        at_work = pieces(tmp_path)
        assert 0 < len(at_work) <= min(7, len(os.sched_getaffinity(0))), "what was at work ends, and nothing else is begun"
        rank.must("idle_begin", "exchange")
        wait_until(lambda: len(pieces(tmp_path)) == 8, "the others are done in the next phase")
        rank.must("idle_end")
        wait_until(lambda: idle_use(run)["pieces"] == 8, "the metrics know of it")
        assert idle_use(run)["phases"] == 3 and idle_use(run)["left_alone"] == 1 and idle_use(run)["outlasted"] == len(at_work)
        assert idle_use(run)["found_seconds"] > WORTH and 0 < idle_use(run)["late_seconds"] <= idle_use(run)["used_seconds"]
    (line,) = [line for line in run.log().splitlines() if "ranks idled" in line]
    assert re.search(r"in 3 phases \(1 too short to use", line), line
    assert re.search(r"the analysis worked for \S+ s in 24 pieces, of which \d+ ended after their phase, by \S+ ms at most", line), line


@pytest.mark.parametrize("who", ["worker", "leatd"])
def test_a_process_that_is_killed_in_a_phase_costs_nothing(tmp_path, who):
    with in_the_midst_of_a_phase(tmp_path) as run:
        (worker,) = workers(run)
        (tmp_path / "hold").unlink()
        os.kill(worker if who == "worker" else run.server(), signal.SIGKILL)
        if who == "leatd":
            await_death(worker)
    assert run.log().count("opened again") == 1


def test_short_phases_are_left_alone_and_what_was_not_expected_is_counted(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(HARVEST))) as run:
        (rank,) = run.init()
        for _ in range(3):
            rank.must("idle_pair", "short", 100)
        idle(rank, site="short")  # as no other of them
        rank.must("idle_begin", "outer")
        rank.must("idle_pair", "inner", 5)  # is part of that
        rank.must("idle_end")
        rank.must("idle_end")  # of none
        write(run, range(2))
        run.finish()
    (line,) = [line for line in run.log().splitlines() if "ranks idled" in line]
    found = re.search(r"in (\d+) phases \((\d+) too short to use, (\d+) longer", line)
    assert found and int(found[1]) == 302 and int(found[2]) >= 300 and int(found[3]) >= 1, line


def test_a_rank_that_is_killed_leaves_its_cores(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(HARVEST))) as run:
        (rank,) = run.init()
        run.server()
        write(run, range(3))
        rank.kill()
    found, iterations = products(tmp_path, "pieces")
    assert iterations == [0, 1, 2] and found["sum"].tolist() == sums(range(3))


def test_with_ranks_that_say_nothing_it_works_while_they_wait(tmp_path):
    big = '<layout name="row" type="uint8" dimensions="1000000"/><variable name="a" layout="row"/>'
    with Run(tmp_path, xml(big, buffer="4MiB", store=chunks(HARVEST))) as run:
        (rank,) = run.init()
        for iteration in range(12):  # three times what the buffer holds
            assert rank.write("a", 1000000, iteration).ok
            rank.end()
        run.finish()
    assert 'store "pieces": no rank has said when it idles' in run.log() and "in 96 pieces" in run.log()


@pytest.mark.parametrize("word", ["server", "sync", "idle", "harvest"])
def test_what_it_makes_is_the_same_under_every_schedule(tmp_path, word):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(HARVEST)), environment={"LEAT_RUNS": word}, ranks=2) as run:
        ranks = run.init()
        for iteration in range(6):
            for rank in ranks:
                assert rank.write("a", 1000, iteration).ok
            for rank in ranks:
                rank.start("end_iteration")
            for rank in ranks:
                assert rank.result().ok
                idle(rank)
        run.finish()
    found, iterations = products(tmp_path, "pieces")
    assert iterations == list(range(6)) and found["sum"].tolist() == [2 * each for each in sums(range(6))]
