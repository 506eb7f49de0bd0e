# SPDX-License-Identifier: Apache-2.0
"""Stores and scripts on staging nodes have what they would have beside the simulation, to the last bit."""
import json
import re
import subprocess
import sys
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, same_bits, xml
from leat_run import data as leat_data
from nodes_run import NodesRun
from staging_run import DATA, FOUR, PROGRAM, STORE, TWO, StagingNode, StagingRun, config, expect, staged, step

SCRIPT = """import leat


@leat.on_iteration(variables=["own"])
def all_of_them(ds, ctx):
    ctx.scalar("number", int(ctx.reduce(int(ds["own"].size), "sum")))
    ctx.scalar("sum", int(ctx.reduce(int(ds["own"].values.astype("i8").sum()), "sum")))
"""


@pytest.mark.parametrize(("nodes", "staging"), [(TWO, 1), (TWO, 2), (FOUR, 2), ([[0, 2], [1, 3]], 1), ([[0, 1, 2, 3]], 1)])
def test_files_of_staging_nodes_have_every_value(tmp_path, nodes, staging):
    ranks = sum(map(len, nodes))
    with StagingRun(tmp_path, staged(config(ranks), staging), nodes, staging) as run:
        step(run.init(), range(12))
        run.finish()
    assert not run.warnings(), run.log()
    expect(tmp_path / "run.h5", range(12), ranks)
    assert len(run.parts()) == staging
    assert not (tmp_path / "run.staging").exists() and not (tmp_path / "run.group").exists()
    for ledger in tmp_path.glob("*.ledger.json"):
        assert json.loads(ledger.read_text())["status"] == "LEAT_OK", ledger


def test_one_file_of_one_staging_node_that_nobody_stands_in_for(tmp_path):
    with StagingRun(tmp_path, staged(config(4), 1, "fail"), TWO, 1) as run:
        step(run.init(), range(5))
        run.finish()
    expect(tmp_path / "run.h5", range(5), 4)
    assert not run.parts()


@pytest.mark.parametrize("more", ['<network trust="job"/>', ""])
@pytest.mark.parametrize("checksum", ["none", "crc32c"])
def test_plain_and_encrypted_with_and_without_checksums(tmp_path, more, checksum):
    text = staged(config(4), 1, more=more).replace("<buffer", f'<buffer checksum="{checksum}"')
    with StagingRun(tmp_path, text, TWO, 1) as run:
        step(run.init(), range(4))
        run.finish()
        assert ("plain, as trust" in run.log()) == bool(more)
    expect(tmp_path / "run.h5", range(4), 4)


def test_what_stays_and_what_goes_have_the_same_values(tmp_path):
    stores = '<store name="here" type="hdf5" file="here.h5"/><store name="there" type="hdf5" at="staging" file="there.h5" every="2"/>'
    with StagingRun(tmp_path, staged(config(4, stores), 1), TWO, 1) as run:
        step(run.init(), range(6))
        run.finish()
    expect(tmp_path / "here.h5", range(6), 4)
    expect(tmp_path / "there.h5", range(0, 6, 2), 4)


def test_a_variable_goes_only_where_it_is_wanted(tmp_path):
    stores = '<store name="here" type="hdf5" file="here.h5"/><store name="there" type="hdf5" at="staging" file="there.h5"/>'
    text = xml(DATA.format(ranks=2).replace('name="u"', 'name="u" store="there"').replace('name="own"', 'name="own" store="here"'),
               store=stores)
    with StagingRun(tmp_path, staged(text, 1), [[0, 1]], 1) as run:
        step(run.init(), range(3))
        run.finish()
    with h5py.File(tmp_path / "here.h5") as here, h5py.File(tmp_path / "there.h5") as there:
        assert "own" in here and "own" not in there and "u" in there and "u" not in here


def scripts(at):
    return f'<scripts interpreter="{sys.executable}"><script file="s.py" when-slow="wait" at="{at}"/></scripts>'


