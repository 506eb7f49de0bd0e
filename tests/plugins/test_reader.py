# SPDX-License-Identifier: Apache-2.0
"""leat.open(): every value of every form of a variable is what h5py says, to the last bit, whatever files the run was written as."""
import os
import pathlib
import pickle
import random
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray
from leat_plugin import Plugin, array, mesh, variable
from leat_run import BUILD, same_bits
from nodes import Nodes, leat
from stored_blocks import stored_blocks
from test_resumed import TIME, VARIABLES, blocks, parameters, start, step

PACKAGE = pathlib.Path(__file__).parents[2] / "python-plugins"
sys.path.insert(0, str(PACKAGE))

import leat as reader  # noqa: E402
from leat.scripting import stored_run  # noqa: E402

NUMBERS = [0, 1, 2, 5, 7, 8, 9, 30]  # of the iterations: with gaps
HOW = {"one": {}, "split": {"options": {"split": "2"}}, "compressed": {"options": {"compression": "deflate:2"}}}
NODES = [[0, 2], [1]]


def write_one(folder, **more):
    plugin = start(folder, **more)
    for i in NUMBERS:
        step(plugin, i, 3)
    plugin.finish()
    return folder / "run.h5"


def write_nodes(folder, **more):
    run = Nodes(folder, VARIABLES, NODES, xml="<simulation>x</simulation>", **TIME, **more)
    for i in NUMBERS:
        run.must(i, *blocks(run, i, 3), parameters=parameters(i), complete=int(i != 4))
    run.finish()
    return folder / "run.h5"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{how: file} of the same run; "one" is the judge's, whom h5py reads."""
    folder = tmp_path_factory.mktemp("runs")
    made = {how: write_one(folder / how, **more) for how, more in HOW.items()}
    made["view"] = write_nodes(folder / "view")
    made["shared"] = write_nodes(folder / "shared", options={"files": "1"}, shared_file=0)
    made["merged"] = folder / "merged.h5"
    assert leat("merge", made["view"], made["merged"]).returncode == 0
    return made


ALL = ["one", "split", "compressed", "view", "shared", "merged"]


@pytest.mark.parametrize("how", ALL)
def test_every_value_is_that_of_h5py(files, how):
    with reader.open(files[how]) as run, h5py.File(files["one"]) as judge:
        assert run.iterations == NUMBERS and [it.number for it in run] == NUMBERS and run[-1].number == 30
        assert list(run.variables) == [each["name"] for each in VARIABLES]
        seen = 0
        for row, number in enumerate(NUMBERS):
            it = run[number]
            for name, about in run.variables.items():
                seen += expect_values(it, name, about, judge, row)
        assert seen > 100


def expect_values(it, name, about, judge, row):
    """How many of a variable there were, which are compared."""
    data, flags = judge[name], judge.get(f"leat/{name}_written") if name != "odd" else judge["leat/odd_written"]
    was_written = flags is None or (row < len(flags) and flags[row] == 1)
    assert (name in it) == (about.is_constant or was_written), (name, it.number)
    if name not in it:
        return 0
    if about.is_global:
        whole = data[()] if about.is_constant else data[row]
        shapes = judge.get(f"leat/{name}_global")
        if shapes is not None:
            whole = whole[tuple(slice(0, n) for n in (shapes[()] if about.is_constant else shapes[row]))]
        assert same_bits(it[name], whole), (name, it.number)
        return 1
    wanted = stored_blocks(judge, name, row)
    got = it[name]
    assert sorted(got.owners) == sorted(wanted), (name, it.number)
    assert all(same_bits(got[owner], wanted[owner]) for owner in wanted), (name, it.number)
    return len(wanted)


@pytest.mark.parametrize("how", ALL)
def test_parameters_times_and_what_is_said_of_the_run(files, how):
    run = reader.open(files[how])
    with h5py.File(files["one"]) as judge:
        assert same_bits(run.parameters["n"], judge["parameters/n"][:]) and same_bits(run.times, judge["time"][:])
        for number, text, there in zip(NUMBERS, run.parameters["s"], run.parameters["n"]):
            assert run[number].parameters.get("n") == (number if number % 3 else None) and (there == number) == (number % 3 != 0)
            assert text == f"step {number}" * (1 + number % 3)
    assert (run.simulation, run.ranks, run.is_view) == ("run", 3, how in ("split", "view", "shared"))
    assert run.variables["fields/grid"].unit == "K" and run.variables["fields/grid"].description == "temperature"
    assert [run.variables[name].shape for name in ("amr", "atoms", "patches", "energy")] == [(18, 5), (None, 3), (None, None), ()]
    assert run.xml == "<simulation>x</simulation>" and run.attributes["Conventions"] == "CF-1.8"


