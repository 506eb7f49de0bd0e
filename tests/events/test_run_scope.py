# SPDX-License-Identifier: Apache-2.0
"""Events of the whole run where several servers have its ranks: they happen on all of them, in the same iteration."""
import json
import os
import re
import signal
import time

import h5py
import pytest
from control_run import ctl, wait_until
from event_run import LISTENING, config, signals, step
from leat_run import LIMIT, Run
from nodes_run import NodesRun

EVENT = '<event name="x" plugin="ear" store="out" scope="run"/>'
STORES = LISTENING + '<store name="out" type="hdf5"/>'
DEDICATED = '<dedicated cores="1"/>'


def nodes(folder, events=EVENT, stores=STORES, **others):
    """Two servers, of ranks 0 and 1, and 2 and 3."""
    return NodesRun(folder, config(events, stores, **others), [[0, 1], [2, 3]])


def servers(folder, events=EVENT, stores=STORES, **others):
    """The same on one node."""
    text = config(events, stores, **others)
    assert DEDICATED in text
    return Run(folder, text.replace(DEDICATED, '<dedicated cores="2" servers="2"/>'), ranks=4)


def all_of(iteration, event="x"):
    return [(n, event) for n in range(4)]


def expect(folder, happened):
    """Each server was told of the events in these iterations, and each has stored them."""
    told = sorted(signals(folder), key=lambda line: int(line.split()[2]))
    assert told == [f"x -1 {i}" for i in happened for _ in range(2)]
    expect_parts(folder, [happened, happened])


def expect_parts(folder, each):
    parts = sorted((folder / "run.parts").glob("*/rank*.h5"))
    assert len(parts) == len(each)
    for part, iterations in zip(parts, each):
        with h5py.File(part) as file:
            assert file["iteration"][:].tolist() == list(iterations), part


def warnings(run, text):
    """How often a server has said this, but for the account of all at its end."""
    said = [line for line in run.log().splitlines() if not line.endswith(".ledger.json")]
    return sum(re.search(r"leatd \S+ warning: .*" + re.escape(text), line) is not None for line in said)


def check_nothing_left(folder):
    """The last server clears up after all who wait for it have their answer."""
    wait_until(lambda: not (folder / "run.group").exists(), "the folder of the meeting goes")


@pytest.mark.parametrize("kind", [nodes, servers])
def test_an_event_happens_on_all_servers_in_the_iteration_in_which_the_last_rank_signals_it(tmp_path, kind):
    with kind(tmp_path) as run:
        ranks = run.init()
        step(ranks, 0)
        step(ranks, 1, [(0, "x"), (1, "x")])
        step(ranks, 2, [(2, "x")])
        step(ranks, 3)
        step(ranks, 4, [(3, "x"), (0, "x")])
        step(ranks, 5, [(1, "x"), (2, "x"), (3, "x")])
        step(ranks, 6, all_of(6))
        run.finish()
        assert "did not happen" not in run.log()
    expect(tmp_path, [4, 5, 6])
    check_nothing_left(tmp_path)


def test_an_event_that_not_all_ranks_of_the_run_have_signalled_is_said_by_all_servers(tmp_path):
    with nodes(tmp_path) as run:
        ranks = run.init()
        step(ranks, 0, [(0, "x"), (1, "x"), (2, "x"), (3, "x"), (2, "x")])
        step(ranks, 1)
        run.finish()
        assert warnings(run, 'event "x" was signalled and did not happen, 1 time: a rank of the run has signalled it 2 times, another '
                        'one only 1 time') == 2
    expect(tmp_path, [0])
    ledgers = [json.loads(path.read_text()) for path in tmp_path.glob("*.ledger.json")]
    assert len(ledgers) >= 1 and all("did not happen" in json.dumps(each["warnings"]) for each in ledgers)


