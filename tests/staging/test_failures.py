# SPDX-License-Identifier: Apache-2.0
"""Staging nodes, their servers and those who send to them are killed and stopped: no hang, every value right and there once, nothing lost
that was not said."""
import json
import os
import random
import resource
import shutil
import signal
import socket
import time

import h5py
import pytest
from leat_run import LIMIT, await_death
from staging_run import FOUR, STORE, TWO, StagingRun, config, expect, expect_blocks, staged, step

SHORT = "6s"  # so a staging node that says nothing is given up after 2 s, and not tried again after another one
MAYBE = "unless `leat recover` there finds it"


def test_a_server_of_a_staging_node_that_is_killed_is_followed_by_another_one(tmp_path):
    with StagingRun(tmp_path, staged(config(4), 1), TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(4))
        for begin in (4, 8):
            os.kill(run.staging[0].server(), signal.SIGKILL)
            step(ranks, range(begin, begin + 4))
        run.finish()
    expect(tmp_path / "run.h5", range(12), 4)
    assert len(run.parts()) == 1


def test_a_server_that_sends_is_killed_and_its_successor_goes_on_there(tmp_path):
    with StagingRun(tmp_path, staged(config(4), 1), TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(4))
        for iteration, node in ((4, 0), (6, 1), (8, 0)):
            pid = run.server_of(node)
            os.kill(pid, signal.SIGKILL)
            await_death(pid)
            step(ranks, [iteration])
            time.sleep(0.3)  # ranks look ten times a second at most
            step(ranks, [iteration + 1])
        run.finish()
    expect(tmp_path / "run.h5", range(10), 4)
    assert len(run.parts()) == 1


def begun(run, iterations):
    """Its ranks, when so much is stored."""
    ranks = run.init()
    step(ranks, range(iterations))
    run.await_stored(iterations)
    return ranks


def expect_stood_in_for(answers):
    """What was stored on a lost node was not said to be: it may be lost for all that its nodes know."""
    assert all(answer.ok or MAYBE in " ".join(answer.error.split()) for answer in answers), answers


@pytest.mark.parametrize("when_lost", ["node", "other"])
def test_a_staging_node_that_is_killed_as_a_whole_is_stood_in_for(tmp_path, when_lost):
    with StagingRun(tmp_path, staged(config(8, timeout=SHORT), 2, when_lost), FOUR, 2) as run:
        ranks = begun(run, 5)
        run.staging[1].kill_as_a_whole()
        step(ranks, range(5, 10))
        answers = run.finalize()
        assert "is lost" in run.log()
        expect_stood_in_for(answers)
        run.staging[0].end()
    expect(tmp_path / "run.h5", range(10), 8)
    assert len(run.parts()) == 4


@pytest.mark.parametrize("staging", [1, 2])
def test_with_keep_until_stored_nothing_is_lost_with_a_staging_node(tmp_path, staging):
    text = staged(config(4, timeout=SHORT), staging).replace("<staging ", '<staging keep-until="stored" ')
    with StagingRun(tmp_path, text, TWO, staging) as run:
        ranks = run.init()
        step(ranks, range(6))  # some of it on its way, whatever that is
        run.staging[-1].kill_as_a_whole()
        step(ranks, range(6, 9))
        answers = run.finalize()
        assert all(answer.ok for answer in answers), answers
        for node in run.staging[:-1]:
            node.end()
    expect(tmp_path / "run.h5", range(9), 4)


def test_a_staging_node_that_nobody_stands_in_for_is_lost_and_said(tmp_path):
    with StagingRun(tmp_path, staged(config(4, timeout=SHORT), 1, "fail"), TWO, 1) as run:
        ranks = begun(run, 3)
        run.staging[0].kill_as_a_whole()
        step(ranks, range(3, 5))
        answers = run.finalize()
        assert {answer.status for answer in answers} == {"LEAT_ERROR_LOST"}
        assert "nothing is sent to staging nodes any more" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]


