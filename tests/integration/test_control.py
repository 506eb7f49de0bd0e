# SPDX-License-Identifier: Apache-2.0
"""The control channel of a session: what is asked is answered, what is ordered is done."""
import csv
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import h5py
import pytest
from control_run import DATA, SIZE, Peer, connect, ctl, wait_until, write
from leat_run import BUILD, LIMIT, Run, xml
from nodes_run import NodesRun

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from script_run import config, put  # noqa: E402


def test_what_a_run_is_and_does_is_told(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        a, b = run.init()
        with Peer(run) as peer:
            write((a, b), range(3))
            status = wait_until(lambda: (s := peer.ask("status")["result"])["iteration_done"] == 2 and s, "three iterations")
            assert (status["session"], status["state"], status["pid"]) == (run.session, "running", run.server())
            assert status["ranks"] == {"node": 2, "all": 2, "attached": 2} and status["folder"] == str(tmp_path)
            assert [c["iteration"] for c in status["clients"]] == [3, 3] and status["stores"][0]["done"] == 2
            described = peer.ask("describe", id="x")
            assert (described["id"], described["reply"], described["ok"]) == ("x", "describe", True)
            assert [v["shape"] for v in described["result"]["variables"]] == [["n", "4"]]
            assert [(p["name"], p["type"], p["value"]) for p in described["result"]["parameters"]] == [
                ("dt", "double", 0.5), ("n", "int", 8), ("title", "string", None)]
            ledger = wait_until(lambda: (one := peer.ask("ledger")["result"])["entries"] and one, "the ledger")
            assert (ledger["leat_ledger"], ledger["session"], ledger["entries"][0]["variable"]) == (1, run.session, "u")
            metrics = peer.ask("metrics")["result"]
            assert metrics["iterations"] == {"complete": 3, "stored": 3, "failed": 0, "dropped": 0}
            assert metrics["memory"]["waiting_ranks"] == [] and metrics["memory"]["waited_seconds"] == 0
            assert metrics["stores"][0]["products_taken"] == metrics["stores"][0]["products_published"] == 0
            assert metrics["bytes"] == 3 * 2 * 256 == metrics["stores"][0]["bytes"] and metrics["stores"][0]["calls"] == 3
            assert 0 <= metrics["idle_share"] <= 1 and metrics["rates"]["over_seconds"] > 0
        run.finish()


def test_a_variable_a_mesh_and_a_store_are_the_same_to_all_who_are_told(tmp_path):
    text = xml("""<parameter name="h" type="double" value="0.5"/>
        <mesh name="box" type="uniform" spacing="h,h" unit="m"/>
        <layout name="cells" type="float" dimensions="6,4" names="y,x" global="8,4" ghosts="1,0"/>
        <variable name="u" layout="cells" mesh="box" centering="nodal" standard-name="air_temperature" unit="K"/>
        <layout name="one" type="int" dimensions=""/><variable name="fixed" layout="one" time-varying="false"/>""")
    with Run(tmp_path, text) as run:
        run.init()
        with Peer(run) as peer:
            told = peer.ask("describe")["result"]
        command = [BUILD / "bin/leat"]
        checked = json.loads(subprocess.run([*command, "check", run.config, "--json"], cwd=tmp_path, capture_output=True).stdout)
        seen = json.loads(subprocess.run([*command, "ls", run.session, "--json"], env=run.environment, capture_output=True).stdout)
        run.finish()
    u, fixed = told["variables"]
    assert u == {"name": "u", "type": "float32", "shape": ["6", "4"], "dimensions": ["y", "x"], "global": ["8", "4"],
                 "ghosts": [[1, 1], [0, 0]], "mesh": "box", "centering": "nodal", "standard_name": "air_temperature",
                 "unit": "K", "description": "", "time_varying": True}
    assert fixed["time_varying"] is False and told["meshes"] == [{
        "name": "box", "type": "uniform", "dims": 2, "origin": [0, 0], "spacing": ["h", "h"], "unit": "m", "description": ""}]
    own = {"shape", "stores", "bytes_per_rank", "why_unknown"}
    assert [{k: v for k, v in each.items() if k not in own} for each in checked["variables"]] == [
        {k: v for k, v in each.items() if k not in own} for each in told["variables"]]
    assert seen["variables"] == told["variables"] and checked["stores"] == told["stores"]
    assert [{k: v for k, v in each.items() if k not in ("done", "begun")} for each in seen["stores"]] == told["stores"]


def test_events_come_in_order_until_the_run_has_ended(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        with Peer(run) as peer:
            assert peer.ask("subscribe")["ok"]
            write(ranks, range(5))
            run.finish()
            events = peer.all()
        seen = [(e["event"], e.get("iteration")) for e in events]
        for i in range(5):
            assert [n for n, iteration in seen if iteration == i] == ["open", "complete", "stored"]
        assert seen[-2:] == [("closing", None), ("ended", None)] and events[-1]["status"] == 0
        assert {e["bytes"] for e in events if e["event"] == "complete"} == {512}


def test_one_may_subscribe_to_some_events_only(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["stored"])["result"] == {"events": ["stored"]}
            refused = peer.ask("subscribe", events=["storred"])
            assert not refused["ok"] and 'did you mean "stored"?' in refused["error"]
            write(ranks, range(3))
            run.finish()
            assert [(e["event"], e.get("iteration")) for e in peer.all()] == [*(("stored", i) for i in range(3)), ("ended", None)]


def test_iterations_that_are_left_out_are_told(tmp_path):
    buffer = '<buffer size="1MiB" timeout="1s" when-full="drop-iteration"/>'
    text = xml(DATA.replace('value="8"', 'value="8192"')).replace('<buffer size="16MiB" timeout="10s"/>', buffer)
    with Run(tmp_path, text, ranks=2) as run:
        a, b = run.init()
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["dropped"])["ok"]
            for i in range(8):  # b stays in iteration 0, so nothing is ever free
                a.write("u", 8192 * 4 * 8, i)
                a.end()
            event = peer.receive()
            assert event["event"] == "dropped" and "buffer" in event["why"]
        b.kill()
        run.finalize([a])


@pytest.mark.parametrize("line, words", [
    (b"hello\n", ["no JSON", '{"leat_control": 1, "request": "status"}']),
    (b"[1]\n", ["a request is an object"]),
    (b'{"request": "status"}\n', ["names its version"]),
    (b'{"leat_control": 2, "request": "status"}\n', ["version 2", "speaks version 1"]),
    (b'{"leat_control": 1}\n', ["what is asked for"]),
    (b'{"leat_control": 1, "request": "statu"}\n', ['no request "statu"', 'did you mean "status"?']),
    (b'{"leat_control": 1, "request": "set", "parameter": "dt"}\n', ['needs "value"', '"value": 0.5']),
    (b'{"leat_control": 1, "request": "set", "parameter": "dt", "valeu": 1}\n', ['no argument "valeu"', 'did you mean "value"?']),
    (b'{"leat_control": 1, "request": "set", "parameter": "dtt", "value": 1}\n', ['no parameter "dtt"', 'did you mean "dt"?']),
    (b'{"leat_control": 1, "request": "set", "parameter": "dt", "value": "x"}\n', ["declared double"]),
    (b'{"leat_control": 1, "request": "set", "parameter": "dt", "value": [1]}\n', ["a number or a text"]),
    (b'{"leat_control": 1, "request": "set", "parameter": "n", "value": 9}\n', ['layout "cells"']),
    (b'{"leat_control": 1, "request": "reload-scripts"}\n', ["no <scripts>"]),
    (b"\xff\xfe\x00{\n", ["no JSON"]),
    (b"[" * 60000 + b"\n", []),
    (b'{"leat_control": 1, "request": "status", "x": ' + b"[" * 30000 + b"]" * 30000 + b"}\n", []),
])
def test_what_makes_no_sense_gets_an_answer_that_teaches(tmp_path, line, words):
    with Run(tmp_path, xml(DATA)) as run:
        run.init()
        with Peer(run) as peer:
            peer.send(line)
            answer = peer.receive()
            assert not answer["ok"] and all(word in answer["error"] for word in words), answer
            assert peer.ask("status")["ok"]
        run.finish()


def test_a_value_is_steered_and_the_trail_says_who(tmp_path):
    put(tmp_path, "idle", "def process(ds, ctx):\n    pass\n")
    with Run(tmp_path, config(DATA), ranks=2) as run:
        ranks = run.init()
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["steered"])["ok"]
            write(ranks, range(1))
            assert peer.ask("set", parameter="dt", value=0.125)["ok"]
            event = peer.receive()
            assert (event["event"], event["parameter"], event["value"]) == ("steered", "dt", "0.125")
            assert event["who"] == f"control/{os.getpid()}"
            first = event["iteration"]
            for i in range(1, first + 2):
                seen = {rank.must("get_double", "dt").value for rank in ranks}
                assert seen == {0.125 if i >= first else 0.5}, (i, first)
                write(ranks, [i])
        run.finish()
    assert f"control/{os.getpid()} steers dt from 0.5 to 0.125, from iteration {first} on" in run.log()
    with open(tmp_path / "run-scripts/steering.csv", newline="") as file:
        assert list(csv.reader(file))[1] == [str(first), "dt", "0.5", "0.125", f"control/{os.getpid()}"]


