# SPDX-License-Identifier: Apache-2.0
"""What becomes of a graph when something in it dies, hangs or lies: the simulation and the other modules go on, and it is said."""
import json
import os
import signal
import subprocess
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
from leat_run import BUILD, await_death

BAD = """
    import leat.module as module
    while module.wait():
        raise KeyError("x")
"""


def numbers(folder, name):
    return [turn["iteration"] for turn in seen(folder, name)]


def first_turns(kind):
    """A module that does something bad in iteration 3, and sums otherwise."""
    return f"""
        import os, signal, sys, time
        import leat.module as module
        while module.wait():
            if module.iteration() == 3:
                {kind}
            module.put("sum", module.get("u").sum(), unit="K")
    """


@pytest.mark.parametrize("kind, said, script", [
    ("os.abort()", 'module "mid", iteration 3: its process was killed by signal 6', ""),
    ("os.kill(os.getpid(), signal.SIGKILL)", 'module "mid", iteration 3: its process was killed by signal 9', ""),
    ("raise ValueError('no such row')", "ValueError: no such row", ""),
    ("sys.exit(7)", 'module "mid", iteration 3: its process ended with status 7', ""),
    ("time.sleep(1000)", 'module "mid", iteration 3: it took longer than 1 s and was ended', 'timeout="1s"'),
    ("os.write(3, b'x' * 64)", 'module "mid", iteration 3: its process said something to leatd that makes no sense', ""),
    ("module.put('nothing', 1)", 'has no output "nothing"; there are: sum', ""),
    ("module.put('sum', [[[[[[[[[1.0]]]]]]]]])", 'port "sum": an array with 9 dimensions; 8 are the most', ""),
    ("module.put('sum', 1.0)", 'port "sum" has had its message in this turn', ""),
])
def test_one_turn_is_lost_and_successors_skip_it(tmp_path, kind, said, script):
    plan(tmp_path,
         module("mid", program(tmp_path, "mid", first_turns(kind)), [variable()], ["sum"]),
         module("last", note(tmp_path, "u", "p"), [variable(), product("mid/sum")]),
         module("beside", [*note(tmp_path, "u")], [variable()]))
    with graph_run(tmp_path, config(script=script)) as run:
        write_iterations(run, range(8))
    wanted = [0, 1, 2, 4, 5, 6, 7]
    assert numbers(tmp_path, "last") == wanted and numbers(tmp_path, "beside") == list(range(8)), run.log()
    assert said in run.log(), run.log()
    assert 'module "mid": 8 calls' in run.log() and "1 FAILED" in run.log()
    assert 'module "last": 7 calls' in run.log() and "1 iteration skipped" in run.log(), run.log()