def test_a_staging_node_that_is_stopped_is_stood_in_for_and_harms_nothing_when_it_goes_on(tmp_path):
    with StagingRun(tmp_path, staged(config(4, timeout=SHORT), 1), TWO, 1) as run:
        ranks = begun(run, 4)
        run.staging[0].stop()
        step(ranks, range(4, 8))
        answers = run.finalize()
        run.staging[0].process.send_signal(signal.SIGCONT)
        run.staging[0].process.wait(LIMIT)
        expect_stood_in_for(answers)
    expect(tmp_path / "run.h5", range(8), 4, complete=False)


def test_ranks_that_die_are_dead_on_the_staging_node_too(tmp_path):
    with StagingRun(tmp_path, staged(config(4), 1), TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(3))
        ranks[3].kill()
        for iteration in (3, 4):
            step([ranks[0], ranks[1], ranks[2]], [iteration])
        for answer in run.finalize(ranks[:3]):
            assert answer.ok, answer
        run.staging[0].process.wait(LIMIT)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3, 4]
        assert file["leat/iteration_complete"][:].tolist() == [1, 1, 1, 0, 0]


def test_strangers_are_refused_and_harm_nothing(tmp_path):
    with StagingRun(tmp_path, staged(config(2), 1), [[0, 1]], 1) as run:
        port = int(run.staging[0].said.read_text().rsplit("port ", 1)[1])
        quiet = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for words in (b"GET / HTTP/1.1\r\n\r\n" * 40, b"\0" * 64, os.urandom(500)):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(words)
        ranks = run.init()
        step(ranks, range(4))
        run.finish()
        for each in quiet:
            each.close()
        assert "it does not know the credential of this run" in run.log()
    expect(tmp_path / "run.h5", range(4), 2)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_nothing_is_wrong_and_nothing_unsaid(tmp_path, seed):
    random_ = random.Random(seed)
    with StagingRun(tmp_path, staged(config(4, timeout=SHORT), 2, random_.choice(["node", "other"])), TWO, 2) as run:
        ranks = run.init()
        has_moved = False
        for iteration in range(10):
            if random_.random() < 0.4:
                what = random_.choice(["server", "sender", "node"])
                if what == "node" and not has_moved:
                    has_moved = True
                    run.staging[random_.randrange(2)].kill_as_a_whole()
                elif what == "sender":
                    os.kill(run.server_of(random_.randrange(2)), signal.SIGKILL)
                else:
                    for pid in run.staging_servers():
                        os.kill(pid, signal.SIGKILL)
            time.sleep(random_.random() / 20)
            step(ranks, [iteration])
        answers = run.finalize()
        is_lost = any(not answer.ok for answer in answers)
        for node in run.staging:
            node.process.wait(LIMIT)
    # What is not there may be lost, and was said to be.
    assert not is_lost or MAYBE in run.log(), answers
    expect(tmp_path / "run.h5", stored(tmp_path / "run.h5") if is_lost else range(10), 4, complete=False)


def stored(path):
    with h5py.File(path) as file:
        return file["iteration"][:].tolist()


def test_what_a_staging_node_has_no_room_for_on_its_disk_is_said_to_be_lost_and_the_rest_is_right(tmp_path):
    with StagingRun(tmp_path, staged(config(4), 1), TWO, 1) as run:
        ranks = begun(run, 3)
        (part,) = [tmp_path / "run.h5"] if (tmp_path / "run.h5").exists() else tmp_path.glob("run.parts/*/rank*.h5")
        sizes = {"full": (part.stat().st_size, resource.RLIM_INFINITY), "room": (resource.RLIM_INFINITY, resource.RLIM_INFINITY)}
        resource.prlimit(run.staging[0].server(), resource.RLIMIT_FSIZE, sizes["full"])
        step(ranks, range(3, 60))
        until = time.monotonic() + LIMIT
        while "no room on the disk" not in run.log():
            assert time.monotonic() < until, run.log()
            time.sleep(0.05)
        resource.prlimit(run.staging[0].server(), resource.RLIMIT_FSIZE, sizes["room"])
        step(ranks, range(60, 63))
        answers = run.finalize()
        assert {answer.status for answer in answers} == {"LEAT_ERROR_LOST"}, answers
        run.staging[0].end(code=1)
    with h5py.File(tmp_path / "run.h5") as file:
        rows = dict(zip(file["iteration"][:].tolist(), range(len(file["iteration"])), strict=True))
        complete = file["leat/iteration_complete"][:]
        whole = [iteration for iteration, row in rows.items() if complete[row]]
        for iteration in whole:
            expect_blocks(file, rows[iteration], iteration, 4)
    failed = {number for entry in json.loads((tmp_path / "run.ledger.json").read_text())["entries"] if entry["fate"] == "failed"
              for number in range(entry["iterations"][0], entry["iterations"][1] + 1, entry["iterations"][2])}
    assert whole[:3] == [0, 1, 2] and set(whole) | failed == set(range(63)) and not set(whole) & failed, (whole, failed)


