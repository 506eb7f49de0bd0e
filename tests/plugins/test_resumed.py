# SPDX-License-Identifier: Apache-2.0
"""A store in a server that goes on for one that was killed: what it has written in the end is what it would have written
undisturbed, to the last bit, as h5py reads it."""
import os
import re
import shutil

import h5py
import numpy as np
import pytest
from h5_compare import expect_same
from leat_plugin import Plugin, array, variable
from leat_run import same_bits

LAST = 11
GLOBAL = {"global": 1}
# Every layout that the store tells apart; text and a constant too. "late" comes in the middle of the run.
VARIABLES = [
    variable("fields/grid", "f8", ["y", "x"], **GLOBAL, unit="K", description="temperature"),
    variable("ghosts", "f4", [("y", 1, 2), ("x", 0, 1)], **GLOBAL),
    variable("amr", "i4", ["?y", "x"], **GLOBAL),
    variable("large", "f8", ["y", "x"], **GLOBAL),
    variable("blocks", "i2", ["x"]),
    variable("several", "u1", ["x"]),
    variable("sizes", "c16", ["y", "x"]),
    variable("atoms", "f8", ["?atom", "xyz"]),
    variable("patches", "u2", ["?y", "?x"]),
    variable("energy", "f8", []),
    variable("odd", "f8", ["x"]),
    variable("late", "i8", ["x"]),
    variable("mesh", "f8", ["x"], time_varying=0),
    variable("one", "i8", [], time_varying=0),
    variable("edges", "f8", ["?n"], time_varying=0),
    variable("text", "S1", ["n"]),
    variable("deflated", "f8", ["y", "x"], **GLOBAL, options={"compression": "deflate:3"}),
    variable("packed", "f8", ["?n"], options={"compression": "deflate:1"}),
    variable("odd_written", "i4", ["x"]),  # a name that the store would have taken
]
TIME = {"time_parameter": 2, "time_unit": "days since 2000-01-01", "calendar": "noleap"}  # "t", behind "n" and "s"
NUMBER = {v["name"]: i for i, v in enumerate(VARIABLES)}


def blocks_of_rank(block, i, rank, ranks):
    """All that a rank writes in iteration `i`; `block(name, extent, **more)` makes a block."""
    def part(name, rows, columns, low=0, high=0, right=0):
        return block(name, (rows + low + high, columns + right), position=[rank * rows, 0], **{"global": (ranks * rows, columns)})

    yield part("fields/grid", 5, 7)
    yield part("ghosts", 4, 6, 1, 2, 1)
    yield part("amr", 3 + i % 4, 5)
    if i % 3 != 1 or rank != ranks - 1:  # a block that is missing
        yield part("large", 40, 300)
    yield block("blocks", (9,))
    for number in range(1 + (i + rank + 1) % 3):
        yield block("several", (6,), block=number)
    yield block("sizes", (2 + i % 2, 3))
    yield block("atoms", ((7 * i + 3 * rank) % 5, 3))
    for number in range((i + rank) % 3):
        yield block("patches", (1 + i % 3, 2 + number), block=number)
    yield block("energy", ())
    if i % 2:
        yield block("odd", (4,))
    if i >= 7:
        yield block("late", (3,))
    if i == 0:
        yield block("mesh", (8,))
        yield block("one", ())
        yield block("edges", (4 + rank,))
    yield block("text", (5,))
    yield part("deflated", 30, 40)
    yield block("packed", (900 + 10 * ((i + rank) % 4),))
    yield block("odd_written", (2,))


def blocks(plugin, i, ranks):
    made = []
    for rank in range(ranks):
        def block(name, extent, rank=rank, **more):
            seed = 1 + 1000 * i + 100 * rank + 10 * NUMBER[name] + more.get("block", 0)
            return plugin.block(NUMBER[name], extent, seed, rank=rank, **more)
        made += blocks_of_rank(block, i, rank, ranks)
    return sorted(made, key=lambda b: (b["variable"], b["rank"], b.get("block", 0)))


def parameters(i):
    return {"n": i if i % 3 else None, "t": None if i == 3 else i / 7, "s": f"step {i}" * (1 + i % 3)}


