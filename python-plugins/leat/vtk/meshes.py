# SPDX-License-Identifier: Apache-2.0
"""Each kind of mesh as a data object of VTK. Imports no VTK before one is made."""
UNIFORM, RECTILINEAR, CURVILINEAR, UNSTRUCTURED, POINTS, AMR = range(1, 7)  # enum leat_mesh_kind
_NO_ARRAY = {"c": "VTK has no complex numbers", "S": "it is text"}


def why_not(variable):
    """Why VTK has no array of this variable; "" where it has one."""
    return _NO_ARRAY.get(variable.dtype.kind, "")


def with_places(model, variables):
    """These, and those that their meshes are made of."""
    found = {variable.number for variable in variables}
    for mesh in {variable.mesh.name: variable.mesh for variable in variables if variable.mesh}.values():
        found.update(mesh.coordinates, mesh.cells)
    return [model.variables[number] for number in sorted(found)]


def grid_of(mesh, variables, iteration, leave_out):
    """The mesh with these variables, all of which lie on it. leave_out(variable, why): for those that VTK cannot have there."""
    on_it = []
    for variable in variables:
        if why := why_not(variable):
            leave_out(variable, why)
        else:
            on_it.append(variable)
    if mesh.is_unplaced:
        for variable in on_it:
            leave_out(variable, "the parameters that say where its mesh lies have no value")
        on_it = []
    grid = _maker_of(mesh)(mesh, on_it, iteration, leave_out)
    shown = {variable.name for variable in on_it}
    vectors = {name: parts for name, parts in iteration.model.vectors.items() if shown.issuperset(part.name for part in parts)}
    if vectors:
        from .vectors import add_vectors
        add_vectors(grid, vectors)
    return grid


def _maker_of(mesh):
    if mesh.kind == AMR:
        from .patches import amr_of
        return amr_of
    from . import cells, structured
    return {UNSTRUCTURED: cells.unstructured_of, POINTS: cells.particles_of}.get(mesh.kind, structured.grid_of)