def results(folder):
    """{name: values by iteration}, the same on all servers."""
    found = {}
    with h5py.File(folder / "run.h5") as file:
        def note(name, dataset):
            if isinstance(dataset, h5py.Dataset) and re.search(r"scripts/s/(number|sum)$", name):
                found.setdefault(name.rsplit("/", 1)[1], set()).add(tuple(dataset[:].tolist()))
        file.visititems(note)
    return found


def test_scripts_reduce_over_all_staging_nodes(tmp_path):
    for folder in ("there", "here"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "s.py").write_text(SCRIPT)
    text = config(4, log=scripts("staging"))
    with StagingRun(tmp_path / "there", staged(text, 2), TWO, 2) as run:
        step(run.init(), range(5))
        run.finish()
        assert not run.warnings()
    with NodesRun(tmp_path / "here", text.replace(' at="staging"', ""), TWO) as plain:
        step(plain.init(), range(5))
        plain.finish()
    assert results(tmp_path / "there") == results(tmp_path / "here") != {}


STEER = """import leat


@leat.on_iteration(variables=["own"])
def steer(ds, ctx):
    if ctx.iteration == 2:
        ctx.set("gain", 2.5)
        ctx.set("mode", "fine")
"""


@pytest.mark.parametrize("staging", [1, 2])
def test_a_script_there_steers_the_simulation(tmp_path, staging):
    (tmp_path / "s.py").write_text(STEER)
    more = '<data><parameter name="gain" type="double" value="1"/><parameter name="mode" type="string" value="coarse"/>'
    text = staged(config(4, log=scripts("staging")), staging).replace("<data>", more)
    had = []
    with StagingRun(tmp_path, text, TWO, staging) as run:
        ranks = run.init()
        until = time.monotonic() + LIMIT
        while len(had) < 5 or had[-5] != (2.5, "fine"):  # some more with the new values
            assert time.monotonic() < until, run.log()
            step(ranks, [len(had)])
            now = {(rank.must("get_double", "gain").value, rank.must("get_string", "mode").value) for rank in ranks}
            assert len(now) == 1, "not all ranks have the same"
            had += now
            time.sleep(0.02)
        run.finish()
        assert "store/to-staging steers gain from 1 to 2.5" in run.log()
    had = [(1, "coarse"), *had[:-1]]  # what was got after iteration k holds in k + 1
    assert had[0] == (1, "coarse") and set(had) <= {(1, "coarse"), (2.5, "coarse"), (1, "fine"), (2.5, "fine")}
    expect(tmp_path / "run.h5", range(len(had)), 4)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["parameters/gain"][:].tolist() == [gain for gain, _ in had]


def test_a_rank_with_other_global_extents_than_the_first_is_refused(tmp_path):
    data = """<parameter name="m" type="int" value="4"/><layout name="l" type="double" dimensions="2" global="m"/>
<variable name="u" layout="l"/>"""
    with StagingRun(tmp_path, staged(xml(data, store=STORE), 1), [[0, 1]], 1) as run:
        ranks = run.init()
        ranks[1].must("set_int", "m", 6)
        for rank in ranks:
            rank.must("set_position", "u", 0, 2 * rank.number)
            rank.must("write", "u", 0, 16, rank.number)
        for rank in ranks:
            rank.end()
        answers = run.finalize()
        assert not all(answer.ok for answer in answers)
        assert 'its global extent "m" is 6 for this rank, and 4 for the first rank of its node' in run.log()
        run.staging[0].end(code=1)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["u"].shape == (1, 4) and same_bits(file["u"][0][:2], leat_data(2, "f8", 0)) and file.attrs["lost"] == 1