def results(plugin, i):
    """One script makes something of each iteration, another of some, of sizes that change."""
    mean = plugin.result("mean", "f8", [], (), 3 * i, unit="K")
    some = [plugin.result("counts", "i8", ["bin"], (4 + i % 3,), i)] if i % 2 else []
    assert not plugin.results("means", i, mean, *some)
    if i % 3 == 0:
        assert not plugin.results("maps", i, plugin.result("map", "f4", ["y", "x"], (3, 2 + i), i))


def step(plugin, i, ranks):
    plugin.must(i, *blocks(plugin, i, ranks), parameters=parameters(i), complete=int(i != 4))
    results(plugin, i)


def start(folder, ranks=3, **more):
    folder.mkdir(exist_ok=True)
    plugin = Plugin(folder, VARIABLES, ranks=ranks, xml="<simulation>x</simulation>", **TIME, **more)
    assert not plugin.opened, plugin.opened
    return plugin


def undisturbed(folder, ranks=3, **more):
    plugin = start(folder, ranks, **more)
    for i in range(LAST + 1):
        step(plugin, i, ranks)
    plugin.finish()
    return folder / "run.h5"


@pytest.mark.parametrize("ranks, options", [(1, {}), (3, {}), (3, {"compression": "deflate:2"})])
@pytest.mark.parametrize("k", [0, 1, 5, 8])
def test_the_file_is_that_of_a_run_that_was_not_killed(tmp_path, ranks, options, k):
    plugin = start(tmp_path / "killed", ranks, options=options)
    for i in range(k + 1):
        step(plugin, i, ranks)
    plugin.kill()
    plugin = start(tmp_path / "killed", ranks, options=options, resumed=1)
    for i in range(max(0, k - 1), LAST + 1):
        step(plugin, i, ranks)
    assert plugin.finish() == ""
    expect_same(tmp_path / "killed/run.h5", undisturbed(tmp_path / "whole", ranks, options=options))
    assert os.listdir(tmp_path / "killed") == ["run.h5"]


def test_killed_after_every_iteration_the_file_is_the_same(tmp_path):
    for i in range(LAST + 1):
        plugin = start(tmp_path / "killed", resumed=int(i > 0))
        for again in range(max(0, i - 1), i + 1):
            step(plugin, again, 3)
        with h5py.File(tmp_path / "killed/run.h5") as file:  # while it is being written
            assert file["iteration"][:].tolist() == [*range(i + 1)] and file["scripts/means/mean"].shape == (i + 1,)
        plugin.kill()
    start(tmp_path / "killed", resumed=1).finish()
    expect_same(tmp_path / "killed/run.h5", undisturbed(tmp_path / "whole"))


def run_until_killed(folder, first, strace, resumed, steps=LAST + 1):
    """A run under strace from iteration `first`; the first one that was not said to be stored."""
    folder.mkdir(exist_ok=True)
    i = first
    try:
        plugin = Plugin(folder, VARIABLES, ranks=2, xml="<simulation>x</simulation>", resumed=resumed, **TIME,
                        wrapper=["strace", "-f", "-qq", *strace])
        for i in range(first, steps):
            step(plugin, i, 2)
        plugin.finish()
        return steps
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        return i


def killed_at(number):
    return ["-o", "/dev/null", "-e", f"inject=pwrite64:signal=KILL:when={number}"]


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    return undisturbed_six(tmp_path_factory.mktemp("six"))


def undisturbed_six(folder):
    """An undisturbed run of 6 iterations: its file, and how many writes it makes."""
    trace = folder / "trace"
    assert run_until_killed(folder / "whole", 0, ["-e", "trace=pwrite64", "-o", trace], 0, 6) == 6
    return folder / "whole/run.h5", len(re.findall("pwrite64", trace.read_text()))


def finish(folder, first):
    plugin = start(folder, 2, resumed=1)
    for i in range(first, 6):
        step(plugin, i, 2)
    plugin.finish()


MOMENTS = 7  # that stay; `make soak` has any


@pytest.mark.parametrize("part", range(2))
def test_killed_at_any_write_the_file_is_the_same(tmp_path, six, part):
    whole, writes = six
    for number in np.linspace(1, writes, MOMENTS, dtype=int)[part::2]:
        folder = tmp_path / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        stored = run_until_killed(folder, 0, killed_at(number), 0, 6)
        finish(folder, max(0, stored - 1))
        expect_same(folder / "run.h5", whole)
        assert os.listdir(folder) == ["run.h5"], number