@pytest.mark.parametrize("how", ALL)
def test_a_variable_over_all_iterations_is_what_xarray_has_of_the_file(files, how):
    run = reader.open(files[how])
    with h5py.File(files["one"]) as file:
        for name, about in run.variables.items():
            made = run[name]
            data = file[name][()]
            if about.is_global:
                assert made.dims[0] == "iteration" and made["iteration"].values.tolist() == NUMBERS
                assert same_bits(made.values, filled(data, made.shape)), name
            else:
                expect_blocks_behind_each_other(made, file, name, about)
            assert made.attrs.get("units") == about.attributes.get("units")
    with xarray.open_dataset(files["one"], engine="h5netcdf") as judge:
        assert run["large"]["time"].values.astype(str).tolist() == judge["time"].values.astype(str).tolist()


def expect_blocks_behind_each_other(made, file, name, about):
    """Smaller ones begin at the begin of their place."""
    rows = [0] if about.is_constant else range(len(NUMBERS))
    wanted = [(row, owner, block) for row in rows for owner, block in sorted(stored_blocks(file, name, row).items())]
    dim = made.dims[0]
    if stored_run.text_of(file[name], "leat_layout") == "varying":
        assert same_bits(made.values, np.concatenate([block if made.ndim > 1 else block.ravel() for *_, block in wanted]))
        counts = [len(block) if made.ndim > 1 else block.size for *_, block in wanted]
        assert made[f"{dim}_rank"].values.tolist() == [rank for (_, (rank, _), _), n in zip(wanted, counts) for _ in range(n)]
        return
    assert made.shape[0] == len(wanted)
    assert list(zip(made[f"{dim}_rank"].values.tolist(), made[f"{dim}_number"].values.tolist())) == [owner for _, owner, _ in wanted]
    assert about.is_constant or made[f"{dim}_iteration"].values.tolist() == [NUMBERS[row] for row, *_ in wanted]
    for there, (*_, block) in zip(made.values, wanted):
        assert same_bits(there[tuple(slice(0, n) for n in block.shape)], block), name


def filled(data, shape):
    """Rows behind the last one that was written have fill values, and so has what is behind the largest one."""
    data = data[(slice(None), *(slice(0, n) for n in shape[1:]))]
    return data if data.shape == shape else np.concatenate([data, np.full((shape[0] - data.shape[0], *shape[1:]), np.nan, data.dtype)])


def index(dice, length):
    """Of one dimension, of all kinds that xarray knows."""
    kind = dice.randrange(4)
    if kind == 0:
        return dice.randrange(-length, length)
    if kind == 1:
        return [dice.randrange(length) for _ in range(dice.randrange(1, 5))]
    first, last = dice.randrange(-length - 2, length + 2), dice.randrange(-length - 2, length + 2)
    return slice(first if dice.random() < .7 else None, last if dice.random() < .7 else None, dice.choice([None, 1, 2, 3, -1, -2]))


@pytest.mark.parametrize("name", ["fields/grid", "amr", "large", "atoms", "several", "energy"])
def test_any_part_of_a_variable_is_the_part_of_its_array(files, name):
    dice, run = random.Random(name), reader.open(files["view"])
    with h5py.File(files["one"]) as judge:
        whole = xarray.DataArray(judge[name][()], dims=run[name].dims)
    for _ in range(60):
        part = {dim: index(dice, length) for dim, length in run[name].sizes.items()}
        assert same_bits(run[name].isel(part).values, whole.isel(part).values), part
    assert same_bits(run[name][::-1].values, whole.values[::-1])


@pytest.fixture
def read_bytes(monkeypatch):
    """A list with the size of each piece of a dataset that is read."""
    sizes, values = [], stored_run.StoredVariable.values

    def counted(self, at):
        sizes.append((made := values(self, at)).nbytes)
        return made
    monkeypatch.setattr(stored_run.StoredVariable, "values", counted)
    return sizes


