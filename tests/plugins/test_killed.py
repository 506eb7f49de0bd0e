# SPDX-License-Identifier: Apache-2.0
"""The hdf5 store is killed (SIGKILL, sent by strace) at each of its writes to the disk, one after the other."""
import os
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits
from stored_blocks import stored_blocks

VARIABLES = [variable("a", "f8", ["x"]), variable("r", "f8", ["?n"]), variable("s", "f8", []),
             variable("g", "f4", ["y", "x"], **{"global": 1})]
ITERATIONS = 6
TIME = {"time_parameter": 0, "time_unit": "s"}


def blocks(plugin, i):
    return [plugin.block(0, (300,), i), plugin.block(1, (7 * i % 5,), i), plugin.block(2, (), i),
            plugin.block(3, (30, 40), i, position=[0, 0], **{"global": [30, 40]})]


def run_until(folder, compression, strace):
    """A run under strace; how many iterations were said to be stored."""
    folder.mkdir(exist_ok=True)
    said = 0
    try:
        plugin = Plugin(folder, VARIABLES, options={"compression": compression}, wrapper=["strace", "-f", "-qq", *strace], **TIME)
        for i in range(ITERATIONS):
            plugin.must(i, *blocks(plugin, i), parameters={"t": i / 7})
            said += 1
        plugin.finish()
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        pass
    return said


def rows_of(path):
    """Number of iterations in the file, every one of which is right to the last bit."""
    with h5py.File(path) as file:
        for thing in (file, *(file[name] for name in file)):
            assert all("\\x00" not in repr(text) for text in dict(thing.attrs).values() if isinstance(text, str | bytes))
        rows = len(file["iteration"])
        if rows > 0:  # these are made with the first row
            assert file["time"][:rows].tolist() == [i / 7 for i in range(rows)] and file["leat/iteration_complete"][:rows].all()
        assert file["iteration"][:].tolist() == list(range(rows))
        ends = np.cumsum([0] + [7 * i % 5 for i in range(rows)])
        for i in range(rows):
            assert same_bits(file["a"][i], array((300,), "f8", i))
            assert same_bits(file["s"][i], array((1,), "f8", i)[0])
            assert same_bits(file["g"][i], array((30, 40), "f4", i))
            assert len(stored_blocks(file, "r", i)[0, 0]) == 7 * i % 5
            assert same_bits(file["r"][ends[i]:ends[i + 1]], array((7 * i % 5,), "f8", i))
    return rows


def recover(path):
    return subprocess.run([BUILD / "bin/leat", "recover", path], capture_output=True, text=True)


@pytest.mark.parametrize("compression, step", [("none", 1), ("deflate:1", 3)])
def test_killed_at_any_write_the_file_has_every_iteration_that_was_stored(tmp_path, compression, step):
    """At each write in turn, or each third one: the file opens after `leat recover` at the latest, and mostly without."""
    trace = tmp_path / "trace"
    assert run_until(tmp_path / "whole", compression, ["-e", "trace=pwrite64", "-o", trace]) == ITERATIONS
    writes = len(re.findall("pwrite64", trace.read_text()))
    assert writes > 50 and rows_of(tmp_path / "whole/run.h5") == ITERATIONS
    finished = opened = 0
    for number in range(1, writes + 1, step):
        folder = tmp_path / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        said = run_until(folder, compression, ["-o", "/dev/null", "-e", f"inject=pwrite64:signal=KILL:when={number}"])
        if (folder / "run.h5").exists():  # it gets its name when it can be read
            done = recover(folder / "run.h5")
            assert done.returncode == 0, (number, done.stderr)
            finished += "its last commit is finished now" in done.stdout
            assert said <= rows_of(folder / "run.h5") <= said + 1, (number, said)
            assert os.listdir(folder) == ["run.h5"]
            opened += 1
    assert opened > (0.9 * writes - 30) / step
    assert finished > 0, "no kill fell into the changes of a commit"
    print(f"{writes} moments, {finished} in the midst of a commit")


