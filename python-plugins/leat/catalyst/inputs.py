# SPDX-License-Identifier: Apache-2.0
"""What a Catalyst script gets of an iteration: each mesh of the run, under its name, as a data object of VTK. "input", the name in scripts
that were not made for this run, is the only mesh, or a block for each of several, as Damaris gives it."""
import numpy as np

ALL = "input"
_UNIFORM, _RECTILINEAR, _CURVILINEAR, _UNSTRUCTURED, _POINTS, _AMR = range(1, 7)  # enum leat_mesh_kind


def names(model):
    own = [mesh.name for mesh in model.meshes]
    return own if ALL in own else [*own, ALL]


def with_places(model, variables):
    """These, and those that their meshes are made of."""
    found = {variable.number for variable in variables}
    for mesh in {variable.mesh.name: variable.mesh for variable in variables if variable.mesh}.values():
        found.update(mesh.coordinates, mesh.cells)
    return [model.variables[number] for number in sorted(found)]


def made(iteration, variables, say):
    """{name: data object}. variables: that the script takes. say(text): for what is left out."""
    from .arrays import why_not
    model, grids = iteration.model, {}
    for mesh in model.meshes:
        def leave_out(variable, why, mesh=mesh):
            say(f'variable "{variable.name}" on mesh "{mesh.name}" is not given to ParaView: {why}')
        on_it = []
        for variable in (v for v in variables if v.mesh is mesh):
            if why := why_not(variable):
                leave_out(variable, why)
            else:
                on_it.append(variable)
        grids[mesh.name] = _maker_of(mesh)(mesh, on_it, iteration, leave_out)
        _add_parameters(grids[mesh.name], iteration)
    return grids if ALL in grids else {**grids, ALL: _all_of(grids)}


def _maker_of(mesh):
    if mesh.kind == _AMR:
        from .patches import amr_of
        return amr_of
    from . import cells, structured
    return {_UNSTRUCTURED: cells.unstructured_of, _POINTS: cells.particles_of}.get(mesh.kind, structured.grid_of)


def _add_parameters(grid, iteration):
    """As arrays of one value, which ParaView can show beside the picture (Annotate Attribute Data)."""
    from .arrays import vtk_array
    for name, value in iteration.parameters.items():
        if isinstance(value, (int, float)):
            grid.GetFieldData().AddArray(vtk_array(np.array([value]), name))


def _all_of(grids):
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet
    if len(grids) == 1:
        return next(iter(grids.values()))
    whole = vtkMultiBlockDataSet()
    for number, (name, grid) in enumerate(grids.items()):
        whole.SetBlock(number, grid)
        whole.GetMetaData(number).Set(whole.NAME(), name)
    return whole
