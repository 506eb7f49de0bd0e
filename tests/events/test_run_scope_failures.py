# SPDX-License-Identifier: Apache-2.0
"""Servers that share events of the whole run are killed and stopped: events happen on all in the same iteration, or it is said."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from control_run import ctl, wait_until
from event_run import config, signals, step, write
from leat_run import BUILD, LIMIT, Run, await_death
from nodes_run import NodesRun
from test_run_scope import EVENT, STORES, all_of, check_nothing_left, expect_parts, nodes, servers, warnings


def due(said, ranks=range(4)):
    """Iterations in which an event happens; said: pairs of iteration and rank."""
    happened, found = 0, []
    for i in range(1 + max(i for i, _ in said)):
        often = min(sum(1 for j, n in said if j <= i and n == rank) for rank in ranks)
        found += [i] * (often > happened)
        happened = max(often, happened)
    return found


def kill_node(run, node):
    """Its ranks and its server, at once."""
    pid = run.server_of(node)
    os.kill(pid, signal.SIGSTOP)
    for rank in run.nodes[node]:
        run.ranks[rank].kill()
    os.kill(pid, signal.SIGKILL)
    await_death(pid)


def of_run(run, node, key):
    """What the server of this node knows of the run."""
    return json.loads(ctl(run.on(node), "run", "--json", "--wait", "0"))["result"][key]


def recover(run, node):
    """Of all nodes, which have one /dev/shm here."""
    environment = run.on(node).environment if isinstance(run, NodesRun) else run.environment
    return subprocess.Popen([BUILD / "bin/leat", "recover"], env=environment, cwd=run.folder, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def clean(run):
    for node in (0, 1):
        subprocess.run([BUILD / "bin/leat", "clean"], env=run.on(node).environment, cwd=run.folder, check=True, capture_output=True)


def ended(process):
    said = process.communicate(timeout=LIMIT)[0]
    assert process.returncode == 0, said
    return said


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [nodes, servers])
def test_servers_killed_at_random_moments_let_events_happen_in_the_same_iterations(tmp_path, kind, seed):
    chance = random.Random(seed)
    said = []
    with kind(tmp_path) as run:
        ranks = run.init()
        for i in range(30):
            for rank in ranks:
                write(rank, i)
                if chance.random() < 0.3:
                    rank.must("signal", "x")
                    said.append((i, rank.number))
                if chance.random() < 0.1:
                    time.sleep(chance.choice([0, 0.002, 0.02]))
                    for pid in chance.sample(run.servers(), k=min(len(run.servers()), chance.choice([1, 1, 2]))):
                        os.kill(pid, signal.SIGKILL)
                rank.end()
        run.finish()
        assert "has taken over" in run.log()
    expect_parts(tmp_path, [due(said)] * 2)
    assert set(signals(tmp_path)) == {f"x -1 {i}" for i in due(said)}
    check_nothing_left(tmp_path)


def test_a_server_that_is_stopped_for_too_long_is_not_waited_for_and_follows_when_it_goes_on(tmp_path):
    with nodes(tmp_path, timeout="2s") as run:
        ranks = run.init()
        step(ranks, 0, all_of(0))
        wait_until(lambda: len(signals(tmp_path)) == 2, "the first event")
        pid = run.server_of(1)
        os.kill(pid, signal.SIGSTOP)
        for i in (1, 2):
            step(ranks[:2], i, [(0, "x"), (1, "x")] if i == 1 else [])
        wait_until(lambda: len(signals(tmp_path)) == 3, "the event without the other server's ranks")
        os.kill(pid, signal.SIGCONT)
        for i in (1, 2):
            step(ranks[2:], i)
        run.finish()
        assert warnings(run, "has reported nothing for too long: from iteration 1 on the run goes on without its ranks") == 2
        assert "miss what this one has" not in run.log()  # what it says too late is said by that
    assert sorted(signals(tmp_path)) == ["x -1 0"] * 2 + ["x -1 1"] * 2
    expect_parts(tmp_path, [[0, 1]] * 2)
    check_nothing_left(tmp_path)


def test_a_server_whose_ranks_compute_for_long_is_waited_for(tmp_path):
    with nodes(tmp_path, timeout="2s") as run:
        ranks = run.init()
        step(ranks[:2], 0, all_of(0))
        time.sleep(3)  # longer than anybody waits for one that is silent
        assert not signals(tmp_path)
        step(ranks[2:], 0)
        step(ranks, 1, [(2, "x"), (3, "x")])
        run.finish()
        assert "too long" not in run.log()
    expect_parts(tmp_path, [[1]] * 2)


def test_ranks_of_a_node_that_have_died_are_not_waited_for(tmp_path):
    with nodes(tmp_path) as run:
        ranks = run.init()
        step(ranks, 0)
        for rank in ranks[2:]:
            rank.kill()
        step(ranks[:2], 1, [(0, "x"), (1, "x")])
        step(ranks[:2], 2)
        for answer in run.finalize(ranks[:2]):
            assert answer.ok, answer
        assert "too long" not in run.log()
    assert set(signals(tmp_path)) == {"x -1 1"}
    check_nothing_left(tmp_path)


def test_a_node_that_is_killed_as_a_whole_is_not_waited_for_and_stores_the_same_iterations_when_it_is_recovered(tmp_path):
    with nodes(tmp_path, timeout="5s") as run:  # longer than what is stopped below is stopped on a loaded machine
        ranks = run.init()
        step(ranks, 0, all_of(0))
        wait_until(lambda: [of_run(run, node, "agreed") for node in (0, 1)] == [0, 0], "what they agree on")
        os.kill(run.server_of(0), signal.SIGSTOP)
        step(ranks[2:], 1)  # of which the other one has said nothing
        wait_until(lambda: of_run(run, 1, "reported") == 1, "what it tells")
        kill_node(run, 1)
        os.kill(run.server_of(0), signal.SIGCONT)
        for i in range(1, 4):
            step(ranks[:2], i, [(0, "x"), (1, "x")] if i == 2 else [])
        wait_until(lambda: warnings(run, "has reported nothing for too long: from iteration 2 on"), "patience")
        for answer in run.finalize(ranks[:2]):
            assert answer.ok, answer
        assert "stored now" in ended(recover(run, 1))
    expect_parts(tmp_path, [[0, 2], [0]])
    check_nothing_left(tmp_path)


@pytest.mark.parametrize("kind", [nodes, servers])
def test_servers_that_were_killed_with_their_ranks_let_the_events_of_their_own_happen_when_all_of_it_is_recovered(tmp_path, kind):
    """Of iterations that they had not agreed on: each is recovered by itself."""
    with kind(tmp_path, timeout="2s") as run:
        ranks = run.init()
        step(ranks, 0)
        wait_until(lambda: run.log().count("which have met") == 2, "servers that know each other")
        for pid in run.servers():
            os.kill(pid, signal.SIGSTOP)
        step(ranks, 1, [(0, "x"), (1, "x"), (2, "x")])
        step(ranks, 2, [(3, "x")])
        for rank in ranks:
            rank.kill()
        for pid in run.servers():
            os.kill(pid, signal.SIGKILL)
            await_death(pid)
        begun = time.monotonic()
        said = ended(recover(run, 0))
        assert said.count("that were in memory are stored now") == 2 and time.monotonic() - begun < 3, said
        if kind is nodes:
            clean(run)
    expect_parts(tmp_path, [[1], [1]])
    check_nothing_left(tmp_path)


def test_what_a_killed_run_of_the_same_session_has_left_is_not_taken_for_this_runs(tmp_path):
    with nodes(tmp_path) as run:
        session = run.session
        step(run.init(), 0, all_of(0))
        wait_until(lambda: len(signals(tmp_path)) == 2, "the event")
        for node in (0, 1):
            kill_node(run, node)
        shutil.copytree(tmp_path / "run.group", tmp_path / "left")
        ended(recover(run, 0))
        clean(run)
    shutil.rmtree(tmp_path / "run.group", ignore_errors=True)
    (tmp_path / "left").rename(tmp_path / "run.group")
    assert len(list((tmp_path / "run.group" / session).glob("*.card"))) == 2
    (tmp_path / "told.txt").unlink()
    with nodes(tmp_path) as run:
        run.session = session
        ranks = run.init()
        step(ranks, 0)
        step(ranks, 1, all_of(1))
        run.finish()
        assert "too long" not in run.log() and "without the other" not in run.log()
    assert signals(tmp_path) == ["x -1 1"] * 2


ALONE = "on this server goes on without the other servers of the run: "


def test_servers_that_cannot_tell_each_other_say_so_and_store_what_they_have(tmp_path):
    (tmp_path / "run.group").write_text("no folder")
    with nodes(tmp_path, events='<event name="x" plugin="ear" scope="run"/>', timeout="2s") as run:
        ranks = run.init()
        for i in range(3):
            step(ranks, i, all_of(i))
        wait_until(lambda: warnings(run, ALONE) == 2, "patience")
        expect_lost_events(run.finalize())
        assert warnings(run, ALONE) == 2
    assert sorted(signals(tmp_path)) == sorted([f"x -1 {i}" for i in range(3)] * 2)
    expect_parts(tmp_path, [[0, 1, 2]] * 2)


def test_a_server_that_finds_no_other_says_so_and_stores_what_it_has(tmp_path):
    events = '<event name="x" plugin="ear" scope="run"/>'
    with Run(tmp_path, config(events, STORES, timeout="2s")) as run:
        (rank,) = run.ranks
        assert rank.call("init_ranks", run.config, run.session, 0, 2, 0, 1).ok
        step([rank], 0, [(0, "x")])
        wait_until(lambda: warnings(run, ALONE + "of the 2 ranks of the run servers of only 1 have met in"), "patience")
        expect_lost_events(run.finalize())
    assert signals(tmp_path) == ["x -1 0"]
    expect_parts(tmp_path, [[0]])
    check_nothing_left(tmp_path)


def test_a_server_none_of_whose_ranks_ever_connects_ends(tmp_path):
    """Its only rank is killed while it starts; events of the run wait for other servers, which it never looks for."""
    with nodes(tmp_path, timeout="2s") as run:
        run.ranks[2].start("init_ranks", run.config, run.session, 2, 4, 0, 1)
        wait_until(run.servers, "its server")
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        run.ranks[2].kill()
        os.kill(server, signal.SIGCONT)
        wait_until(lambda: not run.servers(), "its end")
        run.all_runtimes[0].mkdir()
        for late in run.all_runtimes[1].glob("*.late"):
            late.unlink()


SLOW = """
import time

