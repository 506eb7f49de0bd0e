# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/draw-pictures.md and docs/gallery.md: what they say is run as it stands, and gives the pictures that they show."""
import inspect
import re
import sys

import numpy as np
import page_run
import pytest
from judges import ROOT
from picture_run import image

sys.path.insert(0, str(ROOT / "python-plugins"))
from leat.scripting.context import Context  # noqa: E402
from leat.vtk.wish import KINDS  # noqa: E402

GALLERY, HOW_TO = ROOT / "docs/gallery.md", ROOT / "docs/how-to/draw-pictures.md"
MOST_BYTES = 60_000
(SCRIPTS,) = re.findall(r"```xml\n(<scripts>.*?</scripts>)\n```", GALLERY.read_text(), re.S)


def expect_alike(made, shown):
    """Of the same size, and the same in coarse squares: letters and edges may differ with versions of VTK, and atoms by the machine."""
    first, second = image(made), image(shown)
    assert first.shape == second.shape, (made, shown)
    height, width = (side // 16 * 16 for side in first.shape[:2])
    assert (first != 255).any(-1).mean() > 0.02 and len(np.unique(first.reshape(-1, 3), axis=0)) > 20, "it is not blank"
    assert np.allclose(first.mean((0, 1)), second.mean((0, 1)), atol=6) and np.allclose(first.std((0, 1)), second.std((0, 1)), atol=10)
    if made.name == "report.png":
        return  # it tells times
    coarse = [each[:height, :width].reshape(height // 16, 16, width // 16, 16, 3).mean((1, 3)) for each in (first, second)]
    assert np.abs(coarse[0] - coarse[1]).mean() < 4, (made, shown)


@pytest.mark.parametrize("title", page_run.sections(GALLERY))
def test_the_gallery(tmp_path, title):
    text = page_run.sections(GALLERY)[title]
    folder, environment = page_run.prepared(tmp_path)
    page_run.run(text, folder, environment, SCRIPTS)
    assert page_run.pictures(text)
    for shown, made in page_run.pictures(text).items():
        assert (ROOT / "docs/pictures" / shown).stat().st_size < MOST_BYTES
        expect_alike(folder / made, ROOT / "docs/pictures" / shown)


def test_the_how_to(tmp_path):
    text = HOW_TO.read_text()
    (scripts,) = re.findall(r"```xml\n(<scripts>.*?</scripts>)\n```", text)
    folder, environment = page_run.prepared(tmp_path)
    page_run.run(text, folder, environment, scripts.replace("<folder ", '<folder when-slow="wait" '))
    names = sorted(path.name for path in (folder / "heat-scripts/plate").iterdir())
    assert names == ["latest-temperature-slice.png", *(f"temperature-slice-{i:06d}.png" for i in range(0, 41, 10))]
    made = folder / "heat-scripts/plate/temperature-slice-000040.png"
    expect_alike(made, ROOT / "docs/pictures/draw-pictures.png")
    (replay,) = re.findall(r"`(leat replay [^`]*)`", text)
    page_run.run(f"```sh\n{replay}\n```", folder, environment, scripts)
    assert (folder / "heat-replay/plate" / made.name).read_bytes() == made.read_bytes(), "a stored run gives the same picture"


def test_the_how_to_names_all_parameters_and_kinds():
    text = HOW_TO.read_text()
    table = set(re.findall(r"^\| `(\w+)` \|", text, re.M))
    in_calls = set(re.findall(r"[(,] ?(\w+)=", text))
    parameters = set(inspect.signature(Context.picture).parameters) - {"self", "kind", "variable"}
    assert parameters == table | in_calls & parameters and all(f'ctx.picture("{kind}"' in text for kind in KINDS)
