# SPDX-License-Identifier: Apache-2.0
"""The checkpoint store, killed (SIGKILL, sent by strace) at each of its calls to the system, or refused there: the newest checkpoint is
whole, and one that was interrupted is none."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess

import numpy as np
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits

VARIABLES = [variable("u", "f8", [("y", 1, 1), ("x", 0, 0)], **{"global": 1}), variable("n", "i4", ["?p"])]
STEPS = range(0, 50, 10)
FOLDER = "run.checkpoint"


def blocks(plugin, step, rank=0):
    return [plugin.block(0, (12, 40), step, rank=rank, position=[10 * rank, 0], **{"global": [10, 40]}),
            plugin.block(1, (step % 7,), step + 1, rank=rank)]


def options(**more):
    return {"options": more, "simulation": "run"}


def crc32c(octets):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    register = 0xFFFFFFFF
    for octet in octets:
        register = table[(register ^ octet) & 255] ^ register >> 8
    return register ^ 0xFFFFFFFF


def is_whole(stem):
    """By the page, and nothing of Leat's."""
    index, file = pathlib.Path(f"{stem}.index"), pathlib.Path(f"{stem}.data")
    octets = index.read_bytes()
    body, end = octets[:-13], octets[-13:]
    if end != b"end\t%08x\n" % crc32c(body) or not file.exists():
        return False
    return ["bytes", str(file.stat().st_size)] in [line.split("\t") for line in body.decode().splitlines()]


def newest(folder):
    """The step of the newest whole one, all of whose bits are right; None: there is none."""
    found = None
    for index in pathlib.Path(folder).glob("checkpoint-*.index"):
        stem = str(index)[:-len(".index")]
        step, generation = (int(part) for part in index.name[len("checkpoint-"):].split(".")[:2])
        assert is_whole(stem), f"{stem} has its name and is not whole"
        found = max(found or (0, 0), (generation, step))
        octets = pathlib.Path(f"{stem}.data").read_bytes()
        lines = [line.split("\t") for line in index.read_text().splitlines()]
        got = {words[1]: octets[int(words[4]):int(words[4]) + int(words[5])] for words in lines if words[0] == "block"}
        assert same_bits(np.frombuffer(got["0"], "f8").reshape(12, 40), array((12, 40), "f8", step))
        assert got["1"] == array((step % 7,), "i4", step + 1).tobytes()
    return found and found[1]


def run_until(folder, strace, steps=STEPS, **more):
    """A run under strace; the last step that was said to be stored."""
    folder.mkdir(exist_ok=True)
    said = None
    try:
        plugin = Plugin(folder, VARIABLES, "checkpoint", wrapper=["strace", "-f", "-qq", *strace], **options(**more))
        assert not plugin.opened
        for step in steps:
            plugin.must(step, *blocks(plugin, step), parameters={"t": step / 7})
            said = step
        plugin.finish()
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        pass
    return said


CALLS = ["pwrite64", "renameat", "fdatasync", "fsync", "unlinkat", "openat"]


def calls_of(tmp_path, more):
    trace = tmp_path / "trace"
    assert run_until(tmp_path / "whole", ["-e", "trace=" + ",".join(CALLS), "-o", trace], **more) == STEPS[-1]
    assert newest(tmp_path / "whole" / FOLDER) == STEPS[-1]
    return {call: len(re.findall(rf"\b{call}\(", trace.read_text())) for call in CALLS}


@pytest.mark.parametrize("more", [{"keep": "2"}, {"keep": "1"}, {"keep": "2", "copy": "second"}], ids=str)
def test_killed_at_any_call_the_newest_is_whole_and_nothing_published_is_lost(tmp_path, more):
    moments = 0
    for call, count in calls_of(tmp_path, more).items():
        for number in range(1, count + 1, 1 if call != "openat" else 5):
            folder = tmp_path / "killed"
            shutil.rmtree(folder, ignore_errors=True)
            said = run_until(folder, ["-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}"], **more)
            here = newest(folder / FOLDER)
            assert said is None or here is not None, (call, number)
            assert here in (said, 0 if said is None else said + 10), (call, number, said, here)
            if "copy" in more:
                there = newest(folder / "second")
                assert there is None or here >= there >= here - 30
            moments += 1
    assert moments > 40


def test_the_next_run_tidies_up_and_is_newer(tmp_path):
    for call in ("renameat", "fdatasync", "pwrite64"):
        for number in range(3, 8):
            folder = tmp_path / f"{call}-{number}"
            said = run_until(folder, ["-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={number}"])
            plugin = Plugin(folder, VARIABLES, "checkpoint", **options())
            names = [path.name for path in (folder / FOLDER).iterdir()]
            assert not [name for name in names if name.endswith(".new")], names
            assert sorted(n[:-6] for n in names if n.endswith(".index")) == sorted(n[:-5] for n in names if n.endswith(".data"))
            plugin.must(0, *blocks(plugin, 0))
            plugin.finish()
            assert newest(folder / FOLDER) == 0, (said, "a run that begins anew outdates what was there")


