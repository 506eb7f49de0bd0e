# SPDX-License-Identifier: Apache-2.0
"""append="true" of a run with several servers: each goes on in its own part, and view and parts are, to the last bit and attribute, those
of a run that was not interrupted, as h5py reads them: but for who wrote them. Nothing is changed before all servers can go on."""
import os
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from h5_compare import expect_same_view, parts_of
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits
from nodes import Nodes
from test_resumed import LAST, TIME, VARIABLES, blocks, parameters, results

NODES = [[0, 1], [2]]
RANKS = 3
APPEND = {"append": "true"}
XML = "<simulation>x</simulation>"


def start(folder, session, nodes=None, options=None, variables=VARIABLES, **more):
    return Nodes(folder, variables, nodes or NODES, session=session, xml=XML, options={**APPEND, **(options or {})}, infos=1,
                 **{**TIME, **more})


def give(node, plugin, i):
    own = [block for block in blocks(plugin, i, RANKS) if block["rank"] in node]
    plugin.must(i, *own, parameters=parameters(i), complete=int(i != 4))
    results(plugin, i)


def step(run, i):
    for node, plugin in zip(run.nodes, run.plugins):
        give(node, plugin, i)


def run(folder, session, iterations, **more):
    servers = start(folder, session, **more)
    for i in iterations:
        step(servers, i)
    return servers.finish()


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def expect_same_output(folder, whole):
    assert sorted(parts_of(folder / "run.h5")) == ["rank000000.h5", "rank000002.h5"]
    expect_same_view(folder / "run.h5", whole / "run.h5")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that was not interrupted, for options."""
    made = {}

    def of(options):
        key = tuple(sorted(options.items()))
        if key not in made:
            made[key] = tmp_path_factory.mktemp("whole") / "run"
            run(made[key], "whole", range(LAST + 1), options=options)
        return made[key]
    return of


@pytest.mark.parametrize("end, first, options", [(5, 5, {}), (8, 5, {}), (LAST + 1, 1, {}), (6, 0, {}), (0, 0, {}),
                                                 (8, 5, {"compression": "deflate:2"})])
def test_view_and_parts_are_those_of_a_run_that_was_not_interrupted(tmp_path, whole, end, first, options):
    run(tmp_path / "run", "one", range(end), options=options)
    said = run(tmp_path / "run", "two", range(first, LAST + 1), options=options)
    expect_same_output(tmp_path / "run", whole(options))
    assert names_in(tmp_path / "run") == ["run.h5", "run.parts/one/rank000000.h5", "run.parts/one/rank000002.h5"]
    assert said.count(f"from iteration {first} on") == 2, said


def test_again_and_again(tmp_path, whole):
    for number, (first, end) in enumerate([(0, 3), (2, 9), (9, 10), (5, 7), (7, LAST + 1)]):
        run(tmp_path / "run", f"s{number}", range(first, end))
    expect_same_output(tmp_path / "run", whole({}))
    with h5py.File(tmp_path / "run/run.h5") as file:
        assert re.findall(r"on from|from iteration (\d+)", file.attrs["history"].decode()) == ["2", "9", "5", "7"]


@pytest.mark.parametrize("with_view", [True, False])
def test_behind_a_run_of_which_all_servers_were_killed(tmp_path, whole, with_view):
    """Without a view, as before the first one is made, the newest parts are those of the run; not those that a view shows."""
    run(tmp_path / "run", "other", range(3))
    os.rename(tmp_path / "run/run.h5", tmp_path / "run/kept.h5")
    servers = start(tmp_path / "run", "one")
    for i in range(7):
        step(servers, i)
    for plugin in servers.plugins:
        plugin.kill()
    if not with_view:
        os.unlink(tmp_path / "run/run.h5")
    run(tmp_path / "run", "two", range(5, LAST + 1))
    expect_same_output(tmp_path / "run", whole({}))


def successor(folder, node, resumed=1, options=None):
    """Of the second run."""
    plugin = Plugin(folder, VARIABLES, ranks=RANKS, node_ranks=len(node), first_rank=node[0], session="two", xml=XML,
                    options={**APPEND, **(options or {})}, infos=1, resumed=resumed, **TIME)
    assert not plugin.opened, plugin.opened
    return plugin


DRAINED = 2  # what was in memory is stored when nobody of the run is alive


@pytest.mark.parametrize("options", [{}, {"split": "4"}])
@pytest.mark.parametrize("order", [NODES, NODES[::-1]])
def test_all_of_the_second_run_is_killed_before_it_has_stored_anything(tmp_path, whole, order, options):
    """What it had in memory goes behind the first run's, and the third run behind that."""
    run(tmp_path / "run", "one", range(6), options=options)
    for plugin in start(tmp_path / "run", "two", options=options).plugins:
        plugin.kill()
    for node in order:  # one after the other
        plugin = successor(tmp_path / "run", node, DRAINED, options)
        for i in (5, 6):
            give(node, plugin, i)
        plugin.finish()
    run(tmp_path / "run", "three", range(7, LAST + 1), options=options)
    assert sorted(path.name for path in (tmp_path / "run").glob("*.h5")) == ["run.h5"]
    if options:
        split = run_in_pieces(tmp_path / "split", options)
        expect_same_view(tmp_path / "run/run.h5", split / "run.h5")
    else:
        expect_same_output(tmp_path / "run", whole({}))


