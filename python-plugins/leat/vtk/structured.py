# SPDX-License-Identifier: Apache-2.0
"""Uniform, rectilinear and curvilinear meshes as VTK's grids. One grid has what this server has of the whole; where variables have no
global shape each block is a grid of its own."""
import math

import numpy as np
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkImageData, vtkMultiBlockDataSet, vtkRectilinearGrid, vtkStructuredGrid

from .arrays import HIDDEN_CELL, HIDDEN_POINT, Part, array_name, hide, part_of, vtk_array

UNIFORM, RECTILINEAR, CURVILINEAR = 1, 2, 3
_CENTRE, _NODE = 1, 2


def grid_of(mesh, variables, iteration, leave_out):
    """variables: those on it. leave_out(variable, why): of those that are not shown."""
    here = set(iteration.names())
    axes = [iteration.model.variables[number] for number in mesh.coordinates]
    shown = [variable for variable in variables if variable.name in here]
    make = _Grid(mesh, iteration, leave_out)
    if not shown or any(axis.name not in here for axis in axes):
        return make.empty()
    if all(variable.has_global for variable in shown) or iteration.model.ranks == 1:
        return make.grid([(v, part) for v in shown if (part := part_of(iteration, v))], {a.name: part_of(iteration, a) for a in axes})
    return _grids_of_blocks(make, iteration, shown, axes)


def _grids_of_blocks(make, iteration, shown, axes):
    """Of each rank and block one, with its own part of the axes where it has one, else all of them."""
    blocks = {}
    for variable in [*shown, *axes]:
        for block in iteration.parts(variable.name):
            blocks.setdefault((block.rank, block.block), {})[variable.name] = Part(np.zeros(block.data.ndim, int), block.data)
            if variable in shown and make.mesh.kind == UNIFORM and block.position:
                blocks[block.rank, block.block][variable.name].low = np.array(block.position)
    whole = vtkMultiBlockDataSet()
    for (rank, number), parts in sorted(blocks.items()):
        fields = [(variable, parts[variable.name]) for variable in shown if variable.name in parts]
        if fields:
            places = {axis.name: parts.get(axis.name) or part_of(iteration, axis) for axis in axes}
            whole.SetBlock(whole.GetNumberOfBlocks(), make.grid(fields, places))
            whole.GetMetaData(whole.GetNumberOfBlocks() - 1).Set(whole.NAME(), f"rank {rank} block {number}")
    return whole


class _Grid:
    """Makes grids of one mesh. Indices are in the order of arrays: x is the last one."""

    def __init__(self, mesh, iteration, leave_out):
        self.mesh, self._iteration, self._leave_out = mesh, iteration, leave_out

    def empty(self):
        return {UNIFORM: vtkImageData, RECTILINEAR: vtkRectilinearGrid, CURVILINEAR: vtkStructuredGrid}[self.mesh.kind]()

    def grid(self, fields, axes):
        """fields: [(variable, Part)]. axes: {name of coordinate: Part}."""
        made = self.empty()
        placed = [(variable, part, nodal) for variable, part in fields if (nodal := self._is_nodal(variable, part, axes)) is not None]
        if not placed:
            return made
        low = np.min([part.low for _, part, _ in placed], axis=0)
        high = np.max([part.high if nodal else part.high + 1 for _, part, nodal in placed], axis=0)  # of the nodes
        made.SetExtent(*_extent(low, high))
        self._place(made, low, high, axes)
        for nodal, attributes, mark in ((True, made.GetPointData(), HIDDEN_POINT), (False, made.GetCellData(), HIDDEN_CELL)):
            masks = []
            for variable, part, _ in (each for each in placed if each[2] == nodal):
                cut = part.cut(low, high if nodal else high - 1, variable.fill)
                attributes.AddArray(vtk_array(cut.values.reshape(-1), array_name(variable)))
                masks.append(cut.missing)
            hide(attributes, masks, mark)
        return made

    def _is_nodal(self, variable, part, axes):
        """None when its values lie neither at nodes nor in cells."""
        if len(variable.dimensions) != self.mesh.dims:
            return self._leave_out(variable, f"it has {len(variable.dimensions)} dimensions, and the mesh {self.mesh.dims}")
        if self.mesh.kind == UNIFORM:
            said = {d.centering or (_NODE if variable.nodal else _CENTRE) for d in variable.dimensions}
            fits = {(_CENTRE,): False, (_NODE,): True}.get(tuple(said))
        else:
            more = np.array(self._counts(axes)) - self._count(variable, part)
            fits = {(0,): True, (1,): False}.get(tuple(set(more.tolist())))
        if fits is None:
            self._leave_out(variable, "its values lie neither at the nodes of the mesh nor in its cells, but on faces between them")
        return fits

    def _counts(self, axes):
        """Of the places along each dimension, in the whole mesh."""
        named = [(self._iteration.model.variables[number], axes[self._iteration.model.variables[number].name])
                 for number in self.mesh.coordinates]
        if self.mesh.kind == CURVILINEAR:
            return self._count(*named[0])
        return [self._count(axis, part)[-1] for axis, part in reversed(named)]

    def _count(self, variable, part):
        return tuple(self._iteration.global_extent(variable.name)) if variable.has_global else part.values.shape

    def _place(self, made, low, high, axes):
        names = [self._iteration.model.variables[number].name for number in self.mesh.coordinates]
        if self.mesh.kind == UNIFORM:
            made.SetOrigin(*_three(self.mesh.origin, 0.0))
            made.SetSpacing(*_three(self.mesh.spacing, 1.0))
        elif self.mesh.kind == RECTILINEAR:
            for axis, name in enumerate(names):
                dim = len(names) - 1 - axis
                places = Part(axes[name].low[-1:], axes[name].values.reshape(-1, axes[name].values.shape[-1])[0])
                set_axis = (made.SetXCoordinates, made.SetYCoordinates, made.SetZCoordinates)[axis]
                set_axis(vtk_array(places.cut(low[dim:dim + 1], high[dim:dim + 1], 0).values, name))
            for set_axis in (made.SetYCoordinates, made.SetZCoordinates)[len(names) - 1:]:
                set_axis(vtk_array(np.zeros(1), "flat"))
        else:
            columns = [axes[name].cut(low, high, 0).values.reshape(-1) for name in names]
            made.SetPoints(points_of(columns))


def points_of(columns):
    """vtkPoints of one array for each axis; of one that has rows of three without a copy."""
    values = columns[0] if len(columns) == 1 else np.stack(columns, -1)
    values = values.reshape(len(values), math.prod(values.shape[1:]))
    if values.shape[1] < 3:
        values = np.pad(values, ((0, 0), (0, 3 - values.shape[1])))
    points = vtkPoints()
    points.SetData(vtk_array(values, "points"))
    return points


def _three(values, fill):
    return [*values, *[fill] * (3 - len(values))]


def _extent(low, high):
    """As VTK has it: from the first to the last node along x, y and z."""
    extent = []
    for first, end in zip(low[::-1], high[::-1]):
        extent += [int(first), int(end) - 1]
    return extent + [0, 0] * (3 - len(low))