def test_one_that_fails_too_often_is_given_up_and_the_others_go_on(tmp_path):
    plan(tmp_path,
         module("bad", program(tmp_path, "bad", BAD), [variable()], ["sum"]),
         module("last", note(tmp_path, "u", "p"), [variable(), product("bad/sum")]),
         module("beside", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(10))
    assert numbers(tmp_path, "beside") == list(range(10)) and numbers(tmp_path, "last") == []
    assert "That was failure 3 in a row: it is not called any more" in run.log(), run.log()


@pytest.mark.parametrize("code, said", [
    ("print('hello')", "is no module: it has never called leat_wait(): it ended with status 0"),
    ("import no_such_module", "is no module: it has never called leat_wait(): it ended with status 1"),
])
def test_a_program_that_is_no_module(tmp_path, code, said):
    plan(tmp_path, module("odd", program(tmp_path, "odd", code), [variable()], ["sum"]),
         module("beside", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(5))
    assert numbers(tmp_path, "beside") == list(range(5))
    assert said in run.log() and 'module "odd" cannot run' in run.log(), run.log()


def test_one_that_ends_by_itself_has_no_more_turns(tmp_path):
    few = program(tmp_path, "few", """
        import leat.module as module
        while module.wait():
            module.put("sum", 1.0)
            if module.iteration() == 2:
                break
    """)
    plan(tmp_path, module("few", few, [variable()], ["sum"]), module("last", note(tmp_path, "p"), [product("few/sum")]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(8))
    assert numbers(tmp_path, "last") == [0, 1, 2], run.log()
    assert 'module "few" has ended by itself: it has no more turns' in run.log(), run.log()


def test_a_module_that_is_stopped_is_ended_and_the_next_one_goes_on(tmp_path):
    slow = program(tmp_path, "slow", """
        import os
        import leat.module as module
        while module.wait():
            open("slow.pid", "w").write(str(os.getpid()))
            module.put("sum", module.get("u").sum())
    """)
    plan(tmp_path, module("slow", slow, [variable()], ["sum"]), module("last", note(tmp_path, "p"), [product("slow/sum")]))
    with graph_run(tmp_path, config(timeout="2s")) as run:
        write_iterations(run, range(2))
        wait_until(lambda: len(seen(tmp_path, "last")) == 2, "two turns")
        os.kill(int((tmp_path / "slow.pid").read_text()), signal.SIGSTOP)
        write_iterations(run, range(2, 6))
    found = numbers(tmp_path, "last")
    assert found[:2] == [0, 1] and found[-1] == 5 and len(found) >= 5, (found, run.log())
    assert "was stopped for longer than 2 s" in run.log(), run.log()


def test_a_server_that_is_killed_starts_the_modules_anew(tmp_path):
    plan(tmp_path,
         module("mid", program(tmp_path, "mid", SUM.replace("PORTS", '["u"]')), [variable()], ["sum"]),
         module("last", note(tmp_path, "u", "p"), [variable(), product("mid/sum")]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(5))
        wait_until(lambda: len(seen(tmp_path, "last")) == 5, "five turns")
        os.kill(run.server(), signal.SIGKILL)
        write_iterations(run, range(5, 12))
    turns = seen(tmp_path, "last")
    assert [turn["iteration"] for turn in turns][:5] == list(range(5)) and turns[-1]["iteration"] == 11, run.log()
    for turn in turns:
        assert str(turn["u"][0][2]) == str(values(turn["iteration"]).tolist()) and turn["p"][0][1] == turn["iteration"]


def test_everything_is_killed_and_nothing_stays(tmp_path):
    pids = program(tmp_path, "pids", """
        import os, time
        import leat.module as module
        while module.wait():
            open(module.name() + ".pid", "w").write(str(os.getpid()))
            module.put("sum", module.get("u").sum())
            time.sleep(0.05)
    """)
    plan(tmp_path, module("a", pids, [variable()], ["sum"]), module("b", pids, [variable(), product("a/sum")], ["sum"]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
        wait_until(lambda: (tmp_path / "b.pid").exists(), "turns of both")
        run.kill_all()
        for name in "ab":
            await_death(int((tmp_path / f"{name}.pid").read_text()))
        subprocess.run([BUILD / "bin/leat", "clean"], check=True, env=run.environment, stdout=subprocess.DEVNULL)


def test_modules_come_and_go_while_the_run_goes_on(tmp_path):
    plan(tmp_path, module("a", note(tmp_path, "u"), [variable()]))
    more = {"leat_graph": 1, "modules": [module("s", program(tmp_path, "s", SUM.replace("PORTS", '["u"]')), [variable()], ["sum"]),
                                         module("b", note(tmp_path, "p"), [product("s/sum")])]}
    (tmp_path / "more.json").write_text(json.dumps(more))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
        wait_until(lambda: len(seen(tmp_path, "a")) == 3, "three turns")
        ctl(run, "graph-add", "more.json")
        wait_until(lambda: len(modules_of(run)) == 3, "three modules")
        write_iterations(run, range(3, 6))
        wait_until(lambda: numbers(tmp_path, "b") == [3, 4, 5] and len(seen(tmp_path, "a")) == 6, "turns of the new ones")
        wait_until(lambda: modules_of(run)["b"]["turns"] == 3, "three turns to be counted")
        assert modules_of(run)["b"]["takes"] == ["s/sum"] and modules_of(run)["s"]["makes"] == ["sum"]
        ctl(run, "graph-remove", "a")
        wait_until(lambda: len(modules_of(run)) == 2, "two modules")
        write_iterations(run, range(6, 9))
        wait_until(lambda: numbers(tmp_path, "b") == [3, 4, 5, 6, 7, 8], "turns of those that stay")
        assert 'there is no module "c"' in ctl(run, "graph-remove", "c", code=1)
        (tmp_path / "bad.json").write_text(json.dumps({"leat_graph": 2, "modules": []}))
        assert "it is of version 2, and this Leat knows version 1" in ctl(run, "graph-add", "bad.json", code=1)
        bad = {"leat_graph": 1, "modules": [module("x", ["true"], [variable(name="aa")])]}
        (tmp_path / "bad.json").write_text(json.dumps(bad))
        assert 'there is no variable "aa"; did you mean "a"?' in ctl(run, "graph-add", "bad.json", code=1)
    assert len(seen(tmp_path, "a")) == 6, run.log()


def test_a_plan_that_is_broken_changes_nothing(tmp_path):
    plan(tmp_path, module("a", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
        wait_until(lambda: len(seen(tmp_path, "a")) == 3, "three turns")
        (tmp_path / "plan.json").write_text("{")
        time.sleep(0.1)
        write_iterations(run, range(3, 6))
        wait_until(lambda: "it is no graph that" in run.log(), "the message")
        plan(tmp_path, module("a", note(tmp_path, "u"), [variable()]))
        write_iterations(run, range(6, 9))
    assert numbers(tmp_path, "a") == list(range(9)), run.log()


def chain(folder):
    """A module that sums, and one that notes the array and its sum."""
    sums = module("mid", program(folder, "mid", SUM.replace("PORTS", '["u"]')), [variable()], ["sum"])
    plan(folder, sums, module("last", note(folder, "u", "p"), [variable(), product("mid/sum")]))


def test_two_runs_in_one_folder_have_modules_of_their_own(tmp_path):
    chain(tmp_path)
    with graph_run(tmp_path, config()) as one, graph_run(tmp_path, config(), name="other") as other:
        for number in range(10):
            write_iterations(one, [number])
            write_iterations(other, [number])
    turns = seen(tmp_path, "last")
    assert sorted(turn["iteration"] for turn in turns) == sorted([*range(10), *range(10)]), one.log() + other.log()
    assert all(str(turn["u"][0][2]) == str(values(turn["iteration"]).tolist()) for turn in turns)


def test_a_server_that_is_stopped_for_longer_than_modules_may_take_goes_on(tmp_path):
    chain(tmp_path)
    with graph_run(tmp_path, config(timeout="1s", script='timeout="1s"')) as run:
        write_iterations(run, range(5))
        wait_until(lambda: modules_of(run).get("last", {}).get("turns") == 5, "five turns")
        os.kill(run.server(), signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(run.server(), signal.SIGCONT)
        write_iterations(run, range(5, 10))
    assert numbers(tmp_path, "last") == list(range(10)), run.log()
