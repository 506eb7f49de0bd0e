# SPDX-License-Identifier: Apache-2.0
"""io="direct" and "auto" of the hdf5 store: large blocks go past the page cache, always or where that costs least, and a reader
finds the same."""
import re

import h5py
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import same_bits
from test_killed import recover

# Whole chunks; chunks that end within a page; less than what is worth while.
SHAPES = [(1 << 19,), (2048, 257), (1000,)]
VARIABLES = [variable(f"v{v}", "f8", ["y", "x"][-len(shape):]) for v, shape in enumerate(SHAPES)]
ITERATIONS = 4
ALL = list(range(ITERATIONS))
FIRST_TRY = 2  # of "auto"
DATA = 8 * sum((1 << 19, 2048 * 257))  # bytes of an iteration that may go past the page cache


def blocks(plugin, iteration):
    return [plugin.block(v, shape, 10 * iteration + v) for v, shape in enumerate(SHAPES)]


def run(folder, io, strace=("-o", "/dev/null", "-e", "trace=none"), durability="none", waiting=lambda iteration: 0,
        iterations=ITERATIONS, **more):
    """Iterations that were said to be stored, and the warnings. waiting: iterations behind each."""
    folder.mkdir()
    stored, warnings = [], ""
    options = {"durability": durability} | ({"io": io} if io else {})
    try:
        plugin = Plugin(folder, VARIABLES, options=options, wrapper=["strace", "-f", "-qq", *strace], **more)
        for i in range(iterations):
            if not plugin.iteration(i, *blocks(plugin, i), waiting=waiting(i)):
                stored.append(i)
        _, warnings = plugin.close()
    except (OSError, ValueError):  # it was killed
        pass
    return stored, warnings


def has(path, stored):
    with h5py.File(path) as file:
        complete = file["leat/iteration_complete"][:] if len(file["iteration"]) else []  # which comes with the first one
        whole = [int(i) for i, is_whole in zip(file["iteration"][:], complete) if is_whole]
        assert whole == stored
        for i in whole:
            for v, shape in enumerate(SHAPES):
                assert same_bits(file[f"v{v}"][i], array(shape, "f8", 10 * i + v)), (i, v)


def direct_writes(trace):
    """(number among all writes, length, place, line of strace) of what went past the page cache."""
    found = re.search(r"/proc/thread-self/fd/\d+\", O_WRONLY\|O_DIRECT\|O_CLOEXEC\) = (\d+)", trace.read_text())
    if not found:
        return []
    writes = re.findall(r"(pwrite64\((\d+), .*, (\d+), (\d+)\) .*)", trace.read_text())
    return [(i, int(n), int(at), line) for i, (line, fd, n, at) in enumerate(writes, 1) if fd == found[1]]


@pytest.mark.parametrize("durability", ["none", "iteration"])
def test_the_same_is_read_however_it_was_written(tmp_path, durability):
    trace = tmp_path / "trace"
    past = {}
    for io in ("buffered", "auto", "direct"):
        stored, warnings = run(tmp_path / io, io, ["-o", trace, "-e", "trace=pwrite64,openat"], durability)
        assert (stored, warnings) == (ALL, "")
        has(tmp_path / io / "run.h5", ALL)
        writes = direct_writes(trace)
        assert all(n % 4096 == 0 and at % 4096 == 0 for _, n, at, _ in writes)
        past[io] = sum(n for _, n, _, _ in writes)
    assert past["buffered"] == 0 and past["direct"] > 0.4 * ITERATIONS * DATA
    assert 0 < past["auto"] <= (ITERATIONS - FIRST_TRY) * DATA


def test_a_store_that_says_nothing_goes_through_the_page_cache_and_auto_tries_the_other_way(tmp_path):
    for io, is_direct in ((None, False), ("auto", True)):
        trace = tmp_path / f"trace-{io}"
        assert run(tmp_path / f"run-{io}", io, ["-o", trace, "-e", "trace=pwrite64,openat"]) == (ALL, "")
        assert bool(direct_writes(trace)) == is_direct


