# SPDX-License-Identifier: Apache-2.0
"""Scripts that ParaView itself exported run unchanged, and draw what the ranks have written."""
import csv

import numpy as np
from catalyst_run import BOX, bluish, complaints, draw, extract, image, reddish, share_of_background

CENTRES = (np.arange(16) + 0.5) / 16


def temperature(iteration):
    """x in iteration 0, y in iteration 1."""
    return np.broadcast_to(CENTRES if iteration == 0 else CENTRES[:, None], (16, 16, 16))


def by_rank(ranks, iterations=2):
    """What each writes of temperature(), cut along z."""
    parts = [np.array_split(temperature(i), ranks) for i in range(iterations)]
    own = [{("temperature", i): parts[i][rank] for i in range(iterations)} for rank in range(ranks)]
    return [{**each, ("temperature", "position"): [16 // ranks * rank, 0, 0]} for rank, each in enumerate(own)] if ranks > 1 else own


def test_a_slice(tmp_path):
    log = draw(tmp_path, BOX, by_rank(1), "exported/slice.py")
    out = tmp_path / "run-scripts/slice"
    assert sorted(path.name for path in out.iterdir() if path.is_file()) == [
        "data.csv", *(f"slice_{i:06d}.{end}" for i in range(2) for end in ("png", "vtp"))], log
    first, second = (image(out / f"slice_{i:06d}.png") for i in range(2))
    assert first.shape == second.shape == (300, 400, 3)
    assert first[150, 100:120].mean(0)[2] > 100 > first[150, 100:120].mean(0)[0], "x is least on the left: blue"
    assert bluish(first[:, :200]).mean() > 0.2 and reddish(first[:, 200:]).mean() > 0.2 and not reddish(first[:, :190]).any()
    assert bluish(second[150:]).mean() > 0.2 and reddish(second[:150]).mean() > 0.2 and not reddish(second[160:]).any()
    assert 0.5 < share_of_background(first) < 0.8
    found = extract(out / "slice_000001.vtp", tmp_path)
    assert set(found["C/temperature"]) == set(CENTRES) and np.allclose(found["points"][:, 2], 0.5)
    with open(out / "data.csv") as file:
        assert [(row["producer"], row["time"]) for row in csv.DictReader(file)] == [(name, t) for t in "01" for name in ("PNG1", "VTP1")]
    assert 'script "slice": 2 calls' in log and complaints(log) == []


def test_a_contour_with_a_colour_bar_of_the_blocks_of_several_ranks(tmp_path):
    log = draw(tmp_path, BOX, by_rank(2), "exported/contour.py", parameters={"ranks": 2})
    out = tmp_path / "run-scripts/contour"
    found = extract(out / "contour_000000.vtp", tmp_path)
    assert sorted({round(x, 6) for x in found["points"][:, 0].tolist()}) == [0.25, 0.75], log
    assert np.allclose(found["P/temperature"], found["points"][:, 0])
    assert found["points"][:, 2].min() == 0 and found["points"][:, 2].max() == 1
    picture = image(out / "contour_000000.png")
    bar = picture[180:, 320:]
    assert bluish(picture[:, :200]).mean() > 0.1 and reddish(picture).mean() > 0.1
    assert (bar.max(-1) < 60).any(), "numbers of the colour bar, lower right"
    assert complaints(log) == []


ATOMS = ('<mesh name="atoms" type="points" coordinates="x"/><layout name="vectors" type="float" dimensions="?,3" names="atom,xyz"/>'
         '<layout name="numbers" type="int" dimensions="?" names="atom"/><variable name="x" layout="vectors"/>'
         '<group name="atoms"><variable name="type" layout="numbers" mesh="atoms"/></group>')


def test_particles_whose_number_changes(tmp_path):
    places = [np.random.default_rng(rank).random((60, 3)).astype("f4") * 10 for rank in range(2)]
    arrays = [{(name, i): values[:40 + 10 * i] for i in range(3) for name, values in
               (("x", places[rank]), ("atoms/type", np.full(60, 1 + rank, "i4")))} for rank in range(2)]
    log = draw(tmp_path, ATOMS, arrays, "exported/particles.py")
    out = tmp_path / "run-scripts/particles"
    for i in range(3):
        found = extract(out / f"particles_{i:06d}.vtp", tmp_path)
        assert np.array_equal(found["points"], np.concatenate([each[:40 + 10 * i] for each in places])), log
        assert np.array_equal(found["P/atoms_type"], np.repeat([1, 2], 40 + 10 * i))
    picture = image(out / "particles_000002.png")
    assert bluish(picture).mean() > 0.01 and reddish(picture).mean() > 0.01 and share_of_background(picture) > 0.3
