# SPDX-License-Identifier: Apache-2.0
"""Blocks that are whole chunks go to the file without HDF5's copy; whatever way they go, the bytes are the same."""
import itertools

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import same_bits

SHAPES = [(8192,), (8193,), (64, 256), (3, 512, 1024), (1025, 512), (700_000,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("compression", ["none", "deflate:1"])
def test_one_block_of_any_size(tmp_path, shape, compression):
    plugin = Plugin(tmp_path, [variable("a", "f8", [f"d{i}" for i in range(len(shape))])], options={"compression": compression})
    for row in range(3):
        plugin.must(row, plugin.block(0, shape, row))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(3):
            assert same_bits(file["a"][row], array(shape, "f8", row))


@pytest.mark.parametrize("ghosts", [((0, 0), (0, 0)), ((1, 2), (0, 0)), ((0, 0), (2, 1)), ((1, 1), (1, 1))], ids=str)
@pytest.mark.parametrize("parts", [(1, 1), (4, 1), (1, 4), (2, 2)], ids=str)
def test_parts_of_a_global_array(tmp_path, ghosts, parts):
    whole, own = (256, 512), (256 // parts[0], 512 // parts[1])
    dims = [(name, *of) for name, of in zip("yx", ghosts)]
    plugin = Plugin(tmp_path, [variable("g", "f8", dims, **{"global": 1})], ranks=4)
    extent = [n + sum(of) for n, of in zip(own, ghosts)]
    inner = tuple(slice(low, low + n) for n, (low, _) in zip(own, ghosts))
    places = list(itertools.product(*[range(0, n, o) for n, o in zip(whole, own)]))
    for row in range(3):
        here = places if row != 1 else places[1:]  # once a part is missing
        plugin.must(row, *[plugin.block(0, extent, 10 * row + rank, rank=rank, position=list(at), **{"global": whole})
                           for rank, at in enumerate(places) if at in here])
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(3):
            for rank, (y, x) in enumerate(places):
                expected = array(extent, "f8", 10 * row + rank)[inner]
                if row == 1 and rank == 0:
                    expected = np.full(own, np.nan)
                assert same_bits(file["g"][row, y:y + own[0], x:x + own[1]], expected) or (
                    np.isnan(expected).all() and np.isnan(file["g"][row, y:y + own[0], x:x + own[1]]).all())


@pytest.mark.parametrize("compression", ["none", "deflate:1"])
def test_blocks_of_one_shape_are_made_of_whole_chunks(tmp_path, compression):
    """So each chunk is written once, by one block, and never read back."""
    plugin = Plugin(tmp_path, [variable("even", "f8", ["y", "x"], **{"global": 1}), variable("odd", "f8", ["y", "x"], **{"global": 1})],
                    ranks=4, options={"compression": compression})
    corners = list(itertools.product((0, 300), (0, 200)))
    plugin.must(0, *[plugin.block(0, (300, 200), r, rank=r, position=list(at), **{"global": (600, 400)}) for r, at in enumerate(corners)],
                *[plugin.block(1, (600, 100 if r < 2 else 50), r, rank=r, position=[0, (0, 100, 200, 250)[r]], **{"global": (600, 300)})
                  for r in range(4)])
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        chunk = file["even"].chunks
        assert chunk[0] == 1 and chunk[2] == 200 and 300 % chunk[1] == 0, chunk
        for r, (y, x) in enumerate(corners):
            assert same_bits(file["even"][0, y:y + 300, x:x + 200], array((300, 200), "f8", r))
        for r, (x, n) in enumerate([(0, 100), (100, 100), (200, 50), (250, 50)]):
            assert same_bits(file["odd"][0, :, x:x + n], array((600, n), "f8", r))


def test_whole_chunks_after_a_kill(tmp_path):
    shape = (128, 1024)
    for start, resumed in ((0, 0), (2, 1), (4, 1)):
        plugin = Plugin(tmp_path, [variable("a", "f8", ["y", "x"])], resumed=resumed)
        for row in range(start, start + 2):
            plugin.must(row, plugin.block(0, shape, row))
        plugin.kill()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(6))
        assert all(same_bits(file["a"][row], array(shape, "f8", row)) for row in range(6))
