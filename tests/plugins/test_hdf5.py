# SPDX-License-Identifier: Apache-2.0
"""The hdf5 store, judged by h5py."""
import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest
from leat_plugin import TYPES, Plugin, array, variable
from leat_run import same_bits
from stored_blocks import stored_blocks


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_comes_back_bit_for_bit_with_its_fill_value(tmp_path, dtype):
    plugin = Plugin(tmp_path, [variable("a", dtype, ["x"]), variable("b", dtype, ["x"])])
    plugin.must(0, plugin.block(0, (6,), 1), plugin.block(1, (6,), 2))
    plugin.must(1, plugin.block(0, (6,), 3))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["a"].dtype == np.dtype(dtype)
        # HDF5 ends strings at their first zero byte, so characters are compared as such.
        expected = np.array([array((6,), dtype, 1), array((6,), dtype, 3)])
        assert same_bits(file["a"][:], expected)
        missing = file["b"][1]
        if dtype[0] in "fc":
            assert np.isnan(missing).all()
        elif dtype != "S1":
            limits = np.iinfo(dtype)
            assert (missing == (limits.min if dtype[0] == "i" else limits.max)).all()
        assert file["b"].attrs["_FillValue"].tobytes() == missing[:1].tobytes()


@pytest.mark.parametrize("dims", [(5,), (4, 6), (3, 4, 5)])
def test_ghosts_are_left_out_in_any_number_of_dimensions(tmp_path, dims):
    names = "zyx"[-len(dims):]
    plugin = Plugin(tmp_path, [variable("g", "f4", [(n, 1, 2) for n in names], **{"global": 1})])
    whole = tuple(n + 3 for n in dims)
    plugin.must(0, plugin.block(0, whole, 9, position=[0] * len(dims), **{"global": dims}))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        inner = array(whole, "f4", 9)[tuple(slice(1, -2) for _ in dims)]
        assert same_bits(file["g"][0], inner)
        assert [d[0].name for d in file["g"].dims] == ["/iteration"] + [f"/{n}" for n in names]


def test_ghosts_are_left_out_of_blocks_without_a_place_too(tmp_path):
    variables = [variable("one", "f4", [("y", 1, 2), "x"]), variable("list", "f8", [{"name": "n", "low": 1, "high": 1, "varying": 1}]),
                 variable("flat", "i4", [("y", 1, 0), "?x"]), variable("empty", "i4", [("y", 2, 2), "?x"])]
    plugin = Plugin(tmp_path, variables, ranks=2)
    for row in range(2):
        plugin.must(row, *[plugin.block(v, extents[r], 10 * row + v + r, rank=r) for v, extents in enumerate(
            [[(6, 3), (6, 3)], [(4,), (5,)], [(3, 2), (3, 3)], [(0, 0), (0, 0)]]) for r in range(2)])
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(2):
            for r in range(2):
                assert same_bits(stored_blocks(file, "one", row)[r, 0], array((6, 3), "f4", 10 * row + r)[1:-2])
            expected = [array((4 + r,), "f8", 10 * row + 1 + r)[1:-1] for r in range(2)]
            assert same_bits(file["list"][5 * row:5 * row + 5], np.concatenate(expected))
            expected = [array((3, 2 + r), "i4", 10 * row + 2 + r)[1:].reshape(-1) for r in range(2)]
            assert same_bits(file["flat"][10 * row:10 * row + 10], np.concatenate(expected))
        assert file["flat_extent"][2:].tolist() == [[2, 2], [2, 3]] and "one_extent" not in file
        assert file["list_count"][:].tolist() == [2, 3] * 2 and file["empty_count"][:].tolist() == [0, 0] * 2