def test_a_staging_node_without_a_share_that_was_stopped_during_the_run_ends(tmp_path):
    with StagingRun(tmp_path, staged(config(2), 2), [[0, 1]], 2) as run:
        run.staging[1].stop()
        step(run.init(), range(3))
        run.finish()
        run.staging[0].end()
        run.staging[1].process.send_signal(signal.SIGCONT)
        run.staging[1].end()
    expect(tmp_path / "run.h5", range(3), 2)
    assert not (tmp_path / "run.staging").exists()


def test_two_runs_of_one_folder_share_staging_nodes_and_no_value(tmp_path):
    text = staged(config(4), 2)
    with StagingRun(tmp_path, text, TWO, 2) as run, StagingRun(tmp_path, text, TWO, 0) as other:
        for each in (run, other):
            step(each.init(), range(3))
        for iteration in range(3, 6):
            for each in (run, other):
                step(each.ranks, [iteration])
        other.finish()
        run.finish()
    files = [path for path in tmp_path.glob("*.h5")]
    assert len(files) == 2
    for path in files:
        expect(path, range(6), 4)


def test_the_folder_of_cards_is_removed_during_a_run(tmp_path):
    with StagingRun(tmp_path, staged(config(4), 2), TWO, 2) as run:
        ranks = run.init()
        step(ranks, range(3))
        run.await_stored(3)
        shutil.rmtree(tmp_path / "run.staging")
        step(ranks, range(3, 6))
        run.finish()
    expect(tmp_path / "run.h5", range(6), 4)


def test_a_run_that_ends_with_dropped_iterations_and_an_event_to_come_ends_on_staging_nodes(tmp_path):
    """It is not known there yet whether the event happens, as another staging node is stopped."""
    big = '<data><layout name="big" type="uint8" dimensions="9437184" blocks="2"/><variable name="big" layout="big"/>'
    text = config(2, store=STORE, log='<actions><event name="x" store="out" scope="rank"/></actions>').replace("<data>", big)
    with StagingRun(tmp_path, staged(text).replace("<buffer", '<buffer when-full="drop-iteration"'), [[0], [1]], 2) as run:
        ranks = run.init()
        step(ranks, range(3))
        for rank in ranks:
            rank.must("signal", "x")
        server = run.staging[1].server()
        os.kill(server, signal.SIGSTOP)
        step(ranks, [3])
        for iteration in (4, 5):
            for block in (0, 1):
                answer = ranks[0].call("write", "big", block, 9437184, iteration)
            assert answer.status == "LEAT_DROPPED"
            for rank in ranks:
                rank.call("end_iteration")
        for rank in ranks:
            rank.start("finalize")
        until = time.monotonic() + LIMIT
        while "iteration 4 dropped: rank 0 waited" not in run.staging[0].said.read_text():
            assert time.monotonic() < until, run.log()
            time.sleep(0.02)
        os.kill(server, signal.SIGCONT)
        assert all(rank.result().ok for rank in ranks)
        for node in run.staging:
            node.end()
    assert stored(tmp_path / "run.h5") == [3]