def test_killed_at_any_write_again_and_again(tmp_path, six):
    whole, writes = six
    random = np.random.default_rng(7)
    for _ in range(MOMENTS // 6):
        folder = tmp_path / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        stored = 0
        for attempt in range(3):
            stored = run_until_killed(folder, max(0, stored - 1), killed_at(random.integers(1, writes // 2)), int(attempt > 0), 6)
        finish(folder, max(0, stored - 1))
        expect_same(folder / "run.h5", whole)


def small(folder, seeds, **more):
    folder.mkdir(exist_ok=True)
    plugin = Plugin(folder, [variable("a", "i4", ["x"]), variable("b", "i4", ["x"])], **more)
    assert not plugin.opened, plugin.opened
    for i, seed in seeds.items():
        plugin.must(i, plugin.block(0, (3,), seed))
    return plugin


def values(path):
    with h5py.File(path) as file:
        return {int(i): file["a"][row].tolist() for row, i in enumerate(file["iteration"])}


def wanted(seeds):
    return {i: array((3,), "i4", seed).tolist() for i, seed in seeds.items()}


def two(folder, iterations, **more):
    """"a" in each iteration, others in some and of other sizes; how many were said to be stored."""
    folder.mkdir(exist_ok=True)
    stored = 0
    try:
        plugin = Plugin(folder, [variable(name, "i4", dims, **({"global": 1} if name == "grid" else {})) for name, dims in (
            ("a", ["x"]), ("b", ["x"]), ("new", ["x"]), ("grid", ["?y"]), ("ragged", ["?n"]))], **more)
        for i in iterations:
            size = 9 if i == 2 else 4
            even = [plugin.block(1, (3,), i)] if i % 2 == 0 else []
            new = [plugin.block(2, (size,), i)] if i in (2, 8) else []
            plugin.must(i, plugin.block(0, (3,), i), *even, *new,
                        plugin.block(3, (size,), i, position=[0], **{"global": [size]}), plugin.block(4, (size,), i))
            stored += 1
        (plugin.finish if 8 in iterations else plugin.kill)()
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        pass
    return stored


def writes_of(folder, iterations):
    two(folder, iterations, wrapper=["strace", "-f", "-qq", "-e", "trace=pwrite64", "-o", folder.parent / "trace"])
    return len(re.findall("pwrite64", (folder.parent / "trace").read_text()))


def test_what_was_written_of_an_iteration_that_never_comes_is_not_seen(tmp_path):
    """Each kill falls into iteration 2, which wrote more than 7, which comes in its place."""
    first, end = writes_of(tmp_path / "before", range(2)), writes_of(tmp_path / "behind", range(3))
    two(tmp_path / "with", (0, 1, 2, 7, 8))
    two(tmp_path / "without", (0, 1, 7, 8))
    seen = set()
    for number in range(first + 1, end + 1):
        folder = tmp_path / f"killed{number}"
        stored = two(folder, range(3), wrapper=["strace", "-f", "-qq", *killed_at(number)])
        assert stored >= 2 and two(folder, (7, 8), resumed=1) == 2
        with h5py.File(folder / "run.h5") as file:
            same = "with" if 2 in file["iteration"][:] else "without"
        assert stored == 2 or same == "with"
        expect_same(folder / "run.h5", tmp_path / same / "run.h5")
        seen.add(same)
    assert seen == {"with", "without"}


def test_iterations_that_are_there_are_not_stored_again_not_even_incomplete_ones_and_results_have_one_row(tmp_path):
    plugin = small(tmp_path, {0: 10})
    assert plugin.iteration(1, plugin.block(0, (3,), 11), {**plugin.block(0, (3,), 12, block=1), "extent": [-3]}) != ""
    assert not plugin.results("s", 1, plugin.result("r", "f8", [], (), 1))
    plugin.kill()
    plugin = small(tmp_path, {1: 99, 2: 12}, resumed=1)
    for i in (1, 2):
        assert not plugin.results("s", i, plugin.result("r", "f8", [], (), 10 * i))
    plugin.finish()
    assert values(tmp_path / "run.h5") == wanted({0: 10, 1: 11, 2: 12})
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1, 0, 1]
        assert file["scripts/s/iteration"][:].tolist() == [1, 2]
        assert same_bits(file["scripts/s/r"][:], np.array([array((), "f8", 10), array((), "f8", 20)])), "the last, once"


@pytest.mark.parametrize("exists", ["keep", "replace"])
def test_a_file_of_another_run_is_not_continued(tmp_path, exists):
    small(tmp_path, {0: 1, 1: 2}, session="other").finish()
    warnings = small(tmp_path, {1: 3}, session="mine", resumed=1, options={"exists": exists}).finish()
    assert "run.h5 is of another run, of session other" in warnings and "not there" in warnings
    assert values(tmp_path / "run.h5") == wanted({1: 3})
    assert sorted(os.listdir(tmp_path)) == (["run.1.h5", "run.h5"] if exists == "keep" else ["run.h5"])


def test_the_file_that_a_run_writes_beside_that_of_another_is_found_again(tmp_path):
    other = small(tmp_path, {0: 1}, session="other")
    mine = small(tmp_path, {0: 2}, session="mine")
    mine.kill()
    other.finish()
    small(tmp_path, {0: 2, 1: 3}, session="mine", resumed=1).finish()
    assert values(tmp_path / "run-mine.h5") == wanted({0: 2, 1: 3}) and values(tmp_path / "run.h5") == wanted({0: 1})


@pytest.mark.parametrize("exists", ["keep", "replace"])
@pytest.mark.parametrize("harm", ["no file of HDF5", "without its iterations"])
def test_a_file_that_cannot_be_continued_is_kept_and_the_run_goes_on_in_another(tmp_path, harm, exists):
    small(tmp_path, {0: 1}).kill()
    if harm == "no file of HDF5":
        os.truncate(tmp_path / "run.h5", 300)
    else:
        with h5py.File(tmp_path / "run.h5", "r+") as file:
            del file["leat/iteration_complete"], file["iteration"]
            file["iteration"] = "a text"
    plugin = Plugin(tmp_path, [variable("a", "i4", ["x"])], resumed=1, options={"exists": exists})
    assert not plugin.opened
    plugin.must(1, plugin.block(0, (3,), 2))
    warnings = plugin.finish()
    assert "run.h5 cannot be continued, and is called run.1.h5 now" in warnings, warnings
    assert values(tmp_path / "run.h5") == wanted({1: 2})
    assert sorted(os.listdir(tmp_path)) == ["run.1.h5", "run.h5"]


def test_a_resumed_run_that_had_no_file_yet_makes_one(tmp_path):
    (tmp_path / ".run.h5.part").write_text("half of a file")
    small(tmp_path, {0: 1}, resumed=1).finish()
    assert values(tmp_path / "run.h5") == wanted({0: 1}) and os.listdir(tmp_path) == ["run.h5"]


def test_nothing_is_lost_when_a_full_disk_and_a_kill_come_together(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], limit=3_000_000)
    plugin.must(0, plugin.block(0, (50_000,), 0))
    assert plugin.iteration(1, plugin.block(0, (500_000,), 1)) != ""
    plugin.kill()
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], resumed=1)
    for i in range(3):
        plugin.must(i, plugin.block(0, (50_000,), i))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
        assert all(same_bits(file["a"][i], array((50_000,), "f8", i)) for i in range(3))


def trace(folder, numbers, **more):
    plugin = Plugin(folder, [variable("t", "f8", ["x"])], plugin="trace", ranks=2, **more)
    for i in numbers:
        plugin.must(i, *[plugin.block(0, (2,), i, rank=rank) for rank in range(2)])
    return plugin


@pytest.mark.parametrize("half", [b"", b"iteration 3 rank 0 block 0 t (2) 16 bytes\n",
                                  b"iteration 3 rank 0 block 0 t (2) 16 bytes\niteration 3 ra", b"iter"])
def test_trace_has_each_line_once(tmp_path, half):
    path = tmp_path / "run.trace.txt"
    trace(tmp_path, range(5)).finish()
    whole = path.read_bytes()
    trace(tmp_path, range(3)).kill()
    path.write_bytes(path.read_bytes() + half)
    trace(tmp_path, range(1, 5), resumed=1).finish()
    assert path.read_bytes() == whole
