# SPDX-License-Identifier: Apache-2.0
"""`leat replay` on the file of a run gives what the scripts gave in the run."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, Run, xml
from nodes_run import NodesRun

LEAT = os.environ.get("LEAT_COMMAND", BUILD / "bin/leat")
ITERATIONS = 7

XML = f"""<simulation name="mix">
  <architecture><dedicated cores="1"/><buffer size="16MiB" timeout="20s"/></architecture>
  <data>
    <parameter name="ny" type="int" value="8"/>
    <parameter name="time" type="double"/>
    <parameter name="label" type="string" value="first"/>
    <layout name="cells" type="double" dimensions="ny/2+2,5" global="ny,5" ghosts="1:1,0" names="y,x"/>
    <layout name="corners" type="float" dimensions="ny/2,5" global="ny,5" names="y,x"/>
    <layout name="other" type="int" dimensions="3" names="x"/>
    <layout name="particles" type="double" dimensions="?,3" names="atom,xyz"/>
    <layout name="patches" type="uint16" dimensions="?,?" names="row,column"/>
    <layout name="probe" type="complex64" dimensions="4" names="k"/>
    <layout name="letters" type="char" dimensions="3" names="letter"/>
    <layout name="number" type="int64" dimensions=""/>
    <variable name="zone" layout="corners" time-varying="false" unit="m" description="where cells are"/>
    <variable name="name" layout="letters" time-varying="false"/>
    <variable name="T" layout="cells" unit="K" description="of the plate"/>
    <group name="fields"><variable name="u" layout="cells"/></group>
    <variable name="x" layout="particles" unit="m"/>
    <variable name="patch" layout="patches"/>
    <variable name="probe" layout="probe" unit="V"/>
    <variable name="three" layout="other"/>
    <variable name="steps" layout="number"/>
    <variable name="seldom" layout="corners"/>
  </data>
  <storage><store name="out" type="hdf5"/></storage>
  <scripts interpreter="{sys.executable}" workers="2">
    SCRIPTS
  </scripts>
</simulation>
"""

# Sums over all that a script can see: bytes, types, names, attributes, coordinates.
EVERYTHING = """
import zlib
import numpy as np

def number_of(dims, array, attrs):
    array = np.ascontiguousarray(array)
    return zlib.crc32(repr((dims, array.shape, array.dtype.str, sorted(attrs.items()))).encode() + array.tobytes())

def process(ds, ctx):
    ctx.scalar("order", zlib.crc32(repr(list(ds.data_vars)).encode()))
    ctx.scalar("attrs", zlib.crc32(repr(ds.attrs).encode()))
    ctx.scalar("sizes", zlib.crc32(repr(dict(ds.sizes)).encode()))
    ctx.scalar("parameters", zlib.crc32(repr(sorted(ctx.parameters.items())).encode()))
    for name, variable in ds.variables.items():
        ctx.scalar("v_" + name.replace("/", "."), number_of(variable.dims, variable.values, variable.attrs))
        assert not variable.values.flags.writeable or name in ds.coords
    ctx.store("what", np.array([ctx.iteration, len(ds.variables)]), dims=["pair"], units="1")
"""

SELECTED = """
import leat
import numpy as np

@leat.on_iteration(variables=["T"], every=2)
def profile(ds, ctx):
    assert set(ds.data_vars) == {"T"}, ds
    ctx.store("mean", np.nan_to_num(ds["T"].values).mean(1), dims=["y"], units="K")
    ctx.store("growing", np.arange(ctx.iteration), dims=["y"])
    if ctx.iteration > 2:
        ctx.store("late", np.float32(ctx.iteration))
    ctx.image("plate", np.arange(12.0).reshape(3, 4) + ctx.iteration)

@leat.on_iteration(variables=["seldom", "x"], arrays="numpy")
def seldom(ds, ctx):
    ctx.scalar("seldom", float(np.nansum(ds["seldom"][0])))
    ctx.scalar("x", len(ds["x"]))
