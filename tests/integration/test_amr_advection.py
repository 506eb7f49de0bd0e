# SPDX-License-Identifier: Apache-2.0
"""examples/amr_advection: patches come, go and change level; the dye is all there, where it should be, on any number of ranks."""
import pathlib
import re
import sys

import h5py
import numpy as np
import pytest
from leat_run import same_bits
from mpi_run import mpirun

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "amr_advection"
STEPS, EVERY, CELLS, LEVELS = 201, 20, 8, 3
FINEST = 64 << (LEVELS - 1)  # cells along an edge, were all as fine

# What a script sees: the dye on the finest grid, fine patches over coarse ones, and the patches by level and place.
LOOK = f"""
import leat
import numpy as np

@leat.on_iteration(every={EVERY})
def look(ds, ctx):
    finest, places = np.full(({FINEST}, {FINEST}), np.nan), set()
    for level, (y, x), dye in zip(ds["block_level"].values, ds["block_lo"].values, ds["dye"].values):  # by level
        n = {1 << (LEVELS - 1)} >> level
        finest[y * n:(y + {CELLS}) * n, x * n:(x + {CELLS}) * n] = np.kron(dye, np.ones((n, n)))
        places.add((level, y, x))
    assert len(places) == ds.sizes["block"] and ds["unevenness"].dims == ds["dye"].dims
    covered = sum(1 for level, y, x in places if (level + 1, 2 * y, 2 * x) in places)
    ctx.store("finest", finest, dims=["y", "x"])
    ctx.store("patches", np.array([(ds["block_level"].values == level).sum() for level in range({LEVELS})]), dims=["level"])
    ctx.scalar("coarse", float(ds["dye"].where(ds["block_level"] == 0, drop=True).values.sum()) / 64 ** 2)
    ctx.scalar("t", float(ctx.parameters["t"]))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{ranks: (what the program said, folder)}"""
    done = {}
    for ranks in (1, 2, 4):
        folder = tmp_path_factory.mktemp(f"on{ranks}")
        text = (EXAMPLE / "amr_advection.xml").read_text()
        scripts = f'<scripts interpreter="{sys.executable}"><folder path="analysis" when-slow="wait"/></scripts>'
        (folder / "run.xml").write_text(text.replace("</simulation>", scripts + "</simulation>"))
        (folder / "analysis").mkdir()
        (folder / "analysis" / "look.py").write_text(LOOK)
        done[ranks] = mpirun(ranks, "amr_advection", "run.xml", STEPS, cwd=folder), folder
    return done


def seen(runs, ranks):
    """What the script has made: {name: array}."""
    with h5py.File(runs[ranks][1] / "amr_advection.h5") as file:
        group = file["scripts/look"]
        return {name: group[name][()] for name in ("finest", "patches", "coarse", "t", "iteration")}


def exact(t, y0=0.3, x0=0.3):
    """The drop at this time on the finest grid, with its periodic images."""
    centre = (np.arange(FINEST) + 0.5) / FINEST
    def line(x):
        return sum(np.exp(-(centre - x + image) ** 2 / (2 * 0.05 ** 2)) for image in (-1, 0, 1))
    return np.outer(line(y0 + 0.5 * t), line(x0 + t))


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_no_dye_is_lost_where_levels_meet(runs, ranks):
    assert float(re.search(r"relative change: (\S+)", runs[ranks][0])[1]) < 1e-12
    found = seen(runs, ranks)
    assert found["iteration"].tolist() == list(range(0, STEPS, EVERY))
    sums = found["finest"].sum(axis=(1, 2)) / FINEST ** 2
    assert np.allclose(sums, sums[0], rtol=1e-12, atol=0) and np.allclose(found["coarse"], sums, rtol=1e-12, atol=0)
    assert sums[0] == pytest.approx(exact(0).mean(), rel=1e-3)


def test_the_dye_is_where_the_flow_has_carried_it(runs):
    found = seen(runs, 4)
    for t, dye in zip(found["t"], found["finest"]):
        assert abs(dye - exact(t)).sum() < 0.06 * exact(t).sum(), t
        assert np.unravel_index(dye.argmax(), dye.shape) == pytest.approx(np.unravel_index(exact(t).argmax(), dye.shape), abs=3)
    assert found["t"][-1] > 0.2


def test_patches_come_and_go_and_make_up_what_is_uneven(runs):
    patches = seen(runs, 4)["patches"]
    assert (patches[:, 0] == 64).all() and (patches[:, 1:] > 0).all() and len(set(map(tuple, patches.tolist()))) > 2
    assert (patches[:, 1] < 64 * 4 / 2).all() and (patches[:, 2] < 64 * 16 / 4).all(), patches


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_patches_of_many_ranks_are_those_of_one_bit_for_bit(runs, ranks):
    one, many = seen(runs, 1), seen(runs, ranks)
    assert all(same_bits(one[name], many[name]) for name in ("finest", "patches"))


def test_the_example_has_at_most_ten_lines_of_leat():
    lines = [line for line in (EXAMPLE / "amr_advection.cpp").read_text().splitlines() if re.search(r"\bleat_\w+\(", line)]
    assert len(lines) <= 10, lines


def test_the_page_on_meshes_shows_the_lines_of_the_example():
    page = (EXAMPLE.parents[1] / "docs" / "how-to" / "meshes.md").read_text()
    code = re.search(r"// region write\n(.*?)// end region", (EXAMPLE / "amr_advection.cpp").read_text(), re.S).group(1)
    lines = map(str.strip, (EXAMPLE / "amr_advection.xml").read_text().splitlines())
    xml = [line for line in lines if re.match("<(mesh|layout|variable) ", line)]
    assert f"```cpp\n{code}```" in page and "```xml\n" + "\n".join(xml) + "\n```" in page
