# SPDX-License-Identifier: Apache-2.0
"""A run on several nodes: somebody removes or replaces parts of its output, its view, or all of it."""
import shutil

import h5py
import numpy as np
import pytest
from leat_plugin import array, variable
from leat_run import same_bits
from nodes import Nodes

VARIABLES = [variable("u", "f8", ["x"], **{"global": 1})]
PART = "run.parts/s1/rank000001.h5"


def replace_part(out):
    shutil.copy(out / PART, out / "copy")
    (out / "copy").rename(out / PART)


def rename_part(out):
    (out / PART).rename(out / "mine.h5")


HARM = {"a part": lambda out: (out / PART).unlink(), "all parts": lambda out: shutil.rmtree(out / "run.parts"),
        "the view": lambda out: (out / "run.h5").unlink(), "everything": shutil.rmtree,
        "a part, which is replaced by a copy": replace_part, "a part, which is renamed": rename_part}


def iterate(run, number):
    run.must(number, *(run.block(0, (4,), 2 * number + rank, rank=rank, position=[4 * rank], **{"global": [8]})
                       for rank in range(2)))


@pytest.mark.parametrize("what", HARM)
def test_at_the_end_the_view_shows_all(tmp_path, what):
    out = tmp_path / "out"
    out.mkdir()
    run = Nodes(tmp_path, VARIABLES, [[0], [1]], options={"folder": "out"})
    for number in range(3):
        iterate(run, number)
    HARM[what](out)
    for number in range(3, 5):
        iterate(run, number)
    said = run.finish()
    assert what == "the view" or "while this run was writing it" in said, said
    with h5py.File(out / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(5)) and file["leat/iteration_complete"][:].all()
        for number in range(5):
            assert same_bits(file["u"][number], np.concatenate([array((4,), "f8", 2 * number + rank) for rank in range(2)]))
