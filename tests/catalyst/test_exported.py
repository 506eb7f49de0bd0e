# SPDX-License-Identifier: Apache-2.0
"""Scripts that ParaView itself exported run unchanged, and draw what the ranks have written."""
import csv

import numpy as np
import pytest
from catalyst_run import BOX, bluish, complaints, draw, extract, image, reddish, share_of_background

CENTRES = (np.arange(16) + 0.5) / 16


ATOMS = ('<mesh name="atoms" type="points" coordinates="x"/><layout name="vectors" type="float" dimensions="?,3" names="atom,xyz"/>'
         '<layout name="numbers" type="int" dimensions="?" names="atom"/><variable name="x" layout="vectors"/>'
         '<group name="atoms"><variable name="type" layout="numbers" mesh="atoms"/></group>')
PLACES = [np.random.default_rng(rank).random((60, 3)).astype("f4") * 10 for rank in range(2)]


def temperature(iteration):
    """x in iterations 0 and 2, y in iteration 1."""
    return np.broadcast_to(CENTRES[:, None] if iteration == 1 else CENTRES, (16, 16, 16))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """(folder, log) of a run of two ranks that all three scripts draw; each rank has a half of the box along z, and some atoms."""
    folder = tmp_path_factory.mktemp("run")
    ranks = [{("temperature", "position"): [8 * rank, 0, 0]} for rank in range(2)]
    for rank, own in enumerate(ranks):
        for i in range(3):
            own["temperature", i] = temperature(i)[8 * rank:8 * rank + 8]
            own["x", i] = PLACES[rank][:40 + 10 * i]
            own["atoms/type", i] = np.full(40 + 10 * i, 1 + rank, "i4")
    scripts = [f"exported/{name}.py" for name in ("slice", "contour", "particles")]
    log = draw(folder, BOX + ATOMS, ranks, *scripts, parameters={"ranks": 2}, of_scripts='workers="1"')
    return folder, log


def test_a_slice(drawn, tmp_path):
    folder, log = drawn
    out = folder / "run-scripts/slice"
    assert sorted(path.name for path in out.iterdir() if path.is_file()) == [
        "data.csv", *(f"slice_{i:06d}.{end}" for i in range(3) for end in ("png", "vtp"))], log
    first, second = (image(out / f"slice_{i:06d}.png") for i in range(2))
    assert first.shape == second.shape == (300, 400, 3)
    assert first[150, 100:120].mean(0)[2] > 100 > first[150, 100:120].mean(0)[0], "x is least on the left: blue"
    assert bluish(first[:, :200]).mean() > 0.2 and reddish(first[:, 200:]).mean() > 0.2 and not reddish(first[:, :190]).any()
    assert bluish(second[150:]).mean() > 0.2 and reddish(second[:150]).mean() > 0.2 and not reddish(second[160:]).any()
    assert 0.5 < share_of_background(first) < 0.8
    found = extract(out / "slice_000001.vtp", tmp_path)
    assert set(found["C/temperature"]) == set(CENTRES) and np.allclose(found["points"][:, 2], 0.5)
    with open(out / "data.csv") as file:
        assert [(row["producer"], row["time"]) for row in csv.DictReader(file)] == [(name, t) for t in "012" for name in ("PNG1", "VTP1")]
    assert 'script "slice": 3 calls' in log and complaints(log) == []


def test_a_contour_with_a_colour_bar_of_the_blocks_of_several_ranks(drawn, tmp_path):
    folder, log = drawn
    out = folder / "run-scripts/contour"
    found = extract(out / "contour_000000.vtp", tmp_path)
    assert sorted({round(x, 6) for x in found["points"][:, 0].tolist()}) == [0.25, 0.75], log
    assert np.allclose(found["P/temperature"], found["points"][:, 0])
    assert found["points"][:, 2].min() == 0 and found["points"][:, 2].max() == 1
    picture = image(out / "contour_000000.png")
    bar = picture[180:, 320:]
    assert bluish(picture[:, :200]).mean() > 0.1 and reddish(picture).mean() > 0.1
    assert (bar.max(-1) < 60).any(), "numbers of the colour bar, lower right"
    assert complaints(log) == []


def test_particles_whose_number_changes(drawn, tmp_path):
    folder, log = drawn
    out = folder / "run-scripts/particles"
    for i in range(3):
        found = extract(out / f"particles_{i:06d}.vtp", tmp_path)
        assert np.array_equal(found["points"], np.concatenate([each[:40 + 10 * i] for each in PLACES])), log
        assert np.array_equal(found["P/atoms_type"], np.repeat([1, 2], 40 + 10 * i))
    picture = image(out / "particles_000002.png")
    assert bluish(picture).mean() > 0.01 and reddish(picture).mean() > 0.01 and share_of_background(picture) > 0.3
