# SPDX-License-Identifier: Apache-2.0
"""leatd is killed by a real SIGKILL while its store has layout="damaris": each iteration has its file, whole and once."""
import os
import random
import signal
import time

import h5py
import pytest
from leat_run import Run, data, same_bits, xml
from test_stale_resources import kill_all, leat_clean, run_in

DATA = '''<layout name="grid" type="float" dimensions="200,30" global="400,30"/><variable name="grid" layout="grid"/>
<layout name="list" type="int64" dimensions="?"/><variable name="list" layout="list"/>'''
RANKS, ITERATIONS = 2, 30


def store(mode):
    return f'''<store name="out" type="hdf5"><option name="layout" value="damaris"/><option name="file-mode" value="{mode}"/></store>'''


def step(rank, iteration):
    seed = 10 * iteration + rank.number
    assert rank.write("grid", 200 * 30 * 4, seed).ok
    rank.must("set_extent", "list", 0, f"{1 + iteration % 4}")
    assert rank.write("list", 8 * (1 + iteration % 4), seed).ok
    rank.end()


def begin(run):
    run.init()
    for rank in run.ranks:
        rank.must("set_position", "grid", 0, f"{200 * rank.number},0")


def kill(run):
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)


def check(path, iteration, mode):
    with h5py.File(path) as file:
        assert file.attrs["iteration"] == iteration and file.attrs["iteration_complete"] == 1
        for rank in range(RANKS):
            seed = 10 * iteration + rank
            part = file["grid"][200 * rank:200 * (rank + 1)] if mode == "Collective" else file[f"grid/P{rank}"][...]
            assert same_bits(part, data(200 * 30, "f4", seed).reshape(200, 30))
            assert same_bits(file[f"list/P{rank}"][...], data(1 + iteration % 4, "i8", seed))


def name(iteration, mode):
    return f"run_It{iteration}{'' if mode == 'Collective' else '_Pr0'}.h5"


@pytest.mark.parametrize("mode", ["FilePerCore", "Collective"])
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_each_iteration_has_its_file(tmp_path, seed, mode):
    chance = random.Random(seed)
    with Run(tmp_path, xml(DATA, store=store(mode)), ranks=RANKS) as run:
        begin(run)
        for iteration in range(ITERATIONS):
            for rank in run.ranks:
                step(rank, iteration)
            if chance.random() < 0.3:
                time.sleep(chance.choice([0, 0.001, 0.02]))
                kill(run)
        run.finish()
        assert "has taken over" in run.log()
    assert sorted(p.name for p in tmp_path.glob("*.h5")) == sorted(name(i, mode) for i in range(ITERATIONS))
    assert not list(tmp_path.glob(".run*"))  # no part, no lock
    for iteration in range(ITERATIONS):
        check(tmp_path / name(iteration, mode), iteration, mode)


@pytest.mark.parametrize("server_first", [True, False])
def test_when_all_is_killed_what_has_a_name_is_whole_and_the_rest_is_stored_by_leat_clean(tmp_path, server_first):
    mode = "FilePerCore"
    with run_in(tmp_path / "run", xml(DATA, store=store(mode)), tmp_path / "runtime", ranks=RANKS) as run:
        begin(run)
        for iteration in range(12):
            for rank in run.ranks:
                step(rank, iteration)
        kill_all(run, server_first)
        left = files_in(run.folder)
        for iteration in range(len(left)):
            check(run.folder / name(iteration, mode), iteration, mode)
        done = leat_clean(run.runtime)
        assert done.returncode == 0, done
    now = files_in(run.folder)
    assert sorted(now) == sorted(name(i, mode) for i in range(12)) and left.items() <= now.items(), (left, now)
    for iteration in range(12):
        check(run.folder / name(iteration, mode), iteration, mode)


def files_in(folder):
    """And which they are: one that is written again is another one."""
    return {path.name: path.stat().st_ino for path in folder.glob("run_It*.h5")}
