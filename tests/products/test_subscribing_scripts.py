# SPDX-License-Identifier: Apache-2.0
"""Scripts that take what plugins and other scripts have made, and publish what they make of it: values, order, kills of all that
take part, memory that is short."""
import os
import random
import re
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, Run, same_bits, xml
from test_products import OUT, ROW, got, numbers, publisher, store, subscriber, write

RATIO = """
import leat

@leat.on_iteration(products="pub/*", publishes="least")
def f(ds, ctx):
    ctx.scalar("least", float(ds["pub/field"].min()))
    assert ds["pub/field"].attrs["units"] == "K" and ds["pub/field"].dims == ("x",), ds
    assert float(ds["pub/sum"]) == float(ds["pub/field"].sum())
"""
OF_S = """
import leat

@leat.on_iteration(products="s/least", publishes="again")
def f(ds, ctx):
    ctx.scalar("again", float(ds["s/least"]))
"""
BOTH = """
import leat

@leat.on_iteration(variables="a", products="pub/sum", publishes="same")
def f(ds, ctx):
    ctx.scalar("same", int(float(ds["a"].astype(float).sum()) == float(ds["pub/sum"])))
"""


def scripts_of(folder, attributes='when-slow="wait"', **codes):
    (folder / "analysis").mkdir(exist_ok=True)
    for name, code in codes.items():
        (folder / "analysis" / f"{name}.py").write_text(code)
    return f'<scripts interpreter="{sys.executable}"><folder path="analysis" {attributes}/></scripts>'


def run_all(folder, stores, scripts, count=5, **others):
    with Run(folder, xml(ROW, store=stores, log=scripts + '<log level="debug"/>', **others)) as run:
        run.init()
        write(run, range(count))
        run.finish()
    return run


def least(iteration):
    return numbers(iteration).min()


def expect_least(folder, count):
    with h5py.File(folder / "run.h5") as file:
        made, field = file["scripts/s"], file["products/pub"]
        assert made["iteration"][:].tolist() == field["iteration"][:].tolist() == list(range(count))
        assert made["least"][:].tolist() == [least(i) for i in range(count)]
        for iteration in range(count):
            assert same_bits(field["field"][iteration], numbers(iteration))


def test_a_script_takes_what_a_plugin_makes_and_a_store_keeps_what_both_make(tmp_path):
    run = run_all(tmp_path, OUT + publisher("sum field"), scripts_of(tmp_path, s=RATIO))
    expect_least(tmp_path, 5)
    assert re.search(r'script "s": 5 calls', run.log()), run.log()
    rows = (tmp_path / "run-scripts" / "s.csv").read_text().split()
    assert rows == ["iteration,least", *(f"{i},{least(i)}" for i in range(5))]


def test_a_script_gets_the_variables_of_that_iteration_with_the_products(tmp_path):
    run = run_all(tmp_path, OUT + publisher("sum field"), scripts_of(tmp_path, s=BOTH), count=8)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["scripts/s/same"][:].tolist() == [1] * 8
    assert re.search(r'script "s": 8 calls', run.log()), run.log()


def test_a_replay_gives_scripts_the_products_of_the_file(tmp_path):
    run_all(tmp_path, OUT + publisher("sum field"), scripts_of(tmp_path, s=RATIO, t=BOTH))
    (tmp_path / "of_s.py").write_text(OF_S)
    replayed = subprocess.run([BUILD / "bin/leat", "replay", "run.h5", "analysis/s.py", "analysis/t.py", "of_s.py", "--interpreter",
                               sys.executable], cwd=tmp_path, capture_output=True, text=True)
    assert replayed.returncode == 0, replayed
    for name, column, values in (("s", "least", [least(i) for i in range(5)]), ("t", "same", [1] * 5),
                                 ("of_s", "again", [least(i) for i in range(5)])):
        with h5py.File(tmp_path / f"run-replay/{name}.h5") as file:
            assert file[column][:].tolist() == values, name


def test_arrays_are_numpy_where_asked_for_and_parameters_are_those_of_the_iteration(tmp_path):
    code = """
import leat

@leat.on_iteration(products=["pub/sum", "pub/field"], arrays="numpy", every=2)
def f(ds, ctx):
    ctx.log("got", sorted(ds), ds.units["pub/sum"], ds["pub/field"].flags.writeable, ctx.iteration)
"""
    run = run_all(tmp_path, OUT + publisher("sum field"), scripts_of(tmp_path, s=code))
    assert [line.split("got ")[1] for line in run.log().splitlines() if "got " in line] == [
        f"['pub/field', 'pub/sum'] J False {i}" for i in (0, 2, 4)]


def test_scripts_take_what_other_scripts_make(tmp_path):
    first = "def process(ds, ctx):\n    ctx.scalar('most', float(ds['a'].max()))\n"
    second = """
import leat

@leat.on_iteration(products="first/most", publishes="double")
def f(ds, ctx):
    ctx.scalar("double", 2 * float(ds["first/most"]))
"""
    run_all(tmp_path, OUT, scripts_of(tmp_path, first=first, second=second), count=6)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["scripts/second/iteration"][:].tolist() == list(range(6))
        assert file["scripts/second/double"][:].tolist() == [2 * numbers(i).max() for i in range(6)]


