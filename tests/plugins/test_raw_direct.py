# SPDX-License-Identifier: Apache-2.0
"""io="direct" and "auto" of the raw store: large blocks go past the page cache, and the files are the same, bit for bit, also of
servers that are killed and on disks that fail."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import numpy as np
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, LIMIT, Run, await_death, data, same_bits, xml

MIB = 1 << 20
# Bytes of the blocks of an iteration: what is not worth while, what ends within a page, what is longer than a part; behind the 16
# bytes it lies in memory to pages as in the file.
SIZES = [0, 1, MIB, 4095, 4096, MIB - 1, 4097, MIB + 4095, 5 * MIB + 1, 5]
ALIKE = [16, 2 * MIB]
VARIABLES = [variable("odd", "u1", ["?x"]), variable("alike", "u1", ["?x"])]
ITERATIONS = 3
LARGE = sum(size for size in SIZES + ALIKE if size >= MIB)
TRACED = "trace=pwrite64,openat"


def blocks(plugin, iteration):
    return [plugin.block(v, (size,), 100 * iteration + b, block=b)
            for v, sizes in enumerate((SIZES, ALIKE)) for b, size in enumerate(sizes)]


def wanted(iteration, v, b):
    return array(((SIZES, ALIKE)[v][b],), "u1", 100 * iteration + b)


def run(folder, io, strace=("-o", "/dev/null", "-e", "trace=none"), per="variable", iterations=range(ITERATIONS), resumed=0, **more):
    """Iterations that were said to be stored, and the log."""
    folder.mkdir(exist_ok=True)
    stored, log = [], ""
    try:
        plugin = Plugin(folder, VARIABLES, plugin="raw", simulation="run", options={"file-per": per} | ({"io": io} if io else {}),
                        wrapper=["strace", "-f", "-qq", *strace], resumed=resumed, **more)
        for i in iterations:
            if not plugin.iteration(i, *blocks(plugin, i)):
                stored.append(i)
        _, log = plugin.close()
    except (OSError, ValueError):  # it was killed
        pass
    return stored, log


def has(folder, stored, is_closed=True):
    """These, each file as long as the index says."""
    _, *lines = (json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines())
    assert [line["iteration"] for line in lines] == list(stored)
    ends = {}
    for line in lines:
        for block in line["blocks"]:
            v = ["odd", "alike"].index(block["variable"])
            found = np.fromfile(folder / block["file"], "u1", block["bytes"], offset=block["offset"])
            assert same_bits(found, wanted(line["iteration"], v, block["block"])), block
            assert ends.get(block["file"], 0) == block["offset"]
            ends[block["file"]] = block["offset"] + block["bytes"]
    for name, end in ends.items():
        assert (folder / name).stat().st_size == end or not is_closed and name in ("odd.bin", "alike.bin")


def direct_writes(trace):
    """(number among all writes, length, place, line of strace) of what went past the page cache."""
    found, is_direct, number = [], {}, 0
    for line in trace.read_text().splitlines():
        if opened := re.search(r"openat\(.*, (O_\S+?)(?:, 0\d+)?\) = (\d+)", line):
            is_direct[opened[2]] = "O_DIRECT" in opened[1].split("|")
        if written := re.search(r"pwrite64\((\d+), .*, (\d+), (\d+)\) .*", line):
            number += 1
            if is_direct.get(written[1]):
                found.append((number, int(written[2]), int(written[3]), written[0]))
    return found


@pytest.mark.parametrize("per", ["variable", "iteration"])
def test_files_are_the_same_however_they_were_written(tmp_path, per):
    trace, past, files = tmp_path / "trace", {}, {}
    for io in (None, "buffered", "auto", "direct"):
        folder = tmp_path / str(io)
        assert run(folder, io, ["-o", trace, "-e", TRACED], per) == (list(range(ITERATIONS)), "")
        has(folder / "run.raw", range(ITERATIONS))
        writes = direct_writes(trace)
        assert all(n % 4096 == 0 and at % 4096 == 0 for _, n, at, _ in writes)
        past[io] = sum(n for _, n, _, _ in writes)
        files[io] = {file.name: file.read_bytes() for file in (folder / "run.raw").iterdir()}
    assert past[None] == past["buffered"] == 0 and 0 < past["auto"] < past["direct"]
    assert ITERATIONS * (LARGE - 2 * 4096 * 5) < past["direct"] <= ITERATIONS * LARGE
    assert files[None] == files["buffered"] == files["auto"] == files["direct"]


def test_memory_for_what_lies_otherwise_is_found_once(tmp_path):
    """A variable's blocks move in pages from one iteration to the next, and what is "alike" needs none."""
    trace = tmp_path / "trace"
    run(tmp_path / "run", "direct", ["-o", trace, "-e", "trace=madvise"], iterations=range(6))
    has(tmp_path / "run/run.raw", range(6))
    assert trace.read_text().count("MADV_HUGEPAGE") == 1


