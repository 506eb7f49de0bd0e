# SPDX-License-Identifier: Apache-2.0
"""Runs whose scripts ParaView draws, and what it has drawn."""
import functools
import pathlib
import re
import subprocess

import numpy as np
from arrays_run import write_arrays
from judges import ROOT
from leat_run import xml

HERE = pathlib.Path(__file__).parent
BOX = ('<mesh name="box" type="uniform" origin="0,0,0" spacing="0.0625,0.0625,0.0625"/>'
       '<parameter name="ranks" type="int" value="1"/>'
       '<layout name="cells" type="double" dimensions="16/ranks,16,16" global="16,16,16" names="z,y,x"/>'
       '<variable name="temperature" layout="cells" mesh="box" unit="K"/>')


@functools.cache
def paraview_python():
    """The interpreter that has ParaView."""
    return subprocess.run([ROOT / "tools/find_python", "paraview.catalyst", "numpy"], capture_output=True, text=True,
                          check=True).stdout.strip()


def config(data, *scripts, attributes="", of_scripts="", **others):
    """scripts: paths. attributes: of each <script>."""
    each = "".join(f'<script file="{path}" form="catalyst" when-slow="wait" {attributes}/>' for path in scripts)
    text = f'<scripts interpreter="{paraview_python()}" {of_scripts}>{each}</scripts><log level="debug"/>'
    return xml(data, log=text, **others)


def draw(folder, data, arrays, *scripts, parameters=None, after=None, nodes=1, **others):
    """A run of these arrays, as write_arrays() takes them, with after and nodes; returns the log. scripts: names in this folder, or
    paths. parameters: other values than the XML's."""
    for name, value in (parameters or {}).items():
        data = re.sub(f'(<parameter name="{name}" [^>]*value=)"[^"]*"', rf'\1"{value}"', data)
    paths = [HERE / path for path in scripts]
    return write_arrays(folder, config(data, *paths, **others), arrays, after, nodes=nodes)


def complaints(log):
    """Lines of it that say what went wrong in scripts."""
    return re.findall(r".*(?:warning|error): script .*", log)


def errors_in(log, script, iteration):
    """What it says of this script there, with all lines."""
    return "".join(re.findall(rf'error: script "{script}", iteration {iteration}: .*(?:\n(?!\d{{4}}-).*)*', log))


def image(path):
    """Bytes (height, width, 3) of a PNG."""
    from matplotlib.image import imread
    return np.round(imread(path)[..., :3] * 255).astype(int)


def bluish(picture):
    """Which pixels have the colours of small values in ParaView's own map; light dims them."""
    return picture[..., 2] > picture[..., 0] + 40


def reddish(picture):
    return picture[..., 0] > picture[..., 2] + 40


def share_of_background(picture):
    return (picture == 255).all(-1).mean()


def extract(path, folder):
    """{name: array} of an extract, read by VTK in another process; see read_extract.py."""
    out = folder / "extract.npz"
    subprocess.run([paraview_python(), HERE / "read_extract.py", path, out], check=True, timeout=60)
    return dict(np.load(out))
