# SPDX-License-Identifier: Apache-2.0
"""However a global array is cut into blocks, the file has it whole: judged by h5py, bit for bit."""
import random

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, variable
from leat_run import same_bits

WHOLE = (24, 20, 18)


def cut(place, parts, dice):
    """`parts` boxes (lists of (start, end)) that fill `place`, by random cuts."""
    if parts == 1:
        return [place]
    d = dice.choice([i for i, (a, b) in enumerate(place) if b - a >= 2])
    a, b = place[d]
    at = dice.randrange(a + 1, b)
    front = parts // 2
    return [box for side, n in (((a, at), front), ((at, b), parts - front))
            for box in cut(place[:d] + [side] + place[d + 1:], n, dice)]


def slabs(parts, dims):
    """Equal parts along these dimensions, whole in the others."""
    boxes = [[]]
    for d, extent in enumerate(WHOLE):
        n = parts if d in dims else 1
        boxes = [box + [(extent * i // n, extent * (i + 1) // n)] for box in boxes for i in range(n)]
    return boxes


def everywhere():
    return [(0, n) for n in WHOLE]


CUTS = {"blocks": slabs(2, (0, 1, 2)), "pencils": slabs(3, (0, 1)), "pencils along z": slabs(3, (1, 2)), "slabs": slabs(5, (0,)),
        **{f"irregular {seed}": cut(everywhere(), 11, random.Random(seed)) for seed in range(4)}}


@pytest.mark.parametrize("ranks", [1, 4, 11])
@pytest.mark.parametrize("name", CUTS)
def test_a_cut_array_is_whole_in_the_file(tmp_path, name, ranks):
    """Boxes go to ranks in turn, so that with few ranks each has several blocks. In the second iteration one is missing."""
    boxes, ghosts = CUTS[name], [(1, 2), (0, 0), (2, 1)]
    dims = [(n, *of) for n, of in zip("zyx", ghosts)]
    plugin = Plugin(tmp_path, [variable("fields/u", "f8", dims, **{"global": 1})], ranks=ranks)
    owners = sorted((i % ranks, i // ranks, box) for i, box in enumerate(boxes))
    extents = [[b - a + low + high for (a, b), (low, high) in zip(box, ghosts)] for _, _, box in owners]
    for row in range(3):
        plugin.must(row, *[plugin.block(0, extent, 100 * row + i, rank=rank, block=block, position=[a for a, _ in box],
                                        **{"global": WHOLE})
                           for i, ((rank, block, box), extent) in enumerate(zip(owners, extents)) if (row, i) != (1, 3)])
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(3):
            expected = np.full(WHOLE, np.nan)
            for i, ((_, _, box), extent) in enumerate(zip(owners, extents)):
                own = tuple(slice(low, n - high) for n, (low, high) in zip(extent, ghosts))
                if (row, i) != (1, 3):
                    expected[tuple(slice(a, b) for a, b in box)] = array(extent, "f8", 100 * row + i)[own]
            stored, there = file["fields/u"][row], [np.s_[a:b] for a, b in owners[3][2]]
            if row == 1:
                assert np.isnan(stored[tuple(there)]).all()
                stored[tuple(there)] = expected[tuple(there)] = 0
            assert same_bits(stored, expected)
