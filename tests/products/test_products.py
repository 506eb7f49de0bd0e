# SPDX-License-Identifier: Apache-2.0
"""What plugins publish: in files, at other plugins, beside what scripts make; when a plugin fails, and when leatd is killed
while it passes it on."""
import json
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray
from control_run import Peer, wait_until
from leat_run import BUILD, Run, data, same_bits, xml

ROW = '<layout name="row" type="uint8" dimensions="8" names="x"/><variable name="a" layout="row" unit="K"/>'
LIBRARY = f"{BUILD}/lib/leat/test"
OUT = '<store name="out" type="hdf5"/>'


def option(name, value):
    return f'<option name="{name}" value="{value}"/>'


def store(name, attributes="", library="publishing", **options):
    texts = "".join(option(*each) for each in options.items())
    return f'<store name="{name}" library="{LIBRARY}/{library}.so" {attributes}>{texts}</store>'


def publisher(publish="sum field lent", **others):
    return store("pub", publish=publish, **others)


def subscriber(products="*", **others):
    return store("sub", f'products="{products}"', file="got.txt", **others)


def numbers(iteration, size=8):
    return data(size, "u1", iteration).astype("f8")


def write(run, iterations, size=8):
    for iteration in iterations:
        for rank in run.ranks:
            assert rank.write("a", size, iteration).ok
            rank.end()


def got(folder, name="got.txt"):
    return [line.split() for line in (folder / name).read_text().splitlines()]


def run_all(folder, stores, count=5, **others):
    with Run(folder, xml(ROW, store=stores, **others)) as run:
        run.init()
        write(run, range(count))
        run.finish()
    return run


def test_a_plugin_steers_all_ranks_from_the_same_iteration_on(tmp_path):
    parameters = '<parameter name="gain" type="double" value="1"/><parameter name="mode" type="string" value="coarse"/>'
    had = []
    with Run(tmp_path, xml(ROW + parameters, store=publisher(steer="2")), 2) as run:
        run.init()
        while len(had) < 5 or had[-5] != (0.5, "fine"):
            assert len(had) < 5000, run.log()
            write(run, [len(had)])
            now = {(rank.must("get_double", "gain").value, rank.must("get_string", "mode").value) for rank in run.ranks}
            assert len(now) == 1
            had += now
        run.finish()
    log = run.log()
    assert 'store/pub steers mode from coarse to fine, from iteration ' in log and "store/pub steers gain from " in log
    assert 'store/pub, ctx.set: the XML declares no parameter "gian"; did you mean "gain"?' in log
    assert 'store "pub": cannot set a parameter: gain: not a finite number' in log and 'parameter "gain" could not be set' in log


@pytest.mark.parametrize("order", ["before", "behind"])
def test_what_a_plugin_publishes_is_in_the_file_wherever_its_store_is_declared(tmp_path, order):
    stores = [publisher(), OUT]
    run_all(tmp_path, "".join(stores if order == "before" else reversed(stores)))
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["products/pub"]
        assert group["iteration"][:].tolist() == list(range(5))
        for iteration in range(5):
            assert same_bits(group["field"][iteration], numbers(iteration))
            assert same_bits(group["lent"][iteration], numbers(iteration))
            assert group["sum"][iteration] == numbers(iteration).sum()
        assert group["sum"].attrs["units"] == b"J"
    with xarray.open_dataset(tmp_path / "run.h5", group="products/pub", engine="h5netcdf") as opened:
        assert opened["field"].dims == ("iteration", "x") and opened["field"].attrs["units"] == "K"
    shown = json.loads(subprocess.run([BUILD / "bin/leat", "ls", "run.h5", "--json"], cwd=tmp_path, check=True,
                                      capture_output=True).stdout)
    (source,) = shown["products"]
    assert source["name"] == "pub" and {each["name"] for each in source["results"]} == {"sum", "field", "lent"}


