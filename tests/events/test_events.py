# SPDX-License-Identifier: Apache-2.0
"""Events happen in their iterations, by their scopes, to those whom the XML names."""
import json
import subprocess

import pytest
from control_run import Peer, ctl, wait_until
from event_run import DATA, FUNCTIONS, HDF5, LISTENING, config, expect_data, lines, signals, step, stored, write
from leat_run import BUILD, Run, xml


def test_each_call_of_a_rank_is_told_in_its_iteration_before_the_data(tmp_path):
    with Run(tmp_path, config('<event name="x" plugin="ear"/><event name="y" plugin="ear"/>'), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0)
        step(ranks, 1, [(1, "y"), (0, "x"), (0, "y"), (0, "x"), (0, "x")])
        step(ranks, 2, [(1, "x")])
        run.finish()
    assert lines(tmp_path) == ["iteration 0 2", "x 0 1", "y 0 1", "x 0 1", "x 0 1", "y 1 1", "iteration 1 2", "x 1 2", "iteration 2 2"]


def test_of_a_node_an_event_happens_when_all_ranks_have_signalled_it(tmp_path):
    with Run(tmp_path, config('<event name="x" plugin="ear" scope="node"/><event name="y" plugin="ear" scope="run"/>'), ranks=3) as run:
        ranks = run.init()
        step(ranks, 0, [(0, "x"), (1, "x"), (0, "x")])
        step(ranks, 1, [(2, "x"), (0, "y")])
        step(ranks, 2, [(1, "y"), (2, "y"), (1, "x")])
        step(ranks, 3, [(2, "x")])
        run.finish()
    assert signals(tmp_path) == ["x -1 1", "y -1 2", "x -1 3"]


def test_a_rank_that_is_ahead_is_awaited(tmp_path):
    with Run(tmp_path, config('<event name="x" plugin="ear" scope="node"/>'), ranks=2) as run:
        a, b = run.init()
        for i in range(3):
            step([a], i, [(0, "x")])
        for i in range(3):
            step([b], i, [(1, "x")] if i == 2 else [])
        run.finish()
        assert 'event "x" was signalled and did not happen, 2 times: rank 0 has signalled it 3 times, rank 1 only 1 time' in run.log()
    assert signals(tmp_path) == ["x -1 2"]
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert any("did not happen, 2 times" in json.dumps(each) for each in ledger["warnings"])


def test_a_store_that_an_event_names_stores_only_where_it_happens(tmp_path):
    with Run(tmp_path, config('<event name="x" store="out"/>', HDF5), ranks=2) as run:
        ranks = run.init()
        for i in range(8):
            step(ranks, i, [(i % 2, "x")] if i in (2, 3, 7) else [])
        run.finish()
    expect_data(tmp_path, [2, 3, 7], 2)


def test_several_events_may_name_several_stores(tmp_path):
    stores = '<store name="a" type="hdf5" file="a.h5"/><store name="b" type="hdf5" file="b.h5"/><store name="all" type="hdf5"/>'
    with Run(tmp_path, config('<event name="x" store="a"/><event name="y" store="a, b"/>', stores)) as run:
        ranks = run.init()
        for i, each in enumerate(["", "x", "y", "x y", ""]):
            step(ranks, i, [(0, event) for event in each.split()])
        run.finish()
    assert stored(tmp_path, "a.h5") == [1, 2, 3]
    assert stored(tmp_path, "b.h5") == [2, 3]
    assert stored(tmp_path) == [0, 1, 2, 3, 4]


def test_functions_of_a_library_are_called_as_by_damaris(tmp_path):
    events = "".join(f'<event name="{name}" library="{FUNCTIONS}" function="{function}" scope="{scope}"/>' for name, function, scope in
                     [("one", "note", "rank"), ("all", "note_too", "node"), ("two", "note", "rank")])
    with Run(tmp_path, config(events, HDF5), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0, [(1, "one")])
        step(ranks, 1, [(0, "all"), (0, "two"), (1, "all")])
        run.finish()
    assert lines(tmp_path, "noted.txt") == ["one 1 0", "two 0 1"]
    assert lines(tmp_path, "noted_too.txt") == ["all -1 1"]
    expect_data(tmp_path, [0, 1], 2)


def test_an_iteration_with_nothing_but_an_event_is_one(tmp_path):
    with Run(tmp_path, config('<event name="x" plugin="ear"/>')) as run:
        (rank,) = run.init()
        step([rank], 0)
        rank.must("signal", "x")
        rank.end()
        step([rank], 2)
        rank.must("signal", "x")  # leat_finalize ends it
        run.finish()
    assert lines(tmp_path) == ["iteration 0 1", "x 0 1", "iteration 2 1", "x 0 3"]


def test_an_event_that_is_ordered_happens_once_in_the_next_iteration(tmp_path):
    events = '<event name="x" plugin="ear" scope="node"/><event name="y" store="out"/>'
    with Run(tmp_path, config(events, LISTENING + HDF5), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0)
        wait_until(lambda: "iteration 0 2" in lines(tmp_path), "iteration 0")
        assert ctl(run, "signal", "x", "--wait", "0") == "accepted\n"
        step(ranks, 1)
        ordered = subprocess.Popen([BUILD / "bin/leat", "ctl", run.session, "signal", "y", "--wait", "50"], env=run.environment,
                                   stdout=subprocess.PIPE, text=True)
        i = 2
        while ordered.poll() is None:
            step(ranks, i)
            i += 1
        number = ordered.communicate()[0]
        assert 'declares no event "z"; there are: "x", "y"' in ctl(run, "signal", "z", code=1)
        assert "signal NAME" in ctl(run, "signal", code=2)
        run.finish()
        assert 'has signalled "y"' in run.log()
    assert signals(tmp_path) == ["x -1 1"]
    (only,) = stored(tmp_path)
    assert number == f"signalled iteration {only}: y\n"


