# SPDX-License-Identifier: Apache-2.0
"""Vectors of the XML as arrays of VTK, beside those of their components."""
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet, vtkDataSet

from .arrays import array_name, vtk_array


def add_vectors(grid, vectors):
    """vectors: {name: Variables}. Where a data set has all components of one; it has three then, the third of two is 0."""
    if isinstance(grid, vtkCompositeDataSet):
        sets = grid.NewIterator()
        while not sets.IsDoneWithTraversal():
            add_vectors(sets.GetCurrentDataObject(), vectors)
            sets.GoToNextItem()
    elif isinstance(grid, vtkDataSet):
        for attributes in (grid.GetPointData(), grid.GetCellData()):
            for name, variables in vectors.items():
                _add(attributes, name.replace("/", "_"), [attributes.GetArray(array_name(variable)) for variable in variables])


def _add(attributes, name, arrays):
    if attributes.HasArray(name) or any(array is None or array.GetNumberOfComponents() != 1 for array in arrays):
        return
    values = np.zeros((arrays[0].GetNumberOfTuples(), 3), vtk_to_numpy(arrays[0]).dtype)
    for number, array in enumerate(arrays):
        values[:, number] = vtk_to_numpy(array)
    attributes.AddArray(vtk_array(values, name))