def run_in_pieces(folder, options):
    run(folder, "whole", range(LAST + 1), options=options)
    return folder


@pytest.mark.parametrize("options", [{}, {"split": "4"}])
@pytest.mark.parametrize("moment", ["before it has begun", "when another one has gone on"])
def test_what_a_killed_run_had_in_memory_never_takes_the_place_of_the_output(tmp_path, moment, options):
    """It gets a view of its own, which is said, where that run had not gone on in the output, or another one has."""
    run(tmp_path / "run", "one", range(6), options=options)
    if moment != "before it has begun":
        for plugin in start(tmp_path / "run", "two", options=options).plugins:
            plugin.kill()
        run(tmp_path / "run", "three", range(6, 8), options=options)
    before = h5py.File(tmp_path / "run/run.h5")["iteration"][:].tolist()
    for node in NODES:
        plugin = successor(tmp_path / "run", node, DRAINED, options)
        give(node, plugin, 8)
        assert "run.h5 is of an earlier run" in plugin.finish() or node != NODES[0]
    for name, numbers in (("run.h5", before), ("run-two.h5", [8])):
        with h5py.File(tmp_path / "run" / name) as file:
            assert file["iteration"][:].tolist() == numbers
    assert sorted(path.name for path in (tmp_path / "run").glob("*.h5")) == ["run-two.h5", "run.h5"]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("moment", ["before", "behind"])
def test_a_server_of_the_second_run_is_killed_and_followed(tmp_path, whole, which, moment):
    """Before it has cut its part, and when it has gone on in it."""
    run(tmp_path / "run", "one", range(8))
    servers = start(tmp_path / "run", "two")
    if moment == "behind":
        step(servers, 5)
        step(servers, 6)
    servers.plugins[which].kill()
    next_one = successor(tmp_path / "run", NODES[which])
    servers.plugins[which] = next_one
    if moment == "behind":
        give(NODES[which], next_one, 6)  # the last one comes again
    for i in range(7 if moment == "behind" else 5, LAST + 1):
        step(servers, i)
    servers.finish()
    expect_same_output(tmp_path / "run", whole({}))
    assert len(names_in(tmp_path / "run")) == 3


CALLS = "pwrite64,pwritev,ftruncate,fsync,linkat,rename,renameat,renameat2,unlinkat"
MOMENTS = int(os.environ.get("LEAT_KILLS", 6))


def under_strace(folder, strace):
    """One server of the second run; the other one is as it should be. How many iterations were stored."""
    servers = start(folder, "two", wrappers=[["strace", "-f", "-qq", *strace], ()])
    stored = 0
    try:
        for i in range(3, 6):
            step_of_other(servers, i)
            give(NODES[0], servers.plugins[0], i)
            stored += 1
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        pass
    return servers, stored


def step_of_other(servers, i):
    give(NODES[1], servers.plugins[1], i)


def test_killed_at_any_call_the_part_is_the_old_one_or_the_new_one(tmp_path):
    """A server of the second run, at any call with which it changes something: the one after it makes of it what is wanted."""
    run(tmp_path / "whole", "one", range(6))
    run(tmp_path / "old", "one", range(5))
    shutil.copytree(tmp_path / "old", tmp_path / "traced")
    servers, stored = under_strace(tmp_path / "traced", ["-e", f"trace={CALLS}", "-o", tmp_path / "trace"])
    assert stored == 3
    servers.finish()
    expect_same_output(tmp_path / "traced", tmp_path / "whole")
    calls = len(re.findall(r"\(", (tmp_path / "trace").read_text()))
    seen_rows = set()
    for number in np.linspace(3, calls, MOMENTS, dtype=int):
        folder = tmp_path / f"killed{number}"
        shutil.copytree(tmp_path / "old", folder)
        try:
            servers, stored = under_strace(folder, ["-o", "/dev/null", "-e", f"inject={CALLS}:signal=KILL:when={number}"])
        except ValueError:  # while it was opened
            continue
        if stored == 3 and has_ended(servers.plugins[0]):  # it was the process that makes its views
            servers.finish(but=[0])
            expect_same_output(folder, tmp_path / "whole")
            continue
        servers.plugins[0].process.wait()
        with h5py.File(folder / "run.parts/one/rank000000.h5") as file:
            rows = file["iteration"][:].tolist()
            seen_rows.add((file.attrs["session"], len(rows)))
            assert rows[:3] == [0, 1, 2] and rows == list(range(len(rows)))
        servers.plugins[0] = successor(folder, NODES[0])
        for i in range(max(3, 3 + stored - 1), 6):
            give(NODES[0], servers.plugins[0], i)
        with h5py.File(folder / "run.parts/one/rank000002.h5") as file:
            there = file["iteration"][-1]
        for i in range(there + 1 if file_is_of(folder, "two") else 3, 6):
            step_of_other(servers, i)
        servers.finish()
        expect_same_output(folder, tmp_path / "whole")
        shutil.rmtree(folder)
    assert len(seen_rows) > 1, seen_rows  # both


