# SPDX-License-Identifier: Apache-2.0
"""What `leat merge` makes of compressed parts: the values that the parts have, to the last bit, and no second loss."""
import subprocess

import h5py
import numpy as np
import pytest
from leat_plugin import variable
from leat_run import BUILD, same_bits
from nodes import Nodes, leat
from test_filters import LOSSLESS, SYSTEM, all_filters, read  # noqa: F401

VARIABLES = [variable("u", "f8", ["y", "x"], **{"global": 1}), variable("p", "f4", ["?n", "xyz"]), variable("k", "i4", ["c"])]
LOSSY = ["zfp:rate=9", "zfp:accuracy=1e-3", "zfp:precision=14"]


def write(folder, compression, nan=False):
    run = Nodes(folder, VARIABLES, [[0], [1]], options={"compression": compression})
    for i in range(3):
        blocks = []
        for r in (0, 1):
            more = {"nan": 777} if nan and (i, r) == (1, 1) else {}
            blocks += [run.plugins[0].smooth_block(0, (60, 100), 10 * i + r, rank=r, position=[60 * r, 0],
                                                   **{"global": (120, 100)}, **more),
                       run.plugins[0].smooth_block(1, (2000 + i + r, 3), i, rank=r), run.block(2, (3000,), i, rank=r)]
        run.must(i, *blocks)
    assert not run.finish()


@pytest.mark.parametrize("compression", [*LOSSLESS, *LOSSY])
def test_the_values_are_those_of_the_parts(tmp_path, all_filters, compression):  # noqa: F811
    write(tmp_path, compression, nan="zfp" in compression)
    done = leat("merge", "run.h5", "m.h5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("u", "p", "k"):
        wanted = read(tmp_path / "run.h5", name)[0]
        got, filters, size, _, _ = read(tmp_path / "m.h5", name)
        assert same_bits(got, wanted), name
        if name == "u":
            assert np.nanmax(got) > 2 and filters[-1] == LOSSLESS.get(compression, 32013)
            assert size < 0.95 * wanted.nbytes


def test_a_filter_that_is_missing_is_named_and_nothing_is_made(tmp_path, all_filters, monkeypatch):  # noqa: F811
    write(tmp_path, "zstd:3")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", SYSTEM)
    done = leat("merge", "run.h5", "m.h5", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert '"k" of ' in done.stderr and "run.parts/s1/rank000000.h5 is compressed by the filter" in done.stderr, done.stderr
    assert '"zstd" (number 32015)' in done.stderr, done.stderr
    assert "There are: none, deflate, blosc, lz4, bzip2, zfp." in done.stderr and "HDF5_PLUGIN_PATH" in done.stderr
    assert not (tmp_path / "m.h5").exists() and not list(tmp_path.glob(".*"))


def test_parts_that_cannot_all_be_opened_are_no_missing_values(tmp_path):
    """HDF5 shows fill values where it cannot open a part, whatever the reason."""
    many = 40
    run = Nodes(tmp_path, VARIABLES[:1], [[r] for r in range(many)])
    run.must(0, *[run.block(0, (1, 4), r, rank=r, position=[r, 0], **{"global": (many, 4)}) for r in range(many)])
    run.finish()
    few = subprocess.run(["bash", "-c", f'ulimit -Sn 24 -Hn 24; exec "{BUILD}/bin/leat" merge run.h5 m.h5'], cwd=tmp_path,
                         capture_output=True, text=True, timeout=60)
    assert few.returncode == 1 and "Too many open files" in few.stderr, few
    assert not (tmp_path / "m.h5").exists()
    soft = subprocess.run(["bash", "-c", f'ulimit -Sn 24; exec "{BUILD}/bin/leat" merge run.h5 m.h5'], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert soft.returncode == 0, soft.stderr
    with h5py.File(tmp_path / "m.h5") as merged, h5py.File(tmp_path / "run.h5") as view:
        assert same_bits(merged["u"][()], view["u"][()])