@pytest.mark.parametrize("compression", ["none", "deflate:4"])
def test_blocks_of_ranks_make_one_array_and_missing_ones_show(tmp_path, compression):
    plugin = Plugin(tmp_path, [variable("fields/t", "f8", ["y", "x"], **{"global": 1}, unit="K")], ranks=4,
                    options={"compression": compression})
    at = {rank: [20 * (rank // 2), 8 * (rank % 2)] for rank in range(4)}
    blocks = [plugin.block(0, (20, 8), rank, rank=rank, position=at[rank], **{"global": (40, 16)}) for rank in range(4)]
    plugin.must(10, *blocks)
    plugin.must(20, *blocks[1:], complete=0)
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [10, 20]
        assert file["leat/iteration_complete"][:].tolist() == [1, 0]
        t = file["fields/t"]
        assert t.attrs["units"] == b"K" and (t.compression == "gzip") == (compression != "none")
        for row, ranks in ((0, range(4)), (1, range(1, 4))):
            for rank in ranks:
                y, x = at[rank]
                assert same_bits(t[row, y:y + 20, x:x + 8], array((20, 8), "f8", rank))
        assert np.isnan(t[1, :20, :8]).all()


def test_a_global_shape_that_changes_is_recorded(tmp_path):
    plugin = Plugin(tmp_path, [variable("g", "i4", ["?y", "x"], **{"global": 1})])
    for iteration, rows in enumerate((3, 5, 2)):
        plugin.must(iteration, plugin.block(0, (rows, 4), iteration, position=[0, 0], **{"global": (rows, 4)}))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["g"].shape == (3, 5, 4) and file["leat/g_global"][:].tolist() == [[3, 4], [5, 4], [2, 4]]
        for iteration, rows in enumerate((3, 5, 2)):
            assert same_bits(file["g"][iteration, :rows], array((rows, 4), "i4", iteration))
            assert (file["g"][iteration, rows:] == np.iinfo("i4").min).all()


def test_ragged_blocks_lie_one_after_the_other_with_their_counts(tmp_path):
    plugin = Plugin(tmp_path, [variable("x", "f8", ["?atom", "xyz"])], ranks=3)
    shapes = [{0: 2, 1: 3}, {1: 0, 2: 4}, {0: 1, 1: 1, 2: 1}]
    for iteration, sizes in enumerate(shapes):
        plugin.must(iteration, *[plugin.block(0, (n, 3), 10 * iteration + r, rank=r) for r, n in sizes.items()])
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["x_count"][:].tolist() == [2, 3, 0, 4, 1, 1, 1] and file["block_rank"][:].tolist() == [0, 1, 1, 2, 0, 1, 2]
        assert file["block_count"][:].tolist() == [2, 2, 3] and file["block_iteration"][:].tolist() == [0] * 2 + [1] * 2 + [2] * 3
        everything = [array((n, 3), "f8", 10 * i + r) for i, sizes in enumerate(shapes) for r, n in sizes.items()]
        assert same_bits(file["x"][:], np.concatenate(everything))


def test_blocks_that_vary_in_several_dimensions_are_flattened_with_their_extents(tmp_path):
    plugin = Plugin(tmp_path, [variable("p", "u2", ["?y", "?x"])])
    plugin.must(0, plugin.block(0, (2, 3), 1), plugin.block(0, (4, 1), 2, block=1))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["p_count"][:].tolist() == [6, 4] and file["p_extent"][:].tolist() == [[2, 3], [4, 1]]
        assert same_bits(file["p"][:], np.concatenate([array((6,), "u2", 1), array((4,), "u2", 2)]))


def test_what_does_not_vary_in_time_has_no_iteration_dimension(tmp_path):
    plugin = Plugin(tmp_path, [variable("mesh", "f8", ["x"], time_varying=0), variable("t", "f8", ["x"]),
                               variable("one", "i8", [], time_varying=0)])
    plugin.must(0, plugin.block(0, (4,), 1), plugin.block(1, (4,), 2), plugin.block(2, (), 3))
    plugin.must(1, plugin.block(1, (4,), 4))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["mesh"][:], array((4,), "f8", 1)) and file["t"].shape == (2, 4)
        assert file["one"][()] == array((1,), "i8", 3)[0] and file["one"].shape == ()


@pytest.mark.parametrize("ranks", [1, 2])
def test_scalars_make_a_series(tmp_path, ranks):
    plugin = Plugin(tmp_path, [variable("energy", "f8", [])], ranks=ranks)
    for iteration in range(3):
        plugin.must(iteration, *[plugin.block(0, (), 10 * iteration + r, rank=r) for r in range(ranks)])
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        expected = np.array([[array((1,), "f8", 10 * i + r)[0] for r in range(ranks)] for i in range(3)])
        assert same_bits(file["energy"][:].reshape(3, ranks), expected)


@pytest.mark.parametrize("exists", ["keep", "replace"])
def test_an_older_file_is_kept_unless_it_shall_be_replaced(tmp_path, exists):
    for seed in (1, 2, 3):
        plugin = Plugin(tmp_path, [variable("a", "i4", ["x"])], options={"exists": exists})
        plugin.must(0, plugin.block(0, (3,), seed))
        plugin.finish()
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == (["run.1.h5", "run.2.h5", "run.h5"] if exists == "keep" else ["run.h5"])
    for name, seed in (("run.h5", 3), ("run.1.h5", 1), ("run.2.h5", 2)):
        if name in names:
            with h5py.File(tmp_path / name) as file:
                assert same_bits(file["a"][0], array((3,), "i4", seed))


def test_two_runs_at_once_do_not_share_a_file_and_leave_no_lock(tmp_path):
    one = Plugin(tmp_path, [variable("a", "i4", ["x"])], session="one")
    two = Plugin(tmp_path, [variable("a", "i4", ["x"])], session="two")
    for seed, plugin in enumerate((one, two)):
        plugin.must(0, plugin.block(0, (3,), seed))
    assert "run.h5" in two.finish()
    one.finish()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run-two.h5", "run.h5"]


def test_a_file_can_be_opened_while_it_is_written_and_after_the_writer_is_killed(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"]), variable("x", "f8", ["?n"]), variable("odd", "f8", ["x"])])
    for iteration in range(5):
        odd = [plugin.block(2, (3,), iteration)] if iteration % 2 else []
        plugin.must(iteration, plugin.block(0, (1000,), iteration), plugin.block(1, (iteration,), iteration), *odd,
                    parameters={"n": iteration, "s": "word"})
        read = "import h5py,sys; f = h5py.File('run.h5'); print(len(f['iteration']), f['a'].shape, f['x'].shape)"
        seen = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, capture_output=True, text=True)
        total = sum(range(iteration + 1))
        assert seen.stdout.split("\n")[0] == f"{iteration + 1} ({iteration + 1}, 1000) ({total},)", seen.stderr
    plugin.kill()
    with h5py.File(tmp_path / "run.h5") as file:
        for iteration in range(5):
            assert same_bits(file["a"][iteration], array((1000,), "f8", iteration))
        assert file["leat/odd_written"][:].tolist() == [0, 1, 0, 1, 0]
        assert file["parameters/n"][:].tolist() == [0, 1, 2, 3, 4]
        assert [text.tobytes().rstrip(b"\0") for text in file["parameters/s"][:]] == [b"word"] * 5
    # The dead run's lock keeps nobody out.
    after = Plugin(tmp_path, [variable("a", "f8", ["x"])])
    after.must(0, after.block(0, (3,), 1))
    after.finish()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.1.h5", "run.h5"]


def test_a_full_disk_loses_what_does_not_fit_says_so_and_leaves_the_file_readable(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], limit=4_000_000)
    errors = {i: plugin.iteration(i, plugin.block(0, (50_000,), i)) for i in range(10)}
    lost = [i for i, error in errors.items() if error]
    assert lost and lost[0] > 1 and lost == list(range(lost[0], 10))
    assert "no room on the disk" in errors[lost[0]] and f"iteration {lost[0]}" in errors[lost[0]]
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(lost[0]))
        for i in range(lost[0]):
            assert same_bits(file["a"][i], array((50_000,), "f8", i))


