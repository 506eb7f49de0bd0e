# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/paraview.md: its Python reads what its XML writes, with one mesh and with two, in VTK itself."""
import pathlib
import re
import subprocess

import numpy as np
import pytest
from judges import environment
from leat_run import Run, data, same_bits, xml

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/paraview.md").read_text()
MESHES, STORE, *_ = re.findall(r"```xml\n(.*?)```", PAGE, re.S)
(READING,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
# What the page leaves to its reader: layouts, and where the particles are.
AROUND = """
  <parameter name="t" type="double"/><time parameter="t"/>
  <layout name="cells" type="double" dimensions="3,4" global="3,4" names="y,x"/>
  <layout name="corners" type="double" dimensions="4,5" global="4,5" names="yc,xc"/>
  <layout name="numbers" type="double" dimensions="?" names="atom"/>
  <variable name="x" layout="numbers"/><variable name="y" layout="numbers"/><variable name="z" layout="numbers"/>
  """
SHOW = """
import sys
import numpy as np
others = {}
if len(sys.argv) > 1:
    others["mass"] = vtk_to_numpy(mesh_called("atoms", reader.GetOutputDataObject(0)).GetPointData().GetArray("mass"))
flux = vtk_to_numpy(plate.GetPointData().GetArray("corner_flux"))
np.savez("seen.npz", temperature=temperature, corner_flux=flux, **others)
"""
SIZES = {"temperature": 12, "corner_flux": 20, "x": 6, "y": 6, "z": 6, "mass": 6}


@pytest.mark.parametrize("meshes", [1, 2])
def test_the_python_of_the_page_reads_what_its_xml_writes(tmp_path, meshes):
    described = MESHES if meshes == 2 else "".join(line + "\n" for line in MESHES.splitlines() if "atoms" not in line)
    names = [name for name in SIZES if meshes == 2 or name in ("temperature", "corner_flux")]
    with Run(tmp_path, xml(AROUND + described, store=STORE)) as run:
        (rank,) = run.init()
        for name in names[2:]:
            rank.must("set_extent", name, 0, 6)
        for step, time in enumerate((0.25, 0.5, 0.75)):
            rank.must("set_double", "t", time)
            for number, name in enumerate(names):
                assert rank.write(name, 8 * SIZES[name], 10 * number + step).ok
            rank.end()
        run.finish()
    code = READING + SHOW
    done = subprocess.run([environment() / "bin/python", "-c", code, *["two"][:meshes - 1]], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = np.load(tmp_path / "seen.npz")
    for name in ("temperature", "corner_flux", "mass")[:meshes + 1]:
        assert same_bits(seen[name], data(SIZES[name], "f8", 10 * names.index(name) + 1)), name