def test_memory_that_is_lent_comes_back_once_for_each_iteration(tmp_path):
    run = run_all(tmp_path, publisher("lent") + OUT + subscriber())
    assert "released 5" in run.log(), run.log()


@pytest.mark.parametrize("products, names", [("*", {"sum", "field"}), ("pub/sum", {"sum"}), ("pub/f* nobody/*", {"field"}),
                                             ("scripts/*", set()), ("", set())])
def test_a_store_gets_what_it_subscribes_to(tmp_path, products, names):
    run_all(tmp_path, subscriber(products) + publisher("sum field"), count=3)
    assert got(tmp_path) == [["pub", str(i), name, f"{numbers(i).sum():g}"] for i in range(3) for name in ("sum", "field")
                             if name in names]


def test_what_scripts_and_plugins_make_comes_by_the_same_way(tmp_path):
    folder = tmp_path / "analysis"
    folder.mkdir()
    (folder / "s.py").write_text("def process(ds, ctx):\n    ctx.scalar('most', float(ds['a'].values.max()))\n")
    scripts = f'<scripts interpreter="{sys.executable}"><folder path="analysis" when-slow="wait"/></scripts>'
    run_all(tmp_path, publisher("sum") + subscriber("s/* pub/*") + OUT, log=scripts)
    lines = got(tmp_path)
    for source, name, of in (("pub", "sum", np.sum), ("s", "most", np.max)):
        assert [line[1:] for line in lines if line[0] == source] == [
            [str(i), name, f"{of(numbers(i)):g}"] for i in range(5)]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["scripts/s/most"].shape == file["products/pub/sum"].shape == (5,)


def test_metrics_count_products(tmp_path):
    with Run(tmp_path, xml(ROW, store=publisher("sum field") + subscriber("pub/sum"))) as run:
        run.init()
        write(run, range(3))
        with Peer(run) as peer:
            wait_until(lambda: peer.ask("metrics")["result"]["iterations"]["stored"] == 3, "the stores")
            metrics = peer.ask("metrics")["result"]
        run.finish()
    assert [(s["name"], s["products_taken"], s["products_published"]) for s in metrics["stores"]] == [("pub", 0, 6), ("sub", 3, 0)]


def test_two_that_publish_take_what_the_other_has_made(tmp_path):
    run_all(tmp_path, store("a", publish="sum", file="a.txt") + store("b", publish="field", file="b.txt"), count=3)
    totals = [f"{numbers(i).sum():g}" for i in range(3)]
    assert got(tmp_path, "a.txt") == [["b", str(i), "field", totals[i]] for i in range(3)]
    assert got(tmp_path, "b.txt") == [["a", str(i), "sum", totals[i]] for i in range(3)]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 3, 0, 1)])
def test_what_is_made_of_products_goes_on_to_others_whatever_the_order_of_the_stores(tmp_path, order):
    stores = [publisher("sum"), store("twice", 'products="pub/*" publishes="two"', make="two"),
              store("four", 'products="twice/*" publishes="four"', make="four"), OUT]
    run_all(tmp_path, "".join(stores[i] for i in order), count=4)
    with h5py.File(tmp_path / "run.h5") as file:
        for source, name, factor in (("pub", "sum", 1), ("twice", "two", 2), ("four", "four", 4)):
            group = file[f"products/{source}"]
            assert group["iteration"][:].tolist() == list(range(4))
            assert group[name][:].tolist() == [factor * numbers(i).sum() for i in range(4)]


def test_what_one_makes_of_an_iteration_and_of_products_is_one_row(tmp_path):
    both = store("both", 'products="pub/*" publishes="sum two"', publish="sum", make="two")
    run_all(tmp_path, OUT + both + publisher("field"), count=4)
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["products/both"]
        assert group["iteration"][:].tolist() == list(range(4))
        assert group["sum"][:].tolist() == [numbers(i).sum() for i in range(4)]
        assert group["two"][:].tolist() == [2 * numbers(i).sum() for i in range(4)]


