# SPDX-License-Identifier: Apache-2.0
"""A file system without locks: all that Leat has works there, and two runs do not write one file."""
import socket
import subprocess

import h5py
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits
from nodes import Nodes
from same_instant import KINDS, VARIABLES, blocks_of, expect_run, play

WITHOUT = ("env", f"LD_PRELOAD={BUILD / 'lib/no_locks.so'}")
ONE = [variable("u", "f8", ["x"])]


def leat(*words, cwd):
    return subprocess.run([*WITHOUT, BUILD / "bin/leat", *words], cwd=cwd, capture_output=True, text=True, timeout=60)


def start(folder, **more):
    return Plugin(folder, ONE, wrapper=WITHOUT, **more)


def give(plugin, iterations):
    for i in iterations:
        plugin.must(i, plugin.block(0, (5,), i))


def expect(path, rows):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(rows))
        assert all(same_bits(file["u"][i], array((5,), "f8", i)) for i in range(rows))


def hidden(folder):
    return sorted(p.name for p in folder.rglob(".*"))


def test_a_run_on_several_nodes_its_view_and_all_commands(tmp_path):
    run = Nodes(tmp_path, VARIABLES, [[0], [1]], wrappers=[WITHOUT] * 2)
    for i in range(2):
        run.must(i, *blocks_of(run.plugins[0], "s1", i, 2))
        if i == 0:
            done = leat("view", "run.h5", cwd=tmp_path)  # while they write
            assert done.returncode == 0, done.stderr
    assert not run.finish()
    expect_run(tmp_path / "run.h5", "s1", 2)
    for words in (["merge", "run.h5", "m.h5"], ["view", "run.h5"], ["recover", "run.h5"], ["ls", "run.h5"],
                  ["recover", "run.parts/s1/rank000001.h5"], ["view", "run.parts", "--output", "v.h5"]):
        done = leat(*words, cwd=tmp_path)
        assert done.returncode == 0 and not done.stderr, (words, done)
    for name in ("run.h5", "m.h5", "v.h5"):
        expect_run(tmp_path / name, "s1", 2)
    assert hidden(tmp_path) == []


def test_of_two_runs_in_a_folder_the_second_takes_another_name(tmp_path):
    first = start(tmp_path, session="a")
    give(first, [0])
    assert hidden(tmp_path)[-1] == ".run.h5.owner"
    second = start(tmp_path, session="b")
    give(second, [0, 1])
    said = second.finish()
    assert f"is being written by another run by process {first.process.pid} on {socket.gethostname()} (there are no locks" in said
    give(first, [1, 2])
    assert not first.finish()
    expect(tmp_path / "run.h5", 3)
    expect(tmp_path / "run-b.h5", 2)
    assert hidden(tmp_path) == []


def test_the_file_of_a_run_at_work_is_not_recovered_and_that_of_a_killed_one_is(tmp_path):
    plugin = start(tmp_path)
    give(plugin, range(3))
    while_it_writes = leat("recover", "run.h5", cwd=tmp_path)
    assert while_it_writes.returncode == 1 and f"by process {plugin.process.pid} on" in while_it_writes.stderr
    shown = leat("ls", "run.h5", cwd=tmp_path)
    assert shown.returncode == 0 and "running" in shown.stdout.splitlines()[0], shown.stdout
    give(plugin, [3])
    plugin.kill()
    assert leat("recover", "run.h5", cwd=tmp_path).returncode == 0
    expect(tmp_path / "run.h5", 4)
    resumed = start(tmp_path, resumed=1)
    give(resumed, [4])
    assert not resumed.finish()
    expect(tmp_path / "run.h5", 5)
    assert hidden(tmp_path) == []


def test_what_another_host_has_is_not_touched_and_its_lock_is_named(tmp_path):
    give(plugin := start(tmp_path), range(2))
    plugin.finish()
    owner = tmp_path / ".run.h5.owner"
    owner.write_text("elsewhere 1 1\n")
    done = leat("recover", "run.h5", cwd=tmp_path)
    assert done.returncode == 1 and "by process 1 on elsewhere" in done.stderr and "remove .run.h5.owner" in done.stderr
    owner.unlink()
    assert leat("recover", "run.h5", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("text", ["", "elsewhere", "\0" * 20, f"{socket.gethostname()} 999999999 1\n", f"{socket.gethostname()} 1 1\n"])
def test_a_lock_of_nobody_is_free(tmp_path, text):
    """Of a process that is dead, of one whose number another has now, or cut off by a full disk."""
    (tmp_path / ".run.h5.owner").write_text(text)
    give(plugin := start(tmp_path), range(2))
    assert not plugin.finish() and hidden(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_all_start_write_and_end_at_the_same_instant(tmp_path, kind, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", WITHOUT[1].split("=")[1])
    play(tmp_path, kind, 3)
