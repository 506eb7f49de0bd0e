# SPDX-License-Identifier: Apache-2.0
"""compression="..." of the hdf5 store, judged by h5py and the filters of hdf5plugin, both from PyPI (tools/judges)."""
import functools
import pathlib
import subprocess

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, smooth_array, variable
from leat_run import same_bits
from warm_python import warm

LOSSLESS = {"deflate:6": 1, "zstd:3": 32015, "blosc:lz4:5": 32001, "blosc:zstd:3": 32001, "blosc:blosclz:1": 32001,
            "blosc:zlib:1": 32001, "blosc:lz4hc:9": 32001, "lz4": 32004, "bzip2:9": 307, "zfp:reversible": 32013}
SHAPE = (200, 300)
# For what h5py of this process reads: Debian's own folder comes after these.
SYSTEM = "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins"


@functools.cache
def judges():
    tool = pathlib.Path(__file__).parents[2] / "tools/judges"
    done = subprocess.run([tool], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def all_filters(monkeypatch):
    """Where the store finds each filter: Debian has no zstd."""
    (plugins,) = judges().glob("lib/python3*/site-packages/hdf5plugin/plugins")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(plugins))


def read(path, name="v"):
    """The values and [(number of the filter, ...)], as a reader with nothing but hdf5plugin sees them."""
    script = ("import sys, hdf5plugin, h5py, numpy\nwith h5py.File(sys.argv[1]) as f:\n"
              "    d = f[sys.argv[2]]; p = d.id.get_create_plist()\n"
              "    print([p.get_filter(i)[0] for i in range(p.get_nfilters())], d.id.get_storage_size(), d.chunks,\n"
              "          [d.id.get_chunk_info(i).filter_mask for i in range(d.id.get_num_chunks())] if d.chunks else [], sep=';')\n"
              "    numpy.save(sys.argv[1] + '.npy', d[()])\n")
    done = warm(judges() / "bin/python3", "hdf5plugin", "h5py", HDF5_PLUGIN_PATH="/nowhere").run(script, path, name)
    assert done.returncode == 0, done.stderr
    filters, size, chunks, masks = map(eval, done.stdout.split(";"))
    return np.load(str(path) + ".npy"), filters, size, chunks, masks


def write_smooth(folder, compression, dtype="f8", iterations=3, **block):
    plugin = Plugin(folder, [variable("v", dtype, ["y", "x"], options={"compression": compression})])
    assert not plugin.opened
    for i in range(iterations):
        plugin.must(i, plugin.smooth_block(0, SHAPE, i, **block))
    plugin.finish()
    return np.array([smooth_array(SHAPE, dtype, i) for i in range(iterations)])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("compression", LOSSLESS)
def test_each_filter_makes_it_smaller_and_gives_every_bit_back(tmp_path, all_filters, compression, dtype):
    wanted = write_smooth(tmp_path, compression, dtype)
    got, filters, size, _, masks = read(tmp_path / "run.h5")
    assert same_bits(got, wanted)
    assert filters[-1] == LOSSLESS[compression] and not any(masks)
    assert size < 0.9 * wanted.nbytes


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("mode, size, error", [("rate=8", 8, 0.05), ("rate=16.5", 17, 1e-2), ("accuracy=1e-3", 16, 1e-3),
                                               ("accuracy=.25", 8, 0.25), ("precision=20", 24, 1e-2)])
def test_zfp_keeps_the_size_or_the_error_that_was_asked_for(tmp_path, all_filters, mode, size, error, dtype):
    wanted = write_smooth(tmp_path, f"zfp:{mode}", dtype)
    got, filters, stored, _, _ = read(tmp_path / "run.h5")
    assert filters == [32013] and stored <= 1.02 * size / 8 * wanted.size
    assert not same_bits(got, wanted) and np.abs(got.astype("f8") - wanted).max() <= error
    if mode.startswith("rate"):
        assert stored >= 0.9 * float(mode[5:]) / 8 * wanted.size