def test_a_file_written_in_both_ways_in_turn_is_the_same_to_who_reads_all_of_it_in_between(tmp_path):
    """What a reader has had in the page cache, or the store has written there, is no other than what is on the disk."""
    plugin = Plugin(tmp_path, VARIABLES, options={"io": "auto"}, infos=1)
    for i in range(20):
        plugin.must(i, *blocks(plugin, i), waiting=int(i % 6 == 3))
        has(tmp_path / "run.h5", list(range(i + 1)))
    log = plugin.finish()
    past, waited = re.search(r"past the page cache in (\d+) of 20 iterations.*", log), "as iterations were waiting" in log
    assert 0 < int(past[1]) < 18 and (waited or "more than a quarter" in log), log
    has(tmp_path / "run.h5", list(range(20)))


def test_auto_stays_away_from_the_disk_while_iterations_wait(tmp_path):
    trace = tmp_path / "trace"
    assert run(tmp_path / "run", "auto", ["-o", trace, "-e", "trace=pwrite64,openat"], waiting=lambda i: 1) == (ALL, "")
    assert "O_DIRECT|" not in trace.read_text()
    has(tmp_path / "run/run.h5", ALL)


def test_auto_goes_back_when_the_disk_is_slow_and_says_so(tmp_path):
    """A piece that takes 5 s, where an iteration takes a fraction of one."""
    trace = tmp_path / "trace"
    run(tmp_path / "found", "auto", ["-o", trace, "-e", "trace=pwrite64,openat"])
    first = direct_writes(trace)[0][0]
    slow = ["-o", trace, "-e", "trace=pwrite64,openat", "-e", f"inject=pwrite64:delay_enter=5000000:when={first}"]
    stored, log = run(tmp_path / "run", "auto", slow, infos=1)
    assert stored == ALL and len(direct_writes(trace)) == 1
    assert "past the page cache in 1 of 4 iterations; back through it once, as the disk took more than a quarter" in log
    has(tmp_path / "run/run.h5", ALL)


@pytest.mark.parametrize("io", ["direct", "auto"])
def test_where_it_is_not_possible_the_store_goes_on_and_says_so_once_if_it_was_asked_for(tmp_path, io):
    trace = tmp_path / "trace"
    run(tmp_path / "found", io, ["-o", trace, "-e", "trace=openat"])
    number = next(i for i, line in enumerate(trace.read_text().splitlines(), 1) if "O_DIRECT|" in line)
    stored, warnings = run(tmp_path / "run", io,
                           ["-o", trace, "-e", "trace=openat", "-e", f"inject=openat:error=EINVAL:when={number}"])
    assert stored == ALL and warnings.count("is not possible here") == (io == "direct")
    assert trace.read_text().count("O_DIRECT|") == 1
    has(tmp_path / "run/run.h5", ALL)


@pytest.mark.parametrize("io", ["direct", "auto"])
@pytest.mark.parametrize("failure", ["error=EINVAL", "error=EOPNOTSUPP", "error=ENOSPC", "error=EIO", "signal=KILL"])
def test_a_large_write_that_fails_costs_at_most_its_iteration(tmp_path, failure, io):
    """EINVAL, EOPNOTSUPP: a file system that refuses it after all."""
    trace = tmp_path / "trace"
    run(tmp_path / "found", io, ["-o", trace, "-e", "trace=pwrite64,openat"])
    large = [write[0] for write in direct_writes(trace)]
    # Of "auto" only the first is sure to be one in the next run too.
    for number in {large[0], large[len(large) // 2], large[-1]} if io == "direct" else {large[0]}:
        folder = tmp_path / f"at-{number}"
        stored, _ = run(folder, io,
                        ["-o", trace, "-e", "trace=pwrite64,openat", "-e", f"inject=pwrite64:{failure}:when={number}"])
        if "KILL" in failure:
            assert recover(folder / "run.h5").returncode == 0
        else:  # memory may lie otherwise than before, and the write be another
            goes_on = ("EINVAL" in failure or "EOPNOTSUPP" in failure) and any("INJECTED" in line for *_, line in direct_writes(trace))
            assert len(stored) == ITERATIONS - (not goes_on)
        has(folder / "run.h5", stored)
