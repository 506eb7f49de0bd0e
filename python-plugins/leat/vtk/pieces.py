# SPDX-License-Identifier: Apache-2.0
"""A data object of VTK as what a picture is made of: its parts, as blocks and patches are, with the arrays that are drawn alone."""
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject
from vtkmodules.vtkFiltersCore import vtkCellDataToPointData, vtkThreshold

from .arrays import vtk_array

_GHOSTS, _FINITE = "vtkGhostType", "leat finite"
_MOST = 1e300  # of a value
_POINT, _CELL = vtkDataObject.POINT, vtkDataObject.CELL


class Pieces:
    """parts: those that have all of the arrays `names`, without what nobody wrote. vectors: names of those that have become lengths."""

    def __init__(self, data, names):
        whole = [part for part in _leaves(data) if part.GetNumberOfCells() and all(_where(part, name) is not None for name in names)]
        self.vectors = {name for part in whole for name in names if _array(part, name).GetNumberOfComponents() > 1}
        self.parts = [part for part in (_seen(part, names) for part in whole) if part.GetNumberOfCells()]
        self.boxes = [box for box in (part.GetBounds() for part in whole) if np.isfinite(box).all()] or [p.GetBounds() for p in self.parts]

    def bounds(self):
        """(low, high): corners (x, y, z) of all of it."""
        each = np.array(self.boxes)
        return each[:, ::2].min(0), each[:, 1::2].max(0)

    def range_of(self, name):
        """Least and greatest value that is a number and no infinity; None where there is none."""
        finite = [values[np.abs(values) < _limit_of(values)] for values in (vtk_to_numpy(_array(part, name)) for part in self.parts)]
        finite = [values for values in finite if values.size]
        return (float(min(map(np.min, finite))), float(max(map(np.max, finite)))) if finite else None

    def without_nan(self, name):
        """Parts without what has a NaN in this array, of which neither surfaces nor rays can be made."""
        return [part for part in (_finite(part, name) for part in self.parts) if part.GetNumberOfCells()]


def at_nodes(part):
    """With values of cells averaged at their corners."""
    if not part.GetCellData().GetNumberOfArrays():
        return part
    averaged = vtkCellDataToPointData()
    averaged.SetInputData(part)
    averaged.Update()
    return averaged.GetOutput()


def is_at_points(part, name):
    return _where(part, name) == _POINT


def _leaves(data):
    if not data.IsA("vtkCompositeDataSet"):
        yield data
        return
    each = data.NewIterator()
    each.InitTraversal()
    while not each.IsDoneWithTraversal():
        yield each.GetCurrentDataObject()
        each.GoToNextItem()


def _attributes(part, where):
    return part.GetAttributes(where)


def _where(part, name):
    return next((where for where in (_POINT, _CELL) if _attributes(part, where).GetArray(name)), None)


def _array(part, name):
    return _attributes(part, _where(part, name)).GetArray(name)


def _seen(part, names):
    made = part.NewInstance()
    made.CopyStructure(part)
    for name in names:
        values = _array(part, name)
        if values.GetNumberOfComponents() > 1:
            values = vtk_array(np.linalg.norm(vtk_to_numpy(values), axis=1), name)
        _attributes(made, _where(part, name)).AddArray(_bounded(values, name))
    if part.IsA("vtkPointSet") and not (at := np.isfinite(vtk_to_numpy(part.GetPoints().GetData())).all(axis=1)).all():
        made.GetPointData().AddArray(vtk_array(at.astype("u1"), _FINITE))
        made = _only_finite(made, _POINT)
    where = _where(part, _GHOSTS)
    if where is None:
        return made
    _attributes(made, where).AddArray(vtk_array((vtk_to_numpy(_array(part, _GHOSTS)) == 0).astype("u1"), _FINITE))
    return _only_finite(made, where)


def _limit_of(values):
    return _MOST if values.dtype == np.float64 else np.inf if values.dtype.kind != "f" else np.finfo(values.dtype).max


def _bounded(array, name):
    """VTK aborts over colours of infinities, and of numbers whose difference is one: they become as great as it can tell."""
    values = vtk_to_numpy(array)
    limit = _limit_of(values)
    if values.dtype.kind != "f" or not (np.abs(values) > limit).any():
        return array
    return vtk_array(np.clip(values, -limit, limit), name)


def _finite(part, name):
    finite = np.isfinite(vtk_to_numpy(_array(part, name)))
    if finite.all():
        return part
    where, made = _where(part, name), part.NewInstance()
    made.ShallowCopy(part)
    _attributes(made, where).AddArray(vtk_array(finite.astype("u1"), _FINITE))
    return _only_finite(made, where)


def _only_finite(part, where):
    """Cells that have a 1 in _FINITE, themselves or at all of their corners."""
    kept = vtkThreshold()
    kept.SetInputData(part)
    kept.SetInputArrayToProcess(0, 0, 0, where, _FINITE)
    kept.SetLowerThreshold(1)
    kept.SetUpperThreshold(1)
    kept.AllScalarsOn()
    kept.Update()
    made = kept.GetOutput()
    _attributes(made, where).RemoveArray(_FINITE)
    return made