def test_only_what_is_asked_for_is_read(tmp_path, read_bytes):
    plugin = Plugin(tmp_path, [variable("u", "f8", ["y", "x"], **{"global": 1}), variable("p", "f4", ["?n"])])
    shape = (100, 1000)
    for i in range(6):
        plugin.must(i, plugin.block(0, shape, i, position=[0, 0], **{"global": shape}), *[plugin.block(1, (50,), i)])
    plugin.finish()
    run = reader.open(tmp_path / "run.h5")
    lazy, _ = run["u"], repr(run)
    first = sum(read_bytes)
    assert first <= 800_000  # one iteration, for the coordinates
    assert same_bits(lazy[4].values, array(shape, "f8", 4)) and sum(read_bytes) - first == 800_000
    assert same_bits(lazy[1:3, 7].values, np.stack([array(shape, "f8", i)[7] for i in (1, 2)])) and sum(read_bytes) - first == 816_000
    del read_bytes[:]
    run[3]["p"]
    assert sum(read_bytes) == 200


@pytest.mark.parametrize("how", ["one", "view"])
def test_arrays_are_the_callers(files, how):
    run = reader.open(files[how])
    for name, at in (("fields/grid", None), ("atoms", 1), ("several", (0, 0)), ("sizes", 1)):
        values = run[5][name] if at is None else run[5][name][at]
        values[...] = 7
        assert not same_bits(values, run[5][name] if at is None else run[5][name][at])
    blocks_of = run[5]["sizes"]
    assert blocks_of[0].base is None or blocks_of[0].base.nbytes == blocks_of[0].nbytes


@pytest.mark.parametrize("how", ["one", "view"])
def test_other_processes_read_what_they_are_given(files, how):
    run = reader.open(files[how])
    code = ("import pickle, sys; run, it, lazy = pickle.load(sys.stdin.buffer); "
            "sys.stdout.buffer.write(pickle.dumps((run[5]['large'], it['atoms'][1], lazy[2].values)))")
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((run, run[5], run["large"])), capture_output=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    for there, here in zip(pickle.loads(done.stdout), (run[5]["large"], run[5]["atoms"][1], run["large"][2].values)):
        assert same_bits(there, here)


def test_an_iteration_is_a_mapping(files):
    it = reader.open(files["one"])[1]
    assert list(it) == list(it.keys()) and len(it) == len(list(it)) and "odd" in it and "late" not in it and it.get("late") is None
    assert dict(it)["large"].shape == (120, 300)
    assert it != reader.open(files["one"])[1] and it in {it}


def test_blocks_are_found_by_rank_and_number(files):
    run = reader.open(files["one"])
    sizes, several = run[1]["sizes"], run[1]["several"]
    assert list(sizes) == [0, 1, 2] == sizes.ranks and len(sizes) == 3
    assert same_bits(sizes[1], sizes[1, 0]) and sizes.joined().shape == (9, 3)
    assert same_bits(np.asarray(sizes), np.concatenate(list(sizes.values()))) and np.max(run[1]["energy"]) == max(run[1]["energy"].values())
    with pytest.raises(ValueError, match=r'"patches" of iteration 8: blocks of the shapes \(3, 2\), \(3, 3\) are not one array'):
        run[8]["patches"].joined()
    assert list(several) == several.owners and same_bits(several[1, 0], dict(several.items())[1, 0])
    with pytest.raises(KeyError, match=r'"several" of iteration 1 has 3 blocks of rank 0: say which, as \[0, 0\] or \[0, 1\]'):
        several[0]
    with pytest.raises(KeyError, match='"sizes" of iteration 1 has no block of rank 9; there are those of ranks 0 to 2'):
        sizes[9]
    assert repr(sizes) == '"sizes" of iteration 1: 3 blocks of shape (3, 3) of ranks 0 to 2'


def message(what, kind=KeyError):
    with pytest.raises(kind) as caught:
        what()
    return str(caught.value)


def test_errors_say_what_there_is(files):
    run, file = reader.open(files["one"]), files["one"]
    assert message(lambda: run["fields/grit"]) == f'there is no variable "fields/grit" in {file}; did you mean "fields/grid"?'
    assert message(lambda: run[1]["atom"]) == f'there is no variable "atom" in {file}; did you mean "atoms"?'
    assert message(lambda: run[6]) == f"iteration 6 is not in {file}, which has 0 to 30, with gaps; the nearest: 5 and 7"
    assert message(lambda: run[-9]) == f"run[-9]: {file} has 8 iterations"
    assert message(lambda: run[2]["odd"]) == 'variable "odd" was not written in iteration 2, but in: 1, 5, 7, 9'
    assert message(lambda: run[1.5], TypeError) == "run[1.5]: the number of an iteration, or the name of a variable"
    assert message(lambda: run[1].mesh("m")) == f'there is no mesh "m" in {file}, which has none'
    assert "is on no mesh with levels of refinement" in message(lambda: run[1].levels("sizes"), ValueError)