def test_when_the_disk_has_room_again_the_next_iterations_are_stored(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], limit=3_000_000)
    plugin.must(0, plugin.block(0, (50_000,), 0))
    assert plugin.iteration(1, plugin.block(0, (500_000,), 1)) != ""
    plugin.limit(100_000_000)
    plugin.must(2, plugin.block(0, (50_000,), 2))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 2] and file["leat/iteration_complete"][:].tolist() == [1, 1]
        assert same_bits(file["a"][1], array((50_000,), "f8", 2))


def test_a_disk_that_is_full_in_the_middle_of_a_write_does_not_crash_the_server(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])])
    plugin.must(0, plugin.block(0, (50_000,), 0))
    plugin.limit(500_000)  # after the room was taken, as when others fill a file system that cannot reserve
    assert plugin.iteration(1, plugin.block(0, (50_000,), 1)) != ""
    error, _ = plugin.close()
    assert plugin.process.returncode == 0


@pytest.mark.parametrize("options, part", [
    ({"folder": "missing"}, "missing"), ({"folder": "run.h5"}, "is not a folder"), ({"compresion": "none"}, "compresion"),
    ({"compression": "zip"}, "deflate:1"), ({"exists": "maybe"}, "keep")])
def test_options_that_cannot_be_are_refused_at_the_start(tmp_path, options, part):
    (tmp_path / "run.h5").write_text("not a folder")
    plugin = Plugin(tmp_path, [variable("a", "f8", [])], options=options)
    assert part in plugin.opened
    plugin.close()


