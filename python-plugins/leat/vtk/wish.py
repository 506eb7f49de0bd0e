# SPDX-License-Identifier: Apache-2.0
"""What ctx.picture is asked for, and what is wrong with that; needs no VTK."""
import difflib
from dataclasses import dataclass

import numpy as np

from ..scripting.coordinates import Mesh
from .meshes import POINTS, UNIFORM

KINDS = "slice", "contour", "volume", "particles"
_MOST_PIXELS = 8192  # of a side
_MOST = 1e300        # of a number


@dataclass
class Wish:
    """See ctx.picture."""
    kind: str
    variable: str
    axis: str = "z"
    at: float = None
    values: list = None
    color_by: str = None
    range: tuple = None
    colors: str = "viridis"
    camera: tuple = None
    size: tuple = (800, 600)
    edges: bool = False
    radius: float = None
    name: str = ""  # of the picture

    def check(self):
        """ValueError or TypeError, before any VTK is needed."""
        if self.kind not in KINDS:
            near = difflib.get_close_matches(str(self.kind), KINDS, 1)
            raise ValueError(f'there is no picture of kind "{self.kind}"' + (f'; did you mean "{near[0]}"?' if near else
                             "; there are: " + ", ".join(KINDS)))
        if self.axis not in ("x", "y", "z"):
            raise ValueError(f'axis={self.axis!r}: "x", "y" or "z" is expected')
        self._take("values", "numbers are expected", None, lambda values: True)
        self._take("range", "(least, greatest) is expected", 2, lambda limits: limits[0] < limits[1])
        self._take("camera", "the direction (x, y, z) from which one looks is expected", 3, any)
        self._take("size", f"(width, height) in pixels is expected, each from 100 to {_MOST_PIXELS}", 2,
                   lambda sides: 100 <= min(sides) and max(sides) <= _MOST_PIXELS)
        for name in ("at", "radius"):
            self._take(name, "a number is expected" if name == "at" else "a number above 0 is expected", 1,
                       lambda number, name=name: name == "at" or number[0] > 0)

    def _take(self, name, expected, count, is_good):
        """What was given becomes plain numbers: a list of `count`; of 1 a number. None stays."""
        given = getattr(self, name)
        if given is None:
            return
        try:
            numbers = np.atleast_1d(np.asarray(given, float)).tolist()
        except (TypeError, ValueError):
            numbers = [np.nan]
        if (count and len(numbers) != count) or not all(abs(number) <= _MOST for number in numbers) or not is_good(numbers):
            raise ValueError(f"{name}={given!r:.60}: {expected}")
        setattr(self, name, numbers[0] if count == 1 else sorted(numbers) if name == "values" else numbers)


def variables_and_mesh(wish, model):
    """([those that are drawn, the one that colours them last], their mesh). ValueError where they do not fit."""
    own = model.variable(wish.variable)
    drawn = [own] + ([model.variable(wish.color_by)] if wish.color_by else [])
    mesh = own.mesh or next((m for m in model.meshes if m.kind == POINTS and own.number in m.coordinates), None)
    if mesh is not None and own.mesh is None:
        drawn = drawn[1:]  # it is where the points are
    if mesh is None:
        mesh = _mesh_of_indices(own)
    if wish.kind == "particles" and mesh.kind != POINTS:
        raise ValueError(f'"{own.name}" does not lie on a mesh of type "points", which particles are')
    if wish.kind != "particles" and mesh.kind == POINTS:
        raise ValueError(f'"{own.name}" lies on a mesh of type "points": draw "particles"')
    for other in drawn:
        if other is not own and other.mesh is not mesh and (own.mesh or not _are_alike(other, own)):
            raise ValueError(f'color_by="{other.name}": it does not lie on the mesh of "{own.name}"')
    return drawn, mesh


def _are_alike(first, second):
    return first.mesh is None and [d.name for d in first.dimensions] == [d.name for d in second.dimensions]


def _mesh_of_indices(variable):
    """Of a variable that has none: the middle of a cell is at its index."""
    if any(d.varying for d in variable.dimensions):
        raise ValueError(f'"{variable.name}" has no mesh, and dimensions that vary: say in the XML on which mesh it lies')
    dims = len(variable.dimensions)
    if dims not in (2, 3):
        raise ValueError(f'"{variable.name}" has no mesh, and {dims} dimension{"s" * (dims != 1)}: 2 or 3 can be drawn')
    return Mesh("", UNIFORM, dims, origin=[-0.5] * dims, spacing=[1.0] * dims)
