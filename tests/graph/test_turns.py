# SPDX-License-Identifier: Apache-2.0
"""Turns of modules: inputs of one iteration, in order, the same whatever the timing."""
import math

from graph_run import (
    SUM,
    config,
    graph_run,
    module,
    note,
    plan,
    product,
    program,
    seen,
    values,
    variable,
    write_iterations,
)


def test_a_chain_of_three_has_all_of_one_iteration(tmp_path):
    add = program(tmp_path, "add", SUM.replace("PORTS", '["u"]'))
    twice = program(tmp_path, "twice", SUM.replace("PORTS", '["p", "p"]'))
    plan(tmp_path,
         module("last", note(tmp_path, "u", "p", "q"), [variable(), product("first/sum", port="p"), product("second/sum", port="q")]),
         module("second", twice, [product("first/sum")], ["sum"]),
         module("first", add, [variable()], ["sum"]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(20))
    turns = seen(tmp_path, "last")
    assert [turn["iteration"] for turn in turns] == list(range(20)), run.log()
    for number, turn in enumerate(turns):
        total = values(number).sum()
        assert turn["u"] == [[None, number, values(number).tolist()]] or math.isnan(total)
        assert turn["p"][0][:2] == ["first", number] and turn["q"][0][:2] == ["second", number]
        assert turn["q"][0][2] == 2 * turn["p"][0][2] or math.isnan(total)
