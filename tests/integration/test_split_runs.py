# SPDX-License-Identifier: Apache-2.0
"""split="...": what a run stores in several files is what it stores in one, with servers that are killed at random moments, with several
servers, with means over months, and when another run goes on with it."""
import datetime
import os
import random
import signal
import subprocess
import threading
import time

import h5py
import numpy as np
import pytest
import xarray
from leat_run import BUILD, Run, await_death, data, same_bits, xml
from nodes_run import NodesRun
from stored_blocks import stored_ranks

NY, NX = 8, 12
DATA = f"""
  <parameter name="t" type="double"/><time parameter="t" unit="days since 2000-01-01"/>
  <layout name="block" type="double" dimensions="4,6" global="{NY},{NX}" names="y,x"/>
  <layout name="places" type="double" dimensions="6" global="{NX}" names="x"/>
  <layout name="list" type="int" dimensions="3"/>
  <variable name="x" layout="places" time-varying="false"/>
  <variable name="u" layout="block"/><variable name="own" layout="list"/>
  <variable name="mean" expr="u" operation="mean" every="1 mo"/>"""
STEP = 3  # days
LAST = 24
DEDICATED = '<dedicated cores="1"/>'
NODES = [[0, 2], [1, 3]]


def text(split, more="", servers=1, sync=True):
    option = f'split="{split}"' if split else ""
    made = xml(DATA, store=f'<store name="out" type="hdf5" {option} {more}/>')
    mode = 'mode="sync"' if sync else ""
    return made.replace(DEDICATED, f'<dedicated cores="{servers}" servers="{servers}" {mode}/>')


def make(folder, split, nodes=None, **more):
    folder.mkdir(exist_ok=True)
    return NodesRun(folder, text(split, **more), nodes) if nodes else Run(folder, text(split, **more), ranks=4)