"""

BLOCKS = """
import zlib
import leat

@leat.on_iteration(variables=["x", "patch", "probe"])
def blocks(ds, ctx):
    for name in ("x", "patch", "probe", "name"):
        for b in ctx.blocks(name, include_ghosts=True):
            ctx.scalar(f"{name}{b.rank}_{b.block}", zlib.crc32(repr((b.extent, b.position, b.ghosts)).encode() + b.data.tobytes()))
"""

STATEFUL = """
import numpy as np

def process(ds, ctx):
    ctx.state["seen"] = ctx.state.get("seen", 0) + len(ds["x"])
    ctx.scalar("seen", ctx.state["seen"])
    ctx.scalar("letters", len(ctx.parameters["label"]))
    ctx.scalar("window", sum(int(past.attrs["iteration"]) for past in ctx.window(3)))
    print("hello from", ctx.iteration)
    ctx.set("time", 5.0) if ctx.iteration == 1 else None
"""

SCRIPTS = {"everything": EVERYTHING, "selected": SELECTED, "blocks": BLOCKS, "stateful": STATEFUL}


def write_iteration(ranks, i):
    for rank in ranks:
        r, seed = rank.number, 100 * i + 10 * rank.number
        rank.must("set_double", "time", 0.1 * i)
        if i == 3:
            rank.must("set_string", "label", "second" * 10)
        if i == 0:
            rank.must("set_position", "zone", 0, f"{4 * r},0")
            rank.must("write", "zone", 0, 4 * 5 * 4, seed + 9)
            rank.must("write", "name", 0, 3, seed + 8)
        for name in ("T", "fields/u"):
            rank.must("set_position", name, 0, f"{4 * r},0")
            if r == 0 or i != 4:  # once a part is missing
                rank.must("write", name, 0, 6 * 5 * 8, seed + len(name))
        atoms = (3 * i + r) % 5
        rank.must("set_extent", "x", 0, f"{atoms},3")
        rank.must("write", "x", 0, atoms * 24, seed + 1)
        for block in range(2):
            rank.must("set_extent", "patch", block, f"{1 + block},{2 + i}")
            rank.must("write", "patch", block, (1 + block) * (2 + i) * 2, seed + 2 + block)
        if i != 5 or r == 1:  # once one rank alone
            rank.must("write", "probe", 0, 32, seed + 4)
        rank.must("write", "three", 0, 12, seed + 5)
        rank.must("write", "steps", 0, 8, seed + 6)
        if i in (2, 3, 6):
            rank.must("set_position", "seldom", 0, f"{4 * r},0")
            rank.must("write", "seldom", 0, 4 * 5 * 4, seed + 7)
    for rank in ranks:
        rank.start("end_iteration")
    assert all(rank.result().ok for rank in ranks)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A folder with mix.h5, mix-scripts/ and the scripts, of a run on two ranks."""
    folder = tmp_path_factory.mktemp("live")
    for name, text in SCRIPTS.items():
        (folder / f"{name}.py").write_text(text)
    elements = "\n".join(f'<script file="{name}.py" when-slow="wait"/>' for name in SCRIPTS)
    with Run(folder, XML.replace("SCRIPTS", elements), ranks=2) as run:
        ranks = run.init()
        for i in range(ITERATIONS):
            write_iteration(ranks, i)
        run.finish()
        log = run.log()
    assert "FAILED" not in log and "Traceback" not in log, log
    return folder


def replay(folder, *words, code=0):
    done = subprocess.run([LEAT, "replay", *map(str, words), "--interpreter", sys.executable], cwd=folder, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def files(folder, kind):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(pathlib.Path(folder).rglob(f"*.{kind}"))}


@pytest.fixture(scope="module")
def replayed(live, tmp_path_factory):
    output = tmp_path_factory.mktemp("replayed") / "out"
    done = replay(live, "mix.h5", *[f"{name}.py" for name in SCRIPTS], "--output", output)
    return output, done


