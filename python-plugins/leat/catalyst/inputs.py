# SPDX-License-Identifier: Apache-2.0
"""What a Catalyst script gets of an iteration: each mesh of the run, under its name, as a data object of VTK. "input", the name in scripts
that were not made for this run, is the only mesh, or a block for each of several, as Damaris gives it."""
import numpy as np

from ..vtk.meshes import grid_of

ALL = "input"


def names(model):
    own = [mesh.name for mesh in model.meshes]
    return own if ALL in own else [*own, ALL]


def made(iteration, variables, say):
    """{name: data object}. variables: that the script takes. say(text): for what is left out."""
    grids = {}
    for mesh in iteration.model.meshes:
        def leave_out(variable, why, mesh=mesh):
            say(f'variable "{variable.name}" on mesh "{mesh.name}" is not given to ParaView: {why}')
        grids[mesh.name] = grid_of(mesh, [v for v in variables if v.mesh is mesh], iteration, leave_out)
        _add_parameters(grids[mesh.name], iteration)
    return grids if ALL in grids else {**grids, ALL: _all_of(grids)}


def _add_parameters(grid, iteration):
    """As arrays of one value, which ParaView can show beside the picture (Annotate Attribute Data)."""
    from ..vtk.arrays import vtk_array
    for name, value in iteration.parameters.items():
        if isinstance(value, (int, float)):
            grid.GetFieldData().AddArray(vtk_array(np.array([value]), name))


def _all_of(grids):
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet
    if len(grids) == 1:
        return next(iter(grids.values()))
    whole = vtkMultiBlockDataSet()
    for number, (name, grid) in enumerate(grids.items()):
        whole.SetBlock(number, _as_block(grid))
        whole.GetMetaData(number).Set(whole.NAME(), name)
    return whole


def _as_block(grid):
    """VTK has no AMR inside of a multi-block: there its patches, the coarsest first, are blocks."""
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet
    if not hasattr(grid, "GetNumberOfLevels"):
        return grid
    patches = vtkMultiBlockDataSet()
    for level in range(grid.GetNumberOfLevels()):
        for number in range(grid.GetNumberOfDataSets(level)):
            patches.SetBlock(patches.GetNumberOfBlocks(), grid.GetDataSet(level, number))
            patches.GetMetaData(patches.GetNumberOfBlocks() - 1).Set(patches.NAME(), f"level {level} patch {number}")
    return patches
