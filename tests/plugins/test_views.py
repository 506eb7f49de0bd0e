# SPDX-License-Identifier: Apache-2.0
"""The view of a run on several nodes says what one server would have written, to the last bit; so does the merged file."""
import json
import os
import shutil

import h5py
import numpy as np
import pytest
import xarray
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits
from nodes import Nodes, expect_same_values, leat
from stored_blocks import stored_ranks
from test_cf import MESHES, TIME, VARIABLES, expect_cf, write_all


def both(folder, variables, nodes, give, **each):
    """`give(target)` to servers on several nodes, and to a single one; the view, the merged file, the file of the one."""
    several = Nodes(folder / "several", variables, nodes, simulation="run", **each)
    give(several)
    warnings = several.finish()
    assert not warnings, warnings
    (folder / "one").mkdir()
    one = Plugin(folder / "one", variables, simulation="run", ranks=sum(map(len, nodes)), session="s1", **each)
    give(one)
    one.finish()
    name = each.get("options", {}).get("file", "run.h5")
    merged = leat("merge", folder / "several" / name, folder / name)
    assert merged.returncode == 0, merged.stderr
    return folder / "several" / name, folder / name, folder / "one" / name


def grid(target, number, places, ghosts, dtype="f8", iteration=0, shape=(12, 10)):
    """Blocks of a global array: places are {(rank, block): (y, x, rows, columns)}."""
    blocks = []
    for (rank, block), (y, x, ny, nx) in places.items():
        whole = (ny + 2 * ghosts, nx + 2 * ghosts)
        blocks.append(target.block(number, whole, 1000 * iteration + 10 * rank + block + 1, rank=rank, block=block,
                                   position=[y, x], **{"global": shape}))
    return blocks