def test_servers_that_are_far_apart_wait_for_each_other_and_say_so(tmp_path):
    with nodes(tmp_path) as run:
        ranks = run.init()
        for i in range(4):
            step(ranks[:2], i, [(0, "x"), (1, "x")] if i == 0 else [])
        wait_until(lambda: re.search(r"waits for server \S", str(json.loads(ctl(run.on(0), "status", "--json"))["result"]["waits"])),
                   "waits")
        assert "iteration 0 waits for server " in ctl(run.on(0), "status")
        assert json.loads(ctl(run.on(1), "status", "--json"))["result"]["waits"] is None
        for i in range(4):
            step(ranks[2:], i, [(2, "x"), (3, "x")] if i == 2 else [])
        run.finish()
    expect(tmp_path, [2])


def test_a_server_that_nobody_has_written_to_tells_its_plugin_all_the_same(tmp_path):
    with nodes(tmp_path, stores=LISTENING, events='<event name="x" plugin="ear" scope="run"/>') as run:
        ranks = run.init()
        for rank in ranks[2:]:
            rank.must("signal", "x")
            rank.end()
        step(ranks[:2], 0)
        step(ranks[:2], 1, [(0, "x"), (1, "x")])
        for rank in ranks[2:]:
            rank.end()
        run.finish()
    assert signals(tmp_path) == ["x -1 1", "x -1 1"]


def test_what_is_ordered_at_one_server_happens_once_on_all(tmp_path):
    with nodes(tmp_path) as run:
        ranks = run.init()
        step(ranks, 0)
        ctl(run.on(1), "signal", "x", "--wait", "0")
        for i in (1, 2, 3):
            step(ranks, i)
        run.finish()
    told = signals(tmp_path)
    assert len(told) == 2 and len(set(told)) == 1 and told[0].startswith("x -1 ")
    iteration = int(told[0].split()[2])
    expect_parts(tmp_path, [[iteration], [iteration]])


BIG = '<data><layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>'


def small_buffer(events, scope):
    return config(events, STORES).replace("<data>", BIG).replace('size="16MiB"', f'size="3MiB" when-full="drop-iteration" scope="{scope}"')


def test_an_iteration_that_one_server_drops_is_dropped_on_all_and_its_event_happens_in_the_next(tmp_path):
    with NodesRun(tmp_path, small_buffer(EVENT, "run"), [[0], [1]]) as run:
        a, b = run.init()
        dropped = []
        for i in range(8):  # b has ended none: a has no room for the third one, and must not drop the first ones
            if a.write("big", 1 << 20, i).status == "LEAT_DROPPED":
                dropped.append(i)
            if i == 4:
                a.must("signal", "x")
            a.end()
        assert dropped and dropped[0] >= 1 and 4 in dropped
        for i in range(8):
            step([b], i, [(1, "x")] if i == 4 else [])
        for i in (8, 9):
            step([a, b], i)
        run.finish()
        assert len(re.findall("iteration 4 dropped: dropped on ", run.log())) == 1
    told = signals(tmp_path)
    assert len(told) == 2 and len(set(told)) == 1
    happened = int(told[0].split()[2])
    assert happened > 4 and happened not in dropped
    for ledger in tmp_path.glob("*.ledger.json"):
        assert json.loads(ledger.read_text())["dropped_iterations"] == len(dropped), ledger
    expect_parts(tmp_path, [[happened], [happened]])


def test_ranks_that_have_no_room_at_one_time_are_all_answered(tmp_path):
    """The first request drops the iteration; the others came before their ranks could see that."""
    text = small_buffer("", "run").replace(' event="x"', "")
    with NodesRun(tmp_path, text, [[0, 1], [2]]) as run:
        a, b, c = run.init()
        for rank in (a, b):  # the buffer is full of iteration 0 until c has ended it
            assert rank.write("big", 1 << 20, 0).ok
            rank.end()
        server = run.server_of(0)
        os.kill(server, signal.SIGSTOP)
        for rank in (a, b):
            rank.start("write", "big", 0, 1 << 20, 1)
        time.sleep(0.2)  # both have asked
        os.kill(server, signal.SIGCONT)
        assert [rank.result().status for rank in (a, b)] == ["LEAT_DROPPED"] * 2
        for rank in (a, b):
            rank.end()
        assert c.write("big", 1 << 20, 0).ok
        c.end()
        c.write("big", 1 << 20, 1)
        c.end()
        run.finish()
    expect_parts(tmp_path, [[0], [0]])


