# SPDX-License-Identifier: Apache-2.0
"""Memory of a module that is started again: who reads it reads what the new process has made."""
from graph_run import config, graph_run, module, note, plan, product, program, seen, values, variable, write_iterations

# A process for each turn, each with memory of its own: the numbers of its descriptors in leatd come again.
ANEW = """
    import os
    import leat.module as module
    while module.wait():
        module.put("copy", module.get("u"))
        if module.iteration() % 2:
            module._program()._end_turn()
            os._exit(1)
"""
RELAY = """
    import leat.module as module
    while module.wait():
        module.put("copy", module.parts("p")[0].data)
"""


def test_memory_of_a_process_that_has_ended_is_never_read_for_that_of_the_next(tmp_path):
    plan(tmp_path, module("anew", program(tmp_path, "anew", ANEW), [variable()], ["copy"]),
         module("relay", program(tmp_path, "relay", RELAY), [product("anew/copy", port="p")], ["copy"]),
         module("note", note(tmp_path, "p"), [product("relay/copy", port="p")]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(24))
    turns = seen(tmp_path, "note")
    assert len(turns) > 10, run.log()
    assert [turn["p"][0][2] for turn in turns] == [values(turn["iteration"]).tolist() for turn in turns], run.log()
