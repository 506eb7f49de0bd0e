# SPDX-License-Identifier: Apache-2.0
"""Servers of several nodes write into files that they share: one view of all, whoever writes where."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from control_run import wait_until
from leat_run import BUILD, LIMIT, await_death, data, same_bits, xml
from nodes_run import NodesRun
from stored_blocks import stored_ranks
from without_xarray import without_xarray  # noqa: F401

NODES = [[n] for n in range(6)]


def text_of(files, more="", timeout="10s", columns=6):
    """u: an array of all ranks, two rows of each; own: a list of each rank; x: once, and the same for all; c: once, of each rank."""
    variables = f"""
      <layout name="block" type="double" dimensions="2,{columns}" global="12,{columns}" names="y,x"/>
      <layout name="list" type="int" dimensions="3"/>
      <layout name="line" type="double" dimensions="6" global="6" names="x"/>
      <variable name="u" layout="block"/><variable name="own" layout="list"/>
      <variable name="x" layout="line" time-varying="false"/><variable name="c" layout="list" time-varying="false"/>"""
    return xml(variables, timeout=timeout, buffer="64MiB", store=f'<store name="out" type="hdf5" files="{files}" {more}/>')


def write(rank, number, columns=6):
    rank.must("set_position", "u", 0, f"{2 * rank.number},0")
    rank.must("write", "u", 0, 2 * columns * 8, 100 * number + rank.number)
    rank.must("write", "own", 0, 12, 100 * number + 50 + rank.number)
    if number == 0:
        rank.must("set_position", "x", 0, "0")
        rank.must("write", "x", 0, 48, 7)
        rank.must("write", "c", 0, 12, 1000 + rank.number)


def iterate(ranks, numbers, columns=6):
    for number in numbers:
        for rank in ranks:
            write(rank, number, columns)
        for rank in ranks:
            rank.end()


def expect(path, rows, ranks=range(6), complete=True, columns=6):
    """Every value, by h5py."""
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(rows))
        assert file["leat/iteration_complete"][:].tolist() == [int(complete)] * rows
        assert file["u"].shape == (rows, 12, columns)
        assert same_bits(file["x"][:], data(6, "f8", 7))
        for row in range(rows):
            own = stored_ranks(file, "own", row)
            assert sorted(own) == list(ranks)
            for rank in range(6):
                there = file["u"][row, 2 * rank:2 * rank + 2]
                if rank not in ranks:
                    assert np.isnan(there).all()
                    continue
                assert same_bits(there, data(2 * columns, "f8", 100 * row + rank).reshape(2, columns)), (row, rank)
                assert same_bits(own[rank].ravel(), data(3, "i4", 100 * row + 50 + rank))
        assert len(file["c"]) == len(ranks)
        for place, rank in enumerate(ranks):
            assert same_bits(file["c"][place].ravel(), data(3, "i4", 1000 + rank))


def parts_of(run, folder, pattern="*.h5"):
    return sorted((folder / "run.parts" / run.session).glob(pattern))


def leat(*words, cwd):
    done = subprocess.run([BUILD / "bin/leat", *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


@pytest.mark.parametrize("files", [1, 2, 6, 9])
def test_servers_that_follow_each_other_share_a_file(tmp_path, files):
    with NodesRun(tmp_path, text_of(files), NODES) as run:
        iterate(run.init(), range(5))
        run.finish()
        assert "own" not in run.log() and "without its turn" not in run.log()
        found = parts_of(run, tmp_path)
        is_moved = "which is idle" in run.log()  # on a machine that is very slow
    assert [path.name for path in found] == [f"shared{n:03}.h5" for n in range(min(files, 6))]
    groups = []
    for path in found:
        with h5py.File(path) as file:
            groups.append([name for name in file if name.startswith("rank")])
            assert is_moved or all(file[name]["iteration"][:].tolist() == list(range(5)) for name in groups[-1])
    names = [f"rank{n:06}" for n in range(6)]
    assert is_moved or (sum(groups, []) == names and {len(each) for each in groups} == {6 // min(files, 6)})
    assert not [path.name for path in (tmp_path / "run.parts" / run.session).iterdir() if path not in found]
    expect(tmp_path / "run.h5", 5)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["lost"] == 0 and "leat_not_closed" not in file.attrs
        assert is_moved or sorted(file["parts"]) == names
        ledgers = [json.loads(bytes(each["ledger"][:])) for each in file["parts"].values() if "ledger" in each]
        assert [each["lost"] for each in ledgers] == [0] * 6


def test_the_view_is_as_that_of_a_file_of_each_server(tmp_path):
    said = []
    for files in ("node", "2"):
        folder = tmp_path / files
        folder.mkdir()
        with NodesRun(folder, text_of(files), NODES) as run:
            iterate(run.init(), range(3))
            run.finish()
        with h5py.File(folder / "run.h5") as file:
            seen = {}
            file.visititems(lambda name, each: seen.update({name: (each.dtype, each.shape, sorted(each.attrs))})
                            if isinstance(each, h5py.Dataset) and not name.startswith("parts/") else None)
            said.append((seen, sorted(set(file.attrs) - {"history"})))
    assert said[0] == said[1]


def test_merge_recover_view_and_ls_take_shared_files(tmp_path):
    with NodesRun(tmp_path, text_of(2), NODES) as run:
        iterate(run.init(), range(4))
        run.finish()
        shared, parts = parts_of(run, tmp_path)[0], "6" if "which is idle" not in run.log() else ""
    leat("merge", "run.h5", "merged.h5", cwd=tmp_path)
    expect(tmp_path / "merged.h5", 4)
    (tmp_path / "run.h5").unlink()
    assert f"{parts} parts in 2 files, 4 iterations" in leat("view", str(shared.parent), cwd=tmp_path)
    expect(tmp_path / "run.h5", 4)
    assert f"{parts} parts in 2 files" in leat("recover", "run.h5", cwd=tmp_path)
    assert "4 iterations" in leat("recover", str(shared), cwd=tmp_path)
    assert "u" in leat("ls", "run.h5", cwd=tmp_path)
    assert "rank000000/u" in leat("ls", str(shared), cwd=tmp_path)


def test_a_lost_file_leaves_the_others_readable(tmp_path):
    with NodesRun(tmp_path, text_of(3), NODES) as run:
        iterate(run.init(), range(3))
        run.finish()
        parts_of(run, tmp_path)[1].unlink()
    leat("view", "run.h5", cwd=tmp_path)
    expect(tmp_path / "run.h5", 3, ranks=(0, 1, 4, 5), complete=False)


def test_another_run_does_not_take_the_view_of_one_that_is_between_two_turns(tmp_path):
    with NodesRun(tmp_path, text_of(2), NODES) as run:
        ranks, done = run.init(), 0
        while not (tmp_path / "run.h5").exists():  # who finds a file that another one writes makes the view with its next iteration
            assert done < 10, run.log()
            iterate(ranks, [done])
            done += 1
            time.sleep(1)
        (tmp_path / "other").mkdir()
        with NodesRun(tmp_path / "other", text_of(2, 'folder=".."'), NODES) as other:
            iterate(other.init(), range(2))
            other.finish()
        iterate(ranks, range(done, done + 2))
        run.finish()
    expect(tmp_path / "run.h5", done + 2)
    expect(tmp_path / f"run-{other.session}.h5", 2)


def test_products_of_scripts_are_in_the_part_of_their_server(tmp_path):
    (tmp_path / "s.py").write_text("def process(ds, ctx):\n    ctx.scalar('sum', float(ds['own'].sum()))\n")
    scripts = f'<scripts interpreter="{sys.executable}"><script file="s.py" when-slow="wait"/></scripts>'
    with NodesRun(tmp_path, text_of(1).replace("</simulation>", scripts + "</simulation>"), NODES[:2]) as run:
        for number in range(3):
            iterate(run.init() if number == 0 else run.ranks, [number])
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for rank in range(2):
            sums = file[f"parts/rank{rank:06}/scripts/s/sum"][:]
            assert sums.tolist() == [float(data(3, "i4", 100 * i + 50 + rank).sum(dtype="f8")) for i in range(3)]


def fake_lfs(folder, targets):
    program = folder / "bin" / "lfs"
    program.parent.mkdir()
    lines = "".join(f'echo "{n}: scratch-OST{n:04}_UUID {"ACTIVE" if n else "INACTIVE"}"\n' for n in range(targets + 1))
    program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\nif [ "$1" = osts ]; then\necho OBDS:\n{lines}fi\n')
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_auto_takes_as_many_files_as_lustre_has_targets_and_stripes_by_them(tmp_path):
    with NodesRun(tmp_path, text_of("auto"), NODES, environment=fake_lfs(tmp_path, 3)) as run:
        iterate(run.init(), range(2))
        run.finish()
        assert "is on Lustre with 3 targets" in run.log() and "each file on one target" in run.log()
        assert len(parts_of(run, tmp_path, "shared*.h5")) == 3 and len(parts_of(run, tmp_path)) == 3
        folder = f"run.parts/{run.session}"
    assert set((tmp_path / "asked").read_text().splitlines()) == {f"osts {folder}", f"setstripe --stripe-count 1 {folder}"}
    expect(tmp_path / "run.h5", 2)


@pytest.mark.skipif(bool(shutil.which("lfs")), reason="this machine may have Lustre")
def test_auto_is_a_file_of_each_server_elsewhere(tmp_path):
    with NodesRun(tmp_path, text_of("auto"), NODES[:2]) as run:
        iterate(run.init(), range(1))
        run.finish()
        assert "each server writes a file of its own" in run.log()
        assert [path.name for path in parts_of(run, tmp_path)] == ["rank000000.h5", "rank000001.h5"]


# ---- faults


@pytest.mark.parametrize("durability", ["iteration", "close", "none"])
def test_all_servers_are_killed_again_and_again_and_each_value_is_there(tmp_path, durability):
    with NodesRun(tmp_path, text_of(2, f'durability="{durability}"'), NODES) as run:
        ranks = run.init()
        for begin in range(0, 12, 4):
            iterate(ranks, range(begin, begin + 4))
            for pid in run.servers():
                os.kill(pid, signal.SIGKILL)
        iterate(ranks, range(12, 14))
        run.finish()
    expect(tmp_path / "run.h5", 14)


def rows_of(path, group):
    try:
        with h5py.File(path, "r", locking=False) as file:
            return len(file[group]["iteration"])
    except (OSError, KeyError):  # it is not there yet
        return 0


def limit_files(pid, most=resource.RLIM_INFINITY):
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def expect_without(path, columns, rank, lost):
    """All of six iterations of six ranks, but `lost` of that one."""
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(6))
        assert file["leat/iteration_complete"][:].tolist() == [int(row not in lost) for row in range(6)]
        assert file.attrs["lost"] > 0
        for row in range(6):
            for each in range(6):
                there = file["u"][row, 2 * each:2 * each + 2]
                if each == rank and row in lost:
                    assert np.isnan(there).all()
                else:
                    assert same_bits(there, data(2 * columns, "f8", 100 * row + each).reshape(2, columns)), (row, each)


def test_a_commit_that_fails_costs_the_iteration_of_its_server_and_nobody_elses(tmp_path):
    """The file of six servers is full for one of them, for a while, and a file of its own would be too."""
    columns, lost = 100_000, range(2, 4)
    with NodesRun(tmp_path, text_of(1, columns=columns), NODES) as run:
        ranks = run.init()
        iterate(ranks, range(2), columns)
        shared = tmp_path / "run.parts" / run.session / "shared000.h5"
        wait_until(lambda: all(rows_of(shared, f"rank{n:06}") == 2 for n in range(6)), "two iterations")
        server = run.server_of(3)
        limit_files(server, 1 << 20)
        iterate(ranks, lost, columns)
        wait_until(lambda: rows_of(shared, "rank000005") == 4 and "iteration 3: " in ranks[3].stderr(), "they wait for each other")
        limit_files(server)
        iterate(ranks, range(4, 6), columns)
        statuses = [answer.status for answer in run.finalize()]
        assert [path.name for path in parts_of(run, tmp_path, "shared*.h5")] == ["shared000.h5"]
    assert statuses == ["LEAT_OK"] * 3 + ["LEAT_ERROR_LOST"] + ["LEAT_OK"] * 2
    expect_without(tmp_path / "run.h5", columns, 3, lost)


def test_a_server_that_cannot_continue_the_file_leaves_it_to_the_others(tmp_path):
    """Its limit on file sizes ends in front of what it has there, so that it cannot clear what is left of a commit that failed."""
    columns = 20_000
    with NodesRun(tmp_path, text_of(1, columns=columns), NODES) as run:
        ranks = run.init()
        shared = tmp_path / "run.parts" / run.session / "shared000.h5"
        for number in range(2):
            for some in (ranks[:3] + ranks[4:], ranks[3:4]):  # so that what this one has is last in the file
                iterate(some, [number], columns)
                wait_until(lambda: all(rows_of(shared, f"rank{rank.number:06}") == number + 1 for rank in some), "an iteration")
        server = run.server_of(3)
        limit_files(server, 1 << 20)
        iterate(ranks, range(2, 4), columns)
        own = tmp_path / "run.parts" / run.session / "rank000003.h5"
        wait_until(lambda: rows_of(shared, "rank000005") == 4 and rows_of(own, "/") == 1, "a file of its own")
        limit_files(server)
        iterate(ranks, range(4, 6), columns)
        statuses = [answer.status for answer in run.finalize()]
        assert "shared000.h5 cannot be continued by this server" in run.log() and "was renamed" not in run.log()
        assert [path.name for path in parts_of(run, tmp_path)] == ["rank000003.h5", "shared000.h5"]
        assert rows_of(shared, "rank000003") == 4
    assert statuses == ["LEAT_OK"] * 3 + ["LEAT_ERROR_LOST"] + ["LEAT_OK"] * 2
    expect_without(tmp_path / "run.h5", columns, 3, [2])


LARGE = 100_000
NO_LOCKS = {"LD_PRELOAD": str(BUILD / "lib/no_locks.so"), "LEAT_NO_LOCKS_OF": "run.parts"}


def locks_files(pid):
    """The process has the lock of a shared file."""
    with open("/proc/locks", encoding="ascii") as locks:
        inodes = {int(line.split()[5].rsplit(":", 1)[1]) for line in locks if " FLOCK " in line and line.split()[4] == str(pid)}
    shown = set()
    for each in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            if each.stat().st_ino in inodes and ".shared" in os.readlink(each):
                shown.add(each)
        except OSError:
            continue
    return bool(shown)


def owns_files(run, pid):
    """The same where there are no locks: the file that says so names it."""
    for path in parts_of(run, run.folder, ".shared*.owner"):
        with contextlib.suppress(FileNotFoundError):  # another one's turn has ended since it was listed
            if path.read_text().split()[1:2] == [str(pid)]:
                return True
    return False


def stop_in_its_turn(run, pid, has_file, go_on):
    """Stops the process while it has a shared file. go_on: gives it something to write."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        go_on()
        for _ in range(200):
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it does not stop")
            if has_file(pid):
                return
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.0005)
    raise AssertionError("it is never at work: " + run.log())