def test_variables_called_like_our_own_names_keep_theirs(tmp_path):
    plugin = Plugin(tmp_path, [variable("iteration", "i4", ["x"]), variable("x", "f8", ["x"])])
    plugin.must(4, plugin.block(0, (2,), 1), plugin.block(1, (2,), 2))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["iteration"][0], array((2,), "i4", 1)) and same_bits(file["x"][0], array((2,), "f8", 2))
        assert file["iteration_"][:].tolist() == [4]


def test_a_long_run_needs_no_more_memory(tmp_path):
    def resident():
        return int(pathlib.Path(f"/proc/{plugin.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"]), variable("p", "f8", ["?n"])])
    sizes = []
    for iteration in range(1500):
        plugin.must(iteration, plugin.block(0, (500,), iteration), plugin.block(1, (iteration % 9,), iteration))
        if iteration in (500, 1499):
            sizes.append(resident())
    plugin.finish()
    assert sizes[1] - sizes[0] < 4 << 20


def test_the_root_says_what_run_this_was(tmp_path):
    xml = "<simulation>" + "x" * 100_000 + "</simulation>"
    plugin = Plugin(tmp_path, [], xml=xml, simulation="heat", ranks=3)
    plugin.finish()
    with h5py.File(tmp_path / "heat.h5") as file:
        assert file.attrs["simulation"] == b"heat" and file.attrs["ranks"] == 3 and file.attrs["leat_xml"] == xml


@pytest.mark.parametrize("rows", [10, 4000])
@pytest.mark.parametrize("layout", [["x"], ["?x"]])
def test_compressed_data_are_written_once(tmp_path, layout, rows):
    """A chunk that is compressed anew by each iteration would leave its old places in the file."""
    plugin = Plugin(tmp_path, [variable("v", "f8", layout)], options={"compression": "deflate:1"})
    for iteration in range(200):
        plugin.must(iteration, plugin.block(0, (rows,), iteration))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        values = file["v"][:].reshape(200, rows)
        assert all(same_bits(values[i], array((rows,), "f8", i)) for i in range(200))
    assert (tmp_path / "run.h5").stat().st_size < 1.25 * values.nbytes + 1024 * 1024


