# SPDX-License-Identifier: Apache-2.0
"""Plans that people have written, or changed, by hand: what is wrong is said, nothing waits for ever, and the server goes on."""
import json
import os

import pytest
from control_run import ctl
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
    variable,
    wait_until,
    write_iterations,
)
from leat_run import Run

SLOPPY = {"name": "q", "run": ["true"]}


def write_over(folder, plan_):
    part = folder / "plan.part"
    part.write_text(json.dumps({"leat_graph": 1, **plan_}))
    part.rename(folder / "plan.json")


def sums(folder, name, **others):
    return module(name, program(folder, "sum", SUM.replace("PORTS", '["u"]')), [variable()], ["sum"], **others)


@pytest.mark.parametrize("make, said", [(os.mkfifo, "there is no file"), (os.mkdir, "there is no file")])
def test_a_plan_that_is_no_file_is_refused_at_once(tmp_path, make, said):
    make(tmp_path / "plan.json")
    with Run(tmp_path, config()) as run:
        rank = run.ranks[0]
        rank.start("init_ranks", run.config, run.session, 0, 1)
        answer = rank.result(30)
        assert answer.status == "LEAT_ERROR_CONFIG" and said in answer.error and "plan.json" in answer.error, answer


def test_what_is_added_is_a_file_and_a_plan(tmp_path):
    plan(tmp_path, module("a", note(tmp_path, "u"), [variable()]))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "list.json").write_text(json.dumps({"leat_graph": 1, "modules": {"a": SLOPPY}}))
    (tmp_path / "twice.json").write_text(json.dumps(
        {"leat_graph": 1, "modules": [{**SLOPPY, "inputs": [variable(), variable()]}]}))
    (tmp_path / "out.json").write_text(json.dumps(
        {"leat_graph": 1, "modules": [{**SLOPPY, "inputs": [variable()], "outputs": [{"port": "x"}, {"port": "x"}]}]}))
    with graph_run(tmp_path, config()) as run:
        server = run.server()
        wrong = {"pipe": "pipe is no file", ".": "is no file", "none.json": "No such file", "list.json": 'its "modules" are no list',
                 "twice.json": 'module "q" has two inputs "u"', "out.json": 'module "q" has two outputs "x"'}
        for file, why in wrong.items():
            assert why in ctl(run, "graph-add", file, code=1), file
        write_iterations(run, range(3))
        wait_until(lambda: len(seen(tmp_path, "a")) == 3, "three turns")
        assert run.server() == server, run.log()


@pytest.mark.parametrize("modules", [[1], [{"name": 1}], [{**SLOPPY, "place": 7}], "x"])
def test_a_plan_that_was_broken_by_hand_is_not_edited(tmp_path, modules):
    plan(tmp_path, module("a", note(tmp_path, "u"), [variable()]))
    with graph_run(tmp_path, config()) as run:
        server = run.server()
        write_iterations(run, range(2))
        wait_until(lambda: len(seen(tmp_path, "a")) == 2, "two turns")
        write_over(tmp_path, {"modules": modules})
        ctl(run, "graph-remove", "a")
        wait_until(lambda: "the graph stays as it is: plan.json" in run.log(), "the message")
        write_iterations(run, range(2, 4))
        wait_until(lambda: len(seen(tmp_path, "a")) == 4, "two more turns")
        assert run.server() == server, run.log()


def test_what_nobody_makes_is_said(tmp_path):
    plan(tmp_path, sums(tmp_path, "s"),
         module("b", note(tmp_path, "p"), [product("nobody/sum")]),
         module("c", note(tmp_path, "p"), [product("s/mean")]),
         module("d", note(tmp_path, "p"), [product("s/sum")]))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, range(2))
        for name, lacking in (("b", "nobody/sum"), ("c", "s/mean")):
            said = f'module "{name}": port "p" takes {lacking}, which nothing in this run makes'
            wait_until(lambda said=said: said in run.log(), said)
        wait_until(lambda: len(seen(tmp_path, "d")) == 2, "two turns")
        assert "takes s/sum" not in run.log(), run.log()
        ctl(run, "graph-remove", "s")
        wait_until(lambda: 'module "d": port "p" takes s/sum, which nothing in this run makes' in run.log(), "the message")