def test_with_scope_node_each_server_drops_by_itself(tmp_path):
    text = small_buffer("", "node").replace(' event="x"', "").replace('timeout="10s"', 'timeout="2s"')
    with NodesRun(tmp_path, text, [[0], [1]]) as run:
        a, b = run.init()
        wait_until(lambda: run.log().count("which have met") == 2, "they meet")
        server, dropped = run.server_of(0), []
        for i in range(6):
            if i == 2:
                os.kill(server, signal.SIGSTOP)
            if a.write("big", 1 << 20, i).status == "LEAT_DROPPED":
                dropped.append(i)
            a.end()
            if i == 3:
                os.kill(server, signal.SIGCONT)
        assert dropped
        for i in range(6):
            b.must("write", "a", 0, 20, i)
            b.end()
        run.finish()
    kept = {path.name: json.loads(path.read_text())["dropped_iterations"] for path in tmp_path.glob("*.ledger.json")}
    assert sorted(kept.values())[0] == 0 and sorted(kept.values())[1] >= len(dropped), kept


def test_a_value_that_is_steered_at_one_server_holds_from_the_same_iteration_on_all_ranks_of_the_run(tmp_path):
    text = config("", LISTENING).replace("<data>", '<data><parameter name="dt" type="double" value="0.5"/>')
    with NodesRun(tmp_path, text, [[0, 1], [2, 3]]) as run:
        ranks = run.init()
        seen = {rank.number: [] for rank in ranks}
        until, i = time.monotonic() + LIMIT, 0
        while seen[0][-1:] != [0.125]:
            assert time.monotonic() < until, "the last value never holds"
            for rank in ranks:
                seen[rank.number].append(rank.must("get_double", "dt").value)
                rank.end()
            if i == 20:
                ctl(run.on(1), "set", "dt=0.25", "--wait", "0")
            if i == 60:
                ctl(run.on(0), "set", "dt=0.125", "--wait", "0")
            time.sleep(0.005)
            i += 1
        run.finish()
        assert "past it" not in run.log()
    assert all(values == seen[0] for values in seen.values())
    assert sorted(set(seen[0])) == [0.125, 0.25, 0.5]


def test_with_one_server_there_is_nothing_to_meet(tmp_path):
    with NodesRun(tmp_path, config(EVENT, STORES), [[0, 1]]) as run:
        ranks = run.init()
        step(ranks, 0, [(0, "x"), (1, "x")])
        assert not (tmp_path / "run.group").exists()
        run.finish()


def test_any_server_says_how_all_do_and_the_first_one_writes_what_became_of_the_run(tmp_path):
    with NodesRun(tmp_path, config("", STORES), [[0, 1], [2, 3], [4]]) as run:
        ranks = run.init()
        for i in range(3):
            step(ranks, i)
        for node in range(3):
            wait_until(lambda node=node: json.loads(ctl(run.on(node), "run", "--json"))["result"]["agreed"] == 2, "what all have ended")
            facts = json.loads(ctl(run.on(node), "run", "--json"))["result"]
            assert [each["state"] for each in facts["servers"]] == ["there"] * 3
            assert [each["ranks"] for each in facts["servers"]] == [2, 2, 1] and facts["this"] == node
            assert [each["iteration"] for each in facts["servers"]] == [3] * 3 and facts["alone"] is None
        screen = ctl(run.on(1), "run")
        assert "3 with 5 ranks, of which 5 are there" in screen and "3 ended by all of them" in screen
        run.finish()
    assert list(tmp_path.glob("*.run.json")), run.log()
    (account,) = [json.loads(path.read_text()) for path in tmp_path.glob("*.run.json")]
    assert account["leat_run"] == 1 and account["missing"] == []
    assert account["totals"] == {"ranks": 5, "bytes": 3 * 5 * 20, "lost": 0}
    assert [each["ranks"] for each in account["servers"]] == [2, 2, 1]
