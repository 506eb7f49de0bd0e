# SPDX-License-Identifier: Apache-2.0
"""A store with layout="damaris": files, paths and data as who reads Damaris' files expects them, judged by h5py."""
import json
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, smooth_array, variable
from leat_run import BUILD, same_bits

GLOBAL = {"global": 1}
VARIABLES = [variable("fields/grid", "f8", ["y", "x"], **GLOBAL, unit="K", description="of the plate"),
             variable("ghosts", "f4", [("y", 1, 1), ("x", 0, 2)], **GLOBAL),
             variable("particles", "f8", ["?n"]), variable("energy", "f8", []), variable("text", "S1", ["n"]),
             variable("axis", "f8", ["x"], time_varying=0)]
ITERATIONS = 5
LAYOUT = {"layout": "damaris"}
TIME = {"time_parameter": 0, "time_unit": "s"}


def blocks(plugin, i, ranks=2):
    """All of an iteration, each rank with a block of each variable."""
    made = []
    for rank in range(ranks):
        seed = 1000 * i + 10 * rank
        made += [plugin.block(0, (3, 4), seed, rank=rank, position=[3 * rank, 0], **{"global": [3 * ranks, 4]}),
                 plugin.block(1, (4, 5), seed + 1, rank=rank, position=[2 * rank, 0], **{"global": [2 * ranks, 3]}),
                 plugin.block(2, ((i + rank) % 3,), seed + 2, rank=rank), plugin.block(3, (), seed + 3, rank=rank),
                 plugin.block(4, (5,), seed + 4, rank=rank)]
        made += [plugin.block(5, (4,), seed + 5, rank=rank)] if i == 0 else []
    return sorted(made, key=lambda block: (block["variable"], block["rank"]))


def check_file(path, i, ranks=2):
    """The file has all of the iteration, to the last bit, and nothing else."""
    with h5py.File(path) as file:
        assert file.attrs["iteration"] == i and file.attrs["iteration_complete"] == 1 and file.attrs["session"] == b"session"
        assert sorted(file) == sorted(["fields", "ghosts", "particles", "energy", "text"] + (["axis"] if i == 0 else []))
        for rank in range(ranks):
            seed = 1000 * i + 10 * rank
            assert same_bits(file[f"fields/grid/P{rank}"][...], array((3, 4), "f8", seed))
            assert same_bits(file[f"ghosts/P{rank}"][...], array((4, 5), "f4", seed + 1)[1:-1, :-2])
            assert same_bits(file[f"particles/P{rank}"][...], array(((i + rank) % 3,), "f8", seed + 2))
            assert same_bits(file[f"energy/P{rank}"][()], array((), "f8", seed + 3)[()])
            assert file[f"text/P{rank}"][...].tobytes() == array((5,), "S1", seed + 4).tobytes()
            if i == 0:
                assert same_bits(file[f"axis/P{rank}"][...], array((4,), "f8", seed + 5))
        grid = file["fields/grid/P1"].attrs
        assert grid["units"] == b"K" and grid["long_name"] == b"of the plate"
        assert grid["position"].tolist() == [3, 0] and grid["global"].tolist() == [3 * ranks, 4]


def run_all(plugin, iterations=range(ITERATIONS)):
    for i in iterations:
        plugin.must(i, *blocks(plugin, i), parameters={"t": i / 4})


@pytest.mark.parametrize("options", [{}, {"file-mode": "FilePerCore"}, {"file-mode": "FilePerDedicatedCore"},
                                     {"compression": "deflate:3"}, {"durability": "iteration"}, {"durability": "none"}],
                         ids=str)
def test_each_iteration_has_a_file_and_each_block_a_dataset(tmp_path, options):
    plugin = Plugin(tmp_path, VARIABLES, options={**LAYOUT, **options}, ranks=2, **TIME)
    run_all(plugin)
    assert not plugin.finish()
    assert sorted(os.listdir(tmp_path)) == [f"run_It{i}_Pr0.h5" for i in range(ITERATIONS)]
    for i in range(ITERATIONS):
        check_file(tmp_path / f"run_It{i}_Pr0.h5", i)
        with h5py.File(tmp_path / f"run_It{i}_Pr0.h5") as file:
            assert file.attrs["time"] == i / 4


