# SPDX-License-Identifier: Apache-2.0
"""<paraview> of an XML for Damaris: its Catalyst scripts run as they are, with the multi-block "input" that Damaris gives them."""
import os
import subprocess

import numpy as np
from arrays_run import write_arrays
from catalyst_run import image, paraview_python
from leat_run import BUILD
from test_scripts import LEGACY

XML = '''<?xml version="1.0"?>
<simulation name="run" language="c" xmlns="http://damaris.gforge.inria.fr/damaris/model">
  <architecture>
    <domains count="1"/><dedicated cores="1" nodes="0"/><buffer name="buffer" size="16000000"/><queue name="queue" size="100"/>
  </architecture>
  <data>
    <layout name="cells" type="double" dimensions="4,4" global="4,4"/>
    <layout name="line" type="double" dimensions="5" global="5"/>
    <group name="coord"><variable name="x" layout="line" visualizable="false" time-varying="false"/>
                        <variable name="y" layout="line" visualizable="false" time-varying="false"/></group>
    <mesh name="mesh" type="rectilinear" topology="2"><coord name="coord/x"/><coord name="coord/y"/></mesh>
    <variable name="pressure" type="scalar" layout="cells" mesh="mesh" centering="zonal" store="out"/>
  </data>
  <storage><store name="out" type="HDF5"><option key="FileMode">FilePerCore</option></store></storage>
  <paraview update-frequency="2"><script>old.py</script></paraview>
</simulation>
'''


def test_paraview_of_damaris_runs(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(paraview_python())
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("LEAT_PLACE", "process")  # these ranks do not call leat_split
    (tmp_path / "old.py").write_text(LEGACY)
    line = np.arange(5.0)
    cells = {("pressure", i): np.arange(16.0).reshape(4, 4) + i for i in range(3)}
    log = write_arrays(tmp_path, XML, [{("coord/x", 0): line, ("coord/y", 0): line, **cells}])
    out = tmp_path / "run-scripts/old"
    assert sorted(path.name for path in out.iterdir()) == ["image_0.png", "image_2.png"], log
    assert image(out / "image_0.png").shape == (20, 30, 3)


def test_what_has_no_equal_is_said(tmp_path):
    (tmp_path / "old.py").write_text(LEGACY)
    paraview = '<paraview write-vtk="1" end-iteration="5" realtime-timestep="0.1"><script> </script><script>old.py</script></paraview>'
    begin, end = XML.index("<paraview"), XML.index("</paraview>") + len("</paraview>")
    (tmp_path / "run.xml").write_text(XML[:begin] + paraview + XML[end:])
    done = subprocess.run([BUILD / "bin/leat", "convert", "run.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert '<script file="old.py" form="catalyst" when-slow="wait"' in done.stdout, done
    for said in ("no files of VTK are written", "scripts are told of the end when the run ends", "names no file"):
        assert said in done.stderr, done
