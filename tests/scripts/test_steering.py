# SPDX-License-Identifier: Apache-2.0
"""A script that steers: all ranks see the value at the same iteration, and the trail says who, what and when."""
import csv

import h5py
from script_run import ROW, SIZE, config, put, rows, script_run, table, wait_until, write_iterations

DT = ROW + '<parameter name="dt" type="double" value="0.5"/><parameter name="n" type="int" value="8"/>'
SHAPES = '<parameter name="n" type="int" value="8"/><layout name="l" type="double" dimensions="n"/><variable name="a" layout="l"/>'


def test_all_ranks_see_a_steered_value_from_the_same_iteration_on(tmp_path):
    put(tmp_path, "steer", """
        def process(ds, ctx):
            ctx.scalar("dt", ctx.parameters["dt"])
            if ctx.iteration in (2, 10):
                ctx.set("dt", ctx.iteration / 8)
        """)
    with script_run(tmp_path, config(DT, folder='when-slow="wait"'), ranks=3) as run:
        seen = [[], [], []]
        for number in range(40):
            for rank in run.ranks:
                seen[rank.number].append(rank.must("get_double", "dt").value)
                rank.must("write", "a", 0, SIZE, number)
                rank.end()
            if number in (2, 10):  # the script has had its time
                wait_until(lambda number=number: len(rows(tmp_path, "steer")) > number, "the call")
                wait_until(lambda number=number: run.log().count("steers dt") == (1 if number == 2 else 2), "the decision")
    log = run.log()
    assert seen[0] == seen[1] == seen[2], log
    assert sorted(set(seen[0])) == [0.25, 0.5, 1.25] and seen[0] == sorted(seen[0], key=[0.5, 0.25, 1.25].index), seen[0]
    first, second = seen[0].index(0.25), seen[0].index(1.25)
    with open(tmp_path / "run-scripts/steering.csv", newline="") as file:
        assert list(csv.reader(file)) == [["iteration", "parameter", "from", "to", "script"],
                                          [str(first), "dt", "0.5", "0.25", "steer"],
                                          [str(second), "dt", "0.25", "1.25", "steer"]]
    assert f'script "steer" steers dt from 0.5 to 0.25, from iteration {first} on' in log
    # What the script is told of an iteration is what the simulation computed it with.
    assert [float(row["dt"]) for row in table(tmp_path, "steer")] == seen[0]


def test_a_parameter_that_shapes_a_layout_cannot_be_steered(tmp_path):
    put(tmp_path, "steer", "def process(ds, ctx):\n    ctx.set('n', 9)\n")
    with script_run(tmp_path, config(SHAPES)) as run:
        write_iterations(run, range(2))
    assert 'script "steer", ctx.set: ' in run.log() and "layout \"l\"" in run.log(), run.log()


def test_what_is_not_finite_is_refused_and_costs_that_call_alone(tmp_path):
    put(tmp_path, "steer", """
        def process(ds, ctx):
            ctx.scalar("dt", ctx.parameters["dt"])
            if ctx.iteration == 1:
                ctx.set("dt", float("nan"))
        """)
    with script_run(tmp_path, config(DT, folder='when-slow="wait"')) as run:
        write_iterations(run, range(4))
    log = run.log()
    assert 'ctx.set("dt", nan): not a finite number' in log and "signal 9" not in log, log
    assert [int(row["iteration"]) for row in table(tmp_path, "steer")] == [0, 1, 2, 3]


def test_a_parameter_that_is_not_finite_reaches_scripts_as_it_is(tmp_path):
    put(tmp_path, "see", """
        def process(ds, ctx):
            ctx.log("dt is", repr(ctx.parameters["dt"]))
        """)
    with script_run(tmp_path, config(DT, folder='when-slow="wait"')) as run:
        for number, value in enumerate(("nan", "inf", "-inf", "0.25")):
            run.ranks[0].must("set_double", "dt", value)
            write_iterations(run, [number])
    log = run.log()
    for value in ("nan", "inf", "-inf", "0.25"):
        assert f"dt is {value}" in log, log


def test_what_is_refused_in_each_iteration_is_said_once(tmp_path):
    put(tmp_path, "steer", "def process(ds, ctx):\n    ctx.set('n', 9)\n")
    with script_run(tmp_path, config(SHAPES, folder='when-slow="wait"')) as run:
        write_iterations(run, range(6))
    assert run.log().count("ctx.set: ") == 1, run.log()


def test_a_script_lets_an_event_happen_and_its_store_takes_that_iteration(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            ctx.scalar("calls", 1)
            if ctx.iteration == 3:
                ctx.signal("crack")
        """)
    made = config(DT, store='<store name="out" type="hdf5"/><store name="close" type="hdf5" file="close.h5"/>')
    made = made.replace("</data>", '</data><actions><event name="crack" store="close"/></actions>')
    with script_run(tmp_path, made) as run:
        for number in range(8):
            write_iterations(run, range(number, number + 1))
            wait_until(lambda number=number: len(rows(tmp_path, "look")) > number, "the call")
    with h5py.File(tmp_path / "close.h5") as file:
        (iteration,) = file["iteration"][:].tolist()
    assert iteration in (4, 5), iteration


def test_an_event_that_the_xml_has_not_is_an_error_of_the_call(tmp_path):
    put(tmp_path, "look", "def process(ds, ctx):\n    ctx.signal('krack')\n")
    made = config(DT).replace("</data>", '</data><actions><event name="crack" scope="node"/></actions>')
    with script_run(tmp_path, made) as run:
        write_iterations(run, range(2))
    assert 'there is no event "krack"' in run.log() and 'did you mean "crack"' in run.log(), run.log()