def test_the_values_of_now_are_told(tmp_path):
    """Steered, set by the simulation, of the XML, and of nobody."""
    with Run(tmp_path, xml(DATA + '<parameter name="t" type="double"/>'), ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("set_double", "t", 1.5)
        write(ranks, range(1))
        steered = json.loads(ctl(run, "set", "dt=0.125", "--wait", "0", "--json"))
        assert steered["ok"]
        numbers = iter(range(1, 1_000_000))

        def values():
            write(ranks, [next(numbers)])
            with connect(run) as connection:
                found = connection.parameters()["parameters"]
            return {each["name"]: (each["value"], each["value_in_xml"]) for each in found}

        wait_until(lambda: values()["dt"] == (0.125, 0.5), "the steered value")
        assert values() == {"dt": (0.125, 0.5), "n": (8, 8), "title": (None, None), "t": (1.5, None)}
        screen = [line.split() for line in ctl(run, "parameters").splitlines()]
        assert screen[:3] == [["parameters"], ["name", "type", "value", "value", "in", "xml", "description"],
                              ["dt", "double", "0.125", "0.5", "-"]]
        run.finish()


def test_a_value_that_the_simulation_sets_too_is_said_to_last_until_then(tmp_path):
    """t is set in each iteration, dt was set at the begin, from no value in the XML."""
    put(tmp_path, "idle", "def process(ds, ctx):\n    pass\n")

    def step(iterations, peer):
        for i in iterations:
            for rank in ranks:
                rank.must("set_double", "t", i)
            write(ranks, [i])
        while (event := peer.receive())["event"] != "complete" or event["iteration"] != i:
            pass

    text = config(DATA.replace(' value="0.5"', "") + '<parameter name="t" type="double"/>')
    with Run(tmp_path, text, ranks=2) as run:
        ranks = run.init()
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["complete", "steered"])["ok"]
            for rank in ranks:
                rank.must("set_double", "dt", 0.5)
            step(range(4), peer)
            told = {}
            for name, value in (("t", 50), ("dt", 0.25)):
                assert peer.ask("set", parameter=name, value=value)["ok"]
                while (event := peer.receive())["event"] != "steered":
                    pass
                told[name] = event
            step(range(4, last := told["t"]["iteration"] + 2), peer)
        said = ctl(run, "set", "t=60")
        assert said.endswith("t is 60 from it on, until the simulation sets it itself, as it does in each iteration\n"), said
        assert told["t"]["simulation_sets_it"] is True and "simulation_sets_it" not in told["dt"], told
        run.finish()
    log = run.log()
    assert f"steers t from 3 to 50, from iteration {told['t']['iteration']} on, until the simulation sets it itself" in log, log
    assert f"steers dt from 0.5 to 0.25, from iteration {told['dt']['iteration']} on\n" in log, log
    with open(tmp_path / "run-scripts/steering.csv", newline="") as file:
        assert [row[1:4] for row in csv.reader(file)][1:] == [["t", "3", "50"], ["dt", "0.5", "0.25"], ["t", str(last - 1), "60"]]


