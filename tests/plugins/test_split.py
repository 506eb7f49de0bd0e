# SPDX-License-Identifier: Apache-2.0
"""split="...": files one after the other, and a view that says to h5py and xarray what the one file of a run without split says, to the
last bit, attribute and name of a dimension. Kills are SIGKILL."""
import os
import random
import re
import shutil

import h5py
import pytest
import xarray
from leat_plugin import Plugin, array, variable
from leat_run import same_bits
from nodes import Nodes, leat, values
from small_disk import small_disk
from stored_blocks import stored_blocks
from test_resumed import LAST, TIME, VARIABLES, blocks, parameters, results, start, step, undisturbed
from test_views import store_with_servers_that_go_on

FOUR = {"split": "4"}
NODES = [[0, 1], [2]]
N = 131072  # numbers of a field that does not fit into the room that a file takes ahead
XML = "<simulation>x</simulation>"


def pieces(folder, view="run.h5"):
    """{name: path} of the files that the view shows."""
    with h5py.File(folder / view) as file:
        where = folder / file.attrs["leat_parts"].decode()
    return {path.name: path for path in sorted(where.iterdir()) if path.suffix == ".h5" and not path.name.startswith(".")}


def iterations(path):
    with h5py.File(path) as file:
        return file["iteration"][:].tolist()


def run(folder, numbers, ranks=3, **more):
    plugin = start(folder, ranks, **more)
    for i in numbers:
        step(plugin, i, ranks)
    return plugin.finish()


OF_FILE = {"leat_view", "leat_first_rank", "leat_node_ranks", "leat_started_ns", "leat_split", "leat_run", "leat_run_number",
           "leat_own_ranks", "leat_xml"}


def seen_in(path):
    """All datasets, but for the ledgers and what a file says of its writer. Dimensions without coordinates are numbered as it comes."""
    seen = {name: found for name, found in values(path).items() if not re.search(r"ledger(_length)?$", name)}
    for name, found in seen.items():
        if name != "/":
            names = [(label, [re.sub(r"_\d+$", "", scale) for scale in scales]) for label, scales in found[4]]
            seen[name] = (*found[:4], names)
    seen["/"] = {k: v for k, v in seen["/"].items() if k not in OF_FILE}
    # What these say of blocks that a variable has not says nothing; stored_blocks() reads what they say of others.
    return {name: found for name, found in seen.items() if not name.endswith(("_stored", "_extent"))}


def expect_same_output(view, whole):
    got, wanted = seen_in(view), seen_in(whole)
    assert sorted(got) == sorted(wanted)
    for name in wanted:
        assert got[name] == wanted[name], name
    expect_same_blocks(view, whole)


