# SPDX-License-Identifier: Apache-2.0
"""Files that are cut off or damaged, as a power cut, a full disk or a copy leaves them: each command ends, by itself and not by a
signal, says what is wrong where it fails, and what is whole in other files can be read. Each kind of damage at a few places that stay;
`make soak` damages them anywhere."""
import pathlib
import random
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, mesh, variable
from leat_run import BUILD, LIMIT, same_bits
from nodes import Nodes

VARIABLES = [variable("u", "f8", ["y", "x"], unit="K", mesh=0, **{"global": 1}), variable("p", "f4", ["?n", "xyz"]),
             variable("e", "f8", []), variable("m", "i4", ["k"], time_varying=0)]
PLATE = [mesh("plate", "uniform", 2, origin=[0.0, 0.0], spacing=[1.0, 1.0])]
PARTS = "run.parts/s1"
SECOND = f"{PARTS}/rank000001.h5"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return written(tmp_path_factory.mktemp("whole"))


def written(folder):
    run = Nodes(folder, VARIABLES, [[0], [1]], options={"compression": "deflate:4"}, meshes=PLATE)
    for i in range(3):
        blocks = []
        for r in (0, 1):
            blocks += [run.block(0, (20, 30), 10 * i + r, rank=r, position=[20 * r, 0], **{"global": (40, 30)}),
                       run.block(1, (5 + r + i, 3), i, rank=r), run.block(2, (), i, rank=r)]
            blocks += [run.block(3, (7,), r, rank=r)] if i == 0 else []
        run.must(i, *sorted(blocks, key=lambda b: (b["variable"], b["rank"])), parameters={"a": 0.5 * i})
    assert not run.finish()
    return folder


KINDS = ["cut", "bit", "bytes", "zeros"]


def damaged(data, dice, kind):
    """Cut off, a bit or a few bytes changed, or a piece of zeros: where something is."""
    made = bytearray(data)
    used = np.flatnonzero(np.frombuffer(data, "u1"))
    at = int(used[dice.randrange(len(used))])
    if kind == "cut":
        return bytes(made[:at])
    if kind == "bit":
        made[at] ^= 1 << dice.randrange(8)
    elif kind == "bytes":
        for _ in range(4):
            made[int(used[dice.randrange(len(used))])] = dice.randrange(256)
    else:
        length = dice.choice([8, 64, 512])
        made[at:at + length] = bytes(len(made[at:at + length]))
    return bytes(made)