def test_large_blocks_are_compressed_in_chunks(tmp_path):
    variables = [variable("u", "f8", ["y", "x"]), variable("v", "f8", ["y", "x"], **GLOBAL)]
    plugin = Plugin(tmp_path, variables, options={**LAYOUT, "compression": "deflate:1", "file-mode": "Collective"})
    plugin.must(0, plugin.smooth_block(0, (600, 200), 1), plugin.smooth_block(1, (600, 200), 2, position=[0, 0], **{"global": [600, 200]}))
    plugin.finish()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        for name, smooth in {"u": 1, "v": 2}.items():
            assert file[name].compression == "gzip" and file[name].chunks[0] > 100
            assert same_bits(file[name][...], smooth_array((600, 200), "f8", smooth))


@pytest.mark.parametrize("declared", [False, True])
def test_several_blocks_of_a_rank_are_in_a_group_of_it(tmp_path, declared):
    """As Damaris does it, the XML says whether a rank may have several; what is written anyway is stored, too."""
    plugin = Plugin(tmp_path, [variable("u", "i4", ["x"]), variable("v", "i4", ["x"])],
                    options={**LAYOUT, **({"domains": "2"} if declared else {})})
    plugin.must(7, *(plugin.block(0, (3,), 10 + block, block=block) for block in range(2)), plugin.block(1, (3,), 5))
    plugin.finish()
    with h5py.File(tmp_path / "run_It7_Pr0.h5") as file:
        assert all(same_bits(file[f"u/P0/B{block}"][...], array((3,), "i4", 10 + block)) for block in range(2))
        assert same_bits(file["v/P0/B0" if declared else "v/P0"][...], array((3,), "i4", 5))


def test_in_a_collective_file_a_global_array_is_one_dataset(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options={**LAYOUT, "file-mode": "Collective"}, ranks=2)
    run_all(plugin, range(2))
    plugin.finish()
    assert sorted(os.listdir(tmp_path)) == ["run_It0.h5", "run_It1.h5"]
    with h5py.File(tmp_path / "run_It1.h5") as file:
        assert same_bits(file["fields/grid"][...], np.concatenate([array((3, 4), "f8", 1000 + 10 * r) for r in range(2)]))
        assert same_bits(file["ghosts"][...], np.concatenate([array((4, 5), "f4", 1001 + 10 * r)[1:-1, :-2] for r in range(2)]))
        assert same_bits(file["particles/P1"][...], array((2,), "f8", 1012))


def test_in_a_collective_file_what_is_the_same_on_all_ranks_is_one_dataset(tmp_path):
    """Like coordinates without a global shape, of which Damaris keeps those of some rank. Others are not lost."""
    plugin = Plugin(tmp_path, VARIABLES, options={**LAYOUT, "file-mode": "Collective"}, ranks=2)
    plugin.must(0, *(plugin.block(5, (4,), 1, rank=rank) for rank in range(2)))
    plugin.must(1, *(plugin.block(5, (4,), 1 + rank, rank=rank) for rank in range(2)))
    plugin.finish()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        assert same_bits(file["axis"][...], array((4,), "f8", 1))
    with h5py.File(tmp_path / "run_It1.h5") as file:
        assert all(same_bits(file[f"axis/P{rank}"][...], array((4,), "f8", 1 + rank)) for rank in range(2))


def test_holes_of_a_collective_array_are_fill_values_and_the_highest_rank_wins(tmp_path):
    plugin = Plugin(tmp_path, [variable("u", "f8", ["x"], **GLOBAL)], options={**LAYOUT, "file-mode": "Collective"}, ranks=2)
    plugin.must(0, plugin.values(0, [1, 2], position=[0], **{"global": [5]}),
                plugin.values(0, [3, 4], rank=1, position=[1], **{"global": [5]}))
    plugin.finish()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        assert file["u"][:3].tolist() == [1, 3, 4] and np.isnan(file["u"][3:]).all()


@pytest.mark.parametrize("places", [([0, 0], [0, 0], [0, 2], [2, 2]), ([0, 0], [1, 0], [2, 0], [2, 2]), ([0, 1], [0, 1], [2, 0], [2, 2])],
                         ids=["equal", "by_a_row", "equal_amid"])
@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_blocks_that_lie_on_each_other_are_no_reason_to_take_holes_for_zeros(tmp_path, places, dtype):
    """They have as many cells as the whole, and do not cover it."""
    plugin = Plugin(tmp_path, [variable("u", dtype, ["y", "x"], **GLOBAL)], options={**LAYOUT, "file-mode": "Collective"}, ranks=4)
    plugin.must(0, *[plugin.values(0, np.full((2, 2), 7 + rank), rank=rank, position=place, **{"global": [4, 4]})
                     for rank, place in enumerate(places)])
    plugin.finish()
    fill = np.nan if dtype == "f8" else np.iinfo(dtype).min
    wanted = np.full((4, 4), fill, dtype)
    for rank, (y, x) in enumerate(places):
        wanted[y:y + 2, x:x + 2] = 7 + rank
    assert (wanted != wanted).any() or (wanted == fill).any()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        assert np.array_equal(file["u"][:], wanted, equal_nan=dtype == "f8")


