# SPDX-License-Identifier: Apache-2.0
"""Modules on another host: the run goes on without it, whatever becomes of it, and says what it has missed."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from control_run import ctl
from graph_run import (
    SUM,
    config,
    graph_run,
    module,
    modules_of,
    note,
    plan,
    product,
    program,
    seen,
    values,
    variable,
    wait_until,
    write_iterations,
)
from host_run import PROGRAM, Desk, kill_way, listening_port, processes, ways
from leat_run import BUILD, LIMIT, await_death

PIDS = """
    import json, os, sys, time
    import leat.module as module
    while module.wait():
        with open(module.name() + ".pid.part", "w") as file:
            file.write(str(os.getpid()))
        os.rename(module.name() + ".pid.part", module.name() + ".pid")
        with open(module.name() + ".seen", "a") as file:
            file.write(json.dumps({"iteration": module.iteration()}) + "\\n")
"""
TITLE = '<parameter name="limit" type="double" value="0.5"/>'


def on_desk(name, run, inputs, outputs=(), latest=True, **others):
    return module(name, run, inputs, outputs, place="host:desk", latest=latest, **others)


def numbers(folder, name="view"):
    return [turn["iteration"] for turn in seen(folder, name)]


def desk_folder(folder):
    (folder / "desk").mkdir()
    return folder / "desk"


def finish(run):
    """While the host is there still."""
    run.finish()
    for rank in run.ranks:
        rank.stop_process()


def write_until(run, condition, first, what):
    """Iterations from this one on, until something holds. The number of the next one."""
    number, until = first, time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until, f"waited in vain: {what}\n{run.log()}"
        write_iterations(run, [number])
        number += 1
        time.sleep(0.01)
    return number


def test_all_that_goes_through_comes_there_and_back(tmp_path):
    there = desk_folder(tmp_path)
    sums = program(there, "sum", SUM.replace("PORTS", '["u", "p"]'))
    plan(tmp_path,
         module("mid", program(tmp_path, "mid", SUM.replace("PORTS", '["u"]')), [variable(every=2)], ["sum"]),
         on_desk("far", sums, [variable(every=2), product("mid/sum")], ["sum"], latest=False),
         on_desk("view", note(there, "u", "p"), [variable(), product("far/sum")], latest=False),
         module("last", note(tmp_path, "u", "p"), [variable(), product("far/sum")]))
    with graph_run(tmp_path, config(), ranks=2) as run, Desk(run).join() as desk:
        write_iterations(run, range(10))
        finish(run)
        assert desk.ended() == 0, desk.log()
    assert numbers(tmp_path, "last") == numbers(there) == list(range(0, 10, 2)), run.log() + desk.log()
    for here, away in zip(seen(tmp_path, "last"), seen(there, "view")):
        assert str(here) == str(away)
        assert str(here["u"]) == str([[None, here["iteration"], values(here["iteration"], rank).tolist()] for rank in range(2)])
    assert not (tmp_path / "run.hosts").exists()


def test_one_that_comes_late_has_missed_what_went_by(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", note(there, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(5))
        wait_until(lambda: modules_of(run)["view"]["skipped"] == 5, "all to be missed")
        told = modules_of(run)["view"]
        assert told["state"] == "away" and told["why"] == "host desk is not there" and told["turns"] == 0
        assert told["place"] == "host:desk"
        with Desk(run).join() as desk:
            desk.await_said("has started")
            last = write_until(run, lambda: len(numbers(there)) > 2, 5, "turns there")
            wait_until(lambda: modules_of(run)["view"]["state"] == "ready", "nothing more to do")
            told = modules_of(run)["view"]
            assert told["turns"] + told["skipped"] == last and told["failed"] == 0 and told["why"] == "", told
            found = numbers(there)
            assert found == sorted(set(found)) and found[0] >= 5 and len(found) == told["turns"]
            finish(run)
            assert desk.ended() == 0
    assert "host desk has it now" in run.log(), run.log()
    ledger = json.loads((tmp_path / "run.ledger.json").read_text())
    assert [each for each in ledger["scripts"] if each["name"] == "view"][0]["skipped"] == told["skipped"]


def test_one_that_never_comes_costs_a_module_that_takes_all_its_patience_once(tmp_path):
    plan(tmp_path, on_desk("view", ["no_such_program"], [variable()], latest=False, timeout=1))
    with graph_run(tmp_path, config(timeout="4s")) as run:
        write_iterations(run, range(30))
    assert 'module "view": 0 calls, ' in run.log() and "30 iterations skipped" in run.log(), run.log()


def test_what_is_killed_there_comes_again(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", program(there, "view", PIDS), [variable()]), module("beside", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        last = 0
        for _ in range(3):
            with Desk(run).join() as desk:
                had = len(numbers(there))
                last = write_until(run, lambda n=had: len(numbers(there)) > n + 2, last, "turns there")
                desk.kill()
                await_death(int((there / "view.pid").read_text()))  # its program ends with it
            last = write_until(run, lambda: modules_of(run)["view"]["state"] == "away", last, "the host to be away")
        write_iterations(run, range(last, last + 3))
    assert numbers(tmp_path, "beside") == list(range(last + 3)), run.log()
    assert run.log().count("host desk has gone") == 3, run.log()


def test_one_that_is_stopped_for_longer_than_all_limits_comes_again(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", note(there, "u"), [variable()], timeout=0.5), module("beside", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config(timeout="2s")) as run, Desk(run).join() as desk:
        last = write_until(run, lambda: len(numbers(there)) > 2, 0, "turns there")
        desk.signal(signal.SIGSTOP)
        last = write_until(run, lambda: modules_of(run)["view"]["state"] == "away", last, "the host to be away")
        write_iterations(run, range(last, last + 5))
        desk.signal(signal.SIGCONT)
        desk.await_said("has lost its connection")
        had = len(numbers(there))
        last = write_until(run, lambda: len(numbers(there)) > had + 2, last + 5, "turns there again")
        assert desk.log().count("has started:") == 1  # the program has not noticed
        finish(run)
        assert desk.ended() == 0
    assert numbers(tmp_path, "beside") == list(range(last)), run.log()
    assert "has not answered within the time of a turn" in run.log(), run.log()


def test_while_one_is_stopped_the_simulation_has_its_memory(tmp_path):
    size = 1 << 20
    big = f'<layout name="big" type="uint8" dimensions="{size}"/><variable name="a" layout="big" store="none"/>'
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", program(there, "view", PIDS), [variable()]))
    with graph_run(tmp_path, config(big, buffer=f"{17 * 64}KiB", timeout="20s")) as run, Desk(run).join() as desk:
        desk.await_said("has started")
        write_iterations(run, range(3), size=size)
        wait_until(lambda: numbers(there), "a turn there")
        desk.signal(signal.SIGSTOP)
        write_iterations(run, range(3, 40), size=size)  # there is room for one in the buffer
        desk.signal(signal.SIGCONT)
        finish(run)
    assert "waiting for" not in run.log(), run.log()


@pytest.mark.parametrize("kind, said", [
    ("os.kill(os.getpid(), signal.SIGKILL)", "its process was killed by signal 9"),
    ("raise ValueError('no such row')", "ValueError: no such row"),
    ("sys.exit(7)", "its process ended with status 7"),
    ("time.sleep(1000)", "it took longer than its time, and was ended"),
    ("os.write(3, b'x' * 64)", "its process says what makes no sense"),
    ("[module.log('x' * 40) for _ in iter(int, 1)]", "took longer than its time|has not answered within|floods"),
])
def test_a_program_that_fails_there_loses_one_turn(tmp_path, kind, said):
    there = desk_folder(tmp_path)
    bad = program(there, "bad", f"""
        import os, signal, sys, time
        import leat.module as module
        while module.wait():
            if module.iteration() == 3:
                {kind}
            module.put("sum", module.get("u").sum(), unit="K")
    """)
    plan(tmp_path, on_desk("mid", bad, [variable()], ["sum"], latest=False, timeout=2),
         module("last", note(tmp_path, "p"), [product("mid/sum")]), module("beside", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run, Desk(run).join() as desk:
        for number in range(8):
            write_iterations(run, [number])
            wait_until(lambda n=number: number == 3 or numbers(tmp_path, "last")[-1:] == [n], f"turn {number}: {desk.log()} {run.log()}")
    assert numbers(tmp_path, "last") == [0, 1, 2, 4, 5, 6, 7] and numbers(tmp_path, "beside") == list(range(8)), run.log()
    assert any(each in run.log() for each in said.split("|")), run.log()
    assert "1 FAILED" in run.log() or "1 iteration skipped" in run.log(), run.log()


def test_the_way_there_and_the_server_are_killed_and_the_program_goes_on(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", program(there, "view", PIDS), [variable()]))
    with graph_run(tmp_path, config()) as run, Desk(run).join() as desk:
        last = write_until(run, lambda: len(numbers(there)) > 2, 0, "turns there")
        first = (there / "view.pid").read_text()
        for kill in (lambda: kill_way(run, "view"), lambda: os.kill(run.server(), signal.SIGKILL)) * 2:
            kill()
            had = len(numbers(there))
            last = write_until(run, lambda n=had: len(numbers(there)) > n + 2, last, f"turns there again, {desk.log()}")
        assert (there / "view.pid").read_text() == first, desk.log()
        finish(run)
        assert desk.ended() == 0, desk.log()
    found = numbers(there)
    assert found == sorted(set(found)), found


def test_everything_is_killed_and_nothing_stays(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", program(there, "view", PIDS), [variable()]))
    with graph_run(tmp_path, config()) as run, Desk(run).join() as desk:
        write_until(run, lambda: len(numbers(there)) > 2, 0, "turns there")
        (way,), program_there = ways(run, "view"), int((there / "view.pid").read_text())
        run.kill_all()
        await_death(way)
        desk.await_said("has lost its connection")
        desk.signal(signal.SIGTERM)
        assert desk.ended() == 0
        await_death(program_there)
        subprocess.run([BUILD / "bin/leat", "clean"], check=True, env=run.environment, stdout=subprocess.DEVNULL)


def test_strangers_are_refused_and_cost_no_turn(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", note(there, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, [0])
        port = listening_port(ways_until(run)[0])
        strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for each in strangers[:10]:
            each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + os.urandom(4096))
        last = write_until(run, lambda: run.log().count("is not who has connected") == 10, 1, "strangers to be told")
        with Desk(run).join() as desk:
            write_until(run, lambda: len(numbers(there)) > 3, last, "turns there")
            finish(run)
            assert desk.ended() == 0
        for each in strangers:
            each.close()
    assert run.log().count("it does not know the credential of this run") == 10, run.log()


def ways_until(run):
    found = []
    wait_until(lambda: found.extend(ways(run, "view")) or found, "the way there")
    return found


def test_a_value_goes_back_from_there(tmp_path):
    from graph_run import ROW
    there = desk_folder(tmp_path)
    steer = program(there, "steer", """
        import leat.module as module
        while module.wait():
            module.put("limit", float(module.iteration()) + 100)
    """)
    steered = {**on_desk("steer", steer, [variable()], latest=False), "outputs": [{"port": "limit", "steers": ["limit"]}]}
    plan(tmp_path, steered)
    with graph_run(tmp_path, config(TITLE + ROW)) as run, Desk(run).join() as desk:
        write_until(run, lambda: run.ranks[0].call("get_double", "limit").value != 0.5, 0, f"a value that is steered {desk.log()}")
        finish(run)
    assert "module/steer" in run.log(), run.log()


def test_a_program_that_cannot_run_there_is_said_on_both_sides(tmp_path):
    plan(tmp_path, on_desk("view", ["no_such_program"], [variable()]))
    desk_folder(tmp_path)
    with graph_run(tmp_path, config()) as run, Desk(run).join() as desk:
        assert desk.ended() == 1
        assert "no_such_program" in desk.log(), desk.log()
        write_until(run, lambda: "cannot run it: cannot start no_such_program" in run.log(), 0, "the log to say it")


def test_one_that_ends_by_itself_there_has_no_more_turns(tmp_path):
    there = desk_folder(tmp_path)
    few = program(there, "few", """
        import leat.module as module
        while module.wait():
            module.put("sum", 1.0)
            if module.iteration() == 2:
                break
    """)
    plan(tmp_path, on_desk("few", few, [variable()], ["sum"], latest=False), module("last", note(tmp_path, "p"), [product("few/sum")]))
    with graph_run(tmp_path, config(timeout="4s")) as run, Desk(run).join() as desk:
        write_iterations(run, range(8))
        finish(run)
        assert desk.ended() == 0 and "has ended by itself" in desk.log(), desk.log()
    assert numbers(tmp_path, "last")[:2] == [0, 1] and numbers(tmp_path, "last")[-1] <= 2, run.log()


def test_modules_come_and_go_there_while_the_run_goes_on(tmp_path):
    there = desk_folder(tmp_path)
    plan(tmp_path, on_desk("view", note(there, "u"), [variable()]))
    more = {"leat_graph": 1, "modules": [on_desk("more", note(there, "u"), [variable()])]}
    (tmp_path / "more.json").write_text(json.dumps(more))
    with graph_run(tmp_path, config()) as run, Desk(run).join() as desk:
        last = write_until(run, lambda: len(numbers(there)) > 1, 0, "turns there")
        ctl(run, "graph-add", "more.json")
        last = write_until(run, lambda: len(numbers(there, "more")) > 1, last, f"turns of the new one {desk.log()}")
        ctl(run, "graph-remove", "view")
        desk.await_said('module "view" has no more turns')
        had = len(numbers(there, "more"))
        write_until(run, lambda: len(numbers(there, "more")) > had + 1, last, "turns of the one that stays")
        finish(run)
        assert desk.ended() == 0, desk.log()


def test_the_command_says_when_no_run_lets_it_in(tmp_path):
    words = [BUILD / "bin/leat", "graph", "join", "run.hosts", "--as", "desk", "--wait", "0.5", "--interpreter", sys.executable]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 1 and "there is no card desk.card in" in done.stderr, done
    assert not processes(PROGRAM, "--graph-host", "join", tmp_path / "run.hosts", "desk")
