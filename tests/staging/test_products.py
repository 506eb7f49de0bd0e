# SPDX-License-Identifier: Apache-2.0
"""What plugins and scripts make on the nodes comes to stores and scripts on staging nodes: every value, of every node, once; and nothing
is lost that was not said, whoever is killed."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, LIMIT, await_death, data, same_bits
from staging_run import TWO, StagingRun, config, expect, staged, step

SHORT = "6s"
MAYBE = "unless `leat recover` there finds it"
MADE = """import leat, time
import numpy as np


@leat.on_iteration(variables=["own"])
def reduce(ds, ctx):
    time.sleep({pause})
    values = np.concatenate([block.data for block in ctx.blocks("own")]).astype("f8") / 7
    ctx.store("profile", values, dims=["x"], units="K")
    ctx.scalar("most", float(values.max()))
"""
TAKEN = """import json, leat, time


@leat.on_iteration(products={products!r})
def take(ds, ctx):
    time.sleep({pause})
    with open("taken.txt", "a") as file:
        for name in ds.data_vars:
            value = ds[name].values
            words = [ctx.iteration, ctx.from_node, name, list(ds[name].dims), value.astype("f8").tobytes().hex()]
            file.write(json.dumps(words) + chr(10))
"""
ANALYSES = ('<store name="stats" type="statistics"><option name="scope" value="node"/></store>'
            '<store name="all" type="statistics"/>')
OUT = '<store name="out" type="hdf5" at="staging"/>'


def scripts(folder, pause=0, taken="*", slow=0, only=("made", "taken")):
    """The XML of scripts that make on nodes, and take on staging nodes."""
    (folder / "made.py").write_text(MADE.format(pause=pause))
    (folder / "taken.py").write_text(TAKEN.format(products=taken, pause=slow))
    at = {"made": "node", "taken": "staging"}
    return (f'<scripts interpreter="{sys.executable}" workers="2">'
            + "".join(f'<script file="{name}.py" when-slow="wait" at="{at[name]}"/>' for name in only) + "</scripts>")


def expect_quiet(run):
    """All nodes are one machine: scripts of both kinds of nodes would have one folder."""
    assert not [line for line in run.warnings() if "is being written by another run" not in line], run.log()


def own(rank, iteration):
    return [data(5, "i4", 1000 * iteration + 10 * rank + block) for block in (0, 1)]


def profile(node, iteration):
    return np.concatenate([block for rank in node for block in own(rank, iteration)]).astype("f8") / 7


def parts(folder):
    """Files that have data of their own."""
    return sorted(folder.glob("run.parts/*/rank*.h5")) or [folder / "run.h5"]


def in_files(folder):
    """{(group, name): {iteration: value}} of all parts. A row that is there twice has the same values."""
    found = {}
    for path in parts(folder):
        with h5py.File(path) as file:
            for root in ("products", "scripts"):
                for source, group in file.get(root, {}).items():
                    numbers = group["iteration"][:].tolist()
                    for name, dataset in group.items():
                        if name == "iteration" or dataset.attrs.get("CLASS") == b"DIMENSION_SCALE":
                            continue
                        rows = found.setdefault((f"{root}/{source}", name), {})
                        for row, number in enumerate(numbers):
                            assert number not in rows or same_bits(rows[number], dataset[row]), (source, name, number)
                            rows[number] = np.array(dataset[row])
    return found


def expect_profiles(rows_of, nodes, iterations, complete=True):
    """rows_of(node): {iteration: profile}."""
    for node in nodes:
        rows = rows_of(node[0])
        assert not complete or sorted(rows) == list(iterations), (node, sorted(rows))
        for number, value in rows.items():
            assert same_bits(np.asarray(value), profile(node, number)), (node, number)


def expect_in_files(folder, nodes, iterations, complete=True):
    found = in_files(folder)

    def rows_of(node, name="profile"):
        return found.get((f"scripts/made@{node}", name), {})
    expect_profiles(rows_of, nodes, iterations, complete)
    for node in nodes:
        assert rows_of(node[0]).keys() == rows_of(node[0], "most").keys()
        assert all(most == profile(node, number).max() for number, most in rows_of(node[0], "most").items())
    return found


def taken(folder):
    """[iteration, node, name, dims, values] of each call of the script that takes, in order."""
    path = folder / "taken.txt"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [(number, node, name, dims, np.frombuffer(bytes.fromhex(value))) for number, node, name, dims, value in lines]


def in_calls(folder, name):
    """{node: {iteration: value}}; what came twice is the same."""
    found = {}
    for number, node, which, _, value in taken(folder):
        if which == name:
            rows = found.setdefault(node, {})
            assert number not in rows or same_bits(rows[number], value)
            rows[number] = value
    return found


@pytest.mark.parametrize("more", ["", '<network trust="job"/>'])
@pytest.mark.parametrize("staging", [1, 2])
def test_products_of_scripts_and_plugins_come_to_files_and_scripts_there(tmp_path, staging, more):
    text = staged(config(4, ANALYSES + OUT, scripts(tmp_path)), staging, more=more)
    with StagingRun(tmp_path, text, TWO, staging) as run:
        step(run.init(), range(8))
        run.finish()
        expect_quiet(run)
    expect(tmp_path / "run.h5", range(8), 4)
    assert len(run.parts()) == staging
    found = expect_in_files(tmp_path, TWO, range(8))
    calls = in_calls(tmp_path, "made/profile")
    assert sorted(calls) == [0, 2]
    expect_profiles(calls.get, TWO, range(8))
    assert all(dims == ["x"] for _, _, name, dims, _ in taken(tmp_path) if name == "made/profile")
    for node in TWO:  # each its own
        mean = found[f"products/stats@{node[0]}", "own_mean"]
        assert [mean[n] for n in range(8)] == [np.mean([own(rank, n) for rank in node]) for n in range(8)]
    whole = found["products/all", "own_mean"]  # of the run, which one server has made
    assert [whole[n] for n in range(8)] == [np.mean([own(rank, n) for rank in range(4)]) for n in range(8)]
    assert {node for number, node, name, *_ in taken(tmp_path) if name == "all/own_mean"} == {None}
    assert not any(source.endswith(("/stats", "/made")) or "all@" in source for source, _ in found)


def test_the_example_of_the_page(tmp_path):
    page = (pathlib.Path(__file__).parents[2] / "docs/how-to/staging-nodes.md").read_text()
    storage, log = re.search(r"```xml\n  <storage>(.*?)</storage>\n  (<scripts>.*?</scripts>)\n```", page, re.S).groups()
    (tmp_path / "watch.py").write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
    (tmp_path / "reduce.py").write_text(MADE.format(pause=0))
    log = log.replace("<scripts>", f'<scripts interpreter="{sys.executable}">').replace("<script ", '<script when-slow="wait" ')
    with StagingRun(tmp_path, staged(config(4, storage, log), 1), TWO, 1) as run:
        step(run.init(), range(3))
        run.finish()
        for node in TWO:
            assert all(f"node of rank {node[0]} has {float(profile(node, n).max())}" in run.log() for n in range(3)), run.log()
    found = in_files(tmp_path)
    assert {source for source, _ in found} == {f"{root}@{node}" for root in ("products/stats", "scripts/reduce") for node in (0, 2)}


def test_of_a_run_of_one_node_products_have_the_names_that_they_have_there(tmp_path):
    text = staged(config(2, ANALYSES + OUT, scripts(tmp_path)), 1)
    with StagingRun(tmp_path, text, [[0, 1]], 1) as run:
        step(run.init(), range(3))
        run.finish()
    assert {source for source, _ in in_files(tmp_path)} == {"products/stats", "products/all", "scripts/made"}
    assert {node for _, node, *_ in taken(tmp_path)} == {None} and "made/profile" in {name for _, _, name, *_ in taken(tmp_path)}


@pytest.mark.parametrize(("products", "wanted"), [("", set()),
                                                  ("made/profile", {("scripts/made@0", "profile"), ("scripts/made@2", "profile")}),
                                                  ("made@2/*", {("scripts/made@2", "profile"), ("scripts/made@2", "most")}),
                                                  ("stats*/own_m?n", {("products/stats@0", "own_min"), ("products/stats@2", "own_min")})])
def test_a_store_there_gets_what_it_subscribes_to(tmp_path, products, wanted):
    store = f'<store name="out" type="hdf5" at="staging" products="{products}"/>'
    with StagingRun(tmp_path, staged(config(4, ANALYSES + store, scripts(tmp_path, only=["made"])), 1), TWO, 1) as run:
        step(run.init(), range(3))
        run.finish()
    assert set(in_files(tmp_path)) == wanted


def test_a_script_there_asks_for_products_of_one_node(tmp_path):
    text = staged(config(4, OUT, scripts(tmp_path, taken="made@2/most")), 1)
    with StagingRun(tmp_path, text, TWO, 1) as run:
        step(run.init(), range(3))
        run.finish()
    assert [(number, node, name) for number, node, name, *_ in taken(tmp_path)] == [(n, 2, "made@2/most") for n in range(3)]


def test_what_is_made_of_products_there_is_made_of_those_of_each_node(tmp_path):
    twice = (f'<store name="twice" library="{BUILD}/lib/leat/test/publishing.so" at="staging" products="made/profile" publishes="twice">'
             '<option name="make" value="twice"/><option name="file" value="got.txt"/></store>')
    with StagingRun(tmp_path, staged(config(4, twice, scripts(tmp_path, only=["made"])), 1), TWO, 1) as run:
        step(run.init(), range(4))
        run.finish()
    got = [line.split() for line in (tmp_path / "got.txt").read_text().splitlines()]
    assert sorted(got) == sorted([f"made@{node[0]}", str(n), "profile", f"{profile(node, n).sum():g}"] for node in TWO for n in range(4))


def test_products_of_iterations_that_no_store_there_takes_come_all_the_same(tmp_path):
    """The staging node has nothing else of them to wait for."""
    store = '<store name="out" type="hdf5" at="staging" every="50"/>'
    with StagingRun(tmp_path, staged(config(4, ANALYSES + store, buffer="2MiB"), 1), TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(20))
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            with contextlib.suppress(OSError, KeyError):
                if len(in_files(tmp_path)["products/stats@0", "own_mean"]) >= 15:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError(run.log())
        step(ranks, range(20, 23))
        run.finish()
    assert sorted(in_files(tmp_path)["products/stats@2", "own_mean"]) == list(range(23))


def test_products_that_are_slower_than_the_run_and_come_after_its_last_iteration(tmp_path):
    text = staged(config(4, OUT, scripts(tmp_path, pause=0.1, slow=0.05)), 1)
    with StagingRun(tmp_path, text, TWO, 1) as run:
        step(run.init(), range(8))
        run.finish()  # the ranks wait for that
        expect_quiet(run)
    expect_in_files(tmp_path, TWO, range(8))
    expect_profiles(in_calls(tmp_path, "made/profile").get, TWO, range(8))


BIG = """import leat
import numpy as np