def expect_end(*words, cwd):
    """It ends within the time that a test may take, and not by a signal; where it fails it says why."""
    done = subprocess.run([BUILD / "bin/leat", *words], cwd=cwd, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    assert done.returncode in (0, 1, 3), (words, done)
    said = any(line.startswith("leat ") for line in done.stderr.splitlines())  # the C library may have said something before
    assert done.returncode == 0 or said or "damaged" in done.stdout, (words, done)
    return done


def expect_first_part(path):
    with h5py.File(path) as file:
        for i in range(3):
            assert same_bits(file["u"][i, :20], array((20, 30), "f8", 10 * i))


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_part(whole, tmp_path, kind):
    dice = random.Random(KINDS.index(kind))
    for turn in range(2):
        expect_the_other_part(whole, tmp_path / str(turn), dice, kind)


def expect_the_other_part(whole, folder, dice, kind):
    """The damage may be in values that nobody can know, so what is asked for is the other part."""
    shutil.copytree(whole, folder)
    part = folder / SECOND
    part.write_bytes(damaged((whole / SECOND).read_bytes(), dice, kind))
    expect_end("recover", SECOND, cwd=folder)
    expect_end("ls", SECOND, cwd=folder)
    expect_end("merge", "run.h5", "m.h5", cwd=folder)
    made = expect_end("view", PARTS, "-o", "v.h5", cwd=folder)
    if made.returncode == 0:
        expect_first_part(folder / "v.h5")
        assert "left out: " not in made.stdout or "rank000001.h5" in made.stdout
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("length", [0, 7, 40, 2048, 8192])
def test_of_a_part_that_is_cut_off_the_view_shows_the_others(whole, tmp_path, length):
    shutil.copytree(whole, tmp_path / "run")
    part = tmp_path / "run" / SECOND
    part.write_bytes(part.read_bytes()[:length])
    for words in (["view", "run.h5"], ["recover", "run.h5"], ["view", PARTS, "-o", "v.h5"]):
        made = expect_end(*words, cwd=tmp_path / "run")
        assert made.returncode == 0 and "left out: " in made.stdout and SECOND in made.stdout, made
        assert "the parts of 1 of its 2 ranks are missing" in made.stdout
        expect_first_part(tmp_path / "run" / words[-1 if words[0] == "view" else 1])
    merged = expect_end("merge", "run.h5", "m.h5", cwd=tmp_path / "run")
    assert merged.returncode == 0
    expect_first_part(tmp_path / "run/m.h5")


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_view_costs_nothing_but_itself(whole, tmp_path, kind):
    expect_the_same_view(whole, tmp_path / "run", random.Random(1000 + KINDS.index(kind)), kind)


def expect_the_same_view(whole, folder, dice, kind):
    """It is made anew from the parts, and the next run in the folder sets it aside."""
    shutil.copytree(whole, folder)
    (folder / "run.h5").write_bytes(damaged((whole / "run.h5").read_bytes(), dice, kind))
    expect_end("recover", "run.h5", cwd=folder)
    made = expect_end("view", PARTS, "-o", "v.h5", cwd=folder)
    assert made.returncode == 0, made
    with h5py.File(folder / "v.h5") as now, h5py.File(whole / "run.h5") as before:
        assert same_bits(now["u"][()], before["u"][()])
    run = Nodes(folder, VARIABLES, [[0], [1]], session="s2", meshes=PLATE)
    run.must(0, *[run.block(0, (20, 30), r, rank=r, position=[20 * r, 0], **{"global": (40, 30)}) for r in (0, 1)])
    run.finish()
    with h5py.File(folder / "run.h5") as file:
        assert same_bits(file["u"][0, :20], array((20, 30), "f8", 0)) and file.attrs["session"] == b"s2"


@pytest.mark.parametrize("write", [240, 400])
def test_a_damaged_journal(tmp_path, write):
    expect_ends_over_journals(tmp_path, write, random.Random(write), KINDS)


def expect_ends_over_journals(folder, write, dice, kinds):
    """The writer is killed in its `write`th write; with its journal the file is whole, with one that is damaged the command says what
    it finds."""
    killed = ("strace", "-f", "-qq", "-o", folder / "trace", "-e", f"inject=pwrite64:signal=KILL:when={write}+")
    plugin = Plugin(folder, VARIABLES, wrapper=killed, meshes=PLATE)
    stored = 0
    try:
        while stored < 50:
            plugin.must(stored, plugin.block(0, (20, 30), stored, position=[0, 0], **{"global": (20, 30)}), plugin.block(2, (), stored))
            stored += 1
    except (ValueError, BrokenPipeError):  # no answer
        pass
    plugin.kill()
    assert 0 < stored < 50
    file, journal = folder / "run.h5", folder / ".run.h5.journal"
    data, notes = file.read_bytes(), journal.read_bytes()
    for kind in [None, *kinds]:
        with open(file, "r+b") as same_inode:
            same_inode.truncate(0)
            same_inode.write(data)
        journal.write_bytes(damaged(notes, dice, kind) if kind else notes)
        expect_end("ls", "run.h5", cwd=folder)
        done = expect_end("recover", "run.h5", cwd=folder)
        if kind is None:
            assert done.returncode == 0, done
            with h5py.File(file) as now:
                assert now["iteration"][:].tolist()[:stored] == list(range(stored))
                assert all(same_bits(now["u"][i], array((20, 30), "f8", i)) for i in range(stored))


def with_program(folder, script):
    """The plugin with another program beside it that is to make views."""
    (folder / "plugins").mkdir()
    shutil.copy(BUILD / "lib/leat/plugins/hdf5.so", folder / "plugins")
    if script:
        (folder / "plugins/view-hdf5").write_text(script)
        (folder / "plugins/view-hdf5").chmod(0o755)
    return folder / "plugins/hdf5"


SMALL = [variable("u", "f8", ["x"])]


@pytest.mark.parametrize("script, said", [
    ("#!/bin/sh\nkill -SEGV $$\n", "the HDF5 library crashed (Segmentation fault) over its parts"),
    ("#!/bin/sh\nexit 3\n", "ended with status 3"), ("#!/bin/sh\necho no such luck; exit 1\n", ": no such luck;"),
    ("", "cannot start")])
def test_a_crash_over_a_part_is_none_of_the_server(tmp_path, script, said):
    """The parts of other nodes may be anything: a server looks at them in a process of its own."""
    plugin = Plugin(tmp_path, SMALL, plugin=with_program(tmp_path, script), ranks=2, node_ranks=1, first_rank=0, session="s1")
    for i in range(2):
        plugin.must(i, plugin.block(0, (4,), i))
    warnings = plugin.finish()
    assert said in warnings and "`leat view run.parts/s1` makes it" in warnings, warnings
    with h5py.File(tmp_path / "run.parts/s1/rank000000.h5") as part:
        assert part["iteration"][:].tolist() == [0, 1]


def test_a_view_that_never_ends_is_given_up_and_the_run_goes_on(tmp_path):
    """HDF5 does not come back from some files. It is tried once for long, and not with each iteration."""
    script = f"#!/bin/sh\necho $$ >> {tmp_path}/started\nexec sleep 1000\n"
    plugin = Plugin(tmp_path, SMALL, plugin=with_program(tmp_path, script), ranks=2, node_ranks=1, first_rank=0, session="s1")
    for i in range(3):
        plugin.must(i, plugin.block(0, (4,), i))
    (started,) = (tmp_path / "started").read_text().split()
    assert not pathlib.Path(f"/proc/{started}").exists()
    plugin.kill()