DECOMPOSITIONS = {
    "blocks": {(r, 0): (6 * (r // 2), 5 * (r % 2), 6, 5) for r in range(4)},
    "pencils": {(r, 0): (3 * r, 0, 3, 10) for r in range(4)},
    "irregular": {(0, 0): (0, 0, 12, 3), (1, 0): (0, 3, 5, 7), (2, 0): (5, 3, 7, 2), (3, 0): (5, 5, 7, 5)},
    "several blocks": {(r, b): (3 * r, 5 * b, 3, 5) for r in range(4) for b in range(2)},
    "holes": {(0, 0): (0, 0, 4, 10), (3, 0): (8, 0, 4, 4), (2, 0): (0, 0, 0, 0)},
    "overlaps": {(0, 0): (0, 0, 7, 10), (1, 0): (5, 0, 4, 8), (2, 0): (8, 2, 4, 8)},
}
NODES = {"in a row": [[0, 1], [2, 3]], "in turn": [[0, 2], [1, 3]], "uneven": [[0], [1, 2, 3]]}


@pytest.mark.parametrize("compression", ["none", "deflate:4"])
@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES.keys())
@pytest.mark.parametrize("places", DECOMPOSITIONS.values(), ids=DECOMPOSITIONS.keys())
def test_a_global_array_is_that_of_one_server(tmp_path, places, nodes, compression):
    ghosts = 1 if min(p[2] for p in places.values()) > 0 else 0
    variables = [variable("fields/u", "f8", [("y", ghosts, ghosts), ("x", ghosts, ghosts)], unit="K", **{"global": 1}),
                 variable("mask", "i2", ["y", "x"], time_varying=0, **{"global": 1})]

    def give(target):
        for i in range(3):
            blocks = grid(target, 0, places, ghosts, iteration=i)
            if i == 0:
                blocks += grid(target, 1, places, 0)
            target.must(10 * i, *blocks)

    for path in (made := both(tmp_path, variables, nodes, give, options={"compression": compression}))[:2]:
        expect_same_values(path, made[2])


def test_blocks_that_move_between_nodes_and_a_shape_that_changes(tmp_path):
    def give(target):
        for i in range(6):
            rows = 8 if i < 3 else 12
            places = {(r, 0): ((rows // 4) * ((r + i) % 4), 0, rows // 4, 10) for r in range(4)}
            if i == 4:
                del places[(1, 0)]
            target.must(i, *grid(target, 0, places, 0, iteration=i, shape=(rows, 10)))

    made = both(tmp_path, [variable("u", "f4", ["?y", "x"], **{"global": 1})], NODES["in turn"], give)
    for path in made[:2]:
        expect_same_values(path, made[2])


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES.keys())
def test_arrays_without_a_global_shape_scalars_and_particles(tmp_path, nodes):
    variables = [variable("energy", "f8", []), variable("local", "i4", ["z"]), variable("atoms", "f4", ["?atom", "xyz"]),
                 variable("patches", "u2", ["?y", "?x"]), variable("name", "S1", ["c"], time_varying=0),
                 variable("sizes", "i8", ["?n"], time_varying=0), variable("kind", "i1", ["?atom"]),
                 variable("charge", "f4", ["?atom"]), variable("density", "f4", ["?y", "?x"])]

    def give(target):
        for i in range(5):
            blocks = []
            for rank in range(4):
                seed = 100 * i + 10 * rank
                blocks.append(target.block(0, (), seed + 1, rank=rank))
                blocks += [target.block(1, (3 + (rank + i) % 2,), seed + 2 + b, rank=rank, block=b) for b in range(rank % 2 + 1)]
                if i != 2:
                    blocks.append(target.block(2, ((rank + i) % 3, 3), seed + 5, rank=rank))
                    blocks.append(target.block(6, ((rank + i) % 3,), seed + 9, rank=rank))
                    blocks.append(target.block(7, ((rank + i) % 3 + (i == 3),), seed + 9, rank=rank))
                blocks.append(target.block(8, (1 + rank % 2, 2 + i % 2), seed + 6, rank=rank))
                blocks.append(target.block(3, (1 + rank % 2, 2 + i % 2), seed + 6, rank=rank))
                if i == 0:
                    blocks += [target.block(4, (5,), seed + 7, rank=rank), target.block(5, (rank,), seed + 8, rank=rank)]
            blocks.sort(key=lambda b: (b["variable"], b["rank"], b["block"]))
            target.must(i, *blocks, parameters={"dt": 0.5 * i, "n": i, "s": "a" * (i + 1)})

    made = both(tmp_path, variables, nodes, give)
    for path in made[:2]:
        expect_same_values(path, made[2])
        with h5py.File(path) as file:
            assert file["atoms"].dims[0][0] == file["kind"].dims[0][0] != file["charge"].dims[0][0]
            assert file["patches"].dims[0][0] == file["density"].dims[0][0]


def test_a_run_with_dates_meshes_and_every_kind_of_variable_is_that_of_one_server_and_cf(tmp_path):
    def give(target):
        for i in range(4):
            write_all(target, i)

    made = both(tmp_path, VARIABLES, [[0], [1]], give, description="A plate that cools", meshes=MESHES,
                options={"file": "run.nc"}, **TIME)
    for path in made[:2]:
        expect_same_values(path, made[2])
        expect_cf(path, tmp_path)
        for engine in ("h5netcdf", "netcdf4"):
            with xarray.open_dataset(path, engine=engine) as data:
                assert sorted(data["temperature"].coords) == ["iteration", "time", "x", "y"]
                assert str(data["time"].values[1]) == "2000-02-28 12:00:00"
    shown = leat("ls", made[0])
    assert shown.returncode == 0 and "view of     2 parts: run.parts/s1/rank000000.h5, " in shown.stdout, shown


def test_a_table_has_the_widest_type_of_all_parts(tmp_path):
    def give(target):
        target.must(0, target.block(0, (1, 2), 1, rank=0), target.block(0, (3_000_000_000, 0), 2, rank=3))

    made = both(tmp_path, [variable("patches", "u2", ["?y", "?x"])], NODES["in a row"], give)
    for path in made[:2]:
        with h5py.File(path) as file:
            assert file["patches_extent"].dtype == "i8" and file["patches_extent"][:].tolist() == [[1, 2], [3_000_000_000, 0]]
        expect_same_values(path, made[2])


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_opens_the_view_and_the_merged_file(tmp_path, engine):
    def give(target):
        for i in range(3):
            target.must(5 * i, *grid(target, 0, DECOMPOSITIONS["blocks"], 1, iteration=i))

    view, merged, one = both(tmp_path, [variable("u", "f8", [("y", 1, 1), ("x", 1, 1)], unit="K", **{"global": 1})],
                             NODES["in a row"], give)
    for path in (view, merged):
        with xarray.open_dataset(path, engine=engine) as data, h5py.File(one) as file:
            assert data["u"].dims == ("iteration", "y", "x") and data["u"].attrs["units"] == "K"
            assert data["iteration"].values.tolist() == [0, 5, 10]
            assert same_bits(data["u"].values, file["u"][:])


def test_an_iteration_that_one_node_has_not_is_fill_value_there(tmp_path):
    places = DECOMPOSITIONS["pencils"]
    variables = [variable("u", "f8", ["y", "x"], **{"global": 1}), variable("e", "f8", []), variable("last", "f8", [])]
    run = Nodes(tmp_path / "n", variables, NODES["in a row"])
    for i in range(8):
        blocks = grid(run, 0, places, 0, iteration=i) + [run.block(1, (), 50 + i, rank=r) for r in range(4)]
        blocks.append(run.block(2, (), i, rank=3))
        run.must(i, *blocks, but=[1] if i in (2, 3, 5) else [0] if i == 6 else [])
    run.finish()
    with h5py.File(tmp_path / "n/run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(8))
        assert file["leat/iteration_complete"][:].tolist() == [1, 1, 0, 0, 1, 0, 0, 1]
        for i in range(8):
            for (rank, _), (y, x, ny, nx) in places.items():
                there = not (rank >= 2 and i in (2, 3, 5) or rank < 2 and i == 6)
                expected = array((ny, nx), "f8", 1000 * i + 10 * rank + 1)
                got = file["u"][i, y:y + ny, x:x + nx]
                assert same_bits(got, expected) if there else np.isnan(got).all(), (i, rank)
            assert list(stored_ranks(file, "e", i)) == ([0, 1] if i in (2, 3, 5) else [2, 3] if i == 6 else [0, 1, 2, 3])
        # No part says so of a variable which it has in all of its iterations.
        assert file["leat/last_written"][:].tolist() == [1, 1, 0, 0, 1, 0, 1, 1] and file["leat/last_written"].dtype == "i1"
        assert file["leat/last_written"].attrs["flag_meanings"] == b"not_written written"


def test_a_killed_server_costs_what_it_had_not_committed(tmp_path):
    places = DECOMPOSITIONS["blocks"]
    run = Nodes(tmp_path / "n", [variable("u", "f8", ["y", "x"], **{"global": 1})], NODES["in a row"])
    for i in range(4):
        run.must(i, *grid(run, 0, places, 0, iteration=i))
    run.plugins[1].kill()
    for i in range(4, 6):
        run.must(i, *grid(run, 0, places, 0, iteration=i), but=[1])
    run.finish(but=[1])
    with h5py.File(tmp_path / "n/run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(6)) and file["leat/iteration_complete"][:].tolist() == [1] * 4 + [0] * 2
        for i in range(6):
            for (rank, _), (y, x, ny, nx) in places.items():
                got, expected = file["u"][i, y:y + ny, x:x + nx], array((ny, nx), "f8", 1000 * i + 10 * rank + 1)
                assert same_bits(got, expected) if rank < 2 or i < 4 else np.isnan(got).all()


@pytest.mark.parametrize("verb", ["view", "recover"])
def test_when_all_were_killed_the_view_opens_and_a_command_completes_it(tmp_path, verb):
    run = Nodes(tmp_path / "n", [variable("u", "f8", ["y", "x"], **{"global": 1})], NODES["in turn"])
    for i in range(30):
        run.must(i, *grid(run, 0, DECOMPOSITIONS["blocks"], 0, iteration=i))
    with h5py.File(tmp_path / "n/run.h5") as file:  # while they are at work
        seen = len(file["iteration"])
        assert 1 <= seen <= 30 and file["u"].shape == (seen, 12, 10)
    for plugin in run.plugins:
        plugin.kill()
    done = leat(verb, tmp_path / "n/run.h5")
    assert done.returncode == 0 and "2 parts, 30 iterations" in done.stdout, done
    with h5py.File(tmp_path / "n/run.h5") as file:
        assert len(file["iteration"]) == 30 and file["leat/iteration_complete"][:].all()
        assert same_bits(file["u"][29, :6, :5], array((6, 5), "f8", 29001))


def test_what_a_killed_server_left_of_a_view_goes_with_the_next_that_somebody_makes(tmp_path):
    run = Nodes(tmp_path / "n", [variable("u", "f8", ["y", "x"], **{"global": 1})], NODES["in turn"])
    run.must(0, *grid(run, 0, DECOMPOSITIONS["blocks"], 0))
    left = [tmp_path / "n" / name for name in (".run.h5.rank000000", ".run.h5.rank000001.vtk")]
    for path in left:
        path.write_bytes(b"half a view")
    assert leat("view", tmp_path / "n/run.h5").returncode == 0 and all(path.exists() for path in left), "they may be at work"
    for plugin in run.plugins:
        plugin.kill()
    assert leat("view", tmp_path / "n/run.h5").returncode == 0 and not list((tmp_path / "n").glob(".*"))


def test_arrays_of_as_many_elements_are_mapped_few_boxes_at_a_time(tmp_path):
    """HDF5 opens a dataset with n boxes in one mapping in a time of n^2; h5py says how many there are."""
    def give(target):
        for i in range(150):
            target.must(i, *[target.block(0, (2,), 10 * i + rank, rank=rank) for rank in range(4)])

    view, _, one = both(tmp_path, [variable("u", "f8", ["?n"])], NODES["in a row"], give)
    expect_same_values(view, one)
    with h5py.File(view) as file:
        boxes = [mapping.vspace.get_select_hyper_nblocks() for mapping in file["u"].virtual_sources()]
        assert sum(boxes) == 300 and max(boxes) == 64


def test_the_view_is_less_than_a_hundredth_of_the_data(tmp_path):
    shape = (256, 256)
    places = {(r, 0): (64 * r, 0, 64, 256) for r in range(4)}
    run = Nodes(tmp_path / "n", [variable("u", "f8", ["y", "x"], **{"global": 1}), variable("v", "f4", ["y", "x"])],
                NODES["in a row"])
    for i in range(40):
        run.must(i, *grid(run, 0, places, 0, iteration=i, shape=shape),
                 *[run.block(1, (64, 256), i + r, rank=r) for r in range(4)])
    run.finish()
    data = 40 * 256 * 256 * 12
    parts = sum(p.stat().st_size for p in (tmp_path / "n").rglob("rank*.h5"))
    view = (tmp_path / "n/run.h5").stat().st_size
    assert view < data / 100 and parts < 1.05 * data, (view, parts, data)


def test_an_older_view_keeps_its_parts_when_it_is_renamed_or_all_goes(tmp_path):
    def one_run(session, seed, **options):
        run = Nodes(tmp_path, [variable("u", "f8", ["y", "x"], **{"global": 1})], NODES["in a row"], session=session,
                    options=options)
        run.must(0, *grid(run, 0, DECOMPOSITIONS["blocks"], 0, iteration=seed))
        return run.finish()

    def corner(name):
        with h5py.File(tmp_path / name) as file:
            return file["u"][0, :6, :5]

    one_run("a", 1)
    one_run("b", 2)
    assert same_bits(corner("run.1.h5"), array((6, 5), "f8", 1001)) and same_bits(corner("run.h5"), array((6, 5), "f8", 2001))
    one_run("c", 3, exists="replace")
    assert same_bits(corner("run.h5"), array((6, 5), "f8", 3001)) and same_bits(corner("run.1.h5"), array((6, 5), "f8", 1001))
    assert sorted(p.name for p in (tmp_path / "run.parts").iterdir()) == ["a", "c"]
    assert "same session name" in one_run("c", 4)
    assert same_bits(corner("run.h5"), array((6, 5), "f8", 4001))
    done = leat("view", tmp_path / "run.parts/c.1", "--output", tmp_path / "old.h5")
    assert done.returncode == 0 and same_bits(corner("old.h5"), array((6, 5), "f8", 3001)), done
    # A run on one node in the same folder: the view gives way like any file.
    alone = Plugin(tmp_path, [variable("u", "f8", ["x"])])
    alone.must(0, alone.block(0, (3,), 1))
    alone.finish()
    assert same_bits(corner("run.2.h5"), array((6, 5), "f8", 4001))
    left = [p.name for p in tmp_path.rglob(".*")]
    assert not left, left


def test_two_runs_at_the_same_time_have_a_view_each(tmp_path):
    variables = [variable("u", "f8", ["y", "x"], **{"global": 1})]
    first, second = (Nodes(tmp_path, variables, NODES["in a row"], session=s) for s in "ab")
    for i, run in ((1, first), (2, second)):
        run.must(0, *grid(run, 0, DECOMPOSITIONS["blocks"], 0, iteration=i))
    assert "is being written by another run" in second.finish()
    first.finish()
    for i, name in ((1, "run.h5"), (2, "run-b.h5")):
        with h5py.File(tmp_path / name) as file:
            assert same_bits(file["u"][0, :6, :5], array((6, 5), "f8", 1000 * i + 1))


def test_results_of_scripts_and_ledgers_are_those_of_each_node(tmp_path):
    run = Nodes(tmp_path, [variable("u", "f8", ["y", "x"], **{"global": 1})], NODES["in a row"],
                ledger='{\n  "lost": 2\n}')
    run.must(0, *grid(run, 0, DECOMPOSITIONS["blocks"], 0))
    for seed, plugin in enumerate(run.plugins):
        assert not plugin.results("stat", 0, plugin.result("mean", "f8", ["b"], (4,), seed))
    run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["lost"] == 4
        for seed, name in enumerate(("rank000000", "rank000002")):
            assert same_bits(file[f"parts/{name}/scripts/stat/mean"][0], array((4,), "f8", seed))
            assert json.loads(file[f"parts/{name}/ledger"][()].tobytes()) == {"lost": 2}
    assert leat("merge", tmp_path / "run.h5", tmp_path / "m.h5").returncode == 0
    with xarray.open_dataset(tmp_path / "m.h5", engine="h5netcdf", group="parts/rank000002/scripts/stat") as data:
        assert data["mean"].dims == ("iteration", "b") and same_bits(data["mean"].values[0], array((4,), "f8", 1))


def small_view(folder):
    run = Nodes(folder, [variable("u", "f8", ["y", "x"], **{"global": 1})], NODES["in a row"])
    run.must(0, *grid(run, 0, DECOMPOSITIONS["blocks"], 0))
    run.finish()


def test_merge_says_what_it_made_and_overwrites_nothing(tmp_path):
    small_view(tmp_path)
    done = leat("merge", "run.h5", "m.h5", "--json", cwd=tmp_path)
    said = json.loads(done.stdout)
    assert said["file"] == "m.h5" and said["iterations"] == 1 and said["bytes"] >= 12 * 10 * 8
    again = leat("merge", "run.h5", "m.h5", cwd=tmp_path)
    assert again.returncode == 1 and "--force" in again.stderr
    assert leat("merge", "run.h5", "m.h5", "--force", cwd=tmp_path).returncode == 0
    itself = leat("merge", "run.h5", "run.h5", "--force", cwd=tmp_path)
    assert itself.returncode == 1 and "is what is to be merged" in itself.stderr
    plain = leat("merge", "m.h5", "n.h5", cwd=tmp_path)
    assert plain.returncode == 1 and "no view" in plain.stderr
    assert leat("merge", "run.h5", cwd=tmp_path).returncode == 2
    with h5py.File(tmp_path / "m.h5") as file:
        assert not file["u"].is_virtual and "leat_parts" not in file.attrs


def test_a_missing_part_is_named(tmp_path):
    small_view(tmp_path)
    part = tmp_path / "run.parts/s1/rank000002.h5"
    part.unlink()
    done = leat("merge", tmp_path / "run.h5", tmp_path / "m.h5")
    assert done.returncode == 1 and str(part) in done.stderr and "is missing" in done.stderr
    assert not (tmp_path / "m.h5").exists() and not list(tmp_path.glob(".*"))
    view = leat("view", tmp_path / "run.h5")
    assert view.returncode == 0 and "the parts of 2 of its 4 ranks are missing" in view.stdout
    shutil.rmtree(tmp_path / "run.parts")
    gone = leat("view", tmp_path / "run.h5")
    assert gone.returncode == 1 and "belong together" in gone.stderr


def test_view_finds_what_is_meant(tmp_path):
    small_view(tmp_path)
    os.unlink(tmp_path / "run.h5")
    done = leat("view", tmp_path / "run.parts", "--json")
    assert json.loads(done.stdout) | {"view": ""} == {"view": "", "parts": 2, "iterations": 1, "ranks": 4, "ranks_in_parts": 4,
                                                      "left_out": 0}
    assert (tmp_path / "run.h5").exists()
    (tmp_path / "moved").mkdir()
    for name in ("run.h5", "run.parts"):
        os.rename(tmp_path / name, tmp_path / "moved" / name)
    with h5py.File(tmp_path / "moved/run.h5") as file:
        assert same_bits(file["u"][0, :6, :5], array((6, 5), "f8", 1))
    nothing = leat("view", tmp_path)
    assert nothing.returncode == 1 and "rank*.h5" in nothing.stderr


@pytest.mark.parametrize("kind", ["uniform", "rectilinear"])
def test_coordinates_of_a_mesh_are_those_of_one_server(tmp_path, kind):
    places = DECOMPOSITIONS["blocks"]
    variables = [variable("u", "f8", [("y", 1, 1), ("x", 1, 1)], mesh=0, **{"global": 1})]
    if kind == "uniform":
        meshes = [mesh("m", kind, 2, origin=[1.0, 2.0], spacing=[0.5, 0.25], unit="m")]
    else:
        meshes = [mesh("m", kind, 2, coordinates=[1, 2])]
        variables += [variable("x", "f8", ["x"], time_varying=0, **{"global": 1}),
                      variable("y", "f8", ["y"], time_varying=0, **{"global": 1})]

    def give(target):
        for i in range(2):
            blocks = grid(target, 0, places, 1, iteration=i)
            if i == 0 and kind == "rectilinear":
                for number, axis, length, whole in ((1, 1, 5, 10), (2, 0, 6, 12)):
                    # Each block says where its cells lie; those in a line say the same.
                    blocks += [target.block(number, (length,), 7 + at[axis] + 100 * number, rank=rank, position=[at[axis]],
                                            **{"global": (whole,)}) for (rank, _), at in places.items()]
            target.must(i, *blocks)

    made = both(tmp_path, variables, NODES["in turn"], give, meshes=meshes)
    for path in made[:2]:
        expect_same_values(path, made[2])
        with xarray.open_dataset(path, engine="h5netcdf") as data:
            assert set(data["u"].coords) == {"iteration", "y", "x"}
        with h5py.File(path) as file, h5py.File(made[2]) as one:
            assert "VTKHDF" in one and "VTKHDF" in file


def test_a_view_that_is_made_at_the_end_gives_a_sign_of_life_with_each_part_and_variable(tmp_path):
    nodes = Nodes(tmp_path, [variable(name, "f8", ["x"]) for name in "abcdefgh"], [[0], [1]], signs_of_life="signs")
    nodes.must(0, *[nodes.block(number, (5,), number, rank) for number in range(8) for rank in range(2)])
    nodes.finish()
    assert int((tmp_path / "signs").read_text()) >= 1


def store_with_servers_that_go_on(folder, options=None):
    """The first server has all ranks to begin with; then others go on with some, and are given again what it had not said to be stored.
    Iterations 0 to 4 of p, q and u; returns the view."""
    variables = [variable("p", "i4", ["?n"]), variable("q", "f8", ["x"]), variable("u", "f8", ["y", "x"], **{"global": 1})]

    def server(ranks, succession):
        return Plugin(folder, variables, simulation="run", session="s1", ranks=3, node_ranks=len(ranks), first_rank=ranks[0],
                      own_ranks=ranks, succession=succession, options=options)

    def give(target, iteration, ranks, complete=1):
        blocks = [target.block(number, shape, 100 * iteration + 10 * rank + number + 1, rank=rank)
                  for number in (0, 1) for rank in ranks for shape in [(4,) if number else (rank + iteration,)]]
        blocks += grid(target, 2, {(rank, 0): (4 * rank, 0, 4, 10) for rank in ranks}, 0, iteration=iteration)
        target.must(iteration, *blocks, complete=complete)

    first = server([0, 1, 2], 1)
    for iteration in range(3):
        give(first, iteration, [0, 1, 2])
    give(first, 3, [0, 2], complete=0)  # rank 1 has gone by then
    give(first, 4, [2], complete=0)
    second, third = server([1], 1000), server([0], 2000)
    for target, rank, begin in ((second, 1, 2), (third, 0, 3)):
        for iteration in range(begin, 5):
            give(target, iteration, [rank])
    for target in (first, second, third):
        target.finish()
    return folder / "run.h5"


def test_what_a_server_was_given_again_is_there_once(tmp_path):
    store_with_servers_that_go_on(tmp_path)
    merged = leat("merge", tmp_path / "run.h5", tmp_path / "merged.h5")
    assert merged.returncode == 0, merged.stderr
    for name in ("run.h5", "merged.h5"):
        with h5py.File(tmp_path / name) as file:
            assert file["iteration"][:].tolist() == list(range(5))
            for iteration in range(5):
                lists, rows = (stored_ranks(file, variable, iteration) for variable in "pq")
                assert sorted(lists) == sorted(rows) == [0, 1, 2], (name, iteration)
                for rank in range(3):
                    assert same_bits(lists[rank], array((rank + iteration,), "i4", 100 * iteration + 10 * rank + 1))
                    assert same_bits(rows[rank], array((4,), "f8", 100 * iteration + 10 * rank + 2))
                    assert same_bits(file["u"][iteration][4 * rank:4 * rank + 4], array((4, 10), "f8", 1000 * iteration + 10 * rank + 1))
