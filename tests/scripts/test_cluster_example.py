# SPDX-License-Identifier: Apache-2.0
"""The example of the how-to: the whole field of heat on pretended nodes, by Dask, and the same numbers as of one node."""
import os
import re
import subprocess
import sys

import h5py
import numpy as np
from leat_run import BUILD
from script_run import put
from shipped import EXAMPLES

PAGE = (EXAMPLES.parent / "docs/how-to/analyse-with-python.md").read_text()
LINE = "leat launch heat.xml --pretend-nodes 4 --run -n 8 -- ./heat heat.xml 41"
IS_ROOT = os.geteuid() == 0
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if IS_ROOT else {}


def results(folder):
    """{iteration: {name: array}} of what the script has stored, wherever."""
    found = {}
    for path in [*folder.glob("heat.parts/*/*.h5"), *folder.glob("heat-replay/*.h5")]:
        with h5py.File(path) as file:
            group = file.get("scripts/whole_field", file)
            if "temperature_spectrum" in group:
                for row, number in enumerate(group["iteration"][:].tolist()):
                    found[number] = {name: group[name][row] for name in ("temperature_spectrum", "temperature_profile")}
    return found


def test_the_whole_field_of_heat_on_four_pretended_nodes(tmp_path):
    assert f"`{LINE}`" in PAGE
    put(tmp_path, "whole_field", (EXAMPLES / "analysis/whole_field.py").read_text().replace("on_iteration(", "on_iteration(every=20, "))
    scripts = f'<scripts interpreter="{sys.executable}"><folder path="analysis"/></scripts></simulation>'
    (tmp_path / "heat.xml").write_text((EXAMPLES / "heat_c/heat.xml").read_text().replace("</simulation>", scripts))
    words = [BUILD / "bin/leat", *LINE.replace("./heat", str(BUILD / "bin/heat")).split()[1:]]
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, **ROOT}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not re.search(r"leatd \w+: error", done.stderr), done.stderr
    live = results(tmp_path)
    assert sorted(live) == [0, 20, 40]
    assert len(list(tmp_path.glob("heat-scripts*/whole_field/temperature-*.png"))) == 3
    with h5py.File(tmp_path / "heat.h5") as file:
        numbers, field = file["iteration"][:].tolist(), file["temperature"][:]
    for i, made in live.items():
        T = field[numbers.index(i)]
        assert np.allclose(made["temperature_profile"], T.mean(axis=1), rtol=1e-12)
        assert np.allclose(made["temperature_spectrum"], (abs(np.fft.rfft(T, axis=1)) ** 2).mean(axis=0), rtol=1e-9, atol=1e-9)