def test_a_file_system_in_memory_has_the_same(tmp_path):
    """tmpfs, of kernels that have O_DIRECT there and of those that have not."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        folder = tmp_path.__class__(folder)
        stored, log = run(folder, "direct")
        assert stored == list(range(ITERATIONS)) and log.count("is not possible here") == log.count("\n") <= 1
        has(folder / "run.raw", range(ITERATIONS))


@pytest.mark.parametrize("io", ["direct", "auto"])
def test_where_it_is_not_possible_the_store_goes_on_and_says_so_once_if_it_was_asked_for(tmp_path, io):
    trace = tmp_path / "trace"
    run(tmp_path / "found", io, ["-o", trace, "-e", "trace=openat"])
    number = next(i for i, line in enumerate(trace.read_text().splitlines(), 1) if "O_DIRECT|" in line)
    stored, log = run(tmp_path / "run", io, ["-o", trace, "-e", "trace=openat", "-e", f"inject=openat:error=EINVAL:when={number}"])
    assert stored == list(range(ITERATIONS)) and trace.read_text().count("O_DIRECT|") == 1
    assert log == ('run.raw: io="direct" is not possible here, it is written through the page cache: Invalid argument\n'
                   if io == "direct" else "")
    has(tmp_path / "run/run.raw", stored)


def large_writes(folder, per):
    """Numbers, among all writes, of some that go past the page cache: the first one, one in the middle, the last one."""
    run(folder, "direct", ["-o", folder / "trace", "-e", TRACED], per)
    numbers = [write[0] for write in direct_writes(folder / "trace")]
    return numbers[0], numbers[len(numbers) // 2], numbers[-1]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return {per: large_writes(tmp_path_factory.mktemp("found"), per) for per in ("variable", "iteration")}


@pytest.mark.parametrize("failure, which", [("EINVAL", 0), ("EINVAL", 1), ("EINVAL", 2), ("EOPNOTSUPP", 1), ("EINTR", 1)])
def test_a_file_system_that_refuses_after_all_costs_nothing(tmp_path, large, failure, which):
    trace = tmp_path / "trace"
    stored, log = run(tmp_path, "direct",
                      ["-o", trace, "-e", TRACED, "-e", f'inject=pwrite64:error={failure}:when={large["variable"][which]}'])
    writes = direct_writes(trace)
    at, = (i for i, write in enumerate(writes) if "INJECTED" in write[3])
    assert stored == list(range(ITERATIONS)) and log.count("is not possible here") == (failure != "EINTR")
    assert (at == len(writes) - 1) == (failure != "EINTR")
    has(tmp_path / "run.raw", stored)


@pytest.mark.parametrize("failure, which", [("ENOSPC", 0), ("ENOSPC", 1), ("ENOSPC", 2), ("EIO", 1)])
def test_a_disk_that_fails_costs_an_iteration(tmp_path, large, failure, which):
    stored, log = run(tmp_path, "direct", ["-o", tmp_path / "trace", "-e", TRACED, "-e",
                                           f'inject=pwrite64:error={failure}:when={large["variable"][which]}'])
    assert stored == [i for i in range(ITERATIONS) if i != which] and "cannot write into the folder run.raw: " in log
    has(tmp_path / "run.raw", stored)


@pytest.mark.parametrize("taken", [0, 512, 4096])
def test_a_large_write_of_which_less_was_taken_goes_on_behind_it(tmp_path, large, taken):
    """strace says so, and writes nothing of that: pages that are not whole cannot go past the page cache any more."""
    trace = tmp_path / "trace"
    stored, log = run(tmp_path, "direct",
                      ["-o", trace, "-e", TRACED, "-e", f'inject=pwrite64:retval={taken}:when={large["variable"][1]}'])
    (_, size, place, _), = (write for write in direct_writes(trace) if "INJECTED" in write[3])
    assert stored == list(range(ITERATIONS)) and log.count("is not possible here") == (taken == 0)
    assert f", {size - taken}, {place + taken}) = {size - taken}" in trace.read_text()
    assert any(at == place + taken for _, _, at, line in direct_writes(trace) if "INJECTED" not in line) == (taken == 4096)


def test_a_full_disk_in_the_middle_of_a_large_block(tmp_path):
    """What has been written by then is written over."""
    plugin = Plugin(tmp_path, VARIABLES, plugin="raw", simulation="run", options={"io": "direct"})
    plugin.must(0, *blocks(plugin, 0))
    plugin.limit(2 * sum(SIZES) - 3 * MIB - 100)
    assert "cannot write into the folder run.raw: File too large" in plugin.iteration(1, *blocks(plugin, 1))
    plugin.limit(1 << 40)
    plugin.must(2, *blocks(plugin, 2))
    plugin.finish()
    has(tmp_path / "run.raw", [0, 2])


@pytest.mark.parametrize("per", ["variable", "iteration"])
@pytest.mark.parametrize("which", range(3))
def test_a_server_that_is_killed_in_a_large_write(tmp_path, large, per, which):
    """The next one goes on behind what has a line."""
    killed = ["-o", tmp_path / "trace", "-e", TRACED, "-e", f"inject=pwrite64:signal=KILL:when={large[per][which]}"]
    stored, _ = run(tmp_path, "direct", killed, per)
    assert stored == list(range(which))
    has(tmp_path / "run.raw", stored, is_closed=False)
    run(tmp_path, "direct", per=per, iterations=range(len(stored), ITERATIONS + 1), resumed=1)
    has(tmp_path / "run.raw", range(ITERATIONS + 1))


def test_an_iteration_that_comes_again_with_less_leaves_nothing_behind_it(tmp_path):
    """Of a dead server is more in the file of the iteration than there is now: a rank has died too."""
    killed = ["-o", tmp_path / "trace", "-e", "inject=write:signal=KILL:when=2", "-P", tmp_path / "run.raw/index.jsonl"]
    assert run(tmp_path, "direct", killed, "iteration")[0] == []
    file = tmp_path / "run.raw/iteration-0000000000.bin"
    assert file.stat().st_size == sum(SIZES + ALIKE)
    plugin = Plugin(tmp_path, VARIABLES, plugin="raw", simulation="run", options={"file-per": "iteration", "io": "direct"}, resumed=1)
    plugin.must(0, *blocks(plugin, 0)[:4], complete=0)
    assert file.stat().st_size == sum(SIZES[:4])
    plugin.finish()
    has(tmp_path / "run.raw", [0])


SIZE = 3 * MIB + 8
DATA = f'<layout name="l" type="double" dimensions="{SIZE // 8}"/><variable name="u" layout="l"/><variable name="v" layout="l"/>'
STORE = '<store name="out" type="raw"><option name="io" value="direct"/></store>'


def check_run(folder, ranks, iterations):
    _, *lines = (json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines())
    assert [line["iteration"] for line in lines] == list(iterations)
    for line in lines:
        assert {(b["variable"], b["rank"]) for b in line["blocks"]} == {(v, r) for v in "uv" for r in range(ranks)}
        for b in line["blocks"]:
            found = np.fromfile(folder / b["file"], "f8", SIZE // 8, offset=b["offset"])
            assert same_bits(found, data(SIZE // 8, "f8", 10 * line["iteration"] + b["rank"])), b


def write(run, i):
    for rank in run.ranks:
        for name in "uv":
            assert rank.write(name, SIZE, 10 * i + rank.number).ok
        rank.start("end_iteration")
    for rank in run.ranks:
        assert rank.result().ok


def test_a_server_with_two_writers_is_killed_twice(tmp_path):
    with Run(tmp_path, xml(DATA, store=STORE, cores=2, buffer="96MiB", timeout="20s"), ranks=2) as run:
        run.init()
        done, until = 0, time.monotonic() + LIMIT
        for _ in range(2):
            write(run, done)
            server = run.server()
            os.kill(server, signal.SIGKILL)
            await_death(server)
            done += 1
            while not run.servers():  # until a rank has looked
                assert time.monotonic() < until
                write(run, done)
                done += 1
        for i in range(done, done + 2):
            write(run, i)
        run.finish()
        check_run(tmp_path / "run.raw", 2, range(done + 2))
        assert "is not possible here" not in run.log()


def test_a_program_with_the_server_on_a_thread_is_killed(tmp_path):
    """What has a whole line is whole, whenever it dies."""
    rows, columns, frames = 512, 513, 40
    numbers = np.random.default_rng(1).random((frames, rows, columns), "f4")
    numbers.tofile(tmp_path / "frames.bin")
    (tmp_path / "remap.xml").write_text(f"""<simulation name="remap"><architecture><dedicated cores="1" place="thread"/>
<buffer size="64MiB"/></architecture><data><parameter name="rows" type="int"/><parameter name="columns" type="int"/>
<layout name="frame" type="float" dimensions="columns,rows"/><variable name="cube" layout="frame"/></data>
<storage>{STORE}</storage></simulation>""")
    index = tmp_path / "remap.raw/index.jsonl"
    program = subprocess.Popen([BUILD / "bin/remap", "remap.xml", "frames.bin", str(rows), str(columns)], cwd=tmp_path,
                               stderr=subprocess.DEVNULL, env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    until = time.monotonic() + LIMIT
    while not index.exists() or index.read_text().count("\n") < 4:
        assert time.monotonic() < until
    program.kill()
    program.wait()
    lines = [json.loads(line) for line in index.read_text().split("\n")[1:-1]]
    assert len(lines) >= 3
    for i, line in enumerate(lines):
        (b,) = line["blocks"]
        found = np.fromfile(tmp_path / "remap.raw/cube.bin", "f4", rows * columns, offset=b["offset"])
        assert line["iteration"] == i and same_bits(found.reshape(columns, rows).T, numbers[i])
    subprocess.run([BUILD / "bin/leat", "clean"], cwd=tmp_path, env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")}, timeout=LIMIT,
                   capture_output=True)