def server_on(run, node, steps):
    """That takes over where one has died: a rank that has something to say starts it."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        try:
            return run.server_of(node)
        except (ValueError, OSError):
            steps.take([node])
    raise AssertionError(f"no server on node {node}")


class Steps:
    """Iterations of ranks, each as far as it is told."""

    def __init__(self, ranks):
        self.ranks, self.done = ranks, [0] * len(ranks)

    def take(self, which, upto=None):
        for n in which:
            for number in range(self.done[n], self.done[n] + 1 if upto is None else upto):
                iterate([self.ranks[n]], [number], LARGE)
                self.done[n] = number + 1


@pytest.mark.parametrize("locks", [True, False])
def test_a_file_whose_server_is_stopped_in_its_turn_is_left_alone(tmp_path, locks):
    """Others write elsewhere, and it goes on where it was when it wakes up."""
    environment = {} if locks else NO_LOCKS
    with NodesRun(tmp_path, text_of(1, timeout="6s", columns=LARGE), NODES, environment=environment) as run:
        steps = Steps(run.init())
        everybody = range(6)
        stopped = run.server_of(2)
        has_file = locks_files if locks else (lambda pid: owns_files(run, pid))
        stop_in_its_turn(run, stopped, has_file, lambda: steps.take(everybody))
        others = [n for n in everybody if n != 2]
        rows = max(steps.done) + 3
        steps.take(others, rows)
        shared = tmp_path / "run.parts" / run.session / "shared000.h5"
        wait_until(lambda: len(parts_of(run, tmp_path, "rank*.h5")) == 5, "others wait for the stopped server")
        before = shared.stat()
        assert has_file(stopped)
        time.sleep(0.5)
        assert (shared.stat().st_size, shared.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns), "somebody writes into its file"
        os.kill(stopped, signal.SIGCONT)
        steps.take(everybody, rows + 2)
        run.finish()
        assert "shared000.h5 is being written by another server, which is not heard of" in run.log()
    expect(tmp_path / "run.h5", rows + 2, columns=LARGE)
    assert not list(tmp_path.glob("run.parts/*/*.damaged"))


@pytest.mark.parametrize("locks", [True, False])
def test_a_server_that_is_killed_in_its_turn_loses_nothing_and_the_next_goes_on_in_the_file(tmp_path, locks):
    environment = {} if locks else NO_LOCKS
    with NodesRun(tmp_path, text_of(1, timeout="6s", columns=LARGE), NODES, environment=environment) as run:
        steps = Steps(run.init())
        everybody = range(6)
        for _ in range(3):
            killed = server_on(run, 2, steps)
            has_file = locks_files if locks else (lambda pid: owns_files(run, pid))
            stop_in_its_turn(run, killed, has_file, lambda: steps.take(everybody))
            os.kill(killed, signal.SIGKILL)
            await_death(killed)
            steps.take(everybody)
        rows = max(steps.done) + 1
        steps.take(everybody, rows)
        run.finish()
    expect(tmp_path / "run.h5", rows, columns=LARGE)