def test_what_is_made_of_products_has_to_be_declared(tmp_path):
    with Run(tmp_path, xml(ROW, store=publisher("sum") + store("odd", make="two"))) as run:
        run.init()
        write(run, range(2))
        answers = run.finalize()
    assert '"two" is not in publishes="..." of <store name="odd">' in run.log()
    assert "odd" in str(answers), "what it was to make is missing, and the run is told"


def test_stores_that_make_products_of_each_other_are_refused(tmp_path):
    text = xml(ROW, store=store("a", 'publishes="x"', make="x") + store("b", 'products="a/x" publishes="y"', make="y"))
    (tmp_path / "run.xml").write_text(text)
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1
    said = checked.stdout + checked.stderr
    assert "a/x -> b/y -> a/x" in said and "run.xml:" in said, said


def test_stores_of_different_plugins_work_at_the_same_time_where_there_are_cores(tmp_path):
    """Each waits for the other: one after the other, neither would come to its end."""
    shutil.copy(f"{LIBRARY}/publishing.so", tmp_path / "second.so")
    os.chmod(tmp_path / "second.so", 0o755)
    stores = (store("one", meet="a.txt b.txt", publish="sum") + f'<store name="two" library="{tmp_path}/second.so">'
              + option("meet", "b.txt a.txt") + "</store>" + OUT)
    run = run_all(tmp_path, stores, count=3, cores=2)
    assert "nothing lost" in run.log(), run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["products/one/sum"][:].tolist() == [numbers(i).sum() for i in range(3)]


def test_a_plugin_that_was_built_before_gets_them_too(tmp_path):
    store = f'<store name="old" library="{LIBRARY}/subscriber_of_before.so">{option("file", "old.txt")}</store>'
    run_all(tmp_path, store + publisher("sum"), count=3)
    assert got(tmp_path, "old.txt") == [["pub", str(i), "sum"] for i in range(3)]


def test_what_a_call_that_fails_has_published_is_dropped_and_the_run_told(tmp_path):
    with Run(tmp_path, xml(ROW, store=publisher("sum", fail=2) + subscriber())) as run:
        run.init()
        write(run, range(5))
        answers = run.finalize()
        assert "pub" in str(answers) and "as it was told" in str(answers)
    assert [int(line[1]) for line in got(tmp_path)] == [0, 1, 3, 4]


def test_what_makes_no_sense_is_refused_and_harms_nothing(tmp_path):
    run = run_all(tmp_path, publisher("sum", odd=1) + subscriber(), count=2)
    log = run.log()
    for said in ("56 bytes, which its type and extents do not make", "64 bytes, which", "has 9 dimensions; 8 are the most",
                 "77 is no type", '"../odd" is no name for a product'):
        assert said in log, log
    assert [line[2] for line in got(tmp_path)] == ["sum", "sum"]


def test_killed_while_products_are_passed_on_none_is_lost_and_none_is_twice_in_the_file(tmp_path):
    """leatd is killed in the subscriber, between hdf5, which has the products by then or not yet, and its own."""
    for order, stores in (("a", OUT + subscriber(kill=3)), ("b", subscriber(kill=3) + OUT)):
        folder = tmp_path / order
        folder.mkdir()
        run = run_all(folder, publisher("sum field") + stores, count=8)
        assert (folder / "got.txt.killed").exists(), run.log()
        with h5py.File(folder / "run.h5") as file:
            group = file["products/pub"]
            assert group["iteration"][:].tolist() == file["iteration"][:].tolist() == list(range(8)), order
            for iteration in range(8):
                assert same_bits(group["field"][iteration], numbers(iteration))
        seen = [int(line[1]) for line in got(folder)]
        assert sorted(set(seen)) == list(range(8)), "each came at least once"
        assert re.search(r"nothing lost", run.log()), run.log()