def error_in(path, name="v_error"):
    with h5py.File(path) as file:
        return file[name][:] if name in file else None


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("mode", ["rate=8", "rate=16.5", "accuracy=1e-3", "precision=20"])
def test_the_error_of_zfp_stands_beside_it(tmp_path, all_filters, mode, dtype):
    wanted = write_smooth(tmp_path, f"zfp:{mode}", dtype)
    got, _, _, _, _ = read(tmp_path / "run.h5")
    differences = np.abs(got.astype("f8") - wanted.astype("f8")).reshape(3, -1).max(axis=1)
    assert differences.min() > 0 and same_bits(error_in(tmp_path / "run.h5"), differences)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["v"].attrs["ancillary_variables"] == b"v_error"


def test_a_writer_that_is_killed_is_followed_by_one_that_goes_on_with_the_errors(tmp_path, all_filters):
    variables = [variable("v", "f8", ["y", "x"], options={"compression": "zfp:accuracy=1e-3"})]
    for first in (0, 3, 5):
        plugin = Plugin(tmp_path, variables, resumed=int(first > 0))
        for i in range(first, first + 3):  # those that the dead one had stored come again
            plugin.must(i, plugin.smooth_block(0, SHAPE, i))
        plugin.finish() if first == 5 else plugin.kill()
    got, _, _, _, _ = read(tmp_path / "run.h5")
    wanted = np.array([smooth_array(SHAPE, "f8", i) for i in range(8)])
    assert same_bits(error_in(tmp_path / "run.h5"), np.abs(got - wanted).reshape(8, -1).max(axis=1))


def test_of_several_variables_each_has_its_own_error(tmp_path, all_filters):
    """Of blocks of a global array, with a block that is missing, and a NaN: what is not compressed has no error."""
    plugin = Plugin(tmp_path, [variable(name, "f8", ["y", "x"], **{"global": 1}) for name in ("v", "w")], ranks=2,
                    options={"compression": "zfp:accuracy=1e-3"})
    for i in range(4):
        blocks = [plugin.smooth_block(number, (33, 50), i + 5 * number + r, rank=r, position=[33 * r, 0], **{"global": (66, 50)},
                                      **({"nan": 7} if i == 2 else {})) for number in range(2) for r in range(2)]
        plugin.must(i, *(blocks if i != 3 else blocks[1:]), complete=int(i != 3))
    plugin.finish()
    for number, name in enumerate(("v", "w")):
        got, _, _, _, _ = read(tmp_path / "run.h5", name)
        wanted = np.array([np.concatenate([smooth_array((33, 50), "f8", i + 5 * number + r) for r in range(2)]) for i in range(4)])
        differences = np.nanmax(np.abs(got - wanted).reshape(4, -1), axis=1)
        errors = error_in(tmp_path / "run.h5", f"{name}_error")
        assert same_bits(errors, differences) and errors[0] > 0 and errors[2] == 0


@pytest.mark.parametrize("compression", ["deflate:4", "zfp:reversible"])
def test_what_loses_nothing_has_no_error_beside_it(tmp_path, all_filters, compression):
    write_smooth(tmp_path, compression)
    assert error_in(tmp_path / "run.h5") is None


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_nan_does_not_spoil_the_values_beside_it(tmp_path, all_filters, dtype):
    """zfp would make of its neighbours whatever comes: the chunk is stored as it is, and the others are not."""
    plugin = Plugin(tmp_path, [variable("v", dtype, ["y", "x"], options={"compression": "zfp:accuracy=1e-3"})])
    wanted = np.array([smooth_array(SHAPE, dtype, i) for i in range(3)])
    for i in range(3):
        plugin.must(i, plugin.smooth_block(0, SHAPE, i, **({"nan": 1234} if i == 1 else {})))
    plugin.finish()
    wanted[1].reshape(-1)[1234] = np.nan
    got, _, _, _, masks = read(tmp_path / "run.h5")
    assert masks == [0, 1, 0] and same_bits(got[1], wanted[1])
    assert np.abs(got[[0, 2]].astype("f8") - wanted[[0, 2]]).max() <= 1e-3


