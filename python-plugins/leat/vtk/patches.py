# SPDX-License-Identifier: Apache-2.0
"""Blocks of amr meshes as VTK's overlapping AMR."""
import numpy as np
from vtkmodules.vtkCommonDataModel import vtkAMRBox, vtkAMRUtilities, vtkOverlappingAMR, vtkUniformGrid

from .arrays import array_name, vtk_array

_FLAT, _SOLID = 5, 8  # VTK_XY_PLANE, VTK_XYZ_GRID. Source: vtkStructuredData


def amr_of(mesh, variables, iteration, leave_out):
    """Of the patches that variables in cells have; those of one place share a grid."""
    here, patches = set(iteration.names()), {}  # {(level, rank, block): (low, [(variable, values)])}
    for variable in (v for v in variables if v.name in here):
        if variable.nodal:
            leave_out(variable, "VTK's AMR has values in cells only, and it has some at nodes")
            continue
        for block in iteration.parts(variable.name):
            if block.level is not None and block.data.size:
                patches.setdefault((block.level, block.rank, block.block), (block.position, []))[1].append((variable, block.data))
    made = vtkOverlappingAMR()
    if patches:
        _fill(made, mesh, dict(sorted(patches.items())))
    return made


def _fill(made, mesh, patches):
    levels = max(level for level, _, _ in patches) + 1
    counts = np.bincount([level for level, _, _ in patches], minlength=levels)
    made.Initialize(levels, counts.tolist())
    made.SetGridDescription(_SOLID if mesh.dims == 3 else _FLAT)
    origin = [*mesh.origin, *[0.0] * (3 - mesh.dims)]
    made.SetOrigin(origin)
    at = [0] * levels
    for level in range(levels):
        made.SetSpacing(level, _spacing(mesh, level))
        made.SetRefinementRatio(level, mesh.ratio)
    for (level, _, _), (low, fields) in patches.items():
        shape = fields[0][1].shape
        first = [*reversed(low), *[0] * (3 - mesh.dims)]
        last = [*(a + n - 1 for a, n in zip(first, reversed(shape))), *[-1] * (3 - mesh.dims)]
        made.SetAMRBox(level, at[level], vtkAMRBox(first, last))
        made.SetDataSet(level, at[level], _patch(mesh, level, first, shape, fields, origin))
        at[level] += 1
    made.GenerateParentChildInformation()
    vtkAMRUtilities.BlankCells(made)


def _patch(mesh, level, first, shape, fields, origin):
    grid, spacing = vtkUniformGrid(), _spacing(mesh, level)
    grid.SetOrigin([o + i * s for o, i, s in zip(origin, first, spacing)])
    grid.SetSpacing(spacing)
    grid.SetDimensions([*(n + 1 for n in reversed(shape)), *[1] * (3 - mesh.dims)])
    for variable, values in fields:
        if values.shape == shape:
            grid.GetCellData().AddArray(vtk_array(values.reshape(-1), array_name(variable)))
    return grid


def _spacing(mesh, level):
    return [*(s / mesh.ratio ** level for s in mesh.spacing), *[1.0] * (3 - mesh.dims)]
