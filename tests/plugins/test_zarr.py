# SPDX-License-Identifier: Apache-2.0
"""`leat zarr`: references to the file of a run, of which xarray shows through Zarr what it shows of the file itself, and kerchunk finds
the same."""
import json
import random
import shutil

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, mesh, variable
from leat_run import same_bits
from neighbours import ask, environment, leat
from nodes import Nodes

GLOBAL = {"global": 1}
BOX = mesh("box", "uniform", 2, origin=[1., 2.], spacing=[.5, .25])
MANY = [variable("t", "f8", ["y", "x"], **GLOBAL, mesh=0), variable("atoms/x", "f8", ["?n"]),
        variable("k", "f4", ["y", "x"], **GLOBAL, time_varying=0), variable("c", "c16", ["i"], **GLOBAL),
        variable("s", "S1", ["i"], **GLOBAL), variable("u8", "u8", ["i"], **GLOBAL), variable("b", "i2", ["z"])]


@pytest.fixture
def all_filters(monkeypatch):
    (plugins,) = environment().glob("lib/python3*/site-packages/hdf5plugin/plugins")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(plugins))


def whole(plugin, number, shape, seed, rank=0):
    return plugin.block(number, shape, seed, rank=rank, position=[0] * len(shape), **{"global": list(shape)})


def write_many(plugin, step):
    """`u8` not in all iterations, `atoms/x` of another length in each."""
    blocks = [whole(plugin, 0, (40, 50), step), plugin.block(1, (7 + step,), step), *([whole(plugin, 2, (4, 5), 3)] if step == 0 else []),
              whole(plugin, 3, (5,), step), whole(plugin, 4, (5,), step), *([whole(plugin, 5, (5,), step)] if step in (1, 2) else []),
              plugin.block(6, (3,), step)]
    plugin.must(10 * step, *blocks, parameters={"time": .1 * step, "n": step, "s": f"word {step}"})


def many(folder, steps=5, **more):
    folder.mkdir(exist_ok=True)
    plugin = Plugin(folder, MANY, meshes=[BOX], time_parameter=0, **more)
    for step in range(steps):
        write_many(plugin, step)
    return plugin


def made(path, *words, but=()):
    """The references, whose variables xarray shows as it shows those of the file; `but`: names of those that are left out. Returns the
    sentences about these, and the names of the others."""
    done = leat("zarr", path, *words)
    assert done.returncode == 0 and not done.stderr, done
    seen = ask("zarr_read.py", "compare", path.name, path.with_suffix(".json").name, cwd=path.parent)
    same = seen.pop("")
    assert sorted(seen) == sorted(but) and set(seen.values()) <= {"not there"}, seen
    return done.stdout.splitlines()[1:], same


def test_xarray_sees_what_it_sees_of_the_file(tmp_path):
    many(tmp_path).finish()
    left_out, same = made(tmp_path / "run.h5")
    assert left_out == [] and {"t", "atoms/x", "k", "c", "s", "u8", "b", "iteration", "x", "x_bnds", "leat/u8_written",
                               "parameters/s"} <= set(same)
    done = leat("zarr", tmp_path / "run.h5", "--json", "-o", tmp_path / "other.json")
    refs = json.loads((tmp_path / "other.json").read_text())
    assert json.loads(done.stdout) == {"left_out": [], "pieces": sum(isinstance(ref, list) for ref in refs["refs"].values()),
                                       "references": f"{tmp_path}/other.json", "variables": len(same)}
    assert refs["version"] == 1 and refs["refs"]["t/0.0.0"][0] == "run.h5"
    assert (tmp_path / "other.json").read_text() == (tmp_path / "run.json").read_text()


