# SPDX-License-Identifier: Apache-2.0
"""The store "raw": every byte, read by NumPy as the page says, also of servers that are killed or stopped anywhere."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import LIMIT, Run, await_death, data, same_bits, xml

PAGE = (pathlib.Path(__file__).parents[2] / "docs/reference/raw.md").read_text()
DATA = """<layout name="l" type="double" dimensions="1000"/><layout name="g" type="int" dimensions="6,4" global="12,4" ghosts="1:1,0"/>
<variable name="u" layout="l"/><group name="a"><variable name="b" layout="g"/></group>"""
BYTES = {"u": 8000, "a/b": 96}


def store(**options):
    return '<store name="out" type="raw">' + "".join(f'<option name="{k.replace("_", "-")}" value="{v}"/>' for k, v in options.items()) + \
        "</store>"


def seed(rank, iteration, name):
    return 1000 * iteration + 10 * rank + len(name)


def write(run, iterations):
    for iteration in iterations:
        for rank in run.ranks:
            rank.must("set_position", "a/b", 0, 4 * rank.number, 0)
            for name, size in BYTES.items():
                assert rank.write(name, size, seed(rank.number, iteration, name)).ok
            rank.start("end_iteration")
        for rank in run.ranks:
            assert rank.result().ok


def stored(folder):
    """{(iteration, variable, rank): array}, by the index."""
    head, *lines = (json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines())
    types = {variable["name"]: variable["type"] for variable in head["variables"]}
    found = {}
    for line in lines:
        assert line["complete"]
        for b in line["blocks"]:
            key = (line["iteration"], b["variable"], b["rank"])
            assert key not in found
            found[key] = np.fromfile(folder / b["file"], types[b["variable"]], int(np.prod(b["extent"])), offset=b["offset"])
            assert found[key].nbytes == b["bytes"]
            assert b["variable"] == "u" or (b["position"], b["global"]) == ([4 * b["rank"], 0], [12, 4])
    return found


def check(folder, ranks, iterations):
    found = stored(folder)
    assert set(found) == {(i, name, r) for i in iterations for name in BYTES for r in ranks}
    for (iteration, name, rank), values in found.items():
        wanted = data(values.size, values.dtype.str[1:], seed(rank, iteration, name))
        assert same_bits(values, wanted), (iteration, name, rank)


@pytest.mark.parametrize("options, files", [
    ({}, ["a.b.bin", "u.bin"]),
    ({"file_per": "iteration", "durability": "iteration"}, [f"iteration-{i:010d}.bin" for i in range(6)]),
    ({"folder": "some/where"}, ["a.b.bin", "u.bin"])])
def test_every_byte_is_there(tmp_path, options, files):
    with Run(tmp_path, xml(DATA, store=store(**options), cores=2), ranks=3) as run:
        run.init()
        write(run, range(6))
        run.finish()
    folder = tmp_path / options.get("folder", "run.raw")
    check(folder, range(3), range(6))
    assert sorted(p.name for p in folder.iterdir()) == sorted([*files, "index.jsonl"])
    if "u.bin" in files:
        assert (folder / "u.bin").stat().st_size == 6 * 3 * 8000


def test_the_program_of_the_page_reads_it(tmp_path):
    with Run(tmp_path, xml(DATA, store=store())) as run:
        run.init()
        write(run, range(2))
        run.finish()
    program = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    wanted = [f"{i} {name} 0 {stored(tmp_path / 'run.raw')[i, name, 0].sum()}" for i in range(2) for name in ("u", "a/b")]
    assert done.stdout.splitlines() == wanted, done.stderr


@pytest.mark.parametrize("per", ["variable", "iteration"])
def test_a_killed_server_loses_nothing_and_writes_nothing_twice(tmp_path, per):
    with Run(tmp_path, xml(DATA, store=store(file_per=per), timeout="20s"), ranks=2) as run:
        run.init()
        write(run, range(7))
        done, until = 7, time.monotonic() + LIMIT
        for _ in range(2):
            server = run.server()
            os.kill(server, signal.SIGKILL)
            await_death(server)
            while not run.servers():  # until a rank has looked
                assert time.monotonic() < until
                write(run, [done])
                time.sleep(0.01)
                done += 1
        write(run, range(done, done + 5))
        run.finish()
        check(tmp_path / "run.raw", range(2), range(done + 5))


VARIABLES = [variable("u", "f8", ["x"]), variable("v", "i4", ["?x"])]


def give(plugin, i):
    return plugin.iteration(i, plugin.block(0, (1000,), i), plugin.block(1, (i % 5 * 100,), i), plugin.block(1, (7,), i + 1, block=1))


def check_given(folder, iterations):
    head, *lines = (json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines())
    assert [line["iteration"] for line in lines] == list(iterations)
    for line in lines:
        i = line["iteration"]
        wanted = [array((1000,), "f8", i), array((i % 5 * 100,), "i4", i), array((7,), "i4", i + 1)]
        for block, array_ in zip(line["blocks"], wanted, strict=True):
            found = np.fromfile(folder / block["file"], array_.dtype, array_.size, offset=block["offset"])
            assert same_bits(found, array_), block


@pytest.mark.parametrize("call", ["pwrite64", "write", "openat", "ftruncate"])
@pytest.mark.parametrize("per", ["variable", "iteration"])
def test_a_server_that_dies_in_any_call(tmp_path, call, per):
    """Each successor dies in a call that is one further; iterations come again from the last that was done, or one before it."""
    done, options = 0, {"file-per": per}
    for when in range(1, 15):
        wrapper = ("strace", "-f", "-qq", "-o", tmp_path / "calls", "-P", tmp_path / "run.raw", "-P", tmp_path / "run.raw/u.bin", "-P",
                   tmp_path / "run.raw/v.bin", "-P", tmp_path / "run.raw/index.jsonl", "-e", f"inject={call}:signal=KILL:when={when}")
        plugin = Plugin(tmp_path, VARIABLES, plugin="raw", wrapper=wrapper, options=options, resumed=int(when > 1), simulation="run",
                        begin=False)
        try:
            plugin.begin()
            assert plugin.answer() == ""
            first = max(0, done - 1)
            for i in range(first, first + 4):
                assert give(plugin, i) == ""
                done = max(done, i + 1)
        except (ValueError, BrokenPipeError):  # no answer
            pass
        plugin.kill()
    plugin = Plugin(tmp_path, VARIABLES, plugin="raw", options=options, resumed=1, simulation="run")
    for i in range(max(0, done - 1), done + 3):
        assert give(plugin, i) == ""
    plugin.finish()
    check_given(tmp_path / "run.raw", range(done + 3))


def test_a_full_disk_is_said_and_what_is_there_is_whole(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, plugin="raw", simulation="run")
    for i in range(3):
        assert give(plugin, i) == ""
    plugin.limit(3 * 8000 + 100)
    assert "cannot write into the folder run.raw: File too large" in give(plugin, 3)
    plugin.limit(1 << 30)
    assert give(plugin, 4) == ""
    plugin.finish()
    check_given(tmp_path / "run.raw", [0, 1, 2, 4])
    assert (tmp_path / "run.raw/u.bin").stat().st_size == 4 * 8000


def test_a_line_that_was_cut_is_taken_away(tmp_path):
    with Run(tmp_path, xml(DATA, store=store())) as run:
        run.init()
        write(run, range(3))
        index = tmp_path / "run.raw/index.jsonl"
        until = time.monotonic() + LIMIT
        while not index.exists() or index.read_text().count("\n") < 4:
            assert time.monotonic() < until
            time.sleep(0.01)
        stopped = run.server()
        os.kill(stopped, signal.SIGSTOP)
        with open(index, "a") as cut:
            cut.write('{"iteration":3,"bl')
        os.kill(stopped, signal.SIGKILL)
        write(run, range(3, 6))
        run.finish()
        check(tmp_path / "run.raw", range(1), range(6))


def test_an_earlier_run_is_kept(tmp_path):
    for _ in range(2):
        with Run(tmp_path, xml(DATA, store=store())) as run:
            run.init()
            write(run, range(4))
            run.finish()
    assert "run.raw was there already and is called run.raw.1 now" in run.log()
    for name in ("run.raw", "run.raw.1"):
        check(tmp_path / name, range(1), range(4))


def test_two_runs_are_not_mixed(tmp_path):
    text = xml(DATA, store=store(folder="same"))
    with Run(tmp_path, text) as one, Run(tmp_path, text, name="two") as two:
        one.init()
        write(one, range(2))
        answers = [rank.init() for rank in two.ranks]
        if answers[0].ok:
            write(two, range(2))
            assert two.finalize()[0].status == "LEAT_ERROR_LOST"
        one.finish()
        assert "another run writes to same" in two.log() + answers[0].error
        check(tmp_path / "same", range(1), range(2))


@pytest.mark.parametrize("options, said", [
    ({"file_per": "rank"}, 'option "file-per" is "rank", and may be "variable" or "iteration"'),
    ({"compression": "gzip"}, 'there is no option "compression" of a raw store')])
def test_wrong_options_are_refused_at_the_start(tmp_path, options, said):
    with Run(tmp_path, xml(DATA, store=store(**options))) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_CONFIG" and said in answer.error, answer


def test_it_is_built_outside_of_the_tree_with_the_plugin_abi_alone(tmp_path):
    tree = pathlib.Path(__file__).parents[2]
    for room in ("server/include", "server/plugins/common", "server/plugins/raw"):
        shutil.copytree(tree / room, tmp_path / room)
    sources = [path for path in (tmp_path / "server/plugins").glob("*/*.cpp") if path.name not in ("check.cpp", "questions.cpp")]
    subprocess.run(["c++", "-std=c++20", "-D_GNU_SOURCE", "-shared", "-fPIC", "-Wl,-z,defs", "-I", tmp_path, *sources, "-o",
                    tmp_path / "raw.so"], check=True)
    assert "leat_plugin_entry" in subprocess.run(["nm", "-D", tmp_path / "raw.so"], capture_output=True, text=True, check=True).stdout
