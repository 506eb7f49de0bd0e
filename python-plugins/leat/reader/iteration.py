# SPDX-License-Identifier: Apache-2.0
"""One iteration of a stored run: `run[k]`."""
import warnings
from collections.abc import Mapping

import numpy as np

from ..scripting.coordinates import beside
from ..scripting.datasets import xarray
from ..scripting.vectors import stacked
from ..vtk.meshes import grid_of, with_places
from .blocks import Blocks, levels_of
from .facts import NotThere, spoken
from .held import iteration_of, parameters_at, read_held
from .needs import lacks
from .show import screen_of_iteration
from .table import frame_of, names_for


class Iteration(Mapping):
    """An iteration as it is in the file: {name of a variable: its values}. It reads what is asked for, each time that it is asked, and
    keeps nothing. Threads may use it at the same time.

    number: of the iteration. complete: False where a rank had died or something could not be stored. time: of the simulation, in the
    unit of <time>; None where it said none. parameters: {name: value} of the XML's parameters at the end of the iteration. period: in a
    file of what is over time its (begin, end), times or numbers of iterations: then the time is the middle, and the iteration the last
    one; else None."""

    def __init__(self, run, facts, source, number):
        self._run, self._facts, self._source, self.number = run, facts, source, number
        row = facts.rows[number]
        self.complete = facts.complete[row]
        self.parameters = parameters_at(facts, row)
        self.period = None if facts.periods is None else tuple(facts.periods[row].tolist())
        self.time = None if facts.times is None or np.isnan(facts.times[row]) else float(facts.times[row])

    def __getitem__(self, name):
        """Of a variable with a global shape one NumPy array, in the order of the XML's dimensions, slowest first, without ghosts, with fill
        values (NaN, the least signed, the greatest unsigned number) where nobody wrote; of another one Blocks: {rank: array}. Memory is the
        caller's. What is packed comes as doubles, NaN where there is nothing. A variable that is written once is there in each iteration.
        Of a <vector> of the XML one array, with the components in the first dimension; ValueError where these are Blocks.
        KeyError: there is no such variable, or it is not in this iteration."""
        if name in self._facts.model.vectors:
            return self._vector(name)
        variable = self._expect(name)
        held = read_held(self._source, self._facts, [name], self.number)[name]
        return held.whole(0) if variable.is_global else Blocks(name, self.number, held.blocks(0))

    def _vector(self, name):
        parts = [self[variable.name] for variable in self._facts.model.vectors[name]]
        if any(isinstance(part, Blocks) for part in parts):
            raise ValueError(f'vector "{name}": its components are blocks of ranks, each of a shape of its own; take the components')
        return stacked(name, parts)

    def __contains__(self, name):
        return name in self._facts.variables and self._facts.variables[name].is_in(self.number)

    def __iter__(self):
        return (name for name, variable in self._facts.variables.items() if variable.is_in(self.number))

    def __len__(self):
        return sum(1 for _ in self)

    __eq__, __hash__ = object.__eq__, object.__hash__  # not by what is in the file

    def _ipython_key_completions_(self):
        return list(self)

    def dataset(self, *names):
        """An xarray.Dataset of these variables, or of all, as a script sees them: with coordinates, units, and for blocks the ranks that
        wrote them. All of it is read at once. ImportError where xarray is not there."""
        if xarray() is None:
            raise lacks("dataset() is an xarray.Dataset", "xarray", "it is not installed")
        vectors = self._facts.model.vectors
        parts = [part for name in names for part in ([each.name for each in vectors[name]] if name in vectors else [name])]
        for name in parts:
            self._expect(name)
        read = parts or list(self)
        more = [name for name in beside(self._facts.model, read) if name in self]
        held = read_held(self._source, self._facts, dict.fromkeys([*read, *more]), self.number)
        return iteration_of(self._facts, self.number, held).dataset(names or read, "xarray")[0]

    def table(self, *names):
        """A pandas.DataFrame with a row for each particle: the rank that wrote it, the number of its block where ranks have several,
        and a column for each variable; for one with several numbers each `name_0`, `name_1`, ..., or `name_x`, `name_y`, `name_z` where
        their dimension is called "xyz". names: variables without a global shape, with as many values in each block; or a mesh of
        particles, for all that is on it, which is what no name stands for where the run has one such mesh. Rows are in the order of rank
        and block, and there as written. ValueError where variables do not fit each other, ImportError without pandas."""
        names = names_for(self._facts, names, self._run.file)
        for name in names:
            self._expect(name)
        return frame_of(read_held(self._source, self._facts, names, self.number), f"iteration {self.number}")

    def levels(self, name):
        """Of a variable on an amr mesh, by level from the coarsest on, a list of its Box objects: who wrote it, where it lies, in cells of
        its level and in the unit of the mesh, and its values. Empty for a level that has none. ValueError for one on another mesh."""
        self._expect(name)
        return levels_of(read_held(self._source, self._facts, [name], self.number)[name], f'variable "{name}"')

    def mesh(self, name, *variables):
        """The mesh with these variables, or with all that are on it in this iteration: a data set of PyVista where that can be imported,
        else of VTK, which the package vtk has. uniform: vtkImageData, rectilinear: vtkRectilinearGrid, curvilinear: vtkStructuredGrid, of
        variables without a global shape a vtkMultiBlockDataSet of those, one for each block; unstructured: vtkUnstructuredGrid; points:
        vtkPolyData; amr: vtkOverlappingAMR. Arrays are called as variables, with "_" for "/". Those that VTK cannot have there are left
        out, with a warning that says why; ImportError without VTK."""
        mesh = self._facts.mesh(name, self._run.file)
        _expect_vtk()
        for each in variables:
            self._expect(each)
            if self._facts.variables[each].mesh != name:
                on = self._facts.variables[each].mesh
                raise ValueError(f'variable "{each}" is not on the mesh "{name}"' + (f', but on "{on}"' if on else ", but on none"))
        shown = [self._facts.model.by_name[each] for each in variables or self if self._facts.variables[each].mesh == name]
        needed = {variable.name for variable in with_places(self._facts.model, shown)}
        needed.update(self._facts.model.variables[number].name for number in (*mesh.coordinates, *mesh.cells))
        held = read_held(self._source, self._facts, [each for each in needed if each in self], self.number)
        left_out = []
        grid = grid_of(mesh, shown, iteration_of(self._facts, self.number, held), lambda *what: left_out.append(what))
        for variable, why in left_out:
            warnings.warn(f'variable "{variable.name}" is not in the data set: {why}', stacklevel=2)
        return _wrapped(grid)

    def _expect(self, name):
        variable = self._facts.variable(name, self._run.file)
        if not variable.is_in(self.number):
            raise NotThere(f'variable "{name}" was not written in iteration {self.number}, but in: {spoken(variable.iterations)}')
        return variable

    def __repr__(self):
        return screen_of_iteration(self, self._facts)


def _expect_vtk():
    try:
        import vtkmodules.vtkCommonDataModel  # noqa: F401
    except ImportError as error:
        raise lacks("a mesh is a data set of VTK", "vtk", error) from None


def _wrapped(grid):
    try:
        import pyvista
    except ImportError:
        return grid
    return pyvista.wrap(grid)