def foreign(folder):
    h5py.File(folder / "f.h5", "w").close()


def text(folder):
    (folder / "f.h5").write_text("text")


def of_one_iteration(folder):
    with h5py.File(folder / "f.h5", "w") as file:
        file.attrs["leat_layout"] = "damaris"


@pytest.mark.parametrize("make, kind, words", [
    (foreign, "CannotRead", "not of a store of Leat"), (text, "CannotRead", "is no HDF5 file"),
    (of_one_iteration, "CannotRead", "is the file of one iteration"), (lambda folder: (folder / "run.h5").touch(), "FileNotFoundError",
                                                                      'there is no file .*; did you mean "run.h5"?')])
def test_what_is_no_run_is_told_apart(tmp_path, make, kind, words):
    make(tmp_path)
    with pytest.raises(Exception, match=words) as caught:
        reader.open(tmp_path / "f.h5")
    assert type(caught.value).__name__ == kind


def test_a_folder_stands_for_its_only_output_and_a_part_for_none(files, tmp_path):
    view = files["view"]
    (part, *_) = sorted(view.parent.glob("run.parts/*/*.h5"))
    assert reader.open(view.parent).iterations == NUMBERS == reader.open(part.parent).iterations
    assert f"take the view of all nodes: {view}" in message(lambda: reader.open(part), reader.CannotRead)
    (shared,) = files["shared"].parent.glob("run.parts/*/shared*.h5")
    assert f"take the view of all nodes: {files['shared']}" in message(lambda: reader.open(shared), reader.CannotRead)
    (piece, *_) = sorted(files["split"].parent.glob("run.parts/*/*.h5"))
    assert reader.open(piece).iterations == [0, 1]
    for name in ("a.h5", "b.nc"):
        os.link(files["one"], tmp_path / name)
    assert message(lambda: reader.open(tmp_path), reader.CannotRead).endswith(f"say which: {tmp_path}/a.h5, {tmp_path}/b.nc")
    (tmp_path / "empty").mkdir()
    assert f"{tmp_path}/empty has no file of a store" in message(lambda: reader.open(tmp_path / "empty"), reader.CannotRead)


def test_a_part_that_is_missing_is_named(tmp_path):
    view = write_nodes(tmp_path / "run")
    (part, *_) = sorted(view.parent.glob("run.parts/*/*.h5"))
    part.unlink()
    assert f"its part {part.relative_to(view.parent)} cannot be read" in message(lambda: reader.open(view), reader.CannotRead)


def test_a_run_fits_on_a_screen(tmp_path):
    plugin = Plugin(tmp_path, [variable(f"v{n}", "f8", ["x"]) for n in range(200)], simulation="many")
    plugin.must(4, *[plugin.block(n, (3,), n) for n in range(200)])
    plugin.finish()
    run = reader.open(tmp_path / "many.h5")
    said = repr(run)
    assert said.startswith(f"{tmp_path}/many.h5: many, 1 rank, ") and said.count("\n") < 32 and "and 176 more: run.variables" in said
    assert repr(run[4]).startswith("iteration 4\n") and repr(run[4]).count("\n") < 32
    assert len(run._ipython_key_completions_()) == 200 == len(run[4]._ipython_key_completions_())


AMR = [mesh("m", "amr", 2, origin=[1.0, 2.0], spacing=[0.5, 0.25], ratio=2)]
PATCHES = {(0, 0): (0, (0, 0), (4, 6)), (1, 0): (1, (2, 4), (2, 4)), (1, 1): (1, (6, 0), (2, 4)), (0, 1): (3, (8, 8), (2, 2))}