def test_a_missing_block_does_not_spoil_those_beside_it(tmp_path, all_filters):
    plugin = Plugin(tmp_path, [variable("v", "f8", ["y", "x"], **{"global": 1})], ranks=2,
                    options={"compression": "zfp:accuracy=1e-6"})
    blocks = [plugin.smooth_block(0, (33, 50), r, rank=r, position=[33 * r, 0], **{"global": (66, 50)}) for r in range(2)]
    plugin.must(0, *blocks)
    plugin.must(1, blocks[1], complete=0)
    plugin.finish()
    got, _, _, _, _ = read(tmp_path / "run.h5")
    assert np.isnan(got[1, :33]).all() and same_bits(got[1, 33:], smooth_array((33, 50), "f8", 1))
    assert np.abs(got[0, 33:] - smooth_array((33, 50), "f8", 1)).max() <= 1e-6


@pytest.mark.parametrize("compression", ["zstd:1", "blosc:lz4:9", "lz4", "bzip2:1", "deflate:9", "zfp:reversible"])
def test_what_cannot_be_made_smaller_is_stored_all_the_same(tmp_path, all_filters, compression):
    plugin = Plugin(tmp_path, [variable("v", "f8", ["x"])], options={"compression": compression})
    for i in range(3):
        plugin.must(i, plugin.block(0, (5000,), i))
    plugin.finish()
    got, *_ = read(tmp_path / "run.h5")
    assert same_bits(got, np.array([array((5000,), "f8", i) for i in range(3)]))


@pytest.mark.parametrize("compression", ["zstd:1", "zfp:accuracy=1e-9", "blosc:zstd:1"])
def test_particles_and_what_does_not_vary_in_time_are_compressed_too(tmp_path, all_filters, compression):
    plugin = Plugin(tmp_path, [variable("p", "f8", ["?n", "xyz"]), variable("mesh", "f8", ["x"], time_varying=0),
                               variable("one", "f8", ["x"], time_varying=0), variable("s", "f8", [], time_varying=0)],
                    options={"compression": compression})
    for i in range(5):
        once = [plugin.smooth_block(1, (9000,), 7), plugin.smooth_block(2, (1,), 8), plugin.smooth_block(3, (), 9)]
        plugin.must(i, plugin.smooth_block(0, (3000 + i, 3), i), *(once if i == 0 else []))
    plugin.finish()
    got, filters, *_ = read(tmp_path / "run.h5", "p")
    assert np.abs(got - np.concatenate([smooth_array((3000 + i, 3), "f8", i) for i in range(5)])).max() <= 1e-9 and filters
    got, filters, *_ = read(tmp_path / "run.h5", "mesh")
    assert np.abs(got - smooth_array((9000,), "f8", 7)).max() <= 1e-9 and filters
    assert read(tmp_path / "run.h5", "one")[0][0] == 8 and read(tmp_path / "run.h5", "s")[0] == 9


def test_the_filters_of_debian_do_it_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", SYSTEM)
    for compression in ("blosc:lz4:5", "lz4", "bzip2:1", "zfp:reversible"):
        folder = tmp_path / compression.replace(":", "-")
        folder.mkdir()
        wanted = write_smooth(folder, compression)
        assert same_bits(read(folder / "run.h5")[0], wanted), compression


def opened(folder, variables, **more):
    plugin = Plugin(folder, variables, **more)
    plugin.close()
    return plugin.opened


def test_a_filter_that_is_not_there_is_said_at_the_start_with_those_that_are(tmp_path, monkeypatch):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path))
    said = opened(tmp_path, [variable("v", "f8", ["x"], options={"compression": "zstd:3"})])
    assert 'compression="zstd:3" of the variable "v"' in said and '"zstd"' in said and "32015" in said
    assert "There are: none, deflate." in said and f"looked in {tmp_path};" in said
    said = opened(tmp_path, [variable("v", "f8", ["x"])], options={"compression": "blosc:lz4:5"})
    assert 'of the store "out"' in said and '"blosc"' in said
    monkeypatch.setenv("HDF5_PLUGIN_PATH", SYSTEM)
    said = opened(tmp_path, [variable("v", "f8", ["x"])], options={"compression": "zstd:3"})
    assert "There are: none, deflate, blosc, lz4, bzip2, zfp." in said
    assert list(tmp_path.iterdir()) == []