def iterate(run, number, first=0):
    for rank in run.ranks:
        y, x = 4 * (rank.number // 2), 6 * (rank.number % 2)
        rank.must("set_double", "t", (number + 1) * STEP)
        if number == first and rank.number < 2:
            rank.must("set_position", "x", 0, x)
            rank.must("write", "x", 0, 48, 5 + rank.number)
        rank.must("set_position", "u", 0, f"{y},{x}")
        rank.must("write", "u", 0, 4 * 6 * 8, 100 * number + rank.number)
        rank.must("write", "own", 0, 12, 100 * number + 50 + rank.number)
    for rank in run.ranks:
        rank.start("end_iteration")
    for rank in run.ranks:
        assert rank.result().ok


def go(run, numbers=range(LAST), after=None):
    with run:
        run.init()
        for rank in run.ranks if numbers[0] else ():
            rank.must("start_at", numbers[0])
        for number in numbers:
            iterate(run, number, numbers[0])
            if after:
                after(run, number)
        run.finish()
    return run.log()


def field(number):
    rows = [np.hstack([data(24, "f8", 100 * number + 2 * y + x).reshape(4, 6) for x in (0, 1)]) for y in (0, 1)]
    return np.vstack(rows)


def expect(folder, whole, count=LAST):
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == [*range(count)] and file["time"][:].tolist() == [STEP * (i + 1) for i in range(count)]
        assert file["iteration_complete" if "iteration_complete" in file else "leat/iteration_complete"][:].all()
        for i in range(count):
            assert same_bits(file["u"][i], field(i)), i
            own = stored_ranks(file, "own", i)
            assert sorted(own) == [0, 1, 2, 3] and all(same_bits(own[r], data(3, "i4", 100 * i + 50 + r)) for r in own)
        assert same_bits(file["x"][:], np.concatenate([data(6, "f8", 5 + rank) for rank in (0, 1)]))
    for name in ("run.h5", "run-over-1mo.h5"):
        with xarray.open_dataset(folder / name) as got, xarray.open_dataset(whole / name) as wanted:
            for variable in set(wanted.variables) - {"own"} - {v for v in wanted.variables if "block" in v or "length" in v}:
                assert same_bits(got[variable].values, wanted[variable].values), (name, variable)
                assert got[variable].dims == wanted[variable].dims


def pieces(folder, stem="run"):
    (parts,) = (folder / f"{stem}.parts").iterdir()
    return sorted(path for path in parts.iterdir() if not path.name.startswith("."))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    go(make(folder, ""))
    return folder


def date(day):
    return datetime.date(2000, 1, 1) + datetime.timedelta(days=day)


def test_months_are_files_and_the_mean_of_a_month_is_in_that_of_it(tmp_path, whole):
    go(make(tmp_path, "1 mo"))
    expect(tmp_path, whole)
    months = sorted({date(STEP * (i + 1)).strftime("%Y-%m") for i in range(LAST)})
    assert [path.name for path in pieces(tmp_path)] == [f"rank000000.{month}.h5" for month in months]
    for path, month in zip(pieces(tmp_path), months):
        with xarray.open_dataset(path) as file:
            assert {str(each)[:7] for each in file["time"].values} == {month}
            assert same_bits(file["x"].values, np.concatenate([data(6, "f8", 5 + rank) for rank in (0, 1)]))
    over = pieces(tmp_path, "run-over-1mo")
    assert [path.name for path in over] == ["rank000000.2000-01.h5", "rank000000.2000-02.h5"]
    for path, month in zip(over, (1, 2)):
        with xarray.open_dataset(path) as file:
            assert [str(each)[:10] for each in file["time_bnds"].values[0]][1] == f"2000-{month + 1:02d}-01" and file.sizes["time"] == 1


def killer(dice, killed):
    threads = []

    def after(run, number):
        if number < LAST - 4 and dice.random() < 0.4:
            delay = dice.random() * 0.03
            threads.append(threading.Thread(target=kill_one, args=(run, delay, dice.random(), killed)))
            threads[-1].start()
        if number == LAST - 4:
            [each.join() for each in threads]
    return after


def kill_one(run, delay, which, killed):
    time.sleep(delay)
    servers = run.servers()
    if servers:
        pid = servers[int(which * len(servers))]
        try:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        except ProcessLookupError:
            pass


@pytest.mark.parametrize("split", ["2", "9 d", "1 mo"])
@pytest.mark.parametrize("nodes, servers", [(None, 1), (None, 2), (NODES, 1)])
def test_servers_that_are_killed_at_random_lose_nothing(tmp_path, whole, split, nodes, servers):
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    killed = []
    go(make(tmp_path, split, nodes, servers=servers), after=killer(random.Random(seed), killed))
    expect(tmp_path, whole)
    names = {path.name.split(".")[0] for path in pieces(tmp_path)}
    assert len(names) == (2 if nodes or servers == 2 else 1) and killed


@pytest.mark.parametrize("first", [8, 9, 14])
@pytest.mark.parametrize("nodes", [None, NODES])
def test_a_run_goes_on_in_the_files_of_an_earlier_one(tmp_path, whole, nodes, first):
    go(make(tmp_path, "4", nodes, more='append="true"'), range(first))
    go(make(tmp_path, "4", nodes, more='append="true"'), range(first, LAST))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [*range(LAST)]
        assert all(same_bits(file["u"][i], field(i)) for i in range(LAST))
    servers = ("rank000000", "rank000001") if nodes else ("rank000000",)
    assert [path.name for path in pieces(tmp_path)] == [f"{server}.{n:06d}.h5" for server in servers for n in range(LAST // 4)]


def test_what_was_in_memory_when_all_were_killed_is_stored_in_its_files(tmp_path):
    run = make(tmp_path, "2", sync=False)
    run.init()
    server = run.server()
    iterate(run, 0)
    iterate(run, 1)
    os.kill(server, signal.SIGSTOP)
    for number in (2, 3, 4):
        iterate(run, number)
    for rank in run.ranks:
        rank.kill()
    os.kill(server, signal.SIGKILL)
    await_death(server)
    done = subprocess.run([BUILD / "bin/leat", "recover"], cwd=tmp_path, env=run.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    for rank in run.ranks:
        rank.stop_process()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3, 4] and all(same_bits(file["u"][i], field(i)) for i in range(5))
    assert [path.name for path in pieces(tmp_path)] == [f"rank000000.{n:06d}.h5" for n in range(3)]
    shown = subprocess.run([BUILD / "bin/leat", "ls", "run.h5"], cwd=tmp_path, env=run.environment, capture_output=True, text=True).stdout
    assert 'view of     3 files, split="2"' in shown and "stored after all of it was killed" in shown, shown


def test_leat_check_says_what_cannot_be_and_what_will_be(tmp_path):
    (tmp_path / "run.xml").write_text(xml(DATA, store='<store name="out" type="hdf5" split="1 week"/>'))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and 'split="1 week": "week" is no unit of time; write "7 d" for a week' in done.stdout + done.stderr
    (tmp_path / "run.xml").write_text(text("every 1000"))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml", "--explain", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert 'store "out" (run.h5, a new file every 1000 iterations) takes its variables' in done.stdout, done
