# SPDX-License-Identifier: Apache-2.0
"""ctx.reduce in a run on two nodes, where one of them has not got the iteration, or not what the function takes."""
import csv
import time

import pytest
from nodes_run import NodesRun
from script_run import SIZE, config, put

VARIABLES = """<layout name="row" type="double" dimensions="8"/><variable name="a" layout="row"/><variable name="b" layout="row"/>
  <layout name="huge" type="uint8" dimensions="1048576"/><variable name="huge" layout="huge"/>"""
WAITS = 0.25  # seconds after which a server is asked what others wait for: the least that it costs them


def tables(folder, script, output="run-scripts"):
    """By folder, {iteration: row}."""
    found = {}
    for path in sorted(folder.glob(f"{output}*/{script}.csv")):
        with open(path, newline="") as file:
            found[path.parent.name] = {int(row["iteration"]): row for row in csv.DictReader(file)}
    return found


def iterate(run, numbers, writes):
    """writes: of iteration and rank, the variables; or None to drop it."""
    for i in numbers:
        for rank in run.ranks:
            names = writes(i, rank.number)
            if names is None:
                answers = [rank.write("huge", 1 << 20, i, number) for number in range(5)]  # the buffer has 4 MiB
                assert answers[-1].status == "LEAT_DROPPED", answers
            for name in names or ():
                rank.must("write", name, 0, SIZE, i)
            rank.end()


def test_a_server_that_has_dropped_an_iteration_says_at_once_that_it_gives_nothing(tmp_path):
    put(tmp_path, "of_all", """
        import time
        import leat

        @leat.on_iteration(variables=["a"])
        def of_all(ds, ctx):
            began = time.monotonic()
            ctx.scalar("servers", ctx.reduce(1, "sum"))
            ctx.scalar("again", ctx.reduce(1, "sum"))
            ctx.scalar("seconds", time.monotonic() - began)
        """)
    text = config(VARIABLES, buffer="4MiB").replace('size="4MiB"', 'size="4MiB" when-full="drop-iteration" scope="node"')
    dropped = [i for i in range(60) if i % 3 and i > 3]
    with NodesRun(tmp_path, text, [[0], [1]]) as run:
        run.init()
        iterate(run, range(4), lambda i, rank: ["a"])
        until = time.monotonic() + 60
        while len(tables(tmp_path, "of_all")) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        iterate(run, range(4, 60), lambda i, rank: None if rank == 0 and i in dropped else ["a"])
        run.finish()
        assert "Error" not in run.log(), run.log()
    few, all_of_them = sorted(tables(tmp_path, "of_all").values(), key=len)
    assert sorted(few) == [i for i in range(60) if i not in dropped] and sorted(all_of_them) == list(range(60))
    for i, row in all_of_them.items():
        assert row["servers"] == row["again"] == ("1" if i in dropped else "2"), (i, row)
    # Each of those that were asked first would have taken that long: on a loaded machine some may.
    assert sum(float(all_of_them[i]["seconds"]) > WAITS for i in dropped) < len(dropped) / 2, all_of_them


@pytest.mark.parametrize("order", [("b", "a"), ("a", "b")])
def test_a_function_of_what_no_rank_of_a_node_has_written_is_not_waited_for_there(tmp_path, order):
    """Also where that node is in another function of the same script, which waits for the first node."""
    functions = "".join(f"""
        @leat.on_iteration(variables=["{name}"])
        def of_{name}(ds, ctx):
            ctx.scalar("of_{name}", ctx.reduce("{name}", "max"))
            ctx.scalar("servers_{name}", ctx.servers - ctx.servers_missing)
        """ for name in order)
    put(tmp_path, "both", "import leat\n" + functions.replace("\n        ", "\n"))
    with NodesRun(tmp_path, config(VARIABLES, folder='timeout="8s"'), [[0], [1]]) as run:
        run.init()
        iterate(run, range(6), lambda i, rank: ["a", "b"] if rank == 1 or i == 5 else ["a"])
        run.finish()
        assert "Error" not in run.log(), run.log()
    only_a, both = sorted(tables(tmp_path, "both").values(), key=lambda table: table[0].get("of_b") or "")
    for i in range(6):
        assert only_a[i]["servers_a"] == both[i]["servers_a"] == "2" and only_a[i]["of_a"] == both[i]["of_a"]
        assert both[i]["servers_b"] == ("2" if i == 5 else "1"), both[i]
        assert (only_a[i].get("of_b") or None) == (both[i]["of_b"] if i == 5 else None)


@pytest.mark.parametrize("output", ["", "pics", "pics/"])
def test_each_node_has_a_folder_of_its_own_for_what_scripts_make(tmp_path, output):
    put(tmp_path, "count", "def process(ds, ctx):\n    ctx.scalar('n', ctx.reduce(1, 'sum'))\n")
    put(tmp_path, "second", "def process(ds, ctx):\n    ctx.scalar('n', ctx.reduce(1, 'sum'))\n")
    with NodesRun(tmp_path, config(VARIABLES, f'output="{output}"' if output else ""), [[0], [1]]) as run:
        run.init()
        iterate(run, range(2), lambda i, rank: ["a"])
        run.finish()
        assert "another run" not in run.log(), run.log()
    name = "pics" if output else "run-scripts"
    first, second = sorted(each.name for each in tmp_path.iterdir() if each.is_dir() and each.name.startswith(name))
    assert first.startswith(name + "-") and second == first + "-2"  # two nodes that are called alike
    for script in ("count", "second"):
        assert [sorted(table) for table in tables(tmp_path, script, name).values()] == [[0, 1]] * 2
