# SPDX-License-Identifier: Apache-2.0
"""A simulation that restarts, with real ranks and servers: in the end its file is that of a run that was not interrupted."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import h5py
import pytest
from h5_compare import expect_same
from judges import environment
from leat_run import BUILD, LIMIT, Run, xml

DATA = '''<parameter name="n" type="int"/><parameter name="time" type="double"/>
<time parameter="time" unit="days since 2000-01-01" calendar="noleap"/>
<mesh name="plate" type="uniform" origin="0,0" spacing="0.5,0.25" unit="m"/><mesh name="atoms" type="points" coordinates="position"/>
<layout name="grid" type="float" dimensions="n+2,7" global="2*n,7" ghosts="1,0"/><variable name="grid" layout="grid" mesh="plate" unit="K"/>
<layout name="list" type="double" dimensions="?,3"/><variable name="position" layout="list"/>
<layout name="mass" type="float" dimensions="?"/><variable name="mass" layout="mass" mesh="atoms" centering="nodal"/>
<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>
<variable name="once" layout="row" time-varying="false"/>'''
SCRIPT = '''import leat
@leat.on_iteration
def f(ds, ctx):
    ctx.store("mean", ds["grid"].mean())
    if ctx.iteration % 2:
        ctx.store("column", ds["grid"].values[:, 0], dims=["y"])
'''
RANKS, LAST, N = 2, 14, 4
WHO = ["session", "leat/ledger", "leat/ledger_length"]
# Those of iterations that scripts had when their server died may be missing: the ledger says so.
RESULTS = ["scripts", "scripts/s", *(f"scripts/s/{name}" for name in ("iteration", "mean", "column", "y"))]


def config(folder, **store):
    (folder / "s.py").write_text(SCRIPT)
    more = "".join(f' {name}="{value}"' for name, value in store.items())
    return xml(DATA, store=f'<store name="out" type="hdf5" append="true"{more}/>', log='<scripts><script file="s.py"/></scripts>')


def step(rank, iteration, first):
    seed = 100 * iteration + 10 * rank.number
    rank.must("set_double", "time", iteration / 3)
    assert rank.write("grid", 4 * (N + 2) * 7, seed).ok
    count = (iteration + rank.number) % 4
    for name, extent, size in (("position", f"{count},3", 24), ("mass", f"{count}", 4)):
        rank.must("set_extent", name, 0, extent)
        assert rank.write(name, size * count, seed + 1).ok
    for block in range(3):
        assert rank.write("a", 20, seed + 2 + block, block).ok
    if iteration == first:
        assert rank.write("once", 20, rank.number).ok
    rank.end()


def begin(run, first):
    run.init()
    for rank in run.ranks:
        rank.must("start_at", first)
        rank.must("set_int", "n", N)
        rank.must("set_position", "grid", 0, f"{N * rank.number},0")


def go(folder, first, end, between=lambda run, iteration: None, ends=Run.finish, **store):
    folder.mkdir(exist_ok=True)
    with Run(folder, config(folder, **store), ranks=RANKS) as run:
        begin(run, first)
        for iteration in range(first, end):
            for rank in run.ranks:
                step(rank, iteration, first)
            between(run, iteration)
        ends(run)
        if ends == Run.kill_all:  # the next run on the node stores what was in memory, and removes it
            run.check_nothing_left = lambda: None
        return run.log()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    go(folder, 0, LAST)
    return folder / "run.h5"


def kill(run):
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("end, first", [(10, 10), (12, 7), (5, 0)])
def test_the_file_of_a_restarted_run_is_that_of_one_that_was_not_interrupted(tmp_path, whole, end, first):
    go(tmp_path, 0, end)
    log = go(tmp_path, first, LAST)
    assert f"going on in run.h5 from iteration {first} on" in log and "done: " in log and "nothing lost" in log
    expect_same(tmp_path / "run.h5", whole, but=WHO)
    (tmp_path / "read.py").write_text('''import sys, netCDF4, xarray
for engine in ("netcdf4", "h5netcdf"):
    with xarray.open_dataset(sys.argv[1], engine=engine) as run:
        assert run["iteration"].values.tolist() == list(range(14)) and run["grid"].dims[0] == "time", run
with netCDF4.Dataset(sys.argv[1]) as file:
    assert len(file["time"]) == 14
''')
    done = subprocess.run([environment() / "bin/python", tmp_path / "read.py", tmp_path / "run.h5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("first", [9, 4])
def test_everything_is_killed_and_the_run_restarts(tmp_path, whole, first):
    go(tmp_path, 0, 9, ends=Run.kill_all)
    go(tmp_path, first, LAST)
    expect_same(tmp_path / "run.h5", whole, but=[*WHO, *RESULTS])


def go_in_memory(folder, first, end):
    """What goes on in the file, and all of which is killed before anything is stored."""
    with Run(folder, config(folder), ranks=RANKS) as run:
        begin(run, first)
        for rank in run.ranks:  # has memory now; step() writes it once more
            assert rank.write("a", 20, 1).ok
        lock, until = pathlib.Path(folder) / ".run.h5.lock", time.monotonic() + LIMIT
        while not lock.exists() or run.session not in lock.read_text():
            assert time.monotonic() < until, "the store does not open the file"  # and nobody knows whose it is to be, until then
            time.sleep(0.01)
        os.kill(run.server(), signal.SIGSTOP)
        for iteration in range(first, end):
            for rank in run.ranks:
                step(rank, iteration, first)
        run.kill_all()
        run.check_nothing_left = lambda: None  # the next run on the node stores it
    return run


@pytest.mark.parametrize("starts", [(7,), (7, 9), (7, 9, 6)])
def test_what_runs_that_went_on_had_in_memory_when_all_was_killed_is_in_the_same_file(tmp_path, whole, starts):
    go(tmp_path, 0, 8)
    for first in starts:
        go_in_memory(tmp_path, first, first + 3)
    last = starts[-1] + 3
    log = go(tmp_path, last, LAST)
    assert f"going on in run.h5 from iteration {last} on, behind {last} iterations, 0 to {last - 1}" in log, log
    assert [path.name for path in tmp_path.glob("*.h5")] == ["run.h5"]
    expect_same(tmp_path / "run.h5", whole, but=[*WHO, *RESULTS])


def test_what_a_killed_run_had_in_memory_does_not_go_behind_what_others_have_stored_since(tmp_path):
    go(tmp_path, 0, 4)
    run = go_in_memory(tmp_path, 4, 5)
    hidden = [pathlib.Path(shutil.move(path, tmp_path)) for path in run.segments()]  # so that the next one does not find it
    go(tmp_path, 4, 7)
    before = (tmp_path / "run.h5").read_bytes()
    for path in hidden:
        shutil.move(path, "/dev/shm")
    subprocess.run([BUILD / "bin/leat", "recover", run.session], cwd=tmp_path, env=run.environment, check=False)
    assert (tmp_path / "run.h5").read_bytes() == before and not run.segments()
    (other,) = [path for path in tmp_path.glob("*.h5") if path.name != "run.h5"]
    with h5py.File(other) as file:
        assert file["iteration"][:].tolist() == [4]


@pytest.mark.parametrize("seed", range(3))
def test_servers_killed_at_random_moments_of_a_restarted_run(tmp_path, whole, seed):
    chance = random.Random(seed)
    go(tmp_path, 0, 10)

    def between(run, iteration):
        if iteration < 9 or chance.random() < 0.3:
            time.sleep(chance.choice([0, 0.002, 0.02]))
            kill(run)
    assert "has taken over" in go(tmp_path, 7, LAST, between)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(LAST))
    expect_same(tmp_path / "run.h5", whole, but=[*WHO, *RESULTS])


def test_a_run_of_another_model_is_told_all_and_leaves_the_file_alone(tmp_path):
    go(tmp_path, 0, 3)
    before = (tmp_path / "run.h5").read_bytes()
    text = config(tmp_path).replace('unit="K"', 'unit="degC"').replace('type="int" dimensions="5"', 'type="float" dimensions="5"')
    with Run(tmp_path, text, ranks=RANKS) as run:
        begin(run, 3)
        for rank in run.ranks:
            step(rank, 3, 3)
        answers = run.finalize()
        said = run.log() + "".join(answer.error for answer in answers)
    assert {answer.status for answer in answers} == {"LEAT_ERROR_LOST"}
    for line in ('variable "grid": unit is "K" in the file, and "degC" in the XML',
                 'variable "a": type is int32 in the file, and float32 in the XML'):
        assert line in said, said
    assert (tmp_path / "run.h5").read_bytes() == before