def test_kerchunk_finds_the_same_bytes(tmp_path):
    variables = [each for each in MANY[:3] if each["dtype"] != "c16"]
    plugin = Plugin(tmp_path, variables, meshes=[BOX], options={"compression": "deflate:4"})
    for step in range(4):
        plugin.must(step, plugin.smooth_block(0, (300, 200), step, position=[0, 0], **{"global": [300, 200]}),
                    plugin.block(1, (999,), step), *([whole(plugin, 2, (4, 5), 3)] if step == 0 else []))
    plugin.finish()
    made(tmp_path / "run.h5")
    seen = ask("zarr_read.py", "kerchunk", "run.h5", "run.json", cwd=tmp_path)
    assert seen.pop("") > 12 and seen == {}


@pytest.mark.parametrize("compression", ["deflate:6", "zstd:3", "blosc:lz4:5", "blosc:zstd:3", "blosc:blosclz:1", "blosc:zlib:1",
                                         "bzip2:9"])
def test_values_are_decompressed_by_filters_of_zarr(tmp_path, all_filters, compression):
    plugin = Plugin(tmp_path, [variable("v", "f8", ["y", "x"], **GLOBAL, options={"compression": compression})])
    for step in range(3):
        plugin.must(step, plugin.smooth_block(0, (200, 300), step, position=[0, 0], **{"global": [200, 300]}))
    plugin.finish()
    assert made(tmp_path / "run.h5")[0] == []
    filters = json.loads(json.loads((tmp_path / "run.json").read_text())["refs"]["v/.zarray"])["filters"]
    assert filters[-1]["id"] == {"deflate": "zlib", "bzip2": "bz2"}.get(compression.split(":")[0], compression.split(":")[0])


@pytest.mark.parametrize("compression", ["lz4", "zfp:reversible"])
def test_what_has_another_filter_is_left_out_and_said(tmp_path, all_filters, compression):
    plugin = Plugin(tmp_path, [variable("v", "f8", ["y", "x"], **GLOBAL, options={"compression": compression}),
                               variable("w", "f8", ["y", "x"], **GLOBAL)])
    plugin.must(0, *(plugin.smooth_block(i, (200, 300), 0, position=[0, 0], **{"global": [200, 300]}) for i in range(2)))
    plugin.finish()
    (line,), same = made(tmp_path / "run.h5", but=["v"])
    assert line.startswith('  without the variable "v": it is compressed by the filter ') and "w" in same


# By rank: the rows of y that it has.
EVEN, UNEVEN = [16] * 4, [17, 16, 16, 16]