def test_a_plugin_takes_what_a_script_has_made_of_a_plugins_product(tmp_path):
    stores = publisher("sum field") + OUT + store("last", 'products="s/least" publishes="two"', make="two")
    run_all(tmp_path, stores, scripts_of(tmp_path, s=RATIO))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["products/last/iteration"][:].tolist() == list(range(5))
        assert file["products/last/two"][:].tolist() == [2 * least(i) for i in range(5)]


def test_a_function_with_and_one_without_products_each_have_their_calls_in_one_row(tmp_path):
    code = RATIO + "\n@leat.on_iteration(variables='a')\ndef g(ds, ctx):\n    ctx.scalar('most', float(ds['a'].max()))\n"
    run_all(tmp_path, OUT + publisher("sum field"), scripts_of(tmp_path, s=code))
    expect_least(tmp_path, 5)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["scripts/s/most"][:].tolist() == [numbers(i).max() for i in range(5)]


def test_what_is_not_declared_is_an_error_that_says_what_to_write(tmp_path):
    code = RATIO.replace(', publishes="least"', "")
    with Run(tmp_path, xml(ROW, store=publisher("sum field"), log=scripts_of(tmp_path, s=code))) as run:
        run.init()
        write(run, range(2))
        run.finalize()
    assert 'publishes=["least"]' in run.log(), run.log()


CIRCLE = """
import leat

@leat.on_iteration(products="{}/*", publishes="x")
def f(ds, ctx):
    ctx.scalar("x", 1)
"""


def test_scripts_that_make_products_of_each_other_are_refused(tmp_path):
    scripts = scripts_of(tmp_path, one=CIRCLE.format("two"), two=CIRCLE.format("one"))
    text = xml(ROW, store=OUT, log=scripts)
    (tmp_path / "run.xml").write_text(text)
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1 and "/x -> " in checked.stdout + checked.stderr, checked
    with Run(tmp_path, text) as run:
        run.init()
        write(run, range(3))
        run.finalize()
    assert "without end" in run.log(), run.log()


def test_check_knows_who_can_be_meant(tmp_path):
    scripts = scripts_of(tmp_path, s=RATIO.replace("pub/*", "pbu/*"))
    (tmp_path / "run.xml").write_text(xml(ROW, store=OUT + publisher("sum") + subscriber("s/* nobody/x"), log=scripts))
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    said = checked.stdout + checked.stderr
    assert re.search(r'analysis/s.py:4: warning: products="pbu/\*": no store and no script is called "pbu"; did you mean "pub"', said), said
    assert 'no script is called "nobody"' in said and said.count("is called") == 2, said


@pytest.mark.parametrize("skip", [True, False])
def test_a_slow_script_leaves_out_or_holds_up_as_its_policy_says(tmp_path, skip):
    slow = RATIO + "    import time\n    time.sleep(0.05)\n"
    policy = f'when-slow="{"skip" if skip else "wait"}"'
    run = run_all(tmp_path, OUT + publisher("sum field"), scripts_of(tmp_path, policy, s=slow), count=30)
    calls = int(re.search(r'script "s": (\d+) call', run.log())[1])
    left_out = re.search(r"(\d+) iterations? skipped", run.log())
    assert calls + int(left_out[1] if left_out else 0) == 30, run.log()
    assert calls == 30 or skip
    with h5py.File(tmp_path / "run.h5") as file:
        made = file["scripts/s"]
        assert len(made["iteration"]) == calls
        for iteration, value in zip(made["iteration"][:], made["least"][:]):
            assert value == least(iteration)


def test_with_a_buffer_that_spills_all_is_there_bit_for_bit(tmp_path):
    """The pipeline stands while the first iteration is stored; the others wait on the disk."""
    slow = store("slow", 'products="pub/field" publishes="two"', make="two", pause="0.2")
    layout = '<layout name="big" type="uint8" dimensions="262144" names="x"/><variable name="a" layout="big"/>'
    stores = publisher("sum field") + slow + OUT
    scripts = scripts_of(tmp_path, s=RATIO.replace('"pub/*"', '["pub/sum", "pub/field"]'), t=BOTH)
    text = xml(layout, store=stores, log=scripts, buffer="1MiB").replace(
        'size="1MiB"', f'size="1MiB" when-full="spill" spill="{tmp_path}/spill"')
    (tmp_path / "spill").mkdir(mode=0o700)
    with Run(tmp_path, text) as run:
        run.init()
        write(run, range(10), size=262144)
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["scripts/s/iteration"][:].tolist() == file["scripts/t/iteration"][:].tolist() == list(range(10))
        assert file["scripts/t/same"][:].tolist() == [1] * 10
        for i in range(10):
            assert same_bits(file["products/pub/field"][i], numbers(i, 262144))
            assert file["scripts/s/least"][i] == numbers(i, 262144).min()


