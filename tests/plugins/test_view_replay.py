# SPDX-License-Identifier: Apache-2.0
"""`leat replay` on a view and on the merged file: scripts see what they see in the file of one server, to the last bit."""
import shutil
import sys

import h5py
import pytest
from nodes import leat
from test_cf import MESHES, TIME, VARIABLES, write_all
from test_views import both, small_view

# All that a script can see, as sums.
EVERYTHING = """
import zlib
import numpy as np

def number_of(*what):
    return zlib.crc32(b"".join(w if isinstance(w, bytes) else repr(w).encode() for w in what))

def process(ds, ctx):
    ctx.scalar("order", number_of(list(ds.data_vars), ds.attrs, dict(ds.sizes)))
    ctx.scalar("parameters", number_of(sorted(ctx.parameters.items())))
    for name, variable in ds.variables.items():
        values = np.ascontiguousarray(variable.values)
        if values.dtype == object:  # dates of a calendar that NumPy does not have
            values = values.astype(str)
        ctx.scalar("v_" + name.replace("/", "."), number_of(variable.dims, values.shape, values.dtype.str, values.tobytes(),
                                                            sorted(variable.attrs.items())))
    for name in ds.data_vars:
        try:
            blocks = list(ctx.blocks(name))
        except LookupError as error:
            blocks = []
            ctx.scalar("b_" + name.replace("/", "."), number_of(str(error)))
        for b in blocks:
            ctx.scalar(f"b_{name.replace('/', '.')}_{b.rank}_{b.block}", number_of(b.extent, b.position, b.data.tobytes()))
"""


def replay(file, folder):
    folder.mkdir()
    (folder / "all.py").write_text(EVERYTHING)
    return leat("replay", file, "all.py", "--output", "seen", "--interpreter", sys.executable, cwd=folder)


def test_scripts_see_the_same(tmp_path):
    def give(target):
        for i in range(4):
            write_all(target, i)

    made = both(tmp_path, VARIABLES, [[0], [1]], give, meshes=MESHES, options={"file": "run.nc"}, **TIME)
    seen = []
    for place, file in enumerate(made):
        done = replay(file, tmp_path / f"replay{place}")
        assert done.returncode == 0, done.stderr
        seen.append((tmp_path / f"replay{place}/seen/all.csv").read_text())
    assert len(seen[2].splitlines()) == 5 and seen[2].count(",") > 4 * 20
    names = seen[2].splitlines()[0].split(",")
    assert {"v_temperature", "v_lon", "v_wx", "v_fields.grid"} <= set(names) and not any("VTKHDF" in n for n in names)
    assert seen[0] == seen[2] and seen[1] == seen[2]


@pytest.mark.parametrize("damage", ["one part", "all parts", "damaged"])
def test_a_view_whose_parts_are_not_there_is_not_replayed(tmp_path, damage):
    """HDF5 shows fill values for them, and scripts would take these for data."""
    small_view(tmp_path)
    part = tmp_path / "run.parts/s1/rank000002.h5"
    if damage == "damaged":
        part.write_bytes(part.read_bytes()[:40])
    else:
        part.unlink()
    if damage == "all parts":
        shutil.rmtree(tmp_path / "run.parts")
    done = replay(tmp_path / "run.h5", tmp_path / "replay")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "run.parts/s1/rank00000" in done.stderr and "belong together" in done.stderr
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["u"].is_virtual
