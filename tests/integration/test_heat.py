# SPDX-License-Identifier: Apache-2.0
"""examples/heat_c, run as its users run it, against the same arithmetic in numpy."""
import pathlib
import shutil

import h5py
import numpy as np
import pytest
from leat_run import same_bits
from mpi_run import mpirun

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "heat_c"
NY, NX = 64, 48


def plate(steps):
    """The plate at the start of each step, one more row above and below."""
    T = np.full((NY + 2, NX), 300.0)
    T[17:33, 8:24] = 400.0
    for _ in range(steps):
        yield T[1:-1].copy()
        left = np.concatenate([T[1:-1, :1], T[1:-1, :-1]], axis=1)
        right = np.concatenate([T[1:-1, 1:], T[1:-1, -1:]], axis=1)
        T[1:-1] = T[1:-1] + 0.1 * (((left + right) + (T[:-2] + T[2:])) - 4.0 * T[1:-1])


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_file_has_the_whole_plate_to_the_last_bit(tmp_path, ranks):
    shutil.copy(EXAMPLE / "heat.xml", tmp_path)
    mpirun(ranks, "heat", "heat.xml", 41, cwd=tmp_path)
    with h5py.File(tmp_path / "heat.h5") as file:
        assert file["iteration"][:].tolist() == [0, 10, 20, 30, 40]
        assert [s.label for s in file["temperature"].dims] == ["", "", ""]
        assert [d[0].name for d in file["temperature"].dims] == ["/time", "/y", "/x"]
        for i, T in enumerate(plate(41)):
            if i % 10 == 0:
                assert same_bits(file["temperature"][i // 10], T), i


def test_the_example_has_at_most_ten_calls_of_leat():
    lines = [line for line in (EXAMPLE / "heat.c").read_text().splitlines() if "leat_" in line and "#include" not in line]
    assert len(lines) <= 10, lines