def test_whoever_watches_is_told(tmp_path):
    with Run(tmp_path, config('<event name="x"/><event name="y" scope="node"/>'), ranks=2) as run:
        ranks = run.init()
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["signalled"])["ok"]
            step(ranks, 0, [(1, "x"), (1, "x"), (0, "y"), (1, "y")])
            told = [peer.receive(), peer.receive()]
        run.finish()
    assert [(e["signal"], e["iteration"], e.get("rank"), e.get("times")) for e in told] == [("x", 0, 1, 2), ("y", 0, None, None)]


def test_a_name_that_the_xml_does_not_have_is_refused_with_the_nearest(tmp_path):
    with Run(tmp_path, config('<event name="snapshot" plugin="ear"/>')) as run:
        (rank,) = run.init()
        answer = rank.call("signal", "snapshott")
        assert answer.status == "LEAT_ERROR_UNKNOWN_NAME"
        assert answer.error == 'leat_signal: run.xml declares no event "snapshott"; did you mean "snapshot"?'
        run.finish()
    assert not lines(tmp_path)


def test_without_leat_a_signal_is_nothing(tmp_path):
    with Run(tmp_path, config(""), environment={"LEAT": "off"}) as run:
        (rank,) = run.ranks
        assert rank.call("signal", "x").ok


def test_a_plugin_that_fails_at_an_event_has_its_data_and_the_run_is_told(tmp_path):
    store = LISTENING.replace("/>", '><option name="fail" value="x"/></store>')
    with Run(tmp_path, config('<event name="x" plugin="ear"/>', store + HDF5)) as run:
        ranks = run.init()
        step(ranks, 0)
        step(ranks, 1, [(0, "x")])
        step(ranks, 2)
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and 'does not like "x"' in answer.error
    assert lines(tmp_path) == ["iteration 0 1", "x 0 1", "iteration 1 1", "iteration 2 1"]
    expect_data(tmp_path, [0, 1, 2])


def test_a_plugin_that_fails_at_an_event_without_data_is_told_of_too(tmp_path):
    store = LISTENING.replace("/>", '><option name="fail" value="x"/></store>')
    with Run(tmp_path, config('<event name="x" plugin="ear"/>', store)) as run:
        (rank,) = run.init()
        rank.must("signal", "x")
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and 'does not like "x"' in answer.error


def test_events_of_an_iteration_that_is_left_out_happen_in_the_next_one(tmp_path):
    text = xml('<layout name="big" type="uint8" dimensions="1048576"/><variable name="big" layout="big"/>' + DATA, store=LISTENING,
               log='<actions><event name="x" plugin="ear"/></actions>', timeout="1s")
    text = text.replace('size="16MiB"', 'size="4MiB" when-full="drop-iteration"')
    with Run(tmp_path, text, ranks=2) as run:
        a, b = run.init()
        a.must("signal", "x")
        a.write("big", 1 << 20, 1)
        a.end()
        i = 1
        while a.write("big", 1 << 20, i).status != "LEAT_DROPPED":  # b is in iteration 0 still
            a.must("signal", "x")
            a.end()
            i += 1
        a.must("signal", "x")  # in one that is left out
        a.end()
        for _ in range(i + 1):
            b.end()
        for rank in (a, b):
            write(rank, i + 1)
            rank.end()
        run.finish()
    assert " dropped: " in run.log()
    told = signals(tmp_path)
    assert len(told) == i + 1 and told[-1] == f"x 0 {i + 1}"


@pytest.mark.parametrize("events, words", [
    ('<event name="x" store="outt"/>', ['unknown store "outt"; did you mean "out"?']),
    ('<event name="x" plugin="./my.so"/>', ["names of stores"]),
    ('<event name="x"/><event name="x"/>', ['event "x" is declared twice']),
    ('<event name="x" library="x.so"/>', ["library and function together"]),
    ('<event name="x" scope="core"/>', ['"rank", "node" or "run"']),
    ('<event name="x" script="no"/>', ['unknown script "no"; the file has no &lt;scripts>'.replace("&lt;", "<")]),
    ('<event name="x" store="slow"/>', ['store "slow" has every="2"', 'event "x" says when it stores']),
    ('<event name="x" store="out,out"/>', ['store "out" is named twice']),
])
def test_what_is_wrong_with_actions_is_said(tmp_path, events, words):
    (tmp_path / "run.xml").write_text(config(events, HDF5 + '<store name="slow" type="trace" every="2"/>'))
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode != 0
    for each in words:
        assert each in checked.stderr + checked.stdout


@pytest.mark.parametrize("event, words", [
    (f'<event name="x" library="{FUNCTIONS}" function="no_such"/>', ["no_such", "function.so"]),
    ('<event name="x" library="./nowhere.so" function="f"/>', ["nowhere.so"]),
])
def test_a_function_that_is_not_there_is_an_error_of_the_start(tmp_path, event, words):
    with Run(tmp_path, config(event, HDF5)) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_CONFIG" and all(word in answer.error for word in words), answer