def expect_same_blocks(view, whole):
    """All blocks, by iteration, rank and number; and what scripts have made."""
    with h5py.File(view) as got, h5py.File(whole) as wanted:
        assert got["iteration"][:].tolist() == wanted["iteration"][:].tolist()
        for name in [each["name"] for each in VARIABLES if each["name"] in wanted]:
            if "leat_blocks" not in wanted[name].attrs:
                assert same_bits(got[name][()], wanted[name][()]), name
                continue
            for row in range(len(wanted["iteration"])):
                ours, theirs = stored_blocks(got, name, row), stored_blocks(wanted, name, row)
                assert ours.keys() == theirs.keys() and all(same_bits(ours[who], theirs[who]) for who in theirs), (name, row)
        for path in [f"{where}scripts/{name}" for where in ("", "parts/rank000000/", "parts/rank000002/")
                     for name in ("means/iteration", "means/mean", "means/counts", "maps/map")]:
            assert path not in wanted or same_bits(got[path][:], wanted[path][:]), path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of a run without split."""
    made = {}

    def of(ranks=3, options=()):
        key = ranks, options
        if key not in made:
            made[key] = undisturbed(tmp_path_factory.mktemp("whole"), ranks, options=dict(options))
        return made[key]
    return of


@pytest.mark.parametrize("ranks, options", [(1, {}), (3, {}), (3, {"compression": "deflate:2"})])
@pytest.mark.parametrize("split", ["4", "every 5", "3", "1"])
def test_the_view_is_the_file_of_a_run_without_split(tmp_path, whole, ranks, options, split):
    assert run(tmp_path, range(LAST + 1), ranks, options={**options, "split": split}) == ""
    wanted = whole(ranks, tuple(options.items()))
    # Of small files that have little of a variable each, tables are others than of one that has all of it.
    (expect_same_output if int(split.split()[-1]) > 3 and ranks > 1 else expect_same_blocks)(tmp_path / "run.h5", wanted)
    length = int(split.split()[-1])
    assert [iterations(path) for path in pieces(tmp_path).values()] == [
        [*range(first, min(first + length, LAST + 1))] for first in range(0, LAST + 1, length)]
    assert [*pieces(tmp_path)] == [f"rank000000.{n:06d}.h5" for n in range(-(-(LAST + 1) // length))]


def test_each_file_opens_alone_with_what_does_not_vary_in_time(tmp_path, whole):
    run(tmp_path, range(LAST + 1), options=FOUR)
    with h5py.File(whole()) as wanted:
        for number, path in enumerate(pieces(tmp_path).values()):
            alone = shutil.copy(path, tmp_path / "alone.h5")
            with h5py.File(alone) as file:
                for name in ("mesh", "one", "edges"):
                    assert same_bits(file[name][()], wanted[name][()]), name
                assert same_bits(file["fields/grid"][:], wanted["fields/grid"][4 * number:4 * number + 4])
                assert file["fields/grid"].dims[0].keys() == ["time"] and not file["fields/grid"].is_virtual
            with xarray.open_dataset(alone, decode_times=False) as opened:
                assert opened.sizes["time"] == 4


@pytest.mark.parametrize("times, split, names", [
    ([0, 10, 31, 40, 59, 60, 365, 400], "1 mo", ["2000-01", "2000-02", "2000-03", "2001-01", "2001-02"]),
    ([0, 10, 31, 364, 365, 366, 730], "1 y", ["2000", "2001", "2002"]),
    ([0, 0.25, 0.5, 0.9999999999, 1.25], "12 h", ["2000-01-01T000000", "2000-01-01T120000", "2000-01-02T000000"]),
    ([0.5, 1, 1.5, 2], "1 d", ["2000-01-01", "2000-01-02", "2000-01-03"]),
])
def test_months_years_and_days_are_those_of_the_calendar(tmp_path, times, split, names):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], options={"split": split}, **TIME)
    for i, t in enumerate(times):
        plugin.must(i, plugin.block(0, (3,), i + 1), parameters={"n": i, "s": "", "t": t})
    plugin.finish()
    assert [*pieces(tmp_path)] == [f"rank000000.{name}.h5" for name in names]
    with xarray.open_dataset(tmp_path / "run.h5", decode_times=False) as opened:
        assert opened["time"].values.tolist() == times and opened["iteration"].values.tolist() == [*range(len(times))]
        for i in range(len(times)):
            assert same_bits(opened["a"].values[i], array((3,), "f8", i + 1))


def test_a_time_that_goes_back_or_is_none_stays_in_the_file(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], options={"split": "1 d"}, **TIME)
    for i, t in enumerate([0.5, 1.5, 0.7, None, 1.9, 2.5, 1.0]):
        plugin.must(i, plugin.block(0, (3,), i + 1), parameters={"n": i, "s": "", "t": t})
    said = plugin.finish()
    assert "iteration 3 says no time, and stays in run.parts/session/rank000000.2000-01-02.h5" in said, said
    assert [iterations(path) for path in pieces(tmp_path).values()] == [[0], [1, 2, 3, 4], [5, 6]]
    assert iterations(tmp_path / "run.h5") == [*range(7)]


def test_a_finished_file_is_not_touched_again_and_may_be_moved_away(tmp_path, whole):
    plugin = start(tmp_path, options=FOUR)
    seen = {}
    for i in range(LAST + 1):
        step(plugin, i, 3)
        for path, facts in seen.items():
            found = os.stat(path)
            assert (found.st_mtime_ns, found.st_size, found.st_ino) == facts
        if i % 4 == 0 and i > 0:
            done = [*pieces(tmp_path).values()][-2]
            found = os.stat(done)
            seen[done] = found.st_mtime_ns, found.st_size, found.st_ino
            assert not [p for p in done.parent.iterdir() if p.name.startswith(f".{done.name}")], "no lock, no journal"
    first, second = [*pieces(tmp_path).values()][:2]
    os.rename(first, tmp_path / first.name)
    os.rename(tmp_path / first.name, first)  # and back
    plugin.finish()
    assert len(seen) == 2
    expect_same_output(tmp_path / "run.h5", whole())
    os.rename(second, tmp_path / "tape")
    assert leat("view", tmp_path / "run.h5").returncode == 0
    assert iterations(tmp_path / "run.h5") == [0, 1, 2, 3, 8, 9, 10, 11]
    os.rename(tmp_path / "tape", second)
    assert leat("view", tmp_path / "run.h5").returncode == 0
    expect_same_output(tmp_path / "run.h5", whole())


@pytest.mark.parametrize("k", [0, 2, 3, 4, 7, 8])
def test_a_server_that_is_killed_is_followed_by_one_that_goes_on(tmp_path, whole, k):
    plugin = start(tmp_path, options=FOUR)
    for i in range(k + 1):
        step(plugin, i, 3)
    plugin.kill()
    plugin = start(tmp_path, options=FOUR, resumed=1)
    for i in range(max(0, k - 2), LAST + 1):  # the last ones come again
        step(plugin, i, 3)
    assert plugin.finish() == ""
    expect_same_output(tmp_path / "run.h5", whole())
    assert [len(iterations(path)) for path in pieces(tmp_path).values()] == [4, 4, 4]


def run_until_killed(folder, first, when, resumed, call, options=None, **more):
    """A run that is killed in its `when`-th call. Returns the first iteration that was not said to be stored."""
    folder.mkdir(exist_ok=True)
    i = first
    try:
        wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={when}"]
        plugin = Plugin(folder, VARIABLES, ranks=2, xml=XML, resumed=resumed, options=options or {"split": "2"}, wrapper=wrapper, **TIME,
                        **more)
        for i in range(first, 6):
            step(plugin, i, 2)
        plugin.finish()
        return 6
    except (AssertionError, OSError, ValueError):  # what it says has ended with it
        return i


CALLS = [("pwrite64", 230), ("unlink", 12), ("linkat", 4), ("rename", 12), ("openat", 400)]
GOES_ON = {"split": "2", "append": "true"}


def dice():
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    return random.Random(seed)


def expect_all_after_kills(folder, six, chance, call, most, begin=0, **more):
    """Three servers that follow each other are killed in one of their calls, and a fourth one goes on."""
    first, resumed = begin, 0
    for _ in range(3):
        first = run_until_killed(folder, max(begin, first - 1), chance.randrange(1, most), resumed, call, **more)
        resumed = 1
    plugin = start(folder, 2, **{"options": {"split": "2"}, "resumed": 1, **more})
    for i in range(max(begin, first - 1), 6):
        step(plugin, i, 2)
    assert plugin.finish() == ""
    expect_same_output(folder / "run.h5", six)
    expect_constants(folder, six)


def made_six(folder):
    """Runs without a kill, in pieces and without."""
    run(folder / "split", range(6), 2, options={"split": "2"})
    run(folder / "whole", range(6), 2)
    expect_same_blocks(folder / "split/run.h5", folder / "whole/run.h5")
    return folder / "split/run.h5"


def expect_appended_after_kills(folder, six, chance, call, most):
    """The same of a run that goes on in the files of an earlier one."""
    run(folder, range(6), 2, options=GOES_ON, session="one")
    expect_all_after_kills(folder, six, chance, call, most, 3, options=GOES_ON, session="two")
    assert [iterations(path) for path in pieces(folder).values()] == [[0, 1], [2, 3], [4, 5]]


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    return made_six(tmp_path_factory.mktemp("six"))


@pytest.mark.parametrize("call, most", CALLS)
@pytest.mark.parametrize("expect", [expect_all_after_kills, expect_appended_after_kills])
def test_killed_at_any_call_nothing_is_lost_or_twice(tmp_path, six, expect, call, most):
    expect(tmp_path / "run", six, dice(), call, most)


@pytest.mark.parametrize("when", [1, 2, 3, 4, 5])
def test_killed_when_a_file_has_got_its_name_and_no_row_the_next_server_fills_it(tmp_path, six, when):
    first = run_until_killed(tmp_path, 0, when, 0, "linkat")
    assert first < 6  # a name is given by this call, of files and of views
    plugin = start(tmp_path, 2, options={"split": "2"}, resumed=1)
    for i in range(max(0, first - 1), 6):
        step(plugin, i, 2)
    assert plugin.finish() == ""
    expect_same_output(tmp_path / "run.h5", six)
    expect_constants(tmp_path, six)


def expect_constants(folder, wanted):
    """In each of the files."""
    with h5py.File(wanted) as whole:
        for path in pieces(folder).values():
            with h5py.File(path) as file:
                assert all(same_bits(file[name][()], whole[name][()]) for name in ("mesh", "one", "edges")), path


ENDS = [(6, 6), (8, 8), (10, 5), (10, 4), (10, 2), (10, 0), (12, 12)]


@pytest.mark.parametrize("end, first, nodes", [(*each, None) for each in ENDS] + [(*each, NODES) for each in ENDS[1:6:2]])
def test_append_goes_on_in_the_last_file(tmp_path, whole, end, first, nodes):
    last = 13
    reference = tmp_path / "whole"
    (run_nodes if nodes else run)(reference, range(last), options=FOUR)
    again = {**FOUR, "append": "true"}
    (run_nodes if nodes else run)(tmp_path / "run", range(end), options=again, session="one")
    untouched = {name: path.read_bytes() for name, path in pieces(tmp_path / "run").items()
                 if max(iterations(path), default=-1) < first - first % 4}
    (run_nodes if nodes else run)(tmp_path / "run", range(first, last), options=again, session="two")
    got, wanted = pieces(tmp_path / "run"), pieces(reference)
    assert [*got] == [*wanted]
    for name in got:
        assert iterations(got[name]) == iterations(wanted[name])
    if end > 0 and first % 4 == 0 and end == first:
        assert untouched and all(got[name].read_bytes() == untouched[name] for name in untouched)
    expect_same_output(tmp_path / "run" / "run.h5", reference / "run.h5")


def run_nodes(folder, numbers, options=None, session="s", **more):
    folder.mkdir(exist_ok=True)
    servers = Nodes(folder, VARIABLES, NODES, session=session, xml=XML, options=options or {}, **TIME, **more)
    for i in numbers:
        give_all(servers, i)
    return servers.finish()


def give_all(servers, i):
    for node, plugin in zip(servers.nodes, servers.plugins):
        own = [block for block in blocks(plugin, i, 3) if block["rank"] in node]
        plugin.must(i, *own, parameters=parameters(i), complete=int(i != 4))
        results(plugin, i)


def test_several_servers_each_split_their_part(tmp_path):
    run_nodes(tmp_path / "split", range(LAST + 1), options=FOUR)
    run_nodes(tmp_path / "whole", range(LAST + 1))
    assert [*pieces(tmp_path / "split")] == [f"rank{rank:06d}.{n:06d}.h5" for rank in (0, 2) for n in range(3)]
    expect_same_blocks(tmp_path / "split/run.h5", tmp_path / "whole/run.h5")


def test_one_of_several_servers_that_is_killed_goes_on_in_its_files(tmp_path):
    run_nodes(tmp_path / "whole", range(LAST + 1), options=FOUR)
    servers = Nodes(tmp_path / "run", VARIABLES, NODES, session="s", xml=XML, options=FOUR, **TIME)
    for i in range(LAST + 1):
        give_all(servers, i)
        if i in (3, 5, 8):
            place = i % 2
            servers.plugins[place].kill()
            servers.plugins[place] = Plugin(tmp_path / "run", VARIABLES, ranks=3, node_ranks=len(NODES[place]), session="s", resumed=1,
                                            first_rank=min(NODES[place]), xml=XML, options=FOUR, **TIME)
            assert not servers.plugins[place].opened
    servers.finish()
    expect_same_output(tmp_path / "run/run.h5", tmp_path / "whole/run.h5")


def test_servers_that_go_on_with_ranks_of_another_one_are_there_once(tmp_path):
    """As staging nodes do."""
    for name in ("split", "whole"):
        (tmp_path / name).mkdir()
    view = store_with_servers_that_go_on(tmp_path / "split", {"split": "2"})
    whole = store_with_servers_that_go_on(tmp_path / "whole")
    assert len(pieces(tmp_path / "split")) == 3 + 2 + 2
    with h5py.File(view) as got, h5py.File(whole) as wanted:
        assert got["iteration"][:].tolist() == wanted["iteration"][:].tolist() == [*range(5)]
        assert got["leat/iteration_complete"][:].tolist() == wanted["leat/iteration_complete"][:].tolist()
        assert same_bits(got["u"][:], wanted["u"][:])
        for row in range(5):
            for name in "pq":
                ours, theirs = stored_blocks(got, name, row), stored_blocks(wanted, name, row)
                assert ours.keys() == theirs.keys() and all(same_bits(ours[who], theirs[who]) for who in theirs), (name, row)


def test_a_full_disk_when_the_next_file_is_begun_loses_what_does_not_fit_and_says_so(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, "16M"):
        plugin = Plugin(disk, [variable("a", "f8", ["x"], **{"global": 1}), variable("x", "f8", ["x"], time_varying=0, **{"global": 1})],
                        options={"split": "2"})

        def give(i):
            made = [plugin.block(0, (N,), i + 1, position=[0], **{"global": (N,)})]
            if i == 0:
                made.append(plugin.block(1, (N,), 77, position=[0], **{"global": (N,)}))
            return plugin.iteration(i, *made)
        assert [give(i) for i in (0, 1)] == ["", ""]
        filler = disk / "filler"
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(bytes(65536))
                    file.flush()
            except OSError:
                pass
        assert "No space left" in give(2) and "No space left" in give(3)
        filler.unlink()
        assert [give(i) for i in (4, 5, 6)] == ["", "", ""]
        plugin.close()
        with h5py.File(disk / "run.h5") as file:
            numbers = file["iteration"][:].tolist()
            assert [n for n in numbers if n not in (2, 3)] == [0, 1, 4, 5, 6]
            for row, number in enumerate(numbers):
                if number not in (2, 3):
                    assert same_bits(file["a"][row], array((N,), "f8", number + 1))
            assert same_bits(file["x"][:], array((N,), "f8", 77))
        for path in pieces(disk).values():
            if set(iterations(path)) - {2, 3}:
                with h5py.File(path) as file:
                    assert same_bits(file["x"][:], array((N,), "f8", 77)), path


def test_a_run_of_which_nothing_was_stored_has_a_file(tmp_path):
    start(tmp_path, options=FOUR).finish()
    assert iterations(tmp_path / "run.h5") == [] and [*pieces(tmp_path)] == ["rank000000.000000.h5"]


@pytest.mark.parametrize("nodes", [None, NODES])
def test_a_file_without_a_row_makes_room_for_the_run_that_goes_on(tmp_path, whole, nodes):
    again = {**FOUR, "append": "true"}
    for session, numbers in (("one", ()), ("two", range(LAST + 1))):
        (run_nodes if nodes else run)(tmp_path / "run", numbers, options=again, session=session)
    (run_nodes if nodes else run)(tmp_path / "whole", range(LAST + 1), options=FOUR)
    expect_same_output(tmp_path / "run/run.h5", tmp_path / "whole/run.h5")
    assert [*pieces(tmp_path / "run")] == [*pieces(tmp_path / "whole")]


def test_a_view_goes_by_files_that_have_rows(tmp_path, whole):
    """One was begun, and its server died before the first row, which belongs into the next one."""
    plugin = start(tmp_path, options=FOUR)
    plugin.finish()
    (first,) = pieces(tmp_path).values()
    aside = first.rename(tmp_path / "aside")
    run(tmp_path, range(LAST + 1), options=FOUR)
    aside.rename(first.with_name("rank000000.none.h5"))
    leat("view", "run.h5", cwd=tmp_path)
    expect_same_output(tmp_path / "run.h5", whole())


def test_an_older_output_is_set_aside_and_its_files_with_it(tmp_path):
    run(tmp_path, range(5), options=FOUR, session="one")
    run(tmp_path, range(5, 8), options=FOUR, session="two")
    assert iterations(tmp_path / "run.1.h5") == [*range(5)] and iterations(tmp_path / "run.h5") == [5, 6, 7]
    run(tmp_path, range(2), options=FOUR, session="two")  # of the same session: its files are moved away
    assert iterations(tmp_path / "run.h5") == [0, 1]
    run(tmp_path, range(3), session="two")
    assert iterations(tmp_path / "run.h5") == [0, 1, 2] and "leat_parts" not in h5py.File(tmp_path / "run.h5").attrs


def test_an_older_output_is_replaced_with_all_its_files(tmp_path):
    options = {**FOUR, "exists": "replace"}
    run(tmp_path, range(5), options=options, session="one")
    run(tmp_path, range(3), options=options, session="two")
    assert iterations(tmp_path / "run.h5") == [0, 1, 2]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "run.h5", "run.parts/two/rank000000.000000.h5"]


def test_two_runs_of_one_name_at_a_time_have_files_and_a_view_each(tmp_path):
    one, two = start(tmp_path, options=FOUR, session="one"), start(tmp_path, options=FOUR, session="two")
    for i in range(5):
        step(one, i, 3)
        step(two, i + 1, 3)
    one.finish(), two.finish()
    assert iterations(tmp_path / "run.h5") == [*range(5)] and iterations(tmp_path / "run-two.h5") == [*range(1, 6)]


def test_of_two_runs_that_append_at_a_time_the_second_has_files_and_a_view_of_its_own(tmp_path):
    again = {**FOUR, "append": "true"}
    run(tmp_path, range(3), options=again, session="none")
    one, two = (start(tmp_path, options=again, session=session) for session in ("one", "two"))
    for i in range(5):
        step(one, i + 2, 3)
        step(two, i + 1, 3)
    assert one.finish() == "" and "run.h5 is being written by another run" in two.finish()
    assert iterations(tmp_path / "run.h5") == [*range(7)] and iterations(tmp_path / "run-two.h5") == [*range(1, 6)]


@pytest.mark.parametrize("before, now, why", [(FOUR, {}, "and this run has no split"),
                                              ({}, FOUR, "it is one file, and this run has split")])
def test_append_refuses_an_output_of_the_other_kind(tmp_path, before, now, why):
    run(tmp_path, range(6), options=before, session="one")
    seen = (tmp_path / "run.h5").read_bytes()
    plugin = Plugin(tmp_path, VARIABLES, ranks=3, xml=XML, options={**now, "append": "true"}, session="two", **TIME)
    said = plugin.opened or plugin.iteration(6, *blocks(plugin, 6, 3), parameters=parameters(6))
    assert why in said, said
    plugin.close()
    assert (tmp_path / "run.h5").read_bytes() == seen


def test_append_with_another_length_begins_a_new_file(tmp_path, whole):
    run(tmp_path, range(6), options={**FOUR, "append": "true"}, session="one")
    run(tmp_path, range(6, LAST + 1), options={"split": "3", "append": "true"}, session="two")
    assert sorted(iterations(path) for path in pieces(tmp_path).values()) == [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9, 10, 11]]
    expect_same_output(tmp_path / "run.h5", whole())


def test_ls_merge_and_recover_know_the_files(tmp_path, whole):
    run(tmp_path, range(LAST + 1), options=FOUR)
    shown = leat("ls", "run.h5", cwd=tmp_path).stdout
    assert "12: 0 to 11" in shown and "view of     3 files, split=\"4\": run.parts/session/rank000000.000000.h5, " in shown, shown
    for name, path in pieces(tmp_path).items():
        shown = leat("ls", path).stdout  # the ledger is the driver's, which has none
        assert ("closed" if name.endswith("2.h5") else f"{name}  closed") in shown and "iterations  4: " in shown, shown
    assert "3 parts" in leat("recover", "run.h5", cwd=tmp_path).stdout
    done = leat("merge", "run.h5", "one.h5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "one.h5") as file, h5py.File(whole()) as wanted:
        for name in ("fields/grid", "atoms", "several", "scripts/means/mean"):
            assert same_bits(file[name][()], wanted[name][()]), name


@pytest.mark.parametrize("options, why", [
    ({"split": "often"}, '"often" is no period; write iterations like "1000", or a time'),
    ({"split": "10 min wall"}, "do not have the same clock on the wall"),
    ({"split": "1 h for 5 d, then 3 h"}, "all files are equally long"),
    ({"split": "first"}, "that is no length of a file"),
    ({"split": ""}, "it is empty"),
    ({"split": "1 mo"}, "the simulation says no time"),
    ({"split": "4", "files": "2"}, "take one of them away"),
    ({"split": "4", "layout": "damaris"}, 'with layout="damaris" each has its own'),
])
def test_what_cannot_be_is_said_at_the_start(tmp_path, options, why):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], options=options)
    assert why in plugin.opened, plugin.opened