def test_drain_stores_what_there_is_and_ends(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        write(ranks, range(4))
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["stored"])["ok"] and peer.ask("drain")["ok"]
            assert peer.all()[-1]["event"] == "ended"
        assert {answer.status for answer in run.finalize()} == {"LEAT_OK"}
    assert "4 iterations ended, 4 stored" in run.log() and f"shutdown requested by control/{os.getpid()}" in run.log()
    last = next(line for line in run.log().splitlines() if " done: " in line)
    assert ", STOPPED BEFORE ITS END; the run was drained by order" in last and "nothing lost" not in last
    assert f"the run was drained by order of control/{os.getpid()} while ranks 0-1" in run.ranks[0].stderr() + run.ranks[1].stderr()


def test_what_comes_after_a_drain_is_counted_and_nobody_is_said_to_have_died(tmp_path):
    order = f"the run was drained by order of control/{os.getpid()}; what came after is not stored"
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = a, b = run.init()
        write(ranks, range(4))
        with Peer(run) as peer:
            assert peer.ask("subscribe", events=["stored"])["ok"] and peer.ask("drain")["ok"]
            peer.all()
        run.await_end()
        assert a.write("u", SIZE, 4).ok  # it is in memory, and nobody will take it
        answer = a.call("end_iteration")
        assert answer.status == "LEAT_ERROR_SERVER" and order in answer.error
        answer = a.write("u", SIZE, 5)
        assert answer.status == "LEAT_ERROR_SERVER" and f'"u" of iteration 5 is not stored: {order}' in answer.error
        ends = run.finalize()
        assert [end.status for end in ends] == ["LEAT_ERROR_LOST", "LEAT_OK"]
        assert f'2 writes of this rank failed, nothing of which is stored; the first: "u" of iteration 4: {order}' in ends[0].error
        assert "died" not in run.log() + a.stderr() + b.stderr() + ends[0].error
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert (ledger["state"], ledger["status"], ledger["died"], ledger["lost"]) == ("stopped", "LEAT_ERROR_LOST", [], 0)
    assert ledger["drained_by"] == {"who": f"control/{os.getpid()}", "cut_off": [{"rank": r, "iteration": 4} for r in (0, 1)]}


