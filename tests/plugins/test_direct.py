# SPDX-License-Identifier: Apache-2.0
"""io="direct" of the hdf5 store: large blocks go past the page cache, and a reader finds the same."""
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


def run(folder, io, strace=("-o", "/dev/null", "-e", "trace=none"), durability="none"):
    """Iterations that were said to be stored, and the warnings."""
    folder.mkdir()
    stored, warnings = [], ""
    try:
        plugin = Plugin(folder, VARIABLES, options={"io": io, "durability": durability}, wrapper=["strace", "-f", "-qq", *strace])
        for i in range(ITERATIONS):
            if not plugin.iteration(i, *(plugin.block(v, shape, 10 * i + v) for v, shape in enumerate(SHAPES))):
                stored.append(i)
        _, warnings = plugin.close()
    except (OSError, ValueError):  # it was killed
        pass
    return stored, warnings


def has(path, stored):
    with h5py.File(path) as file:
        whole = [int(i) for i, complete in zip(file["iteration"][:], file["iteration_complete"][:]) if complete]
        assert whole == stored
        for i in whole:
            for v, shape in enumerate(SHAPES):
                assert same_bits(file[f"v{v}"][i], array(shape, "f8", 10 * i + v)), (i, v)


def direct_writes(trace):
    """(number among all writes, length, place, line of strace) of what went past the page cache."""
    found = re.search(r"/proc/self/fd/\d+\", O_WRONLY\|O_DIRECT\|O_CLOEXEC\) = (\d+)", trace.read_text())
    writes = re.findall(r"(pwrite64\((\d+), .*, (\d+), (\d+)\) .*)", trace.read_text())
    return [(i, int(n), int(at), line) for i, (line, fd, n, at) in enumerate(writes, 1) if fd == found[1]]


@pytest.mark.parametrize("durability", ["none", "iteration"])
def test_the_same_is_read_however_it_was_written(tmp_path, durability):
    trace = tmp_path / "trace"
    for io in ("buffered", "direct"):
        stored, warnings = run(tmp_path / io, io, ["-o", trace, "-e", "trace=pwrite64,openat"], durability)
        assert (stored, warnings) == (ALL, "")
        has(tmp_path / io / "run.h5", ALL)
    writes = direct_writes(trace)
    assert all(n % 4096 == 0 and at % 4096 == 0 for _, n, at, _ in writes)
    data = ITERATIONS * 8 * sum(a * b for a, b in [(1 << 19, 1), (2048, 257)])
    assert sum(n for _, n, _, _ in writes) > 0.4 * data, writes


def test_where_it_is_not_possible_the_store_says_so_once_and_goes_on(tmp_path):
    trace = tmp_path / "trace"
    run(tmp_path / "found", "direct", ["-o", trace, "-e", "trace=openat"])
    number = next(i for i, line in enumerate(trace.read_text().splitlines(), 1) if "O_DIRECT|" in line)
    stored, warnings = run(tmp_path / "run", "direct",
                           ["-o", "/dev/null", "-e", "trace=openat", "-e", f"inject=openat:error=EINVAL:when={number}"])
    assert stored == ALL and warnings.count('io="direct" is not possible here') == 1
    has(tmp_path / "run/run.h5", ALL)


@pytest.mark.parametrize("failure", ["error=EINVAL", "error=ENOSPC", "error=EIO", "signal=KILL"])
def test_a_large_write_that_fails_costs_at_most_its_iteration(tmp_path, failure):
    """EINVAL: a file system that refuses it after all."""
    trace = tmp_path / "trace"
    run(tmp_path / "found", "direct", ["-o", trace, "-e", "trace=pwrite64,openat"])
    large = [write[0] for write in direct_writes(trace)]
    for number in (large[0], large[len(large) // 2], large[-1]):
        folder = tmp_path / f"at-{number}"
        stored, _ = run(folder, "direct",
                        ["-o", trace, "-e", "trace=pwrite64,openat", "-e", f"inject=pwrite64:{failure}:when={number}"])
        if "KILL" in failure:
            assert recover(folder / "run.h5").returncode == 0
        else:  # memory may lie otherwise than before, and the write be another
            goes_on = "EINVAL" in failure and any("INJECTED" in line for *_, line in direct_writes(trace))
            assert len(stored) == ITERATIONS - (not goes_on)
        has(folder / "run.h5", stored)
