# SPDX-License-Identifier: Apache-2.0
"""append="true": a run goes on in the file of an earlier one. In the end the file is, to the last bit, attribute and chunk, that of a run
that was not interrupted, as h5py reads it: but for who wrote it."""
import os
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from h5_compare import expect_same
from leat_plugin import Plugin, array, mesh, variable
from leat_run import BUILD, same_bits
from test_resumed import LAST, TIME, VARIABLES, blocks, parameters, step, undisturbed

APPEND = {"append": "true"}
WHO = ["session"]


def start(folder, session, ranks=3, options=None, variables=VARIABLES, **more):
    folder.mkdir(exist_ok=True)
    plugin = Plugin(folder, variables, ranks=ranks, xml="<simulation>x</simulation>", session=session,
                    options={**APPEND, **(options or {})}, infos=1, **{**TIME, **more})
    assert not plugin.opened, plugin.opened
    return plugin


def run(folder, session, iterations, ranks=3, ends=Plugin.finish, **more):
    plugin = start(folder, session, ranks, **more)
    for i in iterations:
        step(plugin, i, ranks)
    return ends(plugin)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of an undisturbed run, for ranks and options."""
    made = {}

    def of(ranks, options):
        key = (ranks, *sorted(options.items()))
        if key not in made:
            made[key] = undisturbed(tmp_path_factory.mktemp("whole") / "run", ranks, options={**APPEND, **options})
        return made[key]
    return of


@pytest.mark.parametrize("ranks, options", [(1, {}), (3, {}), (3, {"compression": "deflate:2"})])
@pytest.mark.parametrize("end, first", [(5, 5), (8, 5), (LAST + 1, 1), (6, 0), (1, 1), (0, 0)])
def test_the_file_is_that_of_a_run_that_was_not_interrupted(tmp_path, whole, ranks, options, end, first):
    run(tmp_path / "run", "one", range(end), ranks, options=options)
    run(tmp_path / "run", "two", range(first, LAST + 1), ranks, options=options)
    expect_same(tmp_path / "run/run.h5", whole(ranks, options), but=WHO)
    assert os.listdir(tmp_path / "run") == ["run.h5"]


@pytest.mark.parametrize("end, first", [(7, 7), (7, 4)])
def test_also_behind_a_run_that_was_killed(tmp_path, whole, end, first):
    run(tmp_path / "run", "one", range(end), ends=Plugin.kill)
    run(tmp_path / "run", "two", range(first, LAST + 1))
    expect_same(tmp_path / "run/run.h5", whole(3, {}), but=WHO)
    assert os.listdir(tmp_path / "run") == ["run.h5"]


def test_again_and_again(tmp_path, whole):
    for number, (first, end) in enumerate([(0, 3), (2, 9), (9, 10), (5, 7), (7, LAST + 1)]):
        run(tmp_path / "run", f"s{number}", range(first, end))
    expect_same(tmp_path / "run/run.h5", whole(3, {}), but=WHO)
    with h5py.File(tmp_path / "run/run.h5") as file:
        said = file.attrs["history"].decode().split("\n")
        assert [re.search(r"(began|went).*", line)[0] for line in said] == [
            "began this file (session s0)", "went on with it from iteration 2 on (session s1)",
            "went on with it from iteration 9 on (session s2)", "went on with it from iteration 5 on (session s3)",
            "went on with it from iteration 7 on (session s4)"]
        assert file.attrs["session"] == b"s4"


def small(folder, session, seeds, **more):
    """Iterations {number: seed} of a variable."""
    plugin = start(folder, session, 1, variables=[variable("a", "i4", ["x"])], **more)
    for i, seed in seeds.items():
        plugin.must(i, plugin.block(0, (3,), seed))
    return plugin.finish()


def expect_small(path, seeds):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(seeds)
        for row, seed in enumerate(seeds.values()):
            assert same_bits(file["a"][row], array((3,), "i4", seed))


def test_where_there_is_no_file_one_is_begun(tmp_path):
    small(tmp_path, "one", {100: 1, 101: 2})
    expect_small(tmp_path / "run.h5", {100: 1, 101: 2})


def test_a_run_that_begins_behind_the_end_leaves_a_gap_and_says_so(tmp_path):
    small(tmp_path, "one", {0: 1, 1: 2})
    said = small(tmp_path, "two", {10: 3})
    assert "going on in run.h5 from iteration 10 on, behind 2 iterations, 0 to 1" in said, said
    expect_small(tmp_path / "run.h5", {0: 1, 1: 2, 10: 3})


def test_what_is_cut_off_is_said(tmp_path):
    small(tmp_path, "one", dict.fromkeys(range(5), 1))
    said = small(tmp_path, "two", {3: 7})
    assert "behind 3 iterations, 0 to 2; 2 that it had from there on were cut off" in said, said
    expect_small(tmp_path / "run.h5", {0: 1, 1: 1, 2: 1, 3: 7})


def test_a_run_that_stores_nothing_changes_nothing(tmp_path):
    small(tmp_path, "one", {0: 1})
    before = (tmp_path / "run.h5").read_bytes()
    assert "is as it was" in start(tmp_path, "two", 1, variables=[variable("a", "i4", ["x"])]).finish()
    assert (tmp_path / "run.h5").read_bytes() == before and os.listdir(tmp_path) == ["run.h5"]


def test_all_differences_are_said_at_once_and_nothing_is_touched(tmp_path):
    run(tmp_path, "one", range(3))
    before = (tmp_path / "run.h5").read_bytes()
    changed = [dict(v) for v in VARIABLES if v["name"] != "energy"]
    by_name = {v["name"]: v for v in changed}
    by_name["fields/grid"]["unit"] = "degC"
    by_name["large"]["type"] = by_name["blocks"]["type"]
    by_name["blocks"]["dims"] = [{"name": "y"}, {"name": "x"}]
    by_name["mesh"]["time_varying"] = 1
    by_name["sizes"]["global"] = 1
    changed.append(variable("new", "f8", []))
    plugin = Plugin(tmp_path, changed, ranks=3, session="two", options=APPEND, time_parameter=2, time_unit="s", calendar="noleap")
    plugin.process.stdin.close()
    plugin.process.wait()
    for line in ("cannot append to run.h5, nothing of which is changed: it differs in 8 things",
                 'variable "fields/grid": unit is "K" in the file, and "degC" in the XML',
                 'variable "large": type is float64 in the file, and int16 in the XML',
                 'variable "blocks": dimensions is (x) in the file, and (y, x) in the XML',
                 'variable "mesh": time-varying is false in the file, and true in the XML',
                 'variable "sizes": global array is false in the file, and true in the XML',
                 'variable "energy" is in the file, and not in the XML', 'variable "new" is in the XML, and not in the file',
                 'unit of <time> is "days since 2000-01-01" in the file, and "s" in the XML'):
        assert line in plugin.opened, plugin.opened
    assert (tmp_path / "run.h5").read_bytes() == before and os.listdir(tmp_path) == ["run.h5"]


def test_meshes_are_compared_too(tmp_path):
    def plugin(session, spacing):
        return Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1}, mesh=0)], session=session, options=APPEND,
                      meshes=[mesh("plate", "uniform", 2, spacing=spacing)])
    first = plugin("one", [1., .1])
    first.must(0, first.block(0, (3, 4), 1, position=[0, 0], **{"global": [3, 4]}))
    first.finish()
    assert 'mesh "plate": spacing is (1, 0.10000000000000001) in the file, and (1, 0.25) in the XML' in plugin("two", [1., .25]).opened
    assert not plugin("three", [1., .1]).opened


def test_other_global_extents_and_parameters_are_refused_with_the_first_iteration(tmp_path):
    def plugin(session, i, rows, **parameters):
        made = Plugin(tmp_path, [variable("t", "f8", ["y", "x"], **{"global": 1})], session=session, options=APPEND)
        error = made.iteration(i, made.block(0, (rows, 4), 1, position=[0, 0], **{"global": [rows, 4]}), parameters=parameters)
        return error + made.iteration(i + 1, made.block(0, (rows, 4), 1, position=[0, 0], **{"global": [rows, 4]}),
                                      parameters=parameters), made.close()[0]
    assert plugin("one", 0, 3, n=1, x=.5) == ("", "")
    before = (tmp_path / "run.h5").read_bytes()
    error, _ = plugin("two", 2, 5, n=1, y=.5)
    for line in ('variable "t": its global extents are (3, 4) in the file, and (5, 4) in this run',
                 'parameter "x" is in the file, and not in the XML', 'parameter "y" is in the XML, and not in the file'):
        assert error.count(line) == 2, error
    assert (tmp_path / "run.h5").read_bytes() == before and os.listdir(tmp_path) == ["run.h5"]


def test_what_is_no_file_of_leat_is_left_alone(tmp_path):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["a"] = np.arange(3)
    before = (tmp_path / "run.h5").read_bytes()
    opened = Plugin(tmp_path, VARIABLES, session="two", options=APPEND).opened
    assert "cannot append to run.h5, nothing of which is changed" in opened and "leat_run" in opened
    (tmp_path / "run.h5").write_text("a text")
    assert "cannot append to run.h5" in Plugin(tmp_path, VARIABLES, session="three", options=APPEND).opened
    assert (tmp_path / "run.h5").read_text() == "a text" and before != b"a text" and os.listdir(tmp_path) == ["run.h5"]


@pytest.mark.parametrize("more, why", [({"options": {**APPEND, "exists": "replace"}}, "take one of them away"),
                                       ({"options": {**APPEND, "layout": "damaris"}}, "each has its own"),
                                       ({"options": {"append": "yes"}}, 'expected "true" or "false"'),
                                       ({"options": {**APPEND, "files": "2"}, "ranks": 4, "node_ranks": 2, "first_rank": 0},
                                        "write files together")])
def test_what_cannot_be_is_refused(tmp_path, more, why):
    assert why in Plugin(tmp_path, VARIABLES, session="one", **more).opened
    assert not (tmp_path / "run.h5").exists()


def test_a_second_run_that_appends_at_the_same_time_takes_another_name(tmp_path):
    small(tmp_path, "one", {0: 1})
    first = start(tmp_path, "two", 1, variables=[variable("a", "i4", ["x"])])
    said = small(tmp_path, "three", {5: 9})
    assert "run.h5 is being written by another run; this run writes run-three.h5" in said, said
    first.must(1, first.block(0, (3,), 2))
    first.finish()
    expect_small(tmp_path / "run.h5", {0: 1, 1: 2})
    expect_small(tmp_path / "run-three.h5", {5: 9})


def constants(folder, session, first, seed, ranks=2):
    variables = [variable("a", "f8", [("y", 1, 1), "x"], **{"global": 1}, time_varying=0), variable("b", "f8", ["x"], time_varying=0),
                 variable("c", "i4", ["?n"], time_varying=0), variable("t", "f8", ["x"])]
    plugin = start(folder, session, ranks, variables=variables)
    for i in range(first, first + 2):
        blocks = [plugin.block(3, (3,), 10 * i + rank, rank=rank) for rank in range(ranks)]
        if i == first and seed is not None:
            for rank in range(ranks):
                blocks += [plugin.block(0, (5, 4), seed + rank, rank=rank, position=[3 * rank, 0], **{"global": [6, 4]}),
                           plugin.block(1, (4,), seed + 10 + rank, rank=rank), plugin.block(2, (2 + rank,), seed + 20 + rank, rank=rank)]
        plugin.must(i, *sorted(blocks, key=lambda b: (b["variable"], b["rank"])))
    return plugin.finish()


@pytest.mark.parametrize("first", [1, 2])
def test_constants_that_are_written_again_are_equal_or_said_to_differ(tmp_path, first):
    constants(tmp_path / "a", "one", 0, 50)
    assert "vary in time" not in constants(tmp_path / "a", "two", first, 50)
    with h5py.File(tmp_path / "a/run.h5") as file:
        kept = {name: file[name][()].tobytes() for name in "abc"}
        assert all(file[name].attrs["leat_row"] == 0 for name in "abc")
    said = constants(tmp_path / "a", "three", first + 1, 60)
    for name in "abc":
        assert f"run.h5: {name}, which does not vary in time, has other values now" in said, said
    constants(tmp_path / "b", "one", 0, 60)
    with h5py.File(tmp_path / "a/run.h5") as file, h5py.File(tmp_path / "b/run.h5") as wanted:
        for name in "abc":
            assert file[name][()].tobytes() == wanted[name][()].tobytes() != kept[name]


def test_constants_that_are_cut_off_and_not_written_again_are_named(tmp_path):
    constants(tmp_path, "one", 0, 50)
    assert "vary in time" not in constants(tmp_path, "two", 1, None), "they were written before what is cut off"
    said = constants(tmp_path, "three", 0, None)
    for name in "abc":
        assert f"run.h5: {name}, which does not vary in time, was cut off with the iterations from 0 on, and this run has not" in said, said
    with h5py.File(tmp_path / "run.h5") as file:
        assert not set("abc") & set(file) and file["iteration"][:].tolist() == [0, 1]


def under_strace(folder, session, iterations, strace, **more):
    """How many iterations were said to be stored."""
    stored = 0
    try:
        plugin = Plugin(folder, VARIABLES, ranks=2, xml="<simulation>x</simulation>", session=session, options=APPEND,
                        wrapper=["strace", "-f", "-qq", *strace], **TIME, **more)
        for i in iterations:
            step(plugin, i, 2)
            stored += 1
        plugin.finish()
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        pass
    return stored


CALLS = "pwrite64,pwritev,ftruncate,fsync,linkat,rename,renameat,renameat2,unlinkat"
MOMENTS = 9  # that stay; `make soak` has any


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    """The file of 6 iterations, a folder with that of the first 5, and how many calls change something when 3 to 5 are written anew."""
    return made_six(tmp_path_factory.mktemp("six"))


def made_six(folder):
    run(folder / "whole", "one", range(6), 2)
    run(folder / "old", "one", range(5), 2)
    shutil.copytree(folder / "old", folder / "traced")
    assert under_strace(folder / "traced", "two", range(3, 6), ["-e", f"trace={CALLS}", "-o", folder / "trace"]) == 3
    expect_same(folder / "traced/run.h5", folder / "whole/run.h5", but=WHO)
    return folder, len(re.findall(r"\(", (folder / "trace").read_text()))


def test_killed_at_any_call_there_is_the_old_file_or_the_new_one(tmp_path, six):
    kept, calls = six
    seen = {expect_old_or_new(tmp_path, kept, number) for number in np.linspace(1, calls, MOMENTS, dtype=int)}
    assert {"old", 6} <= seen and len(seen) > 3, seen


def expect_old_or_new(tmp_path, kept, number):
    """During and after the cut. Who looks without `leat recover` sees whole iterations; the next run ends as if nothing had been. What
    was there: "old" or the number of iterations."""
    folder = tmp_path / f"killed{number}"
    shutil.copytree(kept / "old", folder)
    stored = under_strace(folder, "two", range(3, 6), ["-o", "/dev/null", "-e", f"inject={CALLS}:signal=KILL:when={number}"])
    with h5py.File(folder / "run.h5") as file:
        rows = file["iteration"][:].tolist()
        is_old = file.attrs["session"] == b"one" and rows == [0, 1, 2, 3, 4]
    assert is_old or rows[:3] == [0, 1, 2] and len(rows) - 3 in (stored, stored + 1), (number, rows, stored)
    done = subprocess.run([BUILD / "bin/leat", "recover", folder / "run.h5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if is_old:
        expect_same(folder / "run.h5", kept / "old/run.h5")
    run(folder, "three", range(3, 6), 2)
    expect_same(folder / "run.h5", kept / "whole/run.h5", but=WHO)
    assert os.listdir(folder) == ["run.h5"], number
    shutil.rmtree(folder)
    return "old" if is_old else len(rows)


def test_a_server_that_takes_over_goes_on_with_what_it_finds(tmp_path, six):
    kept, calls = six
    for number in np.linspace(2, calls, MOMENTS // 2, dtype=int):
        expect_the_next_goes_on(tmp_path, kept, number)


def expect_the_next_goes_on(tmp_path, kept, number):
    """Killed before the cut it begins with the iteration that comes again, killed behind it goes on in its own file."""
    folder = tmp_path / f"killed{number}"
    shutil.copytree(kept / "old", folder)
    stored = under_strace(folder, "two", range(3, 6), ["-o", "/dev/null", "-e", f"inject={CALLS}:signal=KILL:when={number}"])
    run(folder, "two", range(max(3, 3 + stored - 1), 6), 2, resumed=1)
    expect_same(folder / "run.h5", kept / "whole/run.h5", but=WHO)
    assert os.listdir(folder) == ["run.h5"], number
    shutil.rmtree(folder)


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_cut_for_which_there_is_no_room_leaves_the_old_file(tmp_path, six, error):
    """At each call in turn of which the first part of the run has some; when there is room again the next iteration is stored."""
    kept, _ = six
    failed = 0
    for number in (1, 3, 10):
        folder = tmp_path / f"full{number}"
        shutil.copytree(kept / "old", folder)
        plugin = Plugin(folder, VARIABLES, ranks=2, xml="<simulation>x</simulation>", session="two", options=APPEND,
                        wrapper=["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=pwrite64:error={error}:when={number}"], **TIME)
        said = plugin.iteration(3, *blocks(plugin, 3, 2), parameters=parameters(3))
        if said:
            failed += 1
            assert "run.h5, iteration 3: " in said, said
            expect_same(folder / "run.h5", kept / "old/run.h5")
        plugin.must(4, *blocks(plugin, 4, 2), parameters=parameters(4), complete=0)
        plugin.finish()
        with h5py.File(folder / "run.h5") as file:
            assert file["iteration"][:].tolist() == [0, 1, 2, 4] if said else [0, 1, 2, 3, 4]
        assert os.listdir(folder) == ["run.h5"]
    assert failed > 0


def test_what_does_not_vary_makes_no_row_of_its_own(tmp_path):
    def part(session, *iterations):
        plugin = Plugin(tmp_path, [variable("x", "f8", ["x"], time_varying=0), variable("t", "f8", ["x"])], session=session,
                        options=APPEND)
        for i, numbers in iterations:
            plugin.must(i, *(plugin.block(number, (3,), i * number) for number in numbers))
        plugin.finish()
    part("one", (0, [0, 1]), (1, [1]))
    part("two", (2, [0]), (3, [1]))
    part("three", (4, [0, 1]))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 3, 4] and file["t"].shape == (4, 3) and file["x"].shape == (3,)