def test_on_several_nodes_each_server_has_its_files(tmp_path):
    """Of which none is the other's, also where one was to be of all: that is said."""
    for first, mode in [(0, "Collective"), (1, "FilePerCore")]:
        plugin = Plugin(tmp_path, VARIABLES[3:4], options={**LAYOUT, "file-mode": mode}, ranks=2, node_ranks=1, first_rank=first)
        plugin.must(0, plugin.block(0, (), first, rank=first))
        assert ("each server writes a file of its own" in plugin.finish()) == (mode == "Collective")
    for first in (0, 1):
        with h5py.File(tmp_path / f"run_It0_Pr{first}.h5") as file:
            assert list(file["energy"]) == [f"P{first}"]


def test_what_an_earlier_run_has_left_is_set_aside_all_at_once(tmp_path):
    """Also iterations that the run itself will not have: nobody finds two runs under one name."""
    for session, last in {"a": 5, "b": 4, "c": 3}.items():
        plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT, session=session)
        for i in range(last):
            plugin.must(i, plugin.block(3, (), ord(session) + i))
        plugin.finish()
    (tmp_path / "run_Itx_Pr0.h5").touch()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.1", "run.2", *(f"run_It{i}_Pr0.h5" for i in range(3)), "run_Itx_Pr0.h5"]
    for folder, session, last in [("run.1", "a", 5), ("run.2", "b", 4), (".", "c", 3)]:
        assert len(list((tmp_path / folder).glob("run_It?_Pr0.h5"))) == last + (folder == ".")
        for i in range(last):
            with h5py.File(tmp_path / folder / f"run_It{i}_Pr0.h5") as file:
                assert same_bits(file["energy/P0"][()], array((), "f8", ord(session) + i)[()])


def test_files_that_are_set_aside_replace_none_of_those_that_were_before(tmp_path):
    lasts = {"a": 1, "b": 40, "c": 20, "d": 1}
    for session, last in lasts.items():
        plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT, session=session)
        for i in range(last):
            plugin.must(i, plugin.block(3, (), i))
        plugin.finish()
    found = dict.fromkeys(lasts, 0)
    for path in tmp_path.glob("**/*.h5"):
        with h5py.File(path) as file:
            found[file.attrs["session"].decode()] += 1
    assert found == lasts


def test_a_server_that_takes_over_sets_the_rest_aside_and_keeps_its_own(tmp_path):
    """Also when what the dead one had stored was set aside by a later run, which its end came after."""
    for session, last in {"a": 3, "b": 2}.items():
        plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT, session=session)
        for i in range(last):
            plugin.must(i, plugin.block(3, (), ord(session) + i))
        plugin.kill()
    (tmp_path / "run.1/run_It2_Pr0.h5").rename(tmp_path / "run_It2_Pr0.h5")  # as if the second had been killed in the midst of it
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT, session="b", resumed=1)
    for i in range(3):
        plugin.must(i, plugin.block(3, (), ord("b") + i))
    plugin.finish()
    drained = Plugin(tmp_path, VARIABLES, options=LAYOUT, session="a", resumed=2)
    drained.must(2, drained.block(3, (), 7))
    drained.must(3, drained.block(3, (), 8))
    drained.finish()
    found = {}
    for path in tmp_path.glob("**/*.h5"):
        with h5py.File(path) as file:
            found[str(path.relative_to(tmp_path))] = file.attrs["session"].decode()
    own = {f"run_It{i}_Pr0.h5": "b" for i in range(3)}
    assert found == {**own, **{f"run.1/run_It{i}_Pr0.h5": "a" for i in range(3)}, "run-a_It3_Pr0.h5": "a"}


def test_what_an_earlier_run_has_left_is_replaced_where_that_is_said(tmp_path):
    for session, last in {"a": 5, "b": 2}.items():
        plugin = Plugin(tmp_path, VARIABLES, options={**LAYOUT, "exists": "replace"}, session=session)
        for i in range(last):
            plugin.must(i, plugin.block(3, (), i))
        plugin.finish()
    assert sorted(os.listdir(tmp_path)) == ["run_It0_Pr0.h5", "run_It1_Pr0.h5"]