@pytest.mark.parametrize("how", ["one", "view"])
def test_patches_come_by_level_with_their_places(tmp_path, how):
    variables = [variable("rho", "f8", [("y", 1, 1), ("x", 1, 1)], mesh=0), variable("p", "f4", ["y", "x"])]
    more = {"meshes": AMR}
    target = Nodes(tmp_path, variables, [[0], [1]], **more) if how == "view" else Plugin(tmp_path, variables, ranks=2, **more)
    for i in (3, 4):
        made = [target.block(0, (ny + 2, nx + 2), 100 * i + 10 * rank + number, rank=rank, block=number, level=level, position=list(low))
                for (rank, number), (level, low, (ny, nx)) in sorted(PATCHES.items())]
        target.must(i, *made, *[target.block(1, (2, 2), i, rank=rank) for rank in range(2)])
    target.finish()
    run = reader.open(tmp_path / "run.h5")
    levels = run[4].levels("rho")
    assert [len(boxes) for boxes in levels] == [1, 2, 0, 1]
    with h5py.File(tmp_path / "run.h5") as judge:
        wanted = stored_blocks(judge, "rho", 1)
    for box in (box for boxes in levels for box in boxes):
        level, low, shape = PATCHES[box.rank, box.number]
        sizes = (0.25 / 2 ** level, 0.5 / 2 ** level)  # y, x
        assert (box.level, box.lo, box.shape, box.spacing) == (level, low, shape, sizes)
        assert same_bits(box.data, wanted[box.rank, box.number])
        assert box.low == (2.0 + low[0] * sizes[0], 1.0 + low[1] * sizes[1])
        assert box.high == tuple(a + n * size for a, n, size in zip(box.low, shape, sizes))
    assert 'variable "p" is on no mesh with levels' in message(lambda: run[4].levels("p"), ValueError)


PARTICLES = [variable("atoms/x", "f8", ["?atom", "xyz"], unit="m"), variable("atoms/type", "i4", ["?atom"], mesh=0),
             variable("atoms/v", "f4", ["?atom", "two"], mesh=0), variable("other", "f8", ["?k"]),
             variable("T", "f8", ["x"], **{"global": 1})]
ATOMS = [mesh("atoms", "points", 3, coordinates=[0])]


def particles(folder, blocks_of_a_rank=1):
    plugin = Plugin(folder, PARTICLES, ranks=2, meshes=ATOMS)
    for i in (0, 10):
        made = []
        for rank, number in [(rank, number) for rank in range(2) for number in range(blocks_of_a_rank)]:
            n, seed = (i + 2 * rank + number) % 4, 100 * i + 10 * rank + number
            more = {"rank": rank, "block": number}
            made += [plugin.block(0, (n, 3), seed, **more), plugin.block(1, (n,), seed, **more), plugin.block(2, (n, 2), seed, **more),
                     plugin.block(3, (n + 1,), seed, **more)]
        made.append(plugin.block(4, (5,), i, position=[0], **{"global": (5,)}))
        plugin.must(i, *sorted(made, key=lambda b: (b["variable"], b["rank"], b["block"])))
    plugin.finish()
    return reader.open(folder / "run.h5")


@pytest.mark.parametrize("blocks_of_a_rank", [1, 3])
def test_particles_are_a_table(tmp_path, blocks_of_a_rank):
    run = particles(tmp_path, blocks_of_a_rank)
    for row, number in enumerate(run.iterations):
        table = run[number].table("atoms/x", "atoms/type")
        with h5py.File(tmp_path / "run.h5") as judge:
            x, kind = stored_blocks(judge, "atoms/x", row), stored_blocks(judge, "atoms/type", row)
        assert same_bits(np.stack([table[f"atoms/x_{axis}"] for axis in "xyz"], 1), np.concatenate(list(x.values())))
        assert same_bits(table["atoms/type"].to_numpy(), np.concatenate(list(kind.values())))
        assert table["rank"].tolist() == [rank for (rank, _), block in x.items() for _ in block]
        assert list(table)[:2] == ["rank", "block" if blocks_of_a_rank > 1 else "atoms/x_x"]
        assert table.equals(run[number].table("atoms/x", "atoms/type"))
        assert list(run[number].table()) == list(run[number].table("atoms")) == [*[c for c in table if c != "atoms/type"], "atoms/type",
                                                                                 "atoms/v_0", "atoms/v_1"]


