# SPDX-License-Identifier: Apache-2.0
"""What goes through a connection, and what becomes of the rest."""
import time

import pytest
from graph_run import (
    ROW,
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

PARAMETERS = '<parameter name="limit" type="int" value="3"/>'


def numbers(folder, name="n"):
    return [turn["iteration"] for turn in seen(folder, name)]


@pytest.mark.parametrize("filter_, expected", [
    ({"every": 5, "offset": 2}, [2, 7, 12, 17]),
    ({"when": "iteration > 14 || iteration % 10 == limit"}, [3, 13, 15, 16, 17, 18, 19]),
    ({"when": "time > 0"}, []),  # there is no <time>
])
def test_filters_by_stamps(tmp_path, filter_, expected):
    plan(tmp_path, module("n", note(tmp_path, "u"), [variable(**filter_)]))
    with graph_run(tmp_path, config(data_xml=PARAMETERS + ROW)) as run:
        write_iterations(run, range(20))
    assert numbers(tmp_path) == expected, run.log()


def test_a_sample_is_the_same_in_each_run_and_of_the_size_that_was_said(tmp_path):
    found = []
    for folder in (tmp_path / "1", tmp_path / "2"):
        folder.mkdir()
        plan(folder, module("n", note(folder, "u"), [variable(sample=0.25)]))
        with graph_run(folder, config()) as run:
            write_iterations(run, range(400))
        found.append(numbers(folder))
    assert found[0] == found[1] and 70 <= len(found[0]) <= 130


def test_a_rate_leaves_out_what_comes_too_soon(tmp_path):
    plan(tmp_path, module("n", note(tmp_path, "u"), [variable(rate=0.001)]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(50))
    assert numbers(tmp_path) == [0], run.log()


def test_the_latest_is_kept_while_the_module_is_busy(tmp_path):
    slow = program(tmp_path, "slow", """
        import os, time
        import leat.module as module
        while module.wait():
            open(f"slow.{module.iteration()}", "w").close()
            while module.iteration() == 0 and not os.path.exists("go"):
                time.sleep(0.005)
    """)
    plan(tmp_path, module("slow", slow, [variable()], latest=True))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, [0])
        wait_until(lambda: (tmp_path / "slow.0").exists(), "the first turn")
        write_iterations(run, range(1, 30))
        wait_until(lambda: modules_of(run)["slow"]["skipped"] == 28, "all but the newest to be left out")
        (tmp_path / "go").touch()
    assert sorted(int(path.suffix[1:]) for path in tmp_path.glob("slow.*") if path.suffix != ".py") == [0, 29]
    assert "28 iterations skipped" in run.log(), run.log()


def test_tokens_give_the_message_of_iterations_before(tmp_path):
    loop = program(tmp_path, "loop", """
        import leat.module as module
        while module.wait():
            before = module.get("before")
            module.put("count", 0 if before is None else int(before) + 1)
    """)
    plan(tmp_path,
         module("loop", loop, [variable(), product("loop/count", port="before", tokens=1)], ["count"]),
         module("n", note(tmp_path, "now", "two"), [product("loop/count", port="now"), product("loop/count", port="two", tokens=2)]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(10))
    turns = seen(tmp_path, "n")
    assert [turn["now"] for turn in turns] == [[["loop", i, i]] for i in range(10)], run.log()
    assert [turn["two"] for turn in turns] == [[], []] + [[["loop", i, i]] for i in range(8)]


def test_a_greedy_port_has_the_newest_or_none_and_never_waits(tmp_path):
    late = program(tmp_path, "late", """
        import os, time
        import leat.module as module
        while module.wait():
            while module.iteration() == 2 and not os.path.exists("go"):
                time.sleep(0.005)
            module.put("s", module.iteration())
    """)
    plan(tmp_path, module("late", late, [variable()], ["s"]),
         module("n", note(tmp_path, "g"), [variable(), product("late/s", port="g", greedy=True)]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(10))
        wait_until(lambda: len(seen(tmp_path, "n")) == 10, "turns that wait for nobody")
        (tmp_path / "go").touch()
    for turn in seen(tmp_path, "n"):
        assert turn["g"] in ([], [["late", 0, 0]], [["late", 1, 1]]), turn


def test_a_source_waits_while_a_connection_is_full(tmp_path):
    fast = program(tmp_path, "fast", """
        import leat.module as module
        while module.wait():
            module.put("s", module.iteration())
            open(f"fast.{module.iteration()}", "w").close()
    """)
    slow = program(tmp_path, "slow", """
        import os, time
        import leat.module as module
        while module.wait():
            open(f"slow.{module.iteration()}", "w").close()
            while not os.path.exists("go"):
                time.sleep(0.005)
    """)
    plan(tmp_path, module("fast", fast, [variable()], ["s"]), module("slow", slow, [product("fast/s", depth=2)]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(20))
        wait_until(lambda: (tmp_path / "fast.2").exists() and (tmp_path / "slow.0").exists(), "three turns of the fast one")
        time.sleep(0.2)  # in which the fast one would have had all its turns
        assert not (tmp_path / "fast.4").exists()
        (tmp_path / "go").touch()
    assert (tmp_path / "fast.19").exists() and (tmp_path / "slow.19").exists(), run.log()


def test_in_order_again_after_taking_turns(tmp_path):
    half = program(tmp_path, "half", SUM.replace("PORTS", '["u"]'))
    plan(tmp_path,
         module("n", note(tmp_path, "p"), [product("a1/sum", "a0/sum", any=True)]),
         module("a0", half, [variable(every=2, offset=0)], ["sum"]),
         module("a1", half, [variable(every=2, offset=1)], ["sum"]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(30))
    turns = seen(tmp_path, "n")
    assert [turn["iteration"] for turn in turns] == list(range(30)), run.log()
    assert [[part[:2] for part in turn["p"]] for turn in turns] == [[[f"a{i % 2}", i]] for i in range(30)]


def test_all_of_several_sources_at_one_port_in_the_order_that_was_said(tmp_path):
    one = program(tmp_path, "one", SUM.replace("PORTS", '["u"]'))
    plan(tmp_path, module("n", note(tmp_path, "p"), [product("b/sum", "a/sum", "c/sum")]),
         *(module(name, one, [variable(share={"how": "blocks", "share": i, "shares": 3})], ["sum"]) for i, name in enumerate("abc")))
    with graph_run(tmp_path, config(), ranks=3) as run:
        write_iterations(run, range(5))
    for number, turn in enumerate(seen(tmp_path, "n")):
        assert [part[0] for part in turn["p"]] == ["b", "a", "c"]
        for part, rank in zip(turn["p"], (1, 0, 2)):
            expected = values(number, rank).sum()
            assert part[2] == expected or (part[2] != part[2] and expected != expected)
    assert len(seen(tmp_path, "n")) == 5, run.log()


def test_messages_are_chosen_by_what_their_source_says_of_them(tmp_path):
    peaks = program(tmp_path, "peaks", """
        import leat.module as module
        while module.wait():
            number = module.iteration()
            module.put("p", number * 1.0, stamps={"peak": number % 4, "odd": number % 2} if number != 7 else {"odd": 1})
    """)
    plan(tmp_path, module("peaks", peaks, [variable()], ["p"]),
         module("high", note(tmp_path, "p", "u"), [variable(), product("peaks/p", when="peak >= 2 && iteration > limit")]),
         module("newest", note(tmp_path, "u", "p"), [variable(), product("peaks/p", when="odd == 1", tokens=1)]))
    with graph_run(tmp_path, config(data_xml=PARAMETERS + ROW)) as run:
        write_iterations(run, range(12))
    assert numbers(tmp_path, "high") == [6, 10, 11], run.log()  # of 7 nothing is said
    assert [turn["p"][0][1] if turn["p"] else None for turn in seen(tmp_path, "newest")] == [None, None, 1, 1, 3, 3, 5, 5, 7, 7, 9, 9]
    assert "skipped" not in run.log(), run.log()


def test_tokens_have_the_messages_of_all_sources(tmp_path):
    """Of the last iteration that all of them have made something of: none is in the place of another."""
    some = program(tmp_path, "some", """
        import leat.module as module
        while module.wait():
            if module.iteration() != 2:
                module.put("x", 1000.0 + module.iteration())
    """)
    all_ = program(tmp_path, "all", "import leat.module as m\nwhile m.wait(): m.put('x', m.iteration())")
    plan(tmp_path, module("all", all_, [variable()], ["x"]),
         module("some", some, [variable()], ["x"]),
         module("n", note(tmp_path, "u", "p"), [variable(), product("all/x", "some/x", tokens=1)]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(6))
    found = [turn["p"] for turn in seen(tmp_path, "n")]
    assert found == [[]] + [[["all", i, i], ["some", i, 1000.0 + i]] for i in (0, 1, 1, 3, 4)], run.log()


def test_a_greedy_port_may_close_a_circle(tmp_path):
    there = program(tmp_path, "there", "import leat.module as m\nwhile m.wait(): m.put('x', m.iteration())")
    plan(tmp_path, module("a", there, [variable(), product("b/x", greedy=True)], ["x"]),
         module("b", there, [variable(), product("a/x")], ["x"]),
         module("n", note(tmp_path, "p"), [product("b/x")]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(6))
    assert numbers(tmp_path) == list(range(6)), run.log()