def test_a_file_that_comes_in_mid_run_is_set_aside(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT)
    (tmp_path / "run_It0_Pr0.h5").write_text("of somebody")
    plugin.must(0, plugin.block(3, (), 1))
    plugin.finish()
    assert (tmp_path / "run_It0_Pr0.1.h5").read_text() == "of somebody"
    with h5py.File(tmp_path / "run_It0_Pr0.h5") as file:
        assert same_bits(file["energy/P0"][()], array((), "f8", 1)[()])


def test_two_runs_in_a_folder_have_files_of_their_own(tmp_path):
    first = Plugin(tmp_path, VARIABLES, options=LAYOUT)
    first.must(0, first.block(3, (), 1))
    second = Plugin(tmp_path, VARIABLES, options=LAYOUT, session="two")
    second.must(0, second.block(3, (), 2))
    assert "are being written by another run; this run writes run-two_It*_Pr0.h5" in second.finish()
    first.must(1, first.block(3, (), 3))
    first.finish()
    assert sorted(os.listdir(tmp_path)) == ["run-two_It0_Pr0.h5", "run_It0_Pr0.h5", "run_It1_Pr0.h5"]


def test_file_and_folder_are_those_of_the_options(tmp_path):
    (tmp_path / "out").mkdir()
    plugin = Plugin(tmp_path, VARIABLES, options={**LAYOUT, "file": "heat.h5", "folder": "out"})
    plugin.must(0, plugin.block(3, (), 1))
    plugin.finish()
    assert os.listdir(tmp_path / "out") == ["heat_It0_Pr0.h5"]


def test_an_iteration_without_blocks_has_no_file(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT)
    plugin.must(0)
    plugin.finish()
    assert os.listdir(tmp_path) == []


def test_a_block_that_makes_no_sense_is_said_and_the_others_are_stored(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT)
    bad = {**plugin.block(4, (5,), 1), "bytes": 4}
    assert "run_It0_Pr0.h5: " in (error := plugin.iteration(0, plugin.block(3, (), 1), bad)) and "text" in error
    plugin.finish()
    with h5py.File(tmp_path / "run_It0_Pr0.h5") as file:
        assert file.attrs["iteration_complete"] == 0 and list(file) == ["energy"]


def test_what_scripts_have_made_has_no_place_and_that_is_said_once(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT)
    for i in range(3):
        assert not plugin.results("hottest", i, plugin.result("heat", "f8", [], [], 3))
    assert plugin.finish().count('what "hottest" has made is not stored in it') == 1


def test_without_room_on_the_disk_there_is_no_half_file(tmp_path):
    plugin = Plugin(tmp_path, [variable("u", "f8", ["x"])], options=LAYOUT)
    plugin.must(0, plugin.block(0, (1000,), 0))
    plugin.limit(100_000)
    assert "not stored: no room on the disk" in plugin.iteration(1, plugin.block(0, (1_000_000,), 1))
    assert os.listdir(tmp_path) == [".run_It_Pr0.h5.lock", "run_It0_Pr0.h5"]
    plugin.finish()


TRACED = 3  # iterations of runs that are killed at each call


def traced(folder, strace, resumed=0):
    """A run under strace; the iterations that were said to be stored."""
    folder.mkdir(exist_ok=True)
    said = []
    try:
        plugin = Plugin(folder, VARIABLES, options={**LAYOUT, "durability": "iteration"}, resumed=resumed,
                        wrapper=["strace", "-f", "-qq", *strace])
        for i in range(TRACED):
            plugin.must(i, *blocks(plugin, i))
            said.append(i)
        plugin.finish()
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        pass
    return said


CALLS = "pwrite64,linkat,ftruncate,fsync,fdatasync"