def test_what_is_no_table_is_said(tmp_path, monkeypatch):
    run = particles(tmp_path)
    assert '"other" has not as many values in each block as "atoms/type": 3 of rank 0, and there 2' in message(
        lambda: run[10].table("atoms/type", "other"), ValueError)
    assert '"T" is one array of all ranks, no list of each' in message(lambda: run[10].table("T"), ValueError)
    assert 'did you mean "atoms/type"?' in message(lambda: run[10].table("atoms/typ"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    said = message(lambda: run[10].table(), ImportError)
    assert said.startswith("a table is a pandas.DataFrame: ") and "-m pip install pandas" in said


LACKING = """import sys, leat
sys.modules.update(dict.fromkeys(sys.argv[2:]))
try:
    eval(sys.argv[1])
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("code, lacks, words", [
    ("leat.open(FILE)", ["h5py"], "files are read with h5py: "),
    ("leat.open(FILE)['large']", ["xarray"], 'run["large"] is an xarray.DataArray; without xarray there is run[30]["large"]: '),
    ("leat.open(FILE)[1].dataset()", ["xarray"], "dataset() is an xarray.Dataset: "),
    ("leat.open(FILE)[1].table('energy')", ["pandas"], "a table is a pandas.DataFrame: ")])
def test_what_this_python_lacks_is_said_and_nothing_else_needs_it(files, tmp_path, code, lacks, words):
    def run(expression):
        return subprocess.run([sys.executable, "-c", LACKING, expression.replace("FILE", repr(str(files["one"]))), *lacks], text=True,
                              capture_output=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGE)}).stdout
    said = run(code)
    assert said.startswith(words) and f"pip install {lacks[0]}" in said
    assert lacks == ["h5py"] or run("print(leat.open(FILE)[1]['large'].shape)") == "(120, 300)\n"


IMPORTS = """import sys, leat
assert not {"h5py", "numpy", "xarray", "vtkmodules", "pandas"} & set(sys.modules), sorted(sys.modules)
names = [name for name in dir(leat) if not name.startswith("_")]
assert {"open", "on_iteration", "Context", "control"} <= set(names), names
for name in names:
    getattr(leat, name)
assert not [name for name in leat.__all__ if name == "open"]
print(*names)
"""


def test_the_package_lists_what_it_has_and_imports_nothing_before(tmp_path):
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert done.returncode == 0, done.stderr
    assert "init" not in done.stdout.split()  # no compiled part there: help(leat) must not stop over it
    helped = subprocess.run([sys.executable, "-c", "import leat; help(leat); help(leat.open)"], capture_output=True, text=True,
                            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, stdin=subprocess.DEVNULL)
    assert helped.returncode == 0 and 'what a store of type "hdf5" has written' in helped.stdout, helped.stderr


READS = """import sys, leat
try:
    print(leat.open(sys.argv[1])[5]["large"].tobytes().hex())
except leat.CannotRead as error:
    print(error)
"""


@pytest.mark.parametrize("how", ["one", "view"])
def test_on_a_file_system_without_locks_nothing_is_invented(files, how):
    """HDF5 shows fill values for parts of a view whose lock it cannot take."""
    def said(**more):
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "LD_PRELOAD": str(BUILD / "lib/no_locks.so"), **more}
        return subprocess.run([sys.executable, "-c", READS, files[how]], capture_output=True, text=True, check=True, env=environment).stdout
    with h5py.File(files["one"]) as judge:
        wanted = judge["large"][NUMBERS.index(5)].tobytes().hex() + "\n"
    assert said(HDF5_USE_FILE_LOCKING="FALSE") == wanted
    without = said()
    assert without == wanted if how == "one" else "set HDF5_USE_FILE_LOCKING=FALSE in the environment before this Python starts" in without


LIMITED = """import resource, sys, leat
resource.setrlimit(resource.RLIMIT_NOFILE, (40, int(sys.argv[2])))
try:
    print(leat.open(sys.argv[1])["u"].values.tobytes().hex())
except leat.CannotRead as error:
    print(error)
"""


def test_a_view_of_more_files_than_may_be_open_is_read_or_refused(tmp_path):
    """HDF5 shows fill values for those that it cannot open."""
    plugin = Plugin(tmp_path, [variable("u", "f8", ["x"], **{"global": 1})], simulation="run", options={"split": "1"})
    for i in range(60):
        plugin.must(i, plugin.block(0, (3,), i, position=[0], **{"global": (3,)}))
    plugin.finish()

    def said(most):
        return subprocess.run([sys.executable, "-c", LIMITED, tmp_path / "run.h5", str(most)], capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE)}).stdout
    assert said(4096) == np.stack([array((3,), "f8", i) for i in range(60)]).tobytes().hex() + "\n"
    assert "is a view of 60 files, and this process may not have so many open" in said(70)