def test_a_server_that_takes_over_writes_nothing_twice(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", **options())
    plugin.must(10, *blocks(plugin, 10))
    plugin.must(20, *blocks(plugin, 20))
    plugin.kill()
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / FOLDER).iterdir()}
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", resumed=1, **options())
    plugin.must(20, *blocks(plugin, 20))
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / FOLDER).iterdir()} == before
    plugin.must(30, *blocks(plugin, 30))
    plugin.finish()
    names = sorted(path.name for path in (tmp_path / FOLDER).glob("*.index"))
    assert names == ["checkpoint-0000000020.1.0.index", "checkpoint-0000000030.1.0.index"]


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "renameat"])
def test_a_write_that_is_refused_costs_that_checkpoint_alone(tmp_path, call):
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", wrapper=["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                    f"inject={call}:error=ENOSPC:when=4"], **options())
    errors = {step: plugin.iteration(step, *blocks(plugin, step)) for step in STEPS}
    plugin.finish()
    bad = {step: error for step, error in errors.items() if error}
    assert len(bad) == 1 and "No space left" in next(iter(bad.values())) and FOLDER in next(iter(bad.values()))
    assert newest(tmp_path / FOLDER) == STEPS[-1]
    assert not list((tmp_path / FOLDER).glob("*.new"))


def test_a_full_disk_keeps_what_is_there(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", **options())
    plugin.must(0, *blocks(plugin, 0))
    resource.prlimit(plugin.process.pid, resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
    error = plugin.iteration(10, *blocks(plugin, 10))
    assert "ulimit -f" in error and "stays the newest" in error, error
    assert newest(tmp_path / FOLDER) == 0 and len(list((tmp_path / FOLDER).glob("checkpoint*"))) == 2
    resource.prlimit(plugin.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    plugin.must(20, *blocks(plugin, 20))
    plugin.finish()
    assert newest(tmp_path / FOLDER) == 20


def test_an_iteration_that_is_not_whole_makes_none(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", **options())
    plugin.must(0, *blocks(plugin, 0))
    plugin.must(10, *blocks(plugin, 10), complete=0)
    assert "no checkpoint is made of it" in plugin.finish()
    assert newest(tmp_path / FOLDER) == 0


def test_no_link_is_followed(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / "victim").write_text("mine")
    for ending in (".data.new", ".index.new"):
        (tmp_path / FOLDER / f"checkpoint-0000000010.1.0{ending}").symlink_to(tmp_path / "victim")
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", **options())
    for name in (tmp_path / FOLDER).glob("*.new"):
        assert name.is_symlink()
    assert "symbolic links" in plugin.iteration(10, *blocks(plugin, 10))
    plugin.finish()
    assert (tmp_path / "victim").read_text() == "mine"


@pytest.mark.parametrize("given, words", [({"keep": "0"}, 'option "keep" is "0"'), ({"file": "x"}, 'there is no option "file"'),
                                          ({"copy": "run.checkpoint/"}, "folder and copy are both")])
def test_options_that_cannot_be_are_told(tmp_path, given, words):
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", **options(**given))
    assert words in plugin.opened, plugin.opened
    plugin.close()


def test_the_bytes_of_an_index_are_as_the_page_says(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, "checkpoint", session="job\t7", **options())
    plugin.must(7, *blocks(plugin, 7), parameters={"t": 0.1, "n": 3, "s": "a\\b\nc", "unset": None})
    plugin.finish()
    (index,) = (tmp_path / FOLDER).glob("*.index")
    lines = [line.split("\t") for line in index.read_text().splitlines()]
    assert lines[0] == ["leat-checkpoint", "1"] and ["session", "job\\t7"] in lines and ["own", "0-0"] in lines
    parameters = {words[2]: words[1:] for words in lines if words[0] == "parameter"}
    assert parameters == {"t": ["double", "t", "0.10000000000000001"], "n": ["int", "n", "3"], "s": ["string", "s", "a\\\\b\\nc"]}
    assert [words[1:] for words in lines if words[0] == "variable"] == [["u", "float64", "1,0", "1,0"], ["n", "int32", "0", "0"]]
    u = next(words for words in lines if words[:2] == ["block", "0"])
    data = next((tmp_path / FOLDER).glob("*.data")).read_bytes()
    assert u[2:10] == ["0", "0", "0", "3840", "12,40", "-", "0,0", "10,40"] and u[10] == f"{crc32c(data[:3840]):08x}"
    assert json.dumps(lines[-1][0]) == '"end"'


def test_leat_check_knows_its_options(tmp_path):
    text = """<simulation name="s"><architecture><dedicated cores="1"/><buffer size="16MiB"/></architecture>
<data><layout name="l" type="int" dimensions="4"/><group name="checkpoint" store="safe" keep="3">
<variable name="v" layout="l"/></group></data><storage><store name="safe" type="checkpoint"><option name="kepe" value="2"/></store>
</storage></simulation>"""
    (tmp_path / "s.xml").write_text(text)
    done = subprocess.run([BUILD / "bin/leat", "check", "s.xml"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ})
    assert done.returncode != 0 and 'there is no option "kepe" of a checkpoint store' in done.stdout + done.stderr, done
