# SPDX-License-Identifier: Apache-2.0
"""All that a module in C is told of its turn: blocks with ghosts and positions, what does not vary, what scripts make, parameters, time."""
import json

import numpy as np
import pytest
from graph_run import config, graph_run, module, plan, product, program, variable, wait_until
from leat_run import BUILD, data

MODEL = """
<parameter name="steps" type="int" value="7"/><parameter name="dt" type="double" value="0.5"/>
<parameter name="word" type="string" value="blue"/><parameter name="hours" type="double"/><time parameter="hours"/>
<layout name="grid" type="float" dimensions="4,3" global="6,3" ghosts="1:0,0" names="y,x"/>
<layout name="mark" type="int" dimensions="2" names="corner"/>
<layout name="letters" type="char" dimensions="5"/><variable name="text" layout="letters"/>
<variable name="a" layout="grid" unit="K"/><variable name="fixed" layout="mark" time-varying="false"/>
"""
SCRIPT = """
import leat
@leat.on_iteration(variables=["a"])
def f(ds, ctx):
    ctx.store("profile", ds["a"].values[:, 0].astype("f4"), dims=("y",), units="W")
"""
# As its own: letters, numbers of the other byte order, and of types that files do not have.
STRANGE = """
    import numpy as np
    import leat.module as module
    while module.wait():
        text = module.parts("text")[0].data
        module.put("letters", text)
        module.put("swapped", np.arange(3, dtype=">f8"))
        module.put("truth", np.array([True, False]))
        try:
            module.put("none", np.array(["word"]))
        except TypeError as why:
            module.log(f"refused: {why}")
"""


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """(lines of the turn itself, those of parts, log, what the last iteration finds as dt)."""
    folder = tmp_path_factory.mktemp("described")
    (folder / "heights.py").write_text(SCRIPT)
    ports = {"u": variable(port="u"), "fixed": variable("fixed", port="fixed"), "p": product("heights/profile", port="p"),
             "letters": product("strange/letters", port="letters"), "swapped": product("strange/swapped", port="swapped"),
             "truth": product("strange/truth", port="truth")}
    run_it = [str(BUILD / "bin/graph_describe"), *ports]
    described = module("describe", run_it, ports.values(), options={"colour": "blue", "limits": [1, 2.5]})
    described["outputs"] = [{"port": "dt", "steers": ["dt"]}]
    plan(folder, described, module("strange", program(folder, "strange", STRANGE), [variable("text", port="text")],
                                   ["letters", "swapped", "truth", "none"]))
    text = config(MODEL, scripts="").replace("</scripts>", '<script file="heights.py"/></scripts>')
    with graph_run(folder, text, ranks=2) as run:
        for rank in run.ranks:
            rank.must("write", "fixed", 0, 8, rank.number)
        dt = []

        def iterate():
            for rank in run.ranks:
                rank.must("set_double", "hours", len(dt) / 4)
                rank.must("set_position", "a", 0, 3 * rank.number, 0)
                rank.must("write", "a", 0, 4 * 3 * 4, 10 * len(dt) + rank.number)
                rank.must("write", "text", 0, 5, len(dt))
                rank.end()
            dt.append(run.ranks[0].must("get_double", "dt").value)
            return len(dt) >= 3 and dt[-1] != 0.5

        wait_until(iterate, "dt is steered")
    seen = [json.loads(line) for line in (folder / "describe.seen").read_text().splitlines()]
    return [each for each in seen if "port" not in each], [each for each in seen if "port" in each], run.log(), dt[-1]


def of(parts, port, turn=1):
    return [each for each in parts if each["port"] == port and each["turn"] == turn]


def test_blocks_say_where_they_lie_and_whose_they_are(described):
    blocks = of(described[1], "u")
    assert [each["rank"] for each in blocks] == [0, 1], described[2]
    for rank, block in enumerate(blocks):
        assert bytes.fromhex(block.pop("data")) == data(12, "f4", 10 + rank).tobytes()
        assert block == {"turn": 1, "port": "u", "iteration": 1, "type": 9, "unit": "K", "source": "", "rank": rank, "block": 0,
                         "level": -1, "extent": [4, 3], "ghosts_before": [1, 0], "ghosts_after": [0, 0],
                         "position": [3 * rank, 0], "global": [6, 3], "names": ["y", "x"]}


def test_what_does_not_vary_is_there_in_each_turn(described):
    for turn in range(3):
        blocks = of(described[1], "fixed", turn)
        assert [(each["rank"], each["type"], each["extent"], each["names"]) for each in blocks] == [
            (0, 3, [2], ["corner"]), (1, 3, [2], ["corner"])]
        assert [each["data"] for each in blocks] == [data(2, "i4", rank).tobytes().hex() for rank in range(2)]


def test_what_a_script_makes_comes_with_the_order(described):
    (part,) = of(described[1], "p")
    expected = np.concatenate([data(12, "f4", 10 + rank).reshape(4, 3)[1:, 0] for rank in range(2)])
    assert bytes.fromhex(part["data"]) == expected.tobytes()
    assert (part["source"], part["unit"], part["names"], part["rank"], part["type"]) == ("heights", "W", ["y"], -1, 9)


def test_letters_and_numbers_of_other_kinds_come_from_python_as_what_they_are(described):
    (letters,), (swapped,), (truth,) = (of(described[1], port) for port in ("letters", "swapped", "truth"))
    assert letters["type"] == 13 and bytes.fromhex(letters["data"]) == data(5, "S1", 1).tobytes()
    assert swapped["type"] == 10 and np.frombuffer(bytes.fromhex(swapped["data"])).tolist() == [0, 1, 2]
    assert truth["type"] == 5 and bytes.fromhex(truth["data"]) == b"\1\0"
    assert 'refused: port "none": an array of <U4 cannot be handed over' in described[2]


def test_a_turn_knows_parameters_time_and_options(described):
    for turn in described[0]:  # of some there may be no profile: the script goes on with newer ones
        number, dt = turn["turn"], turn.pop("dt")
        assert dt == 0.5 or dt in [0.25 * before for before in range(number)]  # as it was steered by then
        assert turn == {"turn": number, "steps": 7, "word": "blue", "time": number / 4, "name": "describe", "colour": "blue",
                        "limits": [1, 2.5], "none": 0, "no_such_parameter": -4, "not_an_integer": -5,
                        "complete": 1}
    assert len(described[0]) >= 3 and 'there is no parameter "dtt" in the XML; did you mean "dt"?' in described[2]


def test_a_port_that_steers_gives_the_simulation_its_number(described):
    assert described[3] != 0.5 and described[3] in [0.25 * turn["turn"] for turn in described[0]]