def test_killed_at_any_call_there_are_whole_files_only_and_the_next_server_makes_the_rest(tmp_path):
    """SIGKILL at writes, syncs and namings, at others in each iteration. What was said to be stored is there; what has a name is
    whole."""
    trace = tmp_path / "trace"
    assert traced(tmp_path / "whole", ["-e", f"trace={CALLS}", "-o", trace]) == list(range(TRACED))
    calls = re.findall(f"({CALLS.replace(',', '|')})\\(", trace.read_text())
    assert len(calls) > 30 and calls.count("linkat") >= TRACED
    begun, of_iteration = 0, len(calls) // TRACED
    moments = range(1, len(calls) + 1, TRACED if of_iteration % TRACED else TRACED + 1)
    for number in moments:
        folder = tmp_path / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        said = traced(folder, ["-o", "/dev/null", "-e", f"inject={CALLS}:signal=KILL:when={number}"])
        files = sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))
        assert [f"run_It{i}_Pr0.h5" for i in said] == files[:len(said)] and len(files) <= len(said) + 1, (number, said, files)
        before = {}
        for i, name in enumerate(files):
            check_file(folder / name, i)
            before[name] = (folder / name).stat().st_ino
        begun += len(said) < TRACED
        plugin = Plugin(folder, VARIABLES, options=LAYOUT, resumed=1)
        run_all(plugin, range(TRACED))
        assert not plugin.finish()
        assert sorted(os.listdir(folder)) == [f"run_It{i}_Pr0.h5" for i in range(TRACED)]
        for i in range(TRACED):
            check_file(folder / f"run_It{i}_Pr0.h5", i)
        assert all((folder / name).stat().st_ino == inode for name, inode in before.items()), "written twice"
    assert begun > len(moments) // 2


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_iteration_whose_file_cannot_be_named_has_failed(tmp_path, error):
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT,
                    wrapper=["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=linkat:error={error}:when=1"])
    errors = [plugin.iteration(i, *blocks(plugin, i)) for i in range(2)]
    assert "run_It0_Pr0.h5: not stored" in errors[0] and not errors[1]
    plugin.finish()
    assert os.listdir(tmp_path) == ["run_It1_Pr0.h5"]


BAD = {"layout": ("damariss", 'expected "leat" or "damaris"'), "file-mode": ("FilePerNode", 'expected "FilePerCore"'),
       "domains": ("0", "expected how many blocks")}


@pytest.mark.parametrize("name", BAD)
def test_options_that_cannot_be_are_said_at_start_and_by_leat_check(tmp_path, name):
    value, why = BAD[name]
    options = {**LAYOUT, name: value}
    plugin = Plugin(tmp_path, VARIABLES, options=options)
    assert why in plugin.opened
    plugin.close()
    assert why in check(tmp_path, options)


@pytest.mark.parametrize("name", ["file-mode", "domains"])
def test_options_of_that_layout_are_refused_without_it(tmp_path, name):
    options = {name: "Collective" if name == "file-mode" else "2"}
    plugin = Plugin(tmp_path, VARIABLES, options=options)
    why = f'option {name} is one of layout="damaris" only'
    assert why in plugin.opened
    plugin.close()
    assert why in check(tmp_path, options)


def check(folder, options):
    stores = "".join(f'<option name="{name}" value="{value}"/>' for name, value in options.items())
    (folder / "run.xml").write_text(f'''<simulation name="run"><architecture><dedicated cores="1"/><buffer size="16MiB"/></architecture>
<data><layout name="l" type="int" dimensions="2"/><variable name="a" layout="l"/></data>
<storage><store name="out" type="hdf5">{stores}</store></storage></simulation>''')
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def leat(folder, *words):
    return subprocess.run([BUILD / "bin/leat", *words], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(folder / "runtime")})


def test_leat_knows_such_options_and_files(tmp_path):
    assert "error" not in check(tmp_path, {**LAYOUT, "file-mode": "Collective", "domains": "3"})
    plugin = Plugin(tmp_path, VARIABLES, options=LAYOUT, ranks=2)
    plugin.must(8, *blocks(plugin, 8), complete=0)
    plugin.finish()
    name = "run_It8_Pr0.h5"
    facts = json.loads(leat(tmp_path, "ls", name, "--json").stdout)
    assert facts["layout"] == "damaris" and facts["state"] == "closed" and facts["variable_count"] == 5
    assert facts["iterations"]["first"] == 8 and facts["iterations"]["incomplete"] == [8]
    assert {v["name"] for v in facts["variables"]} >= {"fields/grid/P0", "energy/P1"} and facts["others"] == []
    screen = leat(tmp_path, "ls", name).stdout
    assert "1: 8" in screen and "fields/grid/P1" in screen, screen
    assert f"{name}  8..8" in leat(tmp_path, "ls").stdout
    done = leat(tmp_path, "recover", name)
    assert done.returncode == 0 and "nothing had to be done; 1 iteration" in done.stdout, done
    (tmp_path / "s.py").write_text("def process(ds, ctx):\n    pass\n")
    for words in (["replay", name, "s.py", "--interpreter", sys.executable], ["xdmf", name]):
        done = leat(tmp_path, *words)
        assert done.returncode != 0 and 'layout="damaris"' in done.stderr, done