def process(ds, ctx):
    time.sleep(0.4)
    ctx.scalar("n", ctx.reduce(1, "sum"))
"""


def test_a_server_that_goes_alone_after_its_last_iteration_says_so(tmp_path):
    """Scripts are still at work: what they reduce is its own from then on."""
    (tmp_path / "slow.py").write_text(SLOW)
    scripts = f'<scripts interpreter="{sys.executable}"><script file="slow.py" when-slow="wait"/></scripts>'
    with NodesRun(tmp_path, config(EVENT, STORES, more=scripts, timeout="2s"), [[0], [1]]) as run:
        ranks = run.init()
        for i in range(8):
            step(ranks, i)
        wait_until(lambda: of_run(run, 1, "agreed") == 7, "what they agree on")
        server = run.server_of(0)
        for rank in ranks:
            rank.start("finalize")
        time.sleep(0.7)  # both have ended all iterations, and know it of each other
        os.kill(server, signal.SIGSTOP)
        wait_until(lambda: "after its last iteration this server goes on without" in run.log(), "its word")
        os.kill(server, signal.SIGCONT)
        answers = [rank.result() for rank in ranks]
        assert {each.status for each in answers} <= {"LEAT_OK", "LEAT_ERROR_TIMEOUT"}, answers


def test_when_the_journal_is_gone_no_event_happens_twice_and_it_is_said(tmp_path):
    with nodes(tmp_path, timeout="4s") as run:
        ranks = run.init()
        step(ranks, 0, all_of(0))
        wait_until(lambda: len(signals(tmp_path)) == 2, "the first event")
        os.kill(run.server_of(1), signal.SIGKILL)
        (journal,) = run.all_runtimes[1].glob("*.journal")
        journal.unlink()
        step(ranks, 1, all_of(1))
        step(ranks, 2)
        answers = run.finalize()
        expect_lost_events(answers[2:])
        assert warnings(run, ALONE) >= 1
    assert signals(tmp_path).count("x -1 0") == 2


def init_node(run, node):
    for place, number in enumerate(run.nodes[node]):
        run.ranks[number].start("init_ranks", run.config, run.session, number, 4, place, 2)
    assert all(run.ranks[number].result().ok for number in run.nodes[node])


def test_a_server_that_is_stopped_at_its_start_takes_no_events_from_the_others(tmp_path):
    """It has a card in the folder, and was stopped before it heard of the other one."""
    with nodes(tmp_path, timeout="2s") as run:
        ranks = run.ranks
        init_node(run, 1)
        wait_until(lambda: list((tmp_path / "run.group" / run.session).glob("*.card")), "its card")
        os.kill(run.server_of(1), signal.SIGSTOP)
        init_node(run, 0)
        for i in range(3):
            step(ranks[:2], i, [(0, "x"), (1, "x")] if i != 1 else [])
        wait_until(lambda: len(signals(tmp_path)) == 2, "the events without the other server's ranks")
        os.kill(run.server_of(1), signal.SIGCONT)
        for i in range(3):
            step(ranks[2:], i)
        expect_lost_events(run.finalize())
        assert warnings(run, ALONE) == 2
    assert sorted(signals(tmp_path)) == ["x -1 0", "x -1 2"]
    expect_parts(tmp_path, [[0, 2], []])
    check_nothing_left(tmp_path)


def test_servers_of_which_one_comes_after_the_other_has_given_up_go_on_each_by_itself(tmp_path):
    events = '<event name="x" plugin="ear" scope="run"/>'
    with nodes(tmp_path, events=events, timeout="5s") as run:  # the server gives up a little earlier than its ranks
        init_node(run, 0)
        for i in range(3):
            step(run.ranks[:2], i, [(0, "x"), (1, "x")])
        expect_lost_events(run.finalize(run.ranks[:2]))
        (ledger,) = [json.loads(path.read_text()) for path in tmp_path.glob("*.ledger.json")]
        assert ledger["status"] == "LEAT_ERROR_LOST" and ledger["lost"] == 0
        assert "lost-events" in [each["what"] for each in ledger["warnings"]]
        init_node(run, 1)
        run.finalize(run.ranks[2:])
    expect_parts(tmp_path, [[0, 1, 2], []])


def expect_lost_events(answers):
    """leat_finalize of all ranks of a node."""
    assert [answer.status for answer in answers] == ["LEAT_ERROR_LOST"] * len(answers), answers
    assert all("without the other servers of the run" in answer.error for answer in answers), answers


def test_a_job_that_is_suspended_for_longer_than_every_timeout_goes_on_as_if_nothing_had_been(tmp_path):
    with nodes(tmp_path, timeout="2s") as run:
        ranks = run.init()
        wait_until(lambda: run.log().count("which have met") == 2, "they meet")
        for i in range(3):
            step(ranks, i)
        all_processes = [run.server_of(0), run.server_of(1), *(rank.process.pid for rank in ranks)]
        for pid in all_processes:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(8)
        for pid in all_processes:
            os.kill(pid, signal.SIGCONT)
        for i in range(3, 6):
            step(ranks, i, all_of(i))
        run.finish()
        assert "without the other servers" not in run.log() and "too long" not in run.log(), run.log()
    expect_parts(tmp_path, [[3, 4, 5], [3, 4, 5]])