def hold(tmp_path):
    """A script that works until a file is there."""
    put(tmp_path, "hold", f"""
        import os, time
        def process(ds, ctx):
            while not os.path.exists({str(tmp_path / 'go')!r}):
                time.sleep(0.01)
        """)
    return config(DATA)


def test_what_comes_while_a_drain_lasts_is_in_the_ledger(tmp_path):
    with Run(tmp_path, hold(tmp_path)) as run:
        (rank,) = run.init()
        write([rank], range(2))
        with Peer(run) as peer:
            assert peer.ask("drain")["ok"]
        assert rank.write("u", SIZE, 2).ok and rank.call("end_iteration").status == "LEAT_ERROR_SERVER"
        assert rank.write("u", SIZE, 3).status == "LEAT_ERROR_SERVER"
        (tmp_path / "go").touch()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and "2 writes of this rank failed" in end.error
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert ledger["lost"] == 2
    lost = [e for e in ledger["entries"] if e["fate"] == "not written"]
    assert [e["iterations"][0] for e in lost] == [2, 3] and all("drained by order of control/" in e["why"] for e in lost), lost


def test_what_comes_while_one_node_drains_is_counted_in_the_view(tmp_path):
    with NodesRun(tmp_path, hold(tmp_path), [[0], [1]]) as run:
        a, b = run.init()
        write([a, b], range(2))
        assert "accepted" in ctl(run.on(1), "drain", "--wait", "0")
        wait_until(lambda: "shutdown requested by" in run.log(), "the order")
        assert b.write("u", SIZE, 2).ok
        for rank in (a, b):
            rank.call("end_iteration")
        (tmp_path / "go").touch()
        assert [end.status for end in run.finalize()] == ["LEAT_OK", "LEAT_ERROR_LOST"]
    assert sorted(json.loads(ledger.read_text())["lost"] for ledger in tmp_path.glob("*.ledger.json")) == [0, 1]
    with h5py.File(tmp_path / "run.h5") as view:
        assert view.attrs["lost"] == 1


def test_a_server_that_is_killed_while_it_drains_is_followed_by_one_that_goes_on_with_it(tmp_path):
    with Run(tmp_path, hold(tmp_path)) as run:
        (rank,) = run.init()
        write([rank], range(3))
        with Peer(run) as peer:
            assert peer.ask("drain")["ok"]
        os.kill(run.server(), signal.SIGKILL)
        (tmp_path / "go").touch()
        (end,) = run.finalize()
        assert end.status in ("LEAT_OK", "LEAT_ERROR_SERVER"), end  # the last word may come before it is there to hear it
        assert end.ok or "drained by order of control/" in end.error
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert (ledger["state"], ledger["lost"], ledger["drained_by"]["cut_off"]) == ("stopped", 0, [{"rank": 0, "iteration": 3}])
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2] and file["leat/iteration_complete"][:].tolist() == [1, 1, 1]


