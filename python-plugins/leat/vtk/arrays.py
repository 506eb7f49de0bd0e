# SPDX-License-Identifier: Apache-2.0
"""Arrays of an iteration as VTK has them: without a copy where one block is all there is."""
from dataclasses import dataclass

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkFieldData

HIDDEN_CELL, HIDDEN_POINT = 32, 2  # of vtkGhostType. Source: vtkDataSetAttributes


def array_name(variable):
    """As in /VTKHDF of files."""
    return variable.name.replace("/", "_")


def vtk_array(values, name):
    """Of one value, or one row, for each tuple. VTK keeps `values`, which it only reads."""
    made = numpy_to_vtk(np.ascontiguousarray(values))
    made.SetName(name)
    return made


def let_go():
    """Of NumPy's arrays that VTK had. Python's side of one that VTK has freed stays until another one is held by VTK alone (in 9.2)."""
    holder = vtkFieldData()
    holder.AddArray(vtk_array(np.zeros(1), "nothing"))


@dataclass
class Part:
    """What this server has of an array with a global shape. low: index of its first value; missing: of those that nobody wrote."""
    low: np.ndarray
    values: np.ndarray
    missing: np.ndarray = None

    @property
    def high(self):
        return self.low + self.values.shape

    def cut(self, low, high, fill):
        """The same between these indices, with `fill` where there is nothing."""
        if (self.low == low).all() and (self.high == high).all():
            return self
        values, missing = np.full(high - low, fill, self.values.dtype), np.ones(high - low, bool)
        first, last = np.maximum(low, self.low), np.minimum(high, self.high)
        if (first < last).all():
            there, here = _slices(first - low, last - low), _slices(first - self.low, last - self.low)
            values[there] = self.values[here]
            missing[there] = False if self.missing is None else self.missing[here]
        return Part(low, values, missing)


def part_of(iteration, variable):
    """Its blocks as one array, without ghosts: each cell comes from the rank whose own it is. None where nothing was written."""
    blocks = [block for block in iteration.parts(variable.name) if block.data.size]
    if not blocks:
        return None
    lows = np.array([block.position or (0,) * block.data.ndim for block in blocks])
    if len(blocks) == 1:
        return Part(lows[0], blocks[0].data)
    low, high = lows.min(0), (lows + [block.data.shape for block in blocks]).max(0)
    values, missing = np.empty(high - low, variable.dtype), None
    if sum(block.data.size for block in blocks) < values.size:
        values[...] = variable.fill
        missing = np.ones(values.shape, bool)
    for block, first in zip(blocks, lows - low):
        place = _slices(first, first + block.data.shape)
        values[place] = block.data
        if missing is not None:
            missing[place] = False
    return Part(low, values, missing)


def hide(attributes, masks, mark):
    """Marks what none of the arrays has (masks: of each, None for nothing missing) as not to be shown."""
    if not masks or any(mask is None for mask in masks):
        return
    missing = np.logical_and.reduce(masks)
    if missing.any():
        attributes.AddArray(vtk_array(missing.reshape(-1).astype("u1") * np.uint8(mark), "vtkGhostType"))


def _slices(low, high):
    return tuple(map(slice, low, high))