def test_tables_of_a_replay_are_those_of_the_run_to_the_byte(live, replayed):
    tables = files(live / "mix-scripts", "csv")
    assert sorted(tables) == ["blocks.csv", "everything.csv", "selected.csv", "stateful.csv"]
    assert tables["everything.csv"].count(b"\n") == ITERATIONS + 1 and len(tables["everything.csv"].split(b",")) > 100
    assert files(replayed[0], "csv") == tables


def test_parameters_are_those_of_the_iteration(live):
    rows = [row.split(",") for row in (live / "mix-scripts/stateful.csv").read_text().split()]
    assert rows[0][2] == "letters" and [row[2] for row in rows[1:]] == ["5"] * 3 + ["60"] * 4
    with h5py.File(live / "mix.h5") as file:
        assert [text.tobytes().rstrip(b"\0") for text in file["parameters/label"][:]] == [b"first"] * 3 + [b"second" * 10] * 4
        assert file["parameters/time"][:].tolist() == [0.1 * i for i in range(ITERATIONS)]
        assert file["parameters/ny"][:].tolist() == [8] * ITERATIONS


def test_pictures_of_a_replay_are_those_of_the_run(live, replayed):
    pictures = files(live / "mix-scripts", "png")
    assert len(pictures) == 5 and files(replayed[0], "png") == pictures  # of four iterations, and the link to the newest


@pytest.mark.parametrize("name", SCRIPTS)
def test_arrays_of_a_replay_are_those_of_the_run(live, replayed, name):
    with h5py.File(live / "mix.h5") as run, h5py.File(replayed[0] / f"{name}.h5") as again:
        expected = run[f"scripts/{name}"]
        assert sorted(again) == sorted(expected) and len(again) > 1
        for each in expected:
            assert again[each].dtype == expected[each].dtype and again[each].shape == expected[each].shape
            if "NAME" not in expected[each].attrs or each == "iteration":
                assert np.array_equal(again[each][()], expected[each][()], equal_nan=True)
            assert again[each].attrs.get("units") == expected[each].attrs.get("units")
            for own, other in zip(again[each].dims, expected[each].dims):
                assert [s.name for s in own.values()] == [s.name.removeprefix(f"/scripts/{name}") for s in other.values()]


def test_the_screen_says_calls_failures_and_where_the_results_are(replayed):
    output, done = replayed
    assert "mix: 7 iterations of mix.h5, 0 to 6" in done.stdout and f"results: {output}" in done.stdout
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert lines["script"] == ["calls", "seconds", "failures"]
    assert [lines[name][0] for name in SCRIPTS] == ["7", "5", "7", "7"] and all(lines[name][2] == "0" for name in SCRIPTS)
    assert 'script "stateful": hello from 6' in done.stderr
    assert 'script "stateful": ctx.set("time", 5.0): only told, a replay has no simulation to steer' in done.stderr
    assert "\r" not in done.stderr  # no progress where there is no terminal


def test_only_the_asked_iterations_are_replayed(live, tmp_path):
    done = replay(live, "mix.h5", "stateful.py", "--output", tmp_path / "o", "--from", 2, "--to", 4)
    assert "3 iterations of mix.h5, 2 to 4" in done.stdout
    rows = (tmp_path / "o/stateful.csv").read_text().split()
    assert [row.split(",")[0] for row in rows] == ["iteration", "2", "3", "4"]


def script(folder, text, name="s.py"):
    (folder / name).write_text(text)
    return folder / name


def test_a_script_that_raises_is_told_counted_and_not_called_for_ever(live, tmp_path):
    bad = script(tmp_path, "def process(ds, ctx):\n    ctx.scalar('n', ctx.iteration)\n"
                 "    if ctx.iteration > 1:\n        raise KeyError('no such thing')\n")
    good = script(tmp_path, "def process(ds, ctx):\n    ctx.scalar('n', 1)\n", "good.py")
    done = replay(live, "mix.h5", bad, good, "--output", tmp_path / "o", code=1)
    assert 'script "s", iteration 2: Traceback' in done.stderr and f'File "{bad}", line 4, in process' in done.stderr
    assert "leat/scripting" not in done.stderr and done.stderr.count("Traceback") == 3
    assert "That was failure 3 in a row: it is not called any more" in done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    assert lines["s"].split()[1] == "5" and "3  KeyError: 'no such thing'; not called any more" in lines["s"]
    assert lines["good"].split()[1] == "7"
    assert (tmp_path / "o/s.csv").read_text().split() == ["iteration,n", "0,0", "1,1", "2,2", "3,3", "4,4"]