def on_nodes(folder, rows=EVEN, steps=5, but=(), finish=True, width=8, **more):
    """t, in strips over y; g, in tiles; ragged; constant. but: (node, step) that are missing."""
    variables = [variable("t", "f8", ["y", "x"], **GLOBAL, mesh=0), variable("g", "i4", ["j", "i"], **GLOBAL), variable("r", "f4", ["?n"]),
                 variable("k", "f4", ["l", "m"], **GLOBAL, time_varying=0)]
    nodes = Nodes(folder, variables, [[0, 2], [1, 3]], meshes=[BOX], **more)
    for step in range(steps):
        blocks = []
        for rank in range(4):
            strip = {"position": [sum(rows[:rank]), 0], "global": [sum(rows), width]}
            tile = {"position": [20 * (rank // 2), 25 * (rank % 2)], "global": [40, 50]}
            blocks.append(nodes.plugins[0].smooth_block(0, (rows[rank], width), step + rank, rank=rank, **strip))
            blocks.append(nodes.block(1, (20, 25), 10 * step + rank, rank=rank, **tile))
            blocks.append(nodes.block(2, (700 + 13 * step + rank,), 10 * step + rank, rank=rank))
            if step == 0:
                blocks.append(nodes.block(3, (2, 5), rank, rank=rank, position=[2 * rank, 0], **{"global": [8, 5]}))
        nodes.must(step, *sorted(blocks, key=lambda b: (b["variable"], b["rank"])), but=[node for node, one in but if one == step])
    if finish:
        nodes.finish()
    return nodes


@pytest.mark.parametrize("rows, but", [(EVEN, ()), (UNEVEN, ()), (EVEN, [(1, 4)]), (UNEVEN, [(0, 1), (0, 2)])])
def test_a_view_is_read_from_the_files_of_all_nodes(tmp_path, rows, but):
    on_nodes(tmp_path, rows, but=but)
    _, same = made(tmp_path / "run.h5")
    assert {"t", "g", "r", "k", "iteration", "r_count"} <= set(same)
    refs = json.loads((tmp_path / "run.json").read_text())["refs"]
    assert {ref[0] for key, ref in refs.items() if key.startswith("t/") and isinstance(ref, list)} == {
        f"run.parts/s1/rank00000{n}.h5" for n in range(2)}
    assert json.loads(refs["t/.zarray"])["chunks"] == [1, 16 if rows == EVEN else 1, 8]


def test_compressed_blocks_of_one_size_are_a_grid_and_others_are_left_out(tmp_path):
    on_nodes(tmp_path / "even", width=200, options={"compression": "deflate:4"})
    assert "t" in made(tmp_path / "even/run.h5")[1]
    on_nodes(tmp_path / "uneven", UNEVEN, width=200, options={"compression": "deflate:4"})
    left_out, _ = made(tmp_path / "uneven/run.h5", but=["t"])
    assert left_out == ['  without the variable "t": its blocks are compressed, and their chunks do not lie on a grid; `leat merge` makes '
                        "one file of the parts, which has a grid of its own"]
    assert leat("merge", tmp_path / "uneven/run.h5", tmp_path / "merged.h5").returncode == 0
    assert made(tmp_path / "merged.h5")[0] == []


def test_small_borders_of_large_lists_are_said(tmp_path):
    on_nodes(tmp_path, steps=8)
    left_out, _ = made(tmp_path / "run.h5", but=["r"])
    (line,), why = left_out, "borders of its blocks leave no larger chunks than 4 bytes"
    assert line.startswith(f'  without the variable "r": {why}')


@pytest.mark.parametrize("options", [{"split": "2"}, {"split": "3", "compression": "deflate:1"}])
def test_the_files_of_a_run_in_pieces_are_one_store(tmp_path, options):
    many(tmp_path, options=options).finish()
    left_out, same = made(tmp_path / "run.h5")
    assert left_out == [] and {"t", "atoms/x", "c", "s", "u8"} <= set(same)


def test_files_that_servers_share_are_one_store(tmp_path):
    on_nodes(tmp_path, shared_file=0, options={"files": "1"})
    assert "t" in made(tmp_path / "run.h5")[1]
    assert "run.parts/s1/shared000.h5" in (tmp_path / "run.json").read_text()


def test_a_file_that_grows_is_shown_as_it_was(tmp_path):
    plugin = many(tmp_path, 3)
    done = leat("zarr", tmp_path / "run.h5")
    assert done.returncode == 0, done
    shutil.copy(tmp_path / "run.h5", tmp_path / "then.h5")
    for step in range(3, 40):
        write_many(plugin, step)
    seen = ask("zarr_read.py", "compare", "then.h5", "run.json", cwd=tmp_path)
    assert len(seen.pop("")) > 20 and seen == {}
    for step in range(40, 45):  # in the midst of it
        plugin.start_iteration(10 * step, whole(plugin, 0, (40, 50), step), parameters={"s": "h5netcdf wants a text"})
        assert leat("zarr", tmp_path / "run.h5").returncode == 0
        assert plugin.answer() == ""
    plugin.kill()
    made(tmp_path / "run.h5")


def test_files_may_be_moved_together_and_what_is_missing_is_no_fill_value(tmp_path):
    on_nodes(tmp_path / "there")
    assert leat("zarr", tmp_path / "there/run.h5").returncode == 0
    (tmp_path / "there").rename(tmp_path / "here")
    seen = ask("zarr_read.py", "compare", "run.h5", "run.json", cwd=tmp_path / "here")
    assert len(seen.pop("")) > 10 and seen == {}
    assert leat("zarr", "run.h5", "-o", tmp_path / "elsewhere.json", "--absolute", cwd=tmp_path / "here").returncode == 0
    seen = ask("zarr_read.py", "compare", tmp_path / "here/run.h5", tmp_path / "elsewhere.json", cwd=tmp_path)
    assert len(seen.pop("")) > 10 and seen == {}
    (tmp_path / "here/run.parts/s1/rank000001.h5").unlink()
    seen = ask("zarr_read.py", "unreachable", "run.json", "t", cwd=tmp_path / "here")
    assert seen == {"unreachable": True}
    done = leat("zarr", tmp_path / "here/run.h5")
    assert done.returncode == 1 and "rank000001.h5 cannot be read" in done.stderr


def test_what_is_no_run_and_what_is_there_are_said(tmp_path):
    many(tmp_path).finish()
    (tmp_path / "run.json").write_text("{}")
    done = leat("zarr", tmp_path / "run.h5")
    assert done.returncode == 1 and "run.json is there, and is not what this command has made of run.h5" in done.stderr
    assert (tmp_path / "run.json").read_text() == "{}"
    (tmp_path / "some.h5").write_text("no HDF5")
    for name, why in (("none.h5", "cannot read"), ("some.h5", "is no HDF5 file"), (".", "is a folder, and no file")):
        done = leat("zarr", tmp_path / name)
        assert done.returncode == 1 and why in done.stderr and done.stderr.startswith("leat zarr: "), done
    assert leat("zarr").returncode == 2
    done = leat("zarr", tmp_path / "run.h5", "-o", tmp_path / "nowhere/run.json")
    assert done.returncode == 1 and "cannot write" in done.stderr
    assert not list(tmp_path.glob(".run.json*"))


def test_what_other_programs_have_put_into_the_file_is_there_too(tmp_path):
    many(tmp_path, 2).finish()
    with h5py.File(tmp_path / "run.h5", "a") as file:
        file["one"], file["flag"], file["words"] = 2.5, np.array([True, False]), np.array([b"ab", b"c"], "S2")
        file.create_dataset("sum", data=np.arange(1000.), chunks=(100,), fletcher32=True, shuffle=True, compression="gzip")
        file.create_dataset("lzf", data=np.arange(1000), chunks=(100,), compression="lzf")
        file.create_dataset("part", (10, 10), "f4", chunks=(3, 4), fillvalue=7)[2:4, 3:5] = 1
        file.create_dataset("large", data=np.random.default_rng(1).random((1024, 513, 5)))
        file["text"], file["round"], file["again"], file["out"] = "any length", file["/"], file["leat"], h5py.ExternalLink("no.h5", "/x")
        names = ("one", "flag", "words", "sum", "lzf", "part", "large")
        wanted = {name: np.asarray(file[name]) for name in names}
    done = leat("zarr", tmp_path / "run.h5")
    assert done.returncode == 0 and done.stdout.splitlines()[1:] == ['  without the variable "text": its texts or lists are of any length']
    assert ask("zarr_read.py", "values", "run.json", "seen.npz", *names, cwd=tmp_path) == {}
    seen = np.load(tmp_path / "seen.npz")
    assert all(same_bits(seen[name], wanted[name]) for name in names)
    assert json.loads(json.loads((tmp_path / "run.json").read_text())["refs"]["large/.zarray"])["chunks"] == [256, 513, 5]


@pytest.mark.parametrize("bytes_", [1, 5, 40])
def test_a_damaged_file_is_no_crash_of_the_command(tmp_path, bytes_):
    many(tmp_path, 3).finish()
    undamaged, dice = np.frombuffer((tmp_path / "run.h5").read_bytes(), "u1"), random.Random(bytes_)
    for _ in range(4):
        damaged = undamaged.copy()
        for _ in range(bytes_):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        (tmp_path / "run.h5").write_bytes(damaged.tobytes())
        done = leat("zarr", tmp_path / "run.h5")
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
        assert (done.returncode == 1) == any(line.startswith("leat zarr: ") for line in done.stderr.splitlines()), done