def has_ended(plugin):
    """False: it was killed over it."""
    try:
        plugin.finish()
        return True
    except ValueError:
        return False


def file_is_of(folder, session):
    with h5py.File(folder / "run.parts/one/rank000002.h5") as file:
        return file.attrs["session"].decode() == session


def opened(folder, session, nodes):
    """What each server said when it was opened; and then, of those that were, to an iteration."""
    ranks = sum(map(len, nodes))
    plugins = [Plugin(folder, VARIABLES, ranks=ranks, node_ranks=len(node), first_rank=min(node), session=session, xml=XML, options=APPEND,
                      infos=1, **TIME) for node in nodes]
    said = []
    for node, plugin in zip(nodes, plugins):
        if plugin.opened:
            plugin.process.stdin.close()
            plugin.process.wait()
            said.append(plugin.opened)
            continue
        own = [block for block in blocks(plugin, 5, ranks) if block["rank"] in node]
        said.append(plugin.iteration(5, *own, parameters=parameters(5)))
        plugin.close()
    return said


@pytest.mark.parametrize("nodes", [[[0], [1], [2]], [[0], [1, 2]], [[0, 1], [2, 3]], [[0, 1], [2], [3, 4]]],
                         ids=["more servers", "other ranks", "more ranks", "one more"])
def test_other_servers_are_refused_by_all_before_anything_is_touched(tmp_path, nodes):
    run(tmp_path, "one", range(3))
    before = contents(tmp_path)
    for said in opened(tmp_path, "two", nodes):
        assert "nothing of " in said and "changed" in said, said
    assert contents(tmp_path) == before
    run(tmp_path, "three", range(3, 5))
    assert not [name for name in names_in(tmp_path) if ".append-" in name]


def test_a_part_that_is_missing_is_named_by_all(tmp_path):
    run(tmp_path, "one", range(3))
    os.unlink(tmp_path / "run.parts/one/rank000002.h5")
    before = contents(tmp_path)
    for said in opened(tmp_path, "two", NODES):
        assert "the parts of 1 of its 3 ranks are missing: there are rank000000 of 2 ranks" in said, said
    assert contents(tmp_path) == before


def test_a_part_that_cannot_be_read_is_named_by_all(tmp_path):
    run(tmp_path, "one", range(3))
    (tmp_path / "run.parts/one/rank000002.h5").write_bytes(b"no file of HDF5")
    before = contents(tmp_path)
    for said in opened(tmp_path, "two", NODES):
        assert "rank000002.h5 cannot be read" in said, said
    assert contents(tmp_path) == before


def test_a_server_whose_part_is_of_another_model_stops_the_others(tmp_path):
    run(tmp_path, "one", range(3))
    plugins = [Plugin(tmp_path, variables, ranks=RANKS, node_ranks=len(node), first_rank=min(node), session="two", xml=XML, options=APPEND,
                      infos=1, **TIME) for node, variables in zip(NODES, (VARIABLES, VARIABLES[:-1]))]
    before = contents(tmp_path)
    assert 'variable "odd_written" is in the file, and not in the XML' in plugins[1].opened
    said = plugins[0].iteration(3, *[b for b in blocks(plugins[0], 3, RANKS) if b["rank"] < 2], parameters=parameters(3))
    assert "the server of rank000002 cannot go on: cannot append" in said and "odd_written" in said, said
    assert contents(tmp_path) == before
    plugins[0].close()
    plugins[1].process.stdin.close()
    plugins[1].process.wait()


def test_what_is_one_file_of_one_server_is_refused(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, ranks=1, session="one", xml=XML, options=APPEND, **TIME)
    plugin.finish()
    before = contents(tmp_path)
    for said in opened(tmp_path, "two", NODES):
        assert "it is no view of a run with several servers, and this run has several" in said, said
    assert contents(tmp_path) == before


