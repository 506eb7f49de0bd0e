# SPDX-License-Identifier: Apache-2.0
"""durability="iteration|close|none" of the hdf5 store: what is left after power cuts, made from strace's record of a run."""
import os
import random
import re
import shutil
import time

import h5py
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import same_bits
from power_cut import FILE, FOLDER, JOURNAL, STRACE, Disk, record_of
from test_killed import ITERATIONS, TIME, VARIABLES, blocks, recover, rows_of

CUTS = 120
LIMIT = 60  # seconds, for what takes less than one


def recorded(folder, durability, compression="none", wrapper=()):
    trace = folder / "trace"
    run = folder / "whole"
    run.mkdir()
    options = {"compression": compression, **({"durability": durability} if durability else {})}
    plugin = Plugin(run, VARIABLES, options=options, wrapper=[*STRACE, "-o", trace, *wrapper], **TIME)
    for i in range(ITERATIONS):
        plugin.must(i, *blocks(plugin, i), parameters={"t": i / 7})
    plugin.finish()
    assert rows_of(run / "run.h5") == ITERATIONS and os.listdir(run) == ["run.h5"]
    return record_of(trace)


def wrong_after_cut(folder, events, dice):
    """"" when the file is there and whole; else what is wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    disk = Disk(events[:-1], dice)
    disk.write_to(folder)
    said = events[-1].said
    if FILE not in disk.names:
        return "the file is not there" if said else ""
    done = recover(folder / "run.h5")
    if done.returncode != 0:
        return done.stderr
    try:
        rows = rows_of(folder / "run.h5")
    except Exception as e:  # whatever a reader says of a file that is spoiled
        return f"{type(e).__name__}: {e}"
    return "" if said <= rows <= said + 1 else f"{rows} iterations of {said}"


def wrong_after_cuts(folder, record, first=1):
    """(place, what is wrong), one by one."""
    dice = random.Random(1)
    events = record.events
    for place in sorted(dice.choices(range(first, len(events) + 1), k=CUTS)):
        if answer := wrong_after_cut(folder / "cut", events[:place], dice):
            yield place, answer


@pytest.mark.parametrize("compression", ["none", "deflate:1"])
def test_each_stored_iteration_survives_a_power_cut_at_any_moment(tmp_path, compression):
    record = recorded(tmp_path, "iteration", compression)
    assert record.events[-1].said >= ITERATIONS
    assert list(wrong_after_cuts(tmp_path, record)) == []


def test_without_waiting_a_power_cut_can_spoil_the_file(tmp_path):
    """That the test before can fail. One that is spoiled is enough: HDF5 may go through another for ever, which `leat recover`
    ends after five minutes."""
    record = recorded(tmp_path, "none")
    assert next(wrong_after_cuts(tmp_path, record, first=len(record.events) // 2))


def test_with_none_nothing_is_waited_for(tmp_path):
    assert [e for e in recorded(tmp_path, "none").events if e.kind == "sync"] == []


@pytest.mark.parametrize("durability", [None, "close"])
def test_with_close_the_file_survives_what_comes_after_the_end(tmp_path, durability):
    events = recorded(tmp_path, durability).events
    syncs = [(i, e.of) for i, e in enumerate(events) if e.kind == "sync"]
    assert [of for _, of in syncs] == [FILE, FOLDER], syncs
    assert syncs[0][0] > max(i for i, e in enumerate(events) if e.kind == "write")
    assert [e.kind for e in events[syncs[0][0]:-1]] == ["sync", "unname", "sync"]
    dice = random.Random(2)
    for _ in range(20):
        events[-1].said = ITERATIONS
        assert wrong_after_cut(tmp_path / "cut", events, dice) == ""


def early_writes(trace):
    found = re.findall(r"sync_file_range\(\d+, (\d+), (\d+), SYNC_FILE_RANGE_WRITE\)", trace.read_text())
    return [(int(at), int(size)) for at, size in found]


@pytest.mark.parametrize("durability", ["iteration", "close", "none"])
def test_with_close_the_disk_writes_what_is_new_while_the_run_goes_on(tmp_path, durability):
    """So that not all of it is left for the end. The calls ask, and wait for nothing."""
    trace, most = tmp_path / "trace", 2 * (8 << 20)
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], options={"durability": durability},
                    wrapper=["strace", "-f", "-qq", "-o", trace, "-e", "trace=sync_file_range"])
    for i in range(12):
        plugin.must(i, plugin.block(0, (1 << 18,), i))
    if durability == "close":
        until = time.monotonic() + LIMIT  # a thread does it
        while sum(size for _, size in early_writes(trace)) < (tmp_path / "run.h5").stat().st_size - most:
            assert time.monotonic() < until, trace.read_text()
            time.sleep(0.05)
    plugin.finish()
    asked = early_writes(trace)
    assert all(at + size == after for (at, size), (after, _) in zip(asked, asked[1:])), asked
    if durability != "close":
        assert trace.read_text() == ""


def test_the_order_within_an_iteration_is_the_one_that_is_promised(tmp_path):
    """New data, wait, journal, wait, the word that it is ready, changes, and no word that they are made before they are: see
    committed_file.hpp."""
    events = recorded(tmp_path, "iteration").events
    last = [e for e in events if e.said == ITERATIONS - 1]
    steps = []
    for event in last:
        step = (event.kind, event.of)
        if event.kind in ("write", "sync") and (not steps or steps[-1] != step):
            steps.append(step)
    write, sync = "write", "sync"
    assert steps == [(write, FILE), (sync, FILE), (write, JOURNAL), (sync, JOURNAL), (write, JOURNAL), (write, FILE),
                     (write, JOURNAL)], steps


def small(folder, wrapper=(), **more):
    plugin = Plugin(folder, [variable("a", "i4", ["x"])], wrapper=wrapper, **more)
    if not plugin.opened:
        plugin.must(0, plugin.block(0, (3,), 1))
    return plugin


def holds_the_iteration(path):
    with h5py.File(path) as file:
        return same_bits(file["a"][0].reshape(-1), array((3,), "i4", 1))


def test_where_files_cannot_be_without_a_name_it_is_made_beside(tmp_path):
    """strace refuses the open of that kind, as NFS does."""
    (tmp_path / "run").mkdir()
    refuse = ["strace", "-qq", "-o", tmp_path / "trace", "-P", tmp_path / "run", "-e", "trace=openat", "-e",
              f"inject=openat:error=EOPNOTSUPP:when={open_without_name(tmp_path / 'run')}"]
    (tmp_path / "run/.run.h5.part").write_text("of one that died")
    small(tmp_path / "run", refuse, options={"folder": str(tmp_path / "run")}).finish()
    assert "EOPNOTSUPP" in (tmp_path / "trace").read_text()
    assert holds_the_iteration(tmp_path / "run/run.h5") and os.listdir(tmp_path / "run") == ["run.h5"]


def open_without_name(folder):
    """Which one of the opens that have to do with the folder that is; leaves the folder empty."""
    trace = folder.parent / "opens"
    small(folder, ["strace", "-qq", "-o", trace, "-P", folder, "-e", "trace=openat"], options={"folder": str(folder)}).finish()
    for name in os.listdir(folder):
        (folder / name).unlink()
    opens = [line for line in trace.read_text().splitlines() if line.startswith("openat(")]
    return 1 + next(number for number, line in enumerate(opens) if "O_TMPFILE" in line)


@pytest.mark.parametrize("call", ["linkat", "renameat2"])
def test_a_killed_start_leaves_nothing_that_the_next_does_not_take(tmp_path, call):
    folder = tmp_path / "run"
    folder.mkdir()
    options = {"folder": str(folder)}
    named = ["-e", f"inject=openat:error=EOPNOTSUPP:when={open_without_name(folder)}"] if call == "renameat2" else []
    places = ["-P", folder] if named else []
    kill = ["strace", "-qq", "-o", "/dev/null", *places, "-e", f"trace=openat,{call}", *named, "-e",
            f"inject={call}:signal=KILL"]
    with pytest.raises(Exception):  # noqa: B017  the plugin's process is killed, wherever it is then
        Plugin(folder, [variable("a", "i4", ["x"])], wrapper=kill, options=options)
    small(folder, options=options).finish()
    assert holds_the_iteration(folder / "run.h5")
    assert set(os.listdir(folder)) <= {"run.h5", "run.1.h5"}


def test_what_gets_the_name_meanwhile_is_not_overwritten(tmp_path):
    """strace makes a program of somebody else's faster than the store: its link finds the name taken."""
    taken = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=linkat", "-e", "inject=linkat:error=EEXIST"]
    plugin = Plugin(tmp_path, [variable("a", "i4", ["x"])], wrapper=taken)
    plugin.close()
    assert "cannot create" in plugin.opened and "File exists" in plugin.opened and os.listdir(tmp_path) == []


def test_what_is_no_durability_is_refused(tmp_path):
    plugin = Plugin(tmp_path, [], options={"durability": "always"})
    plugin.close()
    assert 'durability="always"' in plugin.opened and '"iteration", "close" or "none"' in plugin.opened