def test_an_unknown_variable_is_named_with_its_line_and_the_nearest_name(live, tmp_path):
    bad = script(tmp_path, "import leat\n\n@leat.on_iteration(variables=['fields/v'])\ndef f(ds, ctx): pass\n")
    done = replay(live, "mix.h5", bad, "--output", tmp_path / "o", code=1)
    assert f'{bad}:3: there is no variable "fields/v" in mix.h5; did you mean "fields/u"?' in done.stderr


def test_what_a_script_did_not_ask_for_is_not_there_as_in_a_run(live, tmp_path):
    asks = script(tmp_path, "import leat\n@leat.on_iteration(variables=['x'])\ndef f(ds, ctx): ctx.blocks('probe')\n")
    done = replay(live, "mix.h5", asks, "--output", tmp_path / "o", code=1)
    assert '"probe" is not in iteration 0, or this function did not ask for it' in done.stderr


def test_blocks_of_a_whole_field_are_refused_not_invented(live, tmp_path):
    asks = script(tmp_path, "def process(ds, ctx): ctx.blocks('T')\n")
    done = replay(live, "mix.h5", asks, "--output", tmp_path / "o", code=1)
    assert 'ctx.blocks("T"): a file has the whole array' in done.stderr


def not_hdf5(folder):
    (folder / "f.h5").write_text("text")


def not_of_leat(folder):
    h5py.File(folder / "f.h5", "w").close()


def empty(folder):
    with h5py.File(folder / "f.h5", "w") as file:
        file.attrs.update(simulation="s", leat_run='{"format": 1, "variables": []}')


@pytest.mark.parametrize("make, words", [
    (lambda folder: None, "cannot read f.h5: No such file or directory"), (not_hdf5, "f.h5 is no HDF5 file"),
    (not_of_leat, 'not of a store of Leat: it has no attribute "leat_run"'), (empty, "its run has written nothing")])
def test_a_file_that_cannot_be_replayed_is_told_apart(tmp_path, make, words):
    make(tmp_path)
    script(tmp_path, "def process(ds, ctx): pass\n")
    assert words in replay(tmp_path, "f.h5", "s.py", code=1).stderr
    assert not (tmp_path / "s-replay").exists()


def test_the_file_of_one_node_is_refused_and_the_view_named(tmp_path):
    script(tmp_path, "def process(ds, ctx): ctx.scalar('sum', float(ds['a'].sum()))\n")
    text = xml('<layout name="row" type="int" dimensions="3" global="12"/><variable name="a" layout="row"/>')
    with NodesRun(tmp_path, text, [[0, 1], [2, 3]]) as run:
        for rank in run.init():
            rank.must("set_position", "a", 0, str(3 * rank.number))
            rank.must("write", "a", 0, 12, rank.number)
            rank.must("end_iteration")
        run.finish()
    part = f"run.parts/{run.session}/rank000002.h5"
    said = replay(tmp_path, part, "s.py", code=1).stderr
    assert f"{part} has only what one node of several has written (2 of the 4 ranks of the run)" in said
    assert f"take the view of all nodes: {tmp_path / 'run.h5'}\n" in said
    replay(tmp_path, "run.h5", "s.py")
    (tmp_path / "run.h5").unlink()
    assert f"`leat view {tmp_path / 'run.parts' / run.session}` makes it" in replay(tmp_path, part, "s.py", code=1).stderr


