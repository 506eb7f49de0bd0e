# SPDX-License-Identifier: Apache-2.0
"""Unstructured meshes and particles: the blocks of all ranks of this server as one grid."""
import math

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData, vtkUnstructuredGrid

from .arrays import array_name, vtk_array
from .structured import points_of

# Points of a cell by VTK's number of its shape. Source: vtkCellType.h
_POINTS = {1: 1, 3: 2, 5: 3, 8: 4, 9: 4, 10: 4, 11: 8, 12: 8, 13: 6, 14: 5, 15: 10, 16: 12, 21: 3, 22: 6, 23: 8, 24: 10, 25: 20,
           26: 15, 27: 13, 28: 9, 29: 27}


class _Blocks:
    """Own values of variables by (rank, block)."""

    def __init__(self, iteration):
        self._iteration, self._here = iteration, set(iteration.names())

    def of(self, variable):
        """{} where nobody wrote it."""
        blocks = self._iteration.parts(variable.name) if variable.name in self._here else []
        return {(block.rank, block.block): block.data for block in blocks}

    def points(self, mesh):
        """{key: [columns]} of those that have all coordinates."""
        axes = [self.of(self._iteration.model.variables[number]) for number in mesh.coordinates]
        keys = sorted(set.intersection(*map(set, axes)))
        return {key: [_rows(axis[key]) if len(axes) == 1 else axis[key].reshape(-1) for axis in axes] for key in keys}


def _numbers(values):
    """For a vtkCellArray, in memory of VTK: it makes of this array one of another type on the same memory, and NumPy's would be gone."""
    return numpy_to_vtk(values, deep=1)


def _rows(values):
    """Of a rank without particles too."""
    return values.reshape(len(values), math.prod(values.shape[1:]))


def _joined(parts):
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _add_fields(blocks, attributes, variables, counts, what, leave_out):
    """counts: {key: number of points or cells}, of which each has one value, or a row of them."""
    for variable in variables:
        found = blocks.of(variable)
        if not found:
            continue
        parts = [found.get(key) for key in counts]
        if any(part is None or len(np.atleast_1d(part)) != n for part, n in zip(parts, counts.values())):
            leave_out(variable, f"it has other blocks than the {what} of its mesh, or other numbers of values in them")
            continue
        attributes.AddArray(vtk_array(_joined(list(map(_rows, parts))).squeeze(), array_name(variable)))


def particles_of(mesh, variables, iteration, leave_out):
    blocks, made = _Blocks(iteration), vtkPolyData()
    points = blocks.points(mesh)
    counts = {key: len(columns[0]) for key, columns in points.items()}
    total = sum(counts.values())
    if total:
        made.SetPoints(points_of([_joined(list(columns)) for columns in zip(*points.values())]))
        vertices = vtkCellArray()
        vertices.SetData(_numbers(np.arange(total + 1)), _numbers(np.arange(total)))
        made.SetVerts(vertices)
        _add_fields(blocks, made.GetPointData(), variables, counts, "points", leave_out)
    return made


def unstructured_of(mesh, variables, iteration, leave_out):
    blocks, made = _Blocks(iteration), vtkUnstructuredGrid()
    points = blocks.points(mesh)
    described = [blocks.of(iteration.model.variables[number]) for number in mesh.cells]
    keys = [key for key in points if all(key in each for each in described)]
    cells = {key: _cells(mesh, [each[key] for each in described]) for key in keys}
    counts = {key: len(points[key][0]) for key in keys}
    of_cells = {key: len(types) for key, (_, _, types) in cells.items()}
    if not sum(of_cells.values()):
        return made
    made.SetPoints(points_of([_joined(list(columns)) for columns in zip(*(points[key] for key in keys))]))
    ids, ends, types = _all_cells(list(cells.values()), list(counts.values()))
    array = vtkCellArray()
    array.SetData(_numbers(ends), _numbers(ids))
    made.SetCells(numpy_to_vtk(types), array)
    nodal = [variable for variable in variables if variable.nodal]
    _add_fields(blocks, made.GetPointData(), nodal, counts, "points", leave_out)
    _add_fields(blocks, made.GetCellData(), [v for v in variables if not v.nodal], of_cells, "cells", leave_out)
    return made


def _cells(mesh, described):
    """(points of cells one after the other, where each cell begins and the last one ends, shapes) of one block."""
    ids = described[0]
    if mesh.cell_type:
        each = _POINTS.get(mesh.cell_type) or (ids.shape[1] if ids.ndim > 1 else 1)
        count = ids.size // each
        return ids.reshape(-1), np.arange(count + 1) * each, np.full(count, mesh.cell_type, "u1")
    return ids.reshape(-1), described[1], described[2].astype("u1")


def _all_cells(cells, points):
    """Of all blocks, which number their own points from 0. VTK wants both arrays of one type."""
    ids, ends, types, first_point, first_id = [], [], [], 0, 0
    for (own_ids, own_ends, own_types), count in zip(cells, points):
        ids.append(own_ids.astype("i8", copy=False) + first_point if first_point else own_ids.astype("i8", copy=False))
        ends.append(own_ends[:-1].astype("i8") + first_id)
        types.append(own_types)
        first_point, first_id = first_point + count, first_id + len(own_ids)
    return _joined(ids), np.append(_joined(ends), first_id), _joined(types)