def test_a_variable_that_is_not_in_all_iterations_says_in_which(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"]), variable("b", "f8", ["x"]), variable("always", "i4", ["x"])])
    for row in range(4):
        a = [plugin.block(0, (2,), row)] if row != 2 else []
        b = [plugin.block(1, (2,), row)] if row in (1, 2) else []
        plugin.must(10 * row, *a, *b, plugin.block(2, (2,), row))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/a_written"][:].tolist() == [1, 1, 0, 1] and file["leat/b_written"][:].tolist() == [0, 1, 1, 0]
        assert "leat/always_written" not in file and file["leat/a_written"].dims[0][0].name == "/iteration"


def test_dimensions_of_a_name_keep_it_as_a_label_where_their_lengths_differ(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"]), variable("b", "f8", ["x", "y"]), variable("p", "f8", ["?atom", "xyz"])])
    plugin.must(0, plugin.block(0, (2,), 1), plugin.block(1, (3, 2), 2), plugin.block(2, (4, 3), 3))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        labels = {name: [d.label for d in file[name].dims] for name in "abp"}
        assert labels == {"a": ["", ""], "b": ["iteration", "x", "y"], "p": ["", ""]}
        assert [d[0].name for d in file["b"].dims] == ["/iteration", "/x_2", "/y"]
        assert [d[0].name for d in file["p"].dims] == ["/atom", "/xyz"]


def test_a_variable_says_what_its_shape_does_not(tmp_path):
    plugin = Plugin(tmp_path, [variable("p", "f8", ["?atom"]), variable("g", "f8", [("y", 1, 2), "x"], **{"global": 1}),
                               variable("c", "i4", ["x"], time_varying=0)])
    plugin.must(0, plugin.block(0, (2,), 1), plugin.block(1, (5, 2), 2, position=[0, 0], **{"global": (2, 2)}),
                plugin.block(2, (2,), 3))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert [(file[n].attrs["leat_number"], file[n].attrs["leat_layout"].decode()) for n in "pgc"] == [
            (0, "varying"), (1, "global"), (2, "blocks")]
        assert file["g"].attrs["leat_ghosts"].tolist() == [1, 2, 0, 0]
        assert [n for n in "pgc" if "leat_ghosts" in file[n].attrs] == ["g"]
        assert [n for n in "pgc" if "leat_constant" in file[n].attrs] == ["c"]


def test_values_of_parameters_are_there_for_each_iteration(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"]), variable("parameters", "i4", ["x"])])
    for row, values in enumerate([{"n": None, "t": None, "s": ""}, {"n": 7, "t": 0.25, "s": "größer " * 30}]):
        plugin.must(row, plugin.block(0, (2,), row), plugin.block(1, (2,), row), parameters=values)
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["parameters_"]  # a variable has the name
        assert group["n"][:].tolist() == [np.iinfo("i8").min, 7]
        assert np.isnan(group["t"][0]) and group["t"][1] == 0.25
        texts = [text.tobytes().rstrip(b"\0").decode() for text in group["s"][:]]
        assert texts == ["", ("größer " * 30).encode()[:127].decode("utf-8", "ignore")]
        assert [group[name].attrs["leat_parameter"].decode() for name in "nts"] == list("nts")


@pytest.mark.parametrize("name, kept", [("a", "leat/ledger"), ("ledger", "leat/ledger"), ("leat/ledger", "leat/ledger_"),
                                        ("leat", "leat_/ledger")])
def test_the_ledger_is_kept_beside_whatever_is_called_so(tmp_path, name, kept):
    text = '{\n  "simulation": "größer\\n  \\"lost\\": 9",\n  "lost": 3,\n  "entries": []\n}\n'
    plugin = Plugin(tmp_path, [variable(name, "f8", ["x"])], ledger=text)
    plugin.must(0, plugin.block(0, (2,), 1))
    assert plugin.finish() == ""
    with h5py.File(tmp_path / "run.h5") as file:
        assert file[kept][()].tobytes().decode() == text and file.attrs["lost"] == 3
        assert same_bits(file[name][0].reshape(-1), array((2,), "f8", 1))


def test_a_disk_without_room_for_the_ledger_still_gets_a_whole_file(tmp_path):
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"])], ledger="x" * 2_000_000)
    plugin.must(0, plugin.block(0, (2,), 1))
    plugin.send({"call": "limit", "bytes": 1_000_000})
    assert "the ledger is not in it" in plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert "leat/ledger" not in file and same_bits(file["a"][0].reshape(-1), array((2,), "f8", 1))