@pytest.mark.parametrize("scope", ["rank", "node", "run"])
def test_events_happen_on_staging_nodes_in_their_iteration(tmp_path, scope):
    store = f'<store name="ear" library="{BUILD}/lib/leat/test/listening.so" at="staging"/>'
    log = f'<actions><event name="x" plugin="ear" scope="{scope}"/></actions>'
    with StagingRun(tmp_path, staged(config(4, store, log), 1), TWO, 1) as run:
        ranks = run.init()
        step(ranks, [0])
        for iteration in (1, 2):
            for rank in ranks if iteration == 2 or scope == "rank" else ranks[:2]:
                rank.must("signal", "x")
            step(ranks, [iteration])
        run.finish()
    told = [line for line in (tmp_path / "told.txt").read_text().splitlines() if not line.startswith("iteration ")]
    if scope == "rank":
        assert sorted(told) == sorted(f"x {rank} {iteration}" for iteration in (1, 2) for rank in range(4))
    else:
        # Each node has decided by itself: the staging node hears of it when all of its ranks have.
        assert told and all(line.startswith("x -1 ") for line in told)


def test_a_dropped_iteration_is_dropped_there_too(tmp_path):
    store = '<store name="slow" library="{}" every="1"/>'.format(BUILD / "lib/leat/test/slow.so")
    if not (BUILD / "lib/leat/test/slow.so").exists():
        store = ""
    text = config(4, '<store name="out" type="hdf5" at="staging"/>' + store).replace("<buffer", '<buffer when-full="drop-iteration"')
    with StagingRun(tmp_path, staged(text, 1), TWO, 1) as run:
        step(run.init(), range(5))
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["lost"] == 0


def test_without_staging_nodes_each_node_does_it_by_itself(tmp_path):
    with StagingRun(tmp_path, staged(config(4)), TWO, 0) as run:
        step(run.init(), range(4))
        run.finish()
        assert "there is no staging node: staging node 0 is not there" in run.log()
    expect(tmp_path / "run.h5", range(4), 4)


def test_a_staging_node_with_another_xml_is_refused(tmp_path):
    with StagingRun(tmp_path, staged(config(2), 1), [[0, 1]], 0) as run:
        path = tmp_path / run.config
        text = path.read_text()
        path.write_text(text.replace("<simulation", "<!-- changed -->\n<simulation"))
        run.staging.append(StagingNode(run, 0))
        path.write_text(text)
        step(run.init(), range(3))
        run.finish()
        assert "is another one than the simulation's" in run.log()
        run.staging[0].process.terminate()
    expect(tmp_path / "run.h5", range(3), 2)


def say(folder, *words):
    done = subprocess.run([BUILD / "bin/leat", *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_staging_node_that_serves_nobody_can_be_ended(tmp_path):
    (tmp_path / "run.xml").write_text(staged(config(2), 1))
    for end in (lambda node: node.terminate(), lambda _: say(tmp_path, "staging", "run.xml", "--end")):
        node = subprocess.Popen([PROGRAM, "run.xml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert "waits for the simulation" in node.stderr.readline()
        end(node)
        assert node.wait(LIMIT) == 0 and "served nobody" in node.stderr.read()
        assert not (tmp_path / "run.staging").exists()


def test_what_cannot_be_a_staging_node_says_why(tmp_path):
    (tmp_path / "plain.xml").write_text(config(2, '<store name="out" type="hdf5"/>'))
    code, said = say(tmp_path, "staging", "plain.xml")
    assert code == 2 and "no store and no script with at=\"staging\"" in said
    (tmp_path / "run.xml").write_text(config(2))
    code, said = say(tmp_path, "check", "run.xml")
    assert code == 1 and 'store "out" has at="staging", and there are no such nodes' in said
    (tmp_path / "run.xml").write_text(staged(config(2, '<store name="out" type="hdf5"/>'), 2))
    code, said = say(tmp_path, "check", "run.xml")
    assert code == 0 and "<staging> has nothing to do" in said


def test_all_staging_nodes_run_already(tmp_path):
    (tmp_path / "run.xml").write_text(staged(config(2), 1))
    node = subprocess.Popen([PROGRAM, "run.xml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert "waits for the simulation" in node.stderr.readline()
    code, said = say(tmp_path, "staging", "run.xml")
    assert code == 2 and "all 1 staging nodes of this simulation run already" in said
    node.terminate()
    assert node.wait(LIMIT) == 0