def small(folder, session, seeds, nodes=((0,), (1,)), but=None):
    """Iterations {number: seed} of a global array of two ranks; `but`: {number: rank that does not have it}."""
    described = [variable("a", "f8", ["y", "x"], **{"global": 1})]
    servers = Nodes(folder, described, [list(node) for node in nodes], session=session, options=APPEND, infos=1)
    for i, seed in seeds.items():
        for rank, plugin in enumerate(servers.plugins):
            if (but or {}).get(i) != rank:
                plugin.must(i, plugin.block(0, (2, 3), seed + rank, rank=rank, position=[2 * rank, 0], **{"global": [4, 3]}))
    return servers


def test_a_part_that_lacks_an_iteration_is_named_and_goes_on(tmp_path):
    """As when all servers of the first run were killed in the midst of one."""
    for plugin in small(tmp_path, "one", {0: 10, 1: 20, 2: 30}, but={2: 1}).plugins:
        plugin.kill()
    said = small(tmp_path, "two", {3: 40}).finish()
    (line,) = [line for line in said.splitlines() if "lacks" in line]
    assert "rank000001.h5 goes on from iteration 3 on and lacks iterations before that which other parts have: 2" in line, said
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3] and file["leat/iteration_complete"][:].tolist() == [1, 1, 0, 1]
        for row, seed in enumerate((10, 20, 30, 40)):
            assert same_bits(file["a"][row, :2], array((2, 3), "f8", seed))
            assert np.isnan(file["a"][row, 2:]).all() if row == 2 else same_bits(file["a"][row, 2:], array((2, 3), "f8", seed + 1))


def test_parts_of_different_length_are_cut_to_the_same(tmp_path):
    small(tmp_path, "one", {i: 10 * i for i in range(6)}, but={5: 0, 4: 0}).finish()
    said = small(tmp_path, "two", {3: 77, 4: 88}).finish()
    assert "lacks" not in said, said
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3, 4] and file["leat/iteration_complete"][:].all()
        assert same_bits(file["a"][3], np.concatenate([array((2, 3), "f8", 77), array((2, 3), "f8", 78)]))


def test_nothing_is_touched_before_a_late_server_has_said_that_it_can_go_on(tmp_path):
    small(tmp_path, "one", {0: 10, 1: 20}).finish()
    before = contents(tmp_path)
    plugins = []

    def begin(rank):
        described = [variable("a", "f8", ["y", "x"], **{"global": 1})]
        plugins.append(Plugin(tmp_path, described, ranks=2, node_ranks=1, first_rank=rank, session="two", options=APPEND))
        assert not plugins[-1].opened

    def iteration(rank, i):
        plugin = plugins[rank]
        return plugin.iteration(i, plugin.block(0, (2, 3), 7 + rank, rank=rank, position=[2 * rank, 0], **{"global": [4, 3]}))

    begin(0)
    for i in (1, 2):  # the first one waits
        assert "no server of this run has said so far that it goes on in rank000001.h5" in iteration(0, i)
    assert contents(tmp_path) == before
    begin(1)
    assert iteration(0, 3) == iteration(1, 1) == iteration(1, 2) == iteration(1, 3) == ""
    for plugin in plugins:
        plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3] and file["leat/iteration_complete"][:].tolist() == [1, 0, 0, 1]
    assert not [name for name in names_in(tmp_path) if ".append-" in name]


def test_a_part_that_another_run_has_is_refused(tmp_path):
    small(tmp_path, "one", {0: 1}).finish()
    first = small(tmp_path, "two", {})
    second = Plugin(tmp_path, [variable("a", "f8", ["y", "x"], **{"global": 1})], ranks=2, node_ranks=1, first_rank=0, session="three",
                    options=APPEND)
    assert "rank000000.h5 is being written by another run" in second.opened
    second.process.stdin.close()
    second.process.wait()
    for rank, plugin in enumerate(first.plugins):
        plugin.must(1, plugin.block(0, (2, 3), 5 + rank, rank=rank, position=[2 * rank, 0], **{"global": [4, 3]}))
    first.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1]


@pytest.mark.parametrize("more, why", [({"options": {**APPEND, "files": "2"}}, "write files together"),
                                       ({"succession": 1, "options": APPEND}, "staging")])
def test_what_cannot_be_is_refused(tmp_path, more, why):
    plugin = Plugin(tmp_path, VARIABLES, session="one", ranks=4, node_ranks=2, first_rank=0, **more)
    assert why in plugin.opened, plugin.opened
    plugin.process.stdin.close()
    plugin.process.wait()


def test_a_view_of_parts_that_have_nothing_yet(tmp_path):
    """As when all of a run is killed before its first iteration."""
    for plugin in start(tmp_path, "one").plugins:
        plugin.kill()
    done = subprocess.run([BUILD / "bin/leat", "view", "run.parts/one", "--output", "seen.h5"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done
    with h5py.File(tmp_path / "seen.h5") as file:
        assert file["iteration"][:].tolist() == []