@pytest.mark.parametrize("words, code, message", [
    (["mix.h5"], 2, "required: SCRIPT"), (["mix.h5", "s.py", "--from", "x"], 2, "--from"),
    (["mix.h5", "s.py", "--from", "5", "--to", "4"], 2, "--from 5 is behind --to 4"),
    (["mix.h5", "nothing.py"], 1, "there is no script nothing.py"),
    (["mix.h5", "blocks.py", "--from", "9"], 1, "mix.h5 has no iteration from 9: it has 7 iterations, 0 to 6")])
def test_what_cannot_be_done_is_said(live, words, code, message):
    assert message in replay(live, *words, code=code).stderr


def test_a_python_that_is_not_there_is_named(live):
    done = subprocess.run([LEAT, "replay", "mix.h5", "blocks.py", "--interpreter", "/no/python"], cwd=live, capture_output=True,
                          text=True)
    assert done.returncode == 1 and 'there is no program "/no/python"' in done.stderr


def test_h5py_that_is_missing_is_named(live, tmp_path):
    (tmp_path / "h5py.py").write_text("raise ImportError('no h5py here')\n")
    done = subprocess.run([LEAT, "replay", "mix.h5", "blocks.py", "--interpreter", sys.executable], cwd=live,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1 and f"{sys.executable} -m pip install h5py" in done.stderr


def test_results_of_an_earlier_replay_are_kept_apart(live, tmp_path):
    one = script(tmp_path, "def process(ds, ctx): ctx.scalar('n', 1)\n")
    for _ in range(2):
        done = replay(tmp_path, live / "mix.h5", one)
    assert "mix-replay was there already and is called mix-replay.1 now" in done.stdout
    assert sorted(p.name for p in tmp_path.glob("mix-*")) == ["mix-replay", "mix-replay.1"]
    named = [replay(tmp_path, live / "mix.h5", one, "--output", "o") for _ in range(2)]
    assert named and sorted(p.name for p in (tmp_path / "o").iterdir()) == ["s.csv", "s.csv.1", "s.h5", "s.h5.1"]


def test_two_scripts_of_one_name_are_told_apart(live, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        script(tmp_path / folder, "def process(ds, ctx): ctx.scalar('n', 1)\n", "monitor.py")
    replay(live, "mix.h5", tmp_path / "a/monitor.py", tmp_path / "b/monitor.py", "--output", tmp_path / "o")
    assert sorted(files(tmp_path / "o", "csv")) == ["b_monitor.csv", "monitor.csv"]


def test_on_a_terminal_one_line_says_how_far_it_is(live, tmp_path):
    command = f"{LEAT} replay mix.h5 blocks.py --output {tmp_path / 'o'} --interpreter {sys.executable}"
    seen = subprocess.run(["script", "-qec", command, "/dev/null"], cwd=live, capture_output=True).stdout
    assert b"\r\x1b[Kiteration 6, 7 of 7\r\x1b[Kmix: 7 iterations" in seen


def test_stored_arrays_have_named_dimensions_units_and_fill_values(replayed):
    with h5py.File(replayed[0] / "selected.h5") as file:
        mean = file["mean"]
        assert [mean.dims[d][0].name for d in range(2)] == ["/iteration", "/y"] and mean.attrs["units"] == b"K"
        assert np.isnan(file["late"][0]) and file["late"][-1] == 6


def test_ctrl_c_ends_a_replay_with_what_was_done_so_far(live, tmp_path):
    slow = script(tmp_path, "import time\ndef process(ds, ctx):\n    ctx.scalar('n', 1)\n    time.sleep(30 * ctx.iteration)\n")
    run = subprocess.Popen([LEAT, "replay", "mix.h5", slow, "--output", tmp_path / "o", "--interpreter", sys.executable], cwd=live,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (tmp_path / "o/s.csv").exists():
        assert time.monotonic() < until and run.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=20)
    assert run.returncode == 1 and ", interrupted" in out and "Traceback" not in err, (out, err)
    assert (tmp_path / "o/s.csv").read_text().split() == ["iteration,n", "0,1"]
