# SPDX-License-Identifier: Apache-2.0
"""Colours of values, by the maps of matplotlib."""
import difflib

from vtkmodules.vtkCommonCore import vtkLookupTable
from vtkmodules.vtkRenderingCore import vtkColorTransferFunction

_STEPS = 256
NO_NUMBER = 0.75, 0.75, 0.75  # a NaN


def map_called(name):
    """Of matplotlib; ValueError with the nearest name."""
    import matplotlib
    if name in matplotlib.colormaps:
        return matplotlib.colormaps[name]
    near = difflib.get_close_matches(str(name), list(matplotlib.colormaps), 1)
    raise ValueError(f'matplotlib has no colours "{name}"' + (f'; did you mean "{near[0]}"?' if near else ""))


def table_of(colours, low, high):
    """Of colours between two values; those beyond have the colour of the nearer one."""
    table = vtkLookupTable()
    table.SetNumberOfTableValues(_STEPS)
    for number in range(_STEPS):
        table.SetTableValue(number, *colours(number / (_STEPS - 1)))
    table.SetRange(low, high)
    table.SetNanColor(*NO_NUMBER, 1.0)
    return table


def transfer_of(colours, low, high):
    """The same, for volumes."""
    made = vtkColorTransferFunction()
    for number in range(_STEPS):
        share = number / (_STEPS - 1)
        made.AddRGBPoint(low + share * (high - low), *colours(share)[:3])
    return made