def many_blocks(folder, strace):
    """A run of blocks that go to the file together, under strace; how many iterations were said to be stored."""
    folder.mkdir()
    said = 0
    try:
        plugin = Plugin(folder, [variable(f"v{v}", "f8", ["x"]) for v in range(6)], options={"exists": "replace"},
                        wrapper=["strace", "-f", "-qq", *strace])
        for i in range(ITERATIONS):
            plugin.must(i, *(plugin.block(v, (9000 + v,), 10 * i + v) for v in range(6)))
            said += 1
        plugin.finish()
    except (AssertionError, OSError, ValueError):
        pass
    return said


@pytest.mark.parametrize("failure", ["signal=KILL", "error=EIO", "retval=100"])
def test_blocks_that_are_written_together_are_whole_whatever_befalls_the_write(tmp_path, failure):
    """Killed there, or refused, or cut short by the system: then each block is written by itself."""
    trace = tmp_path / "trace"
    assert many_blocks(tmp_path / "whole", ["-e", "trace=pwritev", "-o", trace]) == ITERATIONS
    assert len(re.findall("pwritev", trace.read_text())) == ITERATIONS, "not all were written together"
    for number in (1, ITERATIONS // 2, ITERATIONS):
        folder = tmp_path / f"at-{number}"
        said = many_blocks(folder, ["-o", "/dev/null", "-e", f"inject=pwritev:{failure}:when={number}"])
        assert said == (number - 1 if "KILL" in failure else ITERATIONS)
        if "KILL" in failure:
            assert recover(folder / "run.h5").returncode == 0
        with h5py.File(folder / "run.h5") as file:
            assert file["iteration"][:].tolist() == list(range(said)) and (said == 0 or file["leat/iteration_complete"][:].all())
            for i in range(said):
                for v in range(6):
                    assert same_bits(file[f"v{v}"][i], array((9000 + v,), "f8", 10 * i + v))


def test_the_next_run_finishes_the_commit_too(tmp_path):
    folder = tmp_path / "run"
    for number in range(60, 160):
        shutil.rmtree(folder, ignore_errors=True)
        run_until(folder, "none", ["-o", "/dev/null", "-e", f"inject=pwrite64:signal=KILL:when={number}"])
        journal = folder / ".run.h5.journal"
        if journal.exists() and journal.read_bytes()[:4] == b"LEAT":
            break
    else:
        pytest.fail("no kill left a journal")
    plugin = Plugin(folder, VARIABLES)
    plugin.finish()
    assert rows_of(folder / "run.1.h5") >= 0 and not journal.exists()


def test_a_journal_of_another_file_is_not_applied(tmp_path):
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as file:
        file["iteration"] = np.arange(3)
    before = path.read_bytes()
    (tmp_path / ".run.h5.journal").write_bytes(b"LEATJRN1" + bytes(24))
    done = recover(path)
    assert done.returncode == 3 and "its last commit is NOT finished; 3 iterations" in done.stdout, done
    assert path.read_bytes() == before and (tmp_path / "run.h5.journal.damaged").exists()


def test_what_is_no_file_of_leat_is_said_to_be(tmp_path):
    (tmp_path / "text.h5").write_text("hello")
    done = recover(tmp_path / "text.h5")
    assert done.returncode == 1 and "is it an HDF5 file that Leat has written?" in done.stderr
    done = recover(pathlib.Path("/nowhere/run.h5"))
    assert done.returncode == 1 and "leat recover: " in done.stderr


@pytest.mark.parametrize("durability", ["iteration", "close"])
def test_what_others_changed_after_a_kill_is_not_undone(tmp_path, durability):
    """The journal of a killed writer still has its last changes; all were made, so none is made again."""
    plugin = Plugin(tmp_path, VARIABLES, options={"durability": durability}, **TIME)
    for i in range(3):
        plugin.must(i, *blocks(plugin, i), parameters={"t": i / 7})
    plugin.process.kill()
    plugin.process.wait()
    assert (tmp_path / ".run.h5.journal").read_bytes()[:4] == b"LEAT"
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file.attrs["note"] = "seen"
        del file["g"]
        file["iteration"].resize((2,))
    before = (tmp_path / "run.h5").read_bytes()
    done = recover(tmp_path / "run.h5")
    assert done.returncode == 0 and "nothing had to be done; 2 iterations" in done.stdout, done
    assert (tmp_path / "run.h5").read_bytes() == before and os.listdir(tmp_path) == ["run.h5"]