@leat.on_iteration(variables=["s"])
def reduce(ds, ctx):
    ctx.store("field", np.full({size}, float(ctx.iteration)), dims=["x"])
"""


def test_more_products_than_the_buffer_there_has_room_for_wait_for_it(tmp_path):
    """Each takes a third of it, and who takes them is slow."""
    text = staged(config(4, OUT, scripts(tmp_path, taken="made/*", slow=0.1)), 1).replace("<staging ", '<staging buffer="3MiB" ')
    (tmp_path / "made.py").write_text(BIG.format(size=1 << 17))
    with StagingRun(tmp_path, text, TWO, 1) as run:
        step(run.init(), range(8))
        run.finish()
        expect_quiet(run)
    found = in_files(tmp_path)
    for node in (0, 2):
        rows = found[f"scripts/made@{node}", "field"]
        assert sorted(rows) == list(range(8)) and all((rows[n] == n).all() for n in range(8))


def test_products_that_never_fit_are_lost_and_said_to_be(tmp_path):
    text = staged(config(4, OUT, scripts(tmp_path, only=["made"])), 1).replace("<staging ", '<staging buffer="2MiB" ')
    (tmp_path / "made.py").write_text(BIG.format(size=1 << 19))
    with StagingRun(tmp_path, text, TWO, 1) as run:
        step(run.init(), range(2))
        answers = run.finalize()
        assert {answer.status for answer in answers} == {"LEAT_ERROR_LOST"}
        assert "no room for 4194304 bytes of products" in run.log()
    expect(tmp_path / "run.h5", range(2), 4)
    assert not in_files(tmp_path)
    lost = [entry for path in tmp_path.glob("*.ledger.json") for entry in json.loads(path.read_text())["entries"]
            if entry["fate"] == "failed" and entry["store"] == "to-staging"]
    assert lost and all(entry["what"] == "products" for entry in lost), lost


def test_a_killed_server_of_a_staging_node_loses_no_products(tmp_path):
    text = staged(config(4, ANALYSES + OUT, scripts(tmp_path, slow=0.05)), 1)
    with StagingRun(tmp_path, text, TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(4))
        for begin in (4, 8):
            os.kill(run.staging[0].server(), signal.SIGKILL)
            step(ranks, range(begin, begin + 4))
        run.finalize()
        run.staging[0].process.wait(LIMIT)
    expect(tmp_path / "run.h5", range(12), 4)
    found = expect_in_files(tmp_path, TWO, range(12))
    assert sorted(found["products/stats@2", "own_mean"]) == sorted(found["products/all", "own_mean"]) == list(range(12))


def test_products_that_wait_when_a_server_there_dies_come_by_the_next_one(tmp_path):
    """The store kills its server with the first products that it gets of iteration 3."""
    got = (f'<store name="got" library="{BUILD}/lib/leat/test/publishing.so" at="staging" products="stats/own_mean">'
           '<option name="kill" value="3"/><option name="file" value="got.txt"/></store>')
    with StagingRun(tmp_path, staged(config(4, ANALYSES + got + OUT), 1), TWO, 1) as run:
        step(run.init(), range(8))
        run.finish()
    got = [tuple(line.split()) for line in (tmp_path / "got.txt").read_text().splitlines()]
    wanted = {(f"stats@{node[0]}", str(n), "own_mean", f"{np.mean([own(rank, n) for rank in node]):g}") for node in TWO for n in range(8)}
    assert set(got) == wanted and (tmp_path / "got.txt.killed").exists()
    found = in_files(tmp_path)
    assert all(sorted(found[f"products/stats@{node}", "own_mean"]) == list(range(8)) for node in (0, 2))


def test_products_with_which_a_store_there_crashes_twice_are_not_given_it_a_third_time(tmp_path):
    bad = (f'<store name="bad" library="{BUILD}/lib/leat/test/publishing.so" at="staging" products="stats/own_mean">'
           '<option name="crash" value="2"/><option name="file" value="got.txt"/></store>')
    with StagingRun(tmp_path, staged(config(4, ANALYSES + bad + OUT), 1), TWO, 1) as run:
        step(run.init(), range(6))
        answers = run.finalize()
        assert "LEAT_ERROR_LOST" in {answer.status for answer in answers}, answers
        assert "crashed in the store 2 times; it is not given it again" in " ".join(run.log().split())
        run.staging[0].process.wait(LIMIT)
    expect(tmp_path / "run.h5", range(6), 4)
    found = in_files(tmp_path)
    assert all(sorted(found[f"products/stats@{node}", "own_mean"]) == list(range(6)) for node in (0, 2))
    got = {tuple(line.split()[:2]) for line in (tmp_path / "got.txt").read_text().splitlines()}
    assert got >= {(f"stats@{node}", str(n)) for node in (0, 2) for n in (0, 1, 3, 4, 5)} and not any(n == "2" for _, n in got)


def test_a_killed_server_of_a_node_makes_its_products_again(tmp_path):
    """Those of plugins: what a script was to make of iterations that the dead one had is said to be missing."""
    text = staged(config(4, ANALYSES + OUT, scripts(tmp_path, only=["made"])), 1)
    with StagingRun(tmp_path, text, TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(4))
        for iteration, node in ((4, 0), (6, 1), (8, 0)):
            pid = run.server_of(node)
            os.kill(pid, signal.SIGKILL)
            await_death(pid)
            step(ranks, [iteration])
            time.sleep(0.3)  # ranks look ten times a second at most
            step(ranks, [iteration + 1])
        run.finalize()
        run.staging[0].end()
        log = run.log()
    expect(tmp_path / "run.h5", range(10), 4)
    found = expect_in_files(tmp_path, TWO, range(10), complete="scripts may not have been called" not in log)
    for node in (0, 2):
        assert sorted(found[f"products/stats@{node}", "own_mean"]) == list(range(10))


@pytest.mark.parametrize("when_lost", ["node", "other"])
def test_with_a_staging_node_no_products_are_lost_unsaid(tmp_path, when_lost):
    text = staged(config(4, ANALYSES + OUT, scripts(tmp_path, only=["made"]), timeout=SHORT), 2, when_lost)
    with StagingRun(tmp_path, text, TWO, 2) as run:
        ranks = run.init()
        step(ranks, range(5))
        run.await_stored(5)
        run.staging[1].kill_as_a_whole()
        step(ranks, range(5, 10))
        answers = run.finalize()
        assert all(answer.ok or MAYBE in " ".join(answer.error.split()) for answer in answers), answers
        is_said = not all(answer.ok for answer in answers)
        run.staging[0].end()
    expect(tmp_path / "run.h5", range(10), 4)
    found = expect_in_files(tmp_path, TWO, range(10), complete=not is_said)
    for node, complete in ((0, True), (2, not is_said)):
        for key in (f"scripts/made@{node}", "profile"), (f"products/stats@{node}", "own_mean"):
            assert sorted(found[key]) == list(range(10)) if complete else set(found[key]) >= set(range(6, 10)), key


def test_with_keep_until_stored_no_products_are_lost_with_a_staging_node(tmp_path):
    text = staged(config(4, ANALYSES + OUT, scripts(tmp_path, only=["made"]), timeout=SHORT), 1)
    with StagingRun(tmp_path, text.replace("<staging ", '<staging keep-until="stored" '), TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(6))  # some of it on its way, whatever that is
        run.staging[0].kill_as_a_whole()
        step(ranks, range(6, 9))
        run.finish()
    expect(tmp_path / "run.h5", range(9), 4)
    found = expect_in_files(tmp_path, TWO, range(9))
    assert all(sorted(found[f"products/stats@{node}", "own_mean"]) == list(range(9)) for node in (0, 2))


def test_products_for_nobody_are_lost_and_said_to_be(tmp_path):
    text = staged(config(4, ANALYSES + OUT, timeout=SHORT), 1, "fail")
    with StagingRun(tmp_path, text, TWO, 1) as run:
        ranks = run.init()
        step(ranks, range(3))
        run.await_stored(3)
        run.staging[0].kill_as_a_whole()
        step(ranks, range(3, 5))
        answers = run.finalize()
        assert {answer.status for answer in answers} == {"LEAT_ERROR_LOST"}
    entries = [entry for path in tmp_path.glob("*.ledger.json") for entry in json.loads(path.read_text())["entries"]]
    assert any(entry.get("what") == "products" and entry["store"] == "to-staging" for entry in entries), entries


def checked(folder, text):
    (folder / "run.xml").write_text(text)
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout + done.stderr


def test_what_cannot_come_back_from_staging_nodes_is_an_error(tmp_path):
    there = '<store name="there" type="statistics" at="staging"/>'
    back = '<store name="here" type="hdf5" products="{}"/>'
    code, said = checked(tmp_path, staged(config(2, there + back.format("there/*")), 1))
    assert code == 1 and 'store "here": products="there/*": "there" works on staging nodes' in said, said
    code, said = checked(tmp_path, staged(config(2, there + back.format("*")), 1))
    assert code == 0, said
    (tmp_path / "s.py").write_text('import leat\n\n\n@leat.on_iteration(products="there/own_mean")\ndef f(ds, ctx):\n    pass\n')
    log = f'<scripts interpreter="{sys.executable}"><script file="s.py" when-slow="wait" at="{{}}"/></scripts>'
    code, said = checked(tmp_path, staged(config(2, there, log.format("node")), 1))
    assert code == 1 and 's.py:4: error: products="there/own_mean": "there" works on staging nodes' in said, said
    code, said = checked(tmp_path, staged(config(2, there, log.format("staging")), 1))
    assert code == 0 and "no store and no script" not in said, said


def test_what_both_places_make_of_each_others_products_is_no_circle(tmp_path):
    """Nothing goes back."""
    def makers(first, second):
        return "".join(f'<store name="{name}" library="{BUILD}/lib/leat/test/publishing.so" at="{at}" products="*" publishes="x"/>'
                       for name, at in (("a", first), ("b", second)))
    code, said = checked(tmp_path, staged(config(2, makers("node", "staging")), 1))
    assert code == 0, said
    code, said = checked(tmp_path, staged(config(2, makers("staging", "staging")), 1))
    assert code == 1 and "products would be made of each other without end: " in said, said


def test_a_run_with_products_of_nodes_is_replayed(tmp_path):
    text = staged(config(4, OUT, scripts(tmp_path, only=["made"])), 1, "fail")  # one file, and no part of it
    with StagingRun(tmp_path, text, TWO, 1) as run:
        step(run.init(), range(3))
        run.finish()
    (tmp_path / "again").mkdir()
    (tmp_path / "again/taken.py").write_text(TAKEN.format(products="made/profile", pause=0))
    done = subprocess.run([BUILD / "bin/leat", "replay", "--interpreter", sys.executable, "run.h5", "again/taken.py"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    expect_profiles(in_calls(tmp_path, "made/profile").get, TWO, range(3))