def test_a_killed_worker_costs_its_call_and_a_killed_server_no_product_of_plugins_and_what_it_costs_scripts_is_said(tmp_path):
    """The worker dies in its second call, the server while the script's number of the fourth is on its way to a store."""
    deadly = RATIO + """
    import os, signal
    if ctx.iteration == 1 and not os.path.exists("worker.killed"):
        open("worker.killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""
    stores = OUT + publisher("sum field") + subscriber("s/*", kill=3)
    with Run(tmp_path, xml(ROW, store=stores, log=scripts_of(tmp_path, s=deadly))) as run:
        run.init()
        write(run, range(10))
        run.finalize()
    assert (tmp_path / "worker.killed").exists() and (tmp_path / "got.txt.killed").exists(), run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["products/pub/iteration"][:].tolist() == list(range(10)), "what plugins make is made again"
        for i in range(10):
            assert same_bits(file["products/pub/field"][i], numbers(i))
        made = dict(zip(file["scripts/s/iteration"][:].tolist(), file["scripts/s/least"][:].tolist()))
        assert made and all(value == least(i) for i, value in made.items())
    seen = {int(line[1]) for line in got(tmp_path)}
    assert seen == set(made) or seen.issuperset(set(made) - {3}), (seen, made)
    told = [range(int(first), int(last) + 1) for first, last in
            re.findall(r"may not have been called with iterations (\d+) to (\d+)", run.log())]
    missed = set(range(10)) - set(made) - {1}
    assert 1 in made or re.search(r'script "s", iteration 1: its process was killed', run.log()), run.log()
    assert all(any(i in each for each in told) for i in missed), (missed, told)


def test_a_stopped_worker_holds_up_neither_stores_nor_the_end(tmp_path):
    stop = RATIO + """
    import os, signal
    if ctx.iteration == 2:
        os.kill(os.getpid(), signal.SIGSTOP)
"""
    scripts = scripts_of(tmp_path, 'when-slow="wait" timeout="2s"', s=stop)
    run = run_all(tmp_path, OUT + publisher("sum field"), scripts, count=6, timeout="3s")
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["products/pub/iteration"][:].tolist() == list(range(6))
        made = file["scripts/s"]
        assert set(made["iteration"][:].tolist()) >= {0, 1, 3, 4, 5} - {2}
    assert re.search(r'script "s".*FAILED', run.log()), run.log()


def test_whenever_the_server_is_killed_products_of_plugins_are_all_there_and_what_scripts_missed_is_said(tmp_path):
    stores = OUT + publisher("sum field") + store("two", 'products="pub/sum" publishes="two"', make="two")
    scripts = scripts_of(tmp_path, s=RATIO, t=BOTH, of_s=OF_S)
    chance = random.Random(1)
    with Run(tmp_path, xml(ROW, store=stores, log=scripts, cores=2)) as run:
        run.init()
        for iteration in range(40):
            write(run, [iteration])
            time.sleep(chance.uniform(0, 0.04))
            for server in run.servers() if chance.random() < 0.15 else ():
                os.kill(server, signal.SIGKILL)
        assert run.finalize()[0].ok
    told = [range(int(first), int(last) + 1) for first, last in
            re.findall(r"may not have been called with iterations (\d+) to (\d+)", run.log())]
    expected = {"products/pub/sum": lambda values: values.sum(), "products/two/two": lambda values: 2 * values.sum(),
                "scripts/s/least": np.min, "scripts/t/same": lambda _: 1, "scripts/of_s/again": np.min}
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(40))
        for path, of in expected.items():
            source = path.rpartition("/")[0]
            made = dict(zip(file[f"{source}/iteration"][:].tolist(), file[path][:])) if source in file else {}
            assert all(value == of(numbers(i)) for i, value in made.items()), (path, made)
            missed = set(range(40)) - set(made)
            assert not missed or source.startswith("scripts"), (path, missed)
            assert all(any(i in each for each in told) for i in missed), (path, missed, told)


def test_a_script_that_would_take_what_it_makes_itself_is_not_loaded(tmp_path):
    """It would never be called, and nobody would know why."""
    own = OF_S.replace('publishes="again"', 'publishes="least"')
    scripts = scripts_of(tmp_path, s=own)
    (tmp_path / "run.xml").write_text(xml(ROW, store=OUT, log=scripts))
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1 and '"s" would take what it publishes itself' in checked.stdout + checked.stderr, checked
    run = run_all(tmp_path, OUT, scripts)
    assert '"s" would take what it publishes itself' in run.log(), run.log()


def test_a_store_that_would_take_what_it_makes_itself_is_an_error(tmp_path):
    own = store("pub", 'products="pub/*"', publish="sum field")
    (tmp_path / "run.xml").write_text(xml(ROW, store=OUT + own))
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1 and '"pub" would take what it publishes itself' in checked.stdout + checked.stderr, checked