def test_what_zfp_cannot_do_is_said_at_the_start(tmp_path, all_filters):
    zfp = {"options": {"compression": "zfp:rate=8"}}
    said = opened(tmp_path, [variable("n", "i4", ["x"], **zfp)])
    assert '"n"' in said and "float and double only" in said
    said = opened(tmp_path, [variable("deep", "f8", list("abcde"), **zfp)])
    assert '"deep"' in said and "up to 4 dimensions, and it has 5" in said


def test_zfp_of_the_store_is_for_the_variables_that_it_can_do(tmp_path, all_filters):
    plugin = Plugin(tmp_path, [variable("v", "f8", ["x"]), variable("n", "i8", ["x"])], options={"compression": "zfp:rate=16"})
    plugin.must(0, plugin.smooth_block(0, (5000,), 1), plugin.block(1, (5000,), 2))
    plugin.finish()
    assert read(tmp_path / "run.h5", "v")[1] == [32013]
    got, filters, *_ = read(tmp_path / "run.h5", "n")
    assert filters == [] and same_bits(got[0], array((5000,), "i8", 2))


@pytest.mark.parametrize("text", ["zip", "deflate", "deflate:0", "deflate:10", "zstd:23", "zstd:03", "blosc:5", "blosc:snappy:5",
                                  "lz4:1", "lz4:", "bzip2:", "zfp", "zfp:rate", "zfp:rate=0", "zfp:rate=65", "zfp:accuracy=-1",
                                  "zfp:accuracy=nan", "zfp:accuracy=1e999", "zfp:precision=1.5", "zfp:precision=65", "zfp:acuracy=1"])
def test_what_is_no_compression_is_refused_with_what_there_is(tmp_path, text):
    said = opened(tmp_path, [], options={"compression": text})
    assert f'compression="{text}": expected "none", "deflate:1" to "deflate:9"' in said and '"zfp:accuracy=1e-3"' in said


@pytest.mark.parametrize("shape, chunk", [((256, 256), (1, 256, 256)), ((1000, 1000), (1, 50, 1000)), ((1009, 1009), (1, 64, 1009)),
                                          ((3, 500, 500), (1, 1, 125, 500))])
def test_a_compressed_chunk_fits_into_what_readers_keep(tmp_path, shape, chunk):
    """512 KiB of 1 MiB: HDF5 would expand a larger one anew for each row that is read. Pieces are equal where that can be."""
    plugin = Plugin(tmp_path, [variable("v", "f8", list("zyx")[-len(shape):])], options={"compression": "deflate:1"})
    plugin.must(0, plugin.smooth_block(0, shape, 1))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["v"].chunks == chunk and same_bits(file["v"][0], smooth_array(shape, "f8", 1))


def test_a_killed_run_goes_on_with_its_filter(tmp_path, all_filters):
    variables = [variable("v", "f8", ["y", "x"], options={"compression": "zstd:3"}),
                 variable("z", "f8", ["y", "x"], options={"compression": "zfp:reversible"})]
    for start in (0, 3):
        plugin = Plugin(tmp_path, variables, resumed=int(start > 0))
        for i in range(start, start + 3):
            plugin.must(i, plugin.smooth_block(0, SHAPE, i), plugin.smooth_block(1, SHAPE, i, nan=5))
        plugin.kill() if start == 0 else plugin.finish()
    got, filters, _, _, masks = read(tmp_path / "run.h5")
    assert same_bits(got, np.array([smooth_array(SHAPE, "f8", i) for i in range(6)])) and filters == [2, 32015]
    assert read(tmp_path / "run.h5", "z")[4] == [1] * 6
