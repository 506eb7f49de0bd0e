# SPDX-License-Identifier: Apache-2.0
"""Events of the whole run where several servers have its ranks: they happen on all of them, in the same iteration."""
import json
import re

import h5py
import pytest
from control_run import ctl, wait_until
from event_run import LISTENING, config, signals, step
from leat_run import Run
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
    """How often a server has said this."""
    return len(re.findall(r"leatd \S+ warning: .*" + re.escape(text) + ".*", re.sub("warning: warning.*", "", run.log())))


def check_nothing_left(folder):
    assert not (folder / "run.group").exists()


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
        assert warnings(run, 'event "x" was signalled and did not happen, 1 time: a rank of server') == 2
    expect(tmp_path, [0])
    ledgers = [json.loads(path.read_text()) for path in tmp_path.glob("*.ledger.json")]
    assert len(ledgers) >= 1 and all("did not happen" in json.dumps(each["warnings"]) for each in ledgers)


def test_servers_that_are_far_apart_wait_for_each_other_and_say_so(tmp_path):
    with nodes(tmp_path) as run:
        ranks = run.init()
        for i in range(4):
            step(ranks[:2], i, [(0, "x"), (1, "x")] if i == 0 else [])
        wait_until(lambda: "(rank 2 and others)" in str(json.loads(ctl(run.on(0), "status", "--json"))["result"]["waits"]), "waits")
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


def test_an_iteration_that_one_server_has_left_out_is_answered_and_its_event_happens_there_in_the_next(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>'
    text = config(EVENT, STORES).replace("<data>", "<data>" + big).replace(
        'size="16MiB"', 'size="3MiB" when-full="drop-iteration"')
    with NodesRun(tmp_path, text, [[0], [1]]) as run:
        a, b = run.init()
        for i in range(8):  # nothing of b is known: the first ones wait until they are left out
            assert a.write("big", 1 << 20, i).ok
            if i == 0:
                a.must("signal", "x")
            a.end()
        for i in range(8):
            step([b], i, [(1, "x")] if i == 0 else [])
        run.finish()
        assert "dropped: still waiting for other servers" in run.log()
    told = sorted(int(line.split()[2]) for line in signals(tmp_path))
    assert told[0] == 0 and 1 <= told[1] <= 7


def test_without_such_events_or_with_one_server_no_lines_are_exchanged(tmp_path):
    for number, (events, ranks) in enumerate([('<event name="x" plugin="ear" scope="node"/>', [[0], [1]]), (EVENT, [[0, 1]])]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with NodesRun(folder, config(events, STORES), ranks) as run:
            all_ranks = run.init()
            step(all_ranks, 0, [(0, "x"), (1, "x")])
            assert not list(folder.glob("run.group/*/*.line"))
            assert len(ranks) > 1 or not (folder / "run.group").exists()  # several servers meet there
            run.finish()
        check_nothing_left(folder)