def test_stop_takes_what_ranks_still_hand_over(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        write(ranks, range(2))
        with Peer(run) as peer:
            assert peer.ask("stop")["ok"]
            write(ranks, range(2, 4))
            run.finish()
    assert "4 iterations ended, 4 stored" in run.log() and "shutdown requested by control/" in run.log()


def test_scripts_are_loaded_anew(tmp_path):
    put(tmp_path, "count", f"""
        with open({str(tmp_path / 'loads')!r}, "a") as file:
            file.write("x")
        def process(ds, ctx):
            pass
        """)
    with Run(tmp_path, config(DATA)) as run:
        ranks = run.init()
        write(ranks, range(1))
        wait_until(lambda: (tmp_path / "loads").exists(), "the first load")
        with Peer(run) as peer:
            assert peer.ask("reload-scripts")["ok"]
        wait_until(lambda: (tmp_path / "loads").read_text() == "xx", "the second load")
        with Peer(run) as peer:
            wait_until(lambda: peer.ask("metrics")["result"]["scripts"][0]["calls"] == 1, "the call")
        run.finish()


def test_a_script_that_was_given_up_is_loaded_anew(tmp_path):
    (tmp_path / "cause").touch()
    put(tmp_path, "flaky", f"""
        import os
        def process(ds, ctx):
            if os.path.exists({str(tmp_path / 'cause')!r}):
                raise ValueError("the cause is there")
            ctx.scalar("good", 1)
        """)
    with Run(tmp_path, config(DATA, folder='failures="1"')) as run:
        ranks = run.init()
        with Peer(run) as peer:
            def script():
                return next(iter(peer.ask("metrics")["result"]["scripts"]), {})

            write(ranks, range(1))
            wait_until(lambda: script().get("usable") is False, "it is given up")
            (tmp_path / "cause").unlink()
            write(ranks, range(1, 2))
            assert peer.ask("reload-scripts")["ok"]
            wait_until(lambda: script()["usable"], "it is loaded")
            write(ranks, range(2, 3))
            wait_until(lambda: script()["calls"] > script()["failed"], "it is called")
        run.finish()


def test_the_command_shows_screens_and_json_and_says_with_its_exit_code_how_it_went(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        ranks = run.init()
        write(ranks, range(1))
        assert "2 of 2 on this node attached, 2 in all" in ctl(run, "status")
        assert json.loads(ctl(run, "status", "--json"))["result"]["pid"] == run.server()
        assert "temperature" in ctl(run, "describe") and "per second" in ctl(run, "metrics")
        assert "nothing is lost so far" in ctl(run, "ledger")
        assert "accepted" in ctl(run, "set", "dt=-0.25", "--wait", "0")
        assert 'did you mean "dt"?' in ctl(run, "set", "dtt=1", code=1)
        assert 'did you mean "status"?' in ctl(run, "statu", code=2)
        assert "set NAME=VALUE" in ctl(run, "set", "dt", code=2)
        other = subprocess.run([BUILD / "bin/leat", "ctl", run.session[:-1], "status"], capture_output=True, text=True,
                               env=run.environment)
        assert other.returncode == 3 and f'did you mean "{run.session}"?' in other.stderr
        follower = subprocess.Popen([BUILD / "bin/leat", "ctl", run.session, "subscribe", "stored"], stdout=subprocess.PIPE,
                                    text=True, env=run.environment)
        numbers = iter(range(1, 1_000_000))
        wait_until(lambda: write(ranks, [next(numbers)]) or select.select([follower.stdout], [], [], 0)[0], "the follower")
        write(ranks, [next(numbers)])
        run.finish()
        lines = follower.communicate(timeout=LIMIT)[0].splitlines()
        last = next(numbers) - 1
        assert lines[-3:] == [*(f"stored   iteration {i} in out" for i in (last - 1, last)), "ended    with status 0"]
        assert follower.returncode == 0


def test_from_python_one_asks_steers_and_follows(tmp_path):
    import leat.control as control
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        with connect(run) as c:
            seen, ready = [], threading.Event()

            def follow():
                for event in c.subscribe("open", "steered", "stored"):
                    seen.append(event)
                    ready.set()

            follower = threading.Thread(target=follow)
            follower.start()
            numbers = iter(range(10_000))
            while not ready.wait(0.01):  # until it has subscribed; slower than it reads
                write(ranks, [next(numbers)])
            assert c.status()["session"] == run.session and c.describe()["simulation"] == "run"
            c.set("dt", 0.75)
            with pytest.raises(control.Refused, match='did you mean "dt"'):
                c.set("dtt", 0.75)
            assert c.metrics()["memory"]["bytes"] == 16 << 20 and c.ledger()["leat_ledger"] == 1
            run.finish()
            follower.join(LIMIT)
        assert not follower.is_alive() and seen[-1]["event"] == "ended"
        assert [e["value"] for e in seen if e["event"] == "steered"] in ([], ["0.75"])
        with pytest.raises(control.ConnectionLost):
            connect(run)


def test_the_example_of_the_how_to_steers(tmp_path):
    page = (pathlib.Path(__file__).parents[2] / "docs/how-to/watch-and-steer.md").read_text()
    code = textwrap.dedent(re.search(r"^    import leat.control\n(?:\n|    .*\n)*", page, re.M).group())
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        packages = pathlib.Path(__file__).parents[2] / "python-plugins"
        example = subprocess.Popen([sys.executable, "-c", code.replace("heat", run.session)], env={**run.environment,
                                                                                              "PYTHONPATH": str(packages)})
        numbers = iter(range(1_000_000))
        wait_until(lambda: write([rank], [next(numbers)]) or rank.must("get_double", "dt").value == 0.25, "the value")
        assert example.wait(LIMIT) == 0
        run.finish()


def test_a_value_holds_from_no_iteration_that_a_rank_which_has_ended_was_in(tmp_path):
    """Else the ranks of a node differ: that one has computed it with the old value."""
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        first, second = run.init()
        write([first], range(50))
        first.start("finalize")
        with Peer(run) as peer:
            wait_until(lambda: peer.ask("status")["result"]["clients"][0]["phase"] == "finalized", "the end of rank 0")
            assert peer.ask("subscribe", events=["steered"])["ok"]
            assert peer.ask("set", parameter="dt", value=0.125)["ok"]
            assert (event := peer.receive())["event"] == "steered" and event["iteration"] >= 50, event
        seen = []
        for number in range(60):
            seen.append(second.must("get_double", "dt").value)
            write([second], [number])
        assert set(seen[:50]) == {0.5} and 0.125 in seen[50:]
        assert second.call("finalize").ok and first.result().ok


def test_the_name_of_the_simulation_will_do_where_one_session_has_it(tmp_path):
    with Run(tmp_path, xml(DATA, name="plate")) as run:
        run.init()
        assert json.loads(ctl(run, "status", "--json", session="plate"))["result"]["session"] == run.session
        seen = subprocess.run([BUILD / "bin/leat", "ls", "plate", "--json"], env=run.environment, cwd=tmp_path, capture_output=True)
        assert json.loads(seen.stdout)["session"] == run.session
        with connect(run, session="plate") as connection:
            assert connection.session == run.session
        run.finish()


@pytest.mark.parametrize("fails_at", [1, 2])
def test_leat_ctl_says_that_the_server_has_just_ended(tmp_path, fails_at):
    """Whichever of its questions is the last that is answered."""
    answers = [{"leat_control": 1, "reply": "status", "ok": True, "result": {"server": 0, "servers": 2}}][:fails_at - 1]
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(runtime / "gone.control"))
        listener.listen()
        asks = subprocess.Popen([BUILD / "bin/leat", "ctl", "gone", "signal", "crack"], stderr=subprocess.PIPE,
                                env={**os.environ, "LEAT_RUNTIME_DIR": str(runtime)})
        with listener.accept()[0] as peer:
            for answer in answers:
                peer.recv(1 << 16)
                peer.sendall(json.dumps(answer).encode() + b"\n")
            peer.recv(1 << 16)
    said = asks.communicate(timeout=LIMIT)[1].decode()
    assert asks.returncode in (3, 4) and ("has ended" in said or "listens" in said), (asks.returncode, said)
