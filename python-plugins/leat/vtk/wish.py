# SPDX-License-Identifier: Apache-2.0
"""What ctx.picture is asked for, and what is wrong with that; needs no VTK."""
import difflib
from dataclasses import dataclass

import numpy as np

from ..scripting.coordinates import Mesh
from .meshes import POINTS, UNIFORM

KINDS = "slice", "contour", "volume", "particles"
_MOST_PIXELS = 8192  # of a side


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

    def check(self):
        """ValueError or TypeError, before any VTK is needed."""
        if self.kind not in KINDS:
            near = difflib.get_close_matches(str(self.kind), KINDS, 1)
            raise ValueError(f'there is no picture of kind "{self.kind}"' + (f'; did you mean "{near[0]}"?' if near else
                             "; there are: " + ", ".join(KINDS)))
        if self.axis not in ("x", "y", "z"):
            raise ValueError(f'axis={self.axis!r}: "x", "y" or "z" is expected')
        if self.values is not None:
            self.values = sorted(map(float, np.atleast_1d(self.values)))
        if self.range is not None:
            self.range = tuple(map(float, self.range))
            if len(self.range) != 2 or not self.range[0] < self.range[1]:
                raise ValueError(f"range={self.range}: (least, greatest) is expected")
        if self.camera is not None and (len(self.camera) != 3 or not np.linalg.norm(self.camera) > 0):
            raise ValueError(f"camera={self.camera}: the direction (x, y, z) from which one looks is expected")
        if len(self.size) != 2 or not all(100 <= side <= _MOST_PIXELS for side in self.size):
            raise ValueError(f"size={self.size}: (width, height) in pixels is expected, each from 100 to {_MOST_PIXELS}")


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
