# SPDX-License-Identifier: Apache-2.0
"""Runs whose scripts call ctx.picture, and what is in the pictures."""
import functools
import json
import subprocess

import numpy as np
from arrays_run import write_arrays
from judges import ROOT
from leat_run import xml
from matplotlib import colormaps
from matplotlib.image import imread

# Pictures are told by their names; what went wrong with one is in told.json.
HEAD = '''
import json
import leat
import numpy as np

told = {}

@leat.on_iteration()
def draw(ds, ctx):
    def picture(name, *what, **how):
        try:
            told[name] = str(ctx.picture(*what, name=name, **how))
        except Exception as error:
            told[name] = f"{type(error).__name__}: {error}"
'''


@functools.cache
def debians_python():
    """The interpreter that has Debian's VTK."""
    return subprocess.run([ROOT / "tools/find_python", "vtkmodules", "matplotlib", "numpy"], capture_output=True, text=True,
                          check=True).stdout.strip()


def draw(folder, python, data, by_rank, calls, of_scripts="", after=None, **others):
    """The log, and {name: path, None or error} of what these calls of picture("name", kind, variable, ...) gave."""
    (folder / "draws.py").write_text(HEAD + "".join(f"    {call}\n" for call in calls) +
                                     '    with open("told.json", "w") as file:\n        json.dump(told, file)\n')
    scripts = (f'<scripts interpreter="{python}" {of_scripts}><script file="draws.py" when-slow="wait" failures="9"/></scripts>'
               '<log level="debug"/>')
    log = write_arrays(folder, xml(data, log=scripts, **others), by_rank, after)
    told = folder / "told.json"
    return log, json.loads(told.read_text()) if told.exists() else {}


def image(path):
    """Bytes (height, width, 3), the uppermost row first."""
    return np.round(imread(path)[..., :3] * 255).astype(int)


def colour_of(values, low, high, name="viridis"):
    """By matplotlib alone."""
    return np.round(np.array(colormaps[name](np.clip((np.asarray(values, float) - low) / (high - low), 0, 1)))[..., :3] * 255).astype(int)


def coloured(picture):
    """Which pixels left of the colour bar are neither white nor grey."""
    found = np.ptp(picture, axis=-1) > 25
    found[:, round(0.83 * found.shape[1]):] = False
    return found


def box_of(mask):
    """(first row, row behind the last, first column, column behind the last) of what is true."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return rows[0], rows[-1] + 1, columns[0], columns[-1] + 1


def at_shares(picture, box, across, up):
    """Colours at places in the box, from 0 at its left and its lower edge to 1."""
    first, end, left, right = box
    rows = np.clip((end - np.asarray(up) * (end - first)).astype(int), first, end - 1)
    columns = np.clip((left + np.asarray(across) * (right - left)).astype(int), left, right - 1)
    return picture[rows, columns]


def expect_colours(found, expected, most=6):
    """Of places; most: of 255."""
    off = np.abs(found - expected).max(-1)
    assert (off <= most).all(), (off.max(), found[off > most][:3], expected[off > most][:3])
