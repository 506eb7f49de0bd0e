# SPDX-License-Identifier: Apache-2.0
"""ctx.picture: one picture of a variable on its mesh."""
import numpy as np

from . import actors, frame, shapes
from .arrays import array_name
from .canvas import Canvas
from .colours import map_called
from .meshes import grid_of
from .pieces import Pieces
from .ticks import text_of
from .together import Facts, gathered, packed, put
from .view import Layout, across, from_camera
from .wish import variables_and_mesh

_TOWARDS = 1.0, -1.6, 0.9  # the eye, where the camera is not said
_FLAT = 1e-9               # of the longest side
_INSIDE = 1e-6             # of a side: a plane at the border is drawn that much inside of it
_LINES = 5                 # values of a contour that says none
_DIGITS = 6
_INK, _BORDER = (0.0, 0.0, 0.0), 1  # of blocks


def draw(wish, iteration, is_whole):
    """Bytes of a PNG; None where there is nothing to draw. is_whole: this server has all of the mesh, so it is an error where the plane of
    a slice misses it. ValueError says what cannot be drawn, and why."""
    variables, mesh = variables_and_mesh(wish, iteration.model)
    names = list(map(array_name, variables))
    pieces = Pieces(_grid(variables, mesh, iteration), names)
    if not pieces.parts:
        return None
    drawing = _Drawing(wish, iteration, mesh, variables, pieces, Facts.of(pieces, names))
    if not drawing.is_hit:
        if is_whole:
            raise ValueError(drawing.miss())
        return None
    return drawing.png()


def draw_of_run(wish, iteration, gather, place):
    """The same of what all servers have, on the first one; None on the others. gather(value): [of each server]; all make the same calls.
    place: servers, is_first. The title says how many servers gave nothing."""
    variables, mesh = variables_and_mesh(wish, iteration.model)
    names = list(map(array_name, variables))
    pieces, lacks, why = None, "", ""
    try:
        pieces = Pieces(_grid(variables, mesh, iteration), names)
    except LookupError as error:  # others may have it
        lacks = str(error.args[0])
    except ValueError as error:
        why = str(error)
    has_some = pieces is not None and bool(pieces.parts)
    all_told = gather({"wish": repr(wish), "lacks": lacks, "why": why, **(Facts.of(pieces, names).words() if has_some else {})})
    if unlike := [each["wish"] for each in all_told if each["wish"] != all_told[0]["wish"]]:
        raise ValueError(f"servers of the run ask for different pictures: {all_told[0]['wish']} and {unlike[0]}. All make the same calls "
                         "in the same order")
    if whys := [each["why"] for each in all_told if each["why"]]:
        raise ValueError(whys[0])
    told = [each for each in all_told if "low" in each]
    if not told and all(each["lacks"] for each in all_told):
        raise LookupError(lacks)
    if not told:
        return None
    drawing = _Drawing(wish, iteration, mesh, variables, pieces if has_some else None, Facts.of_all(told))
    if not drawing.is_hit:
        raise ValueError(drawing.miss())
    return drawing.png_of_run(gather, place)


def _grid(variables, mesh, iteration):
    here = set(iteration.names())
    needed = [iteration.model.variables[number] for number in (*mesh.coordinates, *mesh.cells)]
    for name in (v.name for v in (*variables, *needed) if v.name not in here):
        raise LookupError(f'"{name}" is not in iteration {iteration.number}, or this function did not ask for it')

    def leave_out(variable, why):
        raise ValueError(f'"{variable.name}" cannot be drawn: {why}')
    return grid_of(mesh, variables, iteration, leave_out)


class _Drawing:
    """is_hit: the plane of a slice goes through the mesh; all else is true too."""

    def __init__(self, wish, iteration, mesh, variables, pieces, facts):
        self._wish, self._iteration, self._mesh, self._variables, self._pieces = wish, iteration, mesh, variables, pieces
        self._facts, self._low, self._high, self._lacks = facts, facts.low, facts.high, []
        sides = self._high - self._low
        flat = [axis for axis in range(3) if sides[axis] <= _FLAT * sides.max()]
        if len(flat) > 1 and wish.kind != "particles":
            raise ValueError(f'"{wish.variable}" lies on a line: draw it by matplotlib, with ctx.image')
        if flat and wish.kind == "volume":
            raise ValueError(f'"{wish.variable}" lies in a plane: draw a "slice"')
        self._across = flat[-1] if flat else None  # the axis that one looks along; None: from the camera
        self.is_hit = True
        if wish.kind == "particles":
            self._radius = wish.radius or _radius_of(sides[sides > 0], facts.points)
            self._low, self._high = self._low - self._radius * (sides > 0), self._high + self._radius * (sides > 0)
        if wish.kind == "slice" and not flat:
            self._set_plane(sides)

    def _set_plane(self, sides):
        self._across = axis = "xyz".index(self._wish.axis)
        self._at = (self._low[axis] + self._high[axis]) / 2 if self._wish.at is None else float(self._wish.at)
        self.is_hit = bool(self._low[axis] <= self._at <= self._high[axis])
        self._plane = np.clip(self._at, self._low[axis] + _INSIDE * sides[axis], self._high[axis] - _INSIDE * sides[axis])
        self._slab = self._low[axis], self._high[axis]
        self._low[axis] = self._high[axis] = self._plane

    def miss(self):
        low, high = self._slab
        return (f'{self._wish.axis} = {text_of(self._at, _DIGITS)} does not go through "{self._wish.variable}", which lies from '
                f"{text_of(low, _DIGITS)} to {text_of(high, _DIGITS)}")

    def png(self):
        canvas = self._canvas()
        self._frame(canvas)
        return canvas.png()

    def png_of_run(self, gather, place):
        canvas = self._canvas()
        parts = gathered(gather, packed(*canvas.scene()))
        if not place.is_first:
            return None
        if missing := place.servers - len(parts):
            self._lacks = [f"without {missing} of {place.servers} servers"]
        whole, depths = canvas.nothing()
        for part in parts:
            put(part, whole, depths)
        canvas.clear()
        self._frame(canvas)
        return canvas.png(whole)

    def _canvas(self):
        """With what this server has."""
        layout, self._colours = Layout(*map(int, self._wish.size)), map_called(self._wish.colors)
        self._range = self._range_of_colours()
        view = (from_camera(layout, self._low, self._high, self._wish.camera or _TOWARDS) if self._across is None else
                across(layout, self._low, self._high, self._across))
        canvas = Canvas(layout, view)
        if self._wish.kind == "contour":
            low, high = self._facts.ranges[array_name(self._variables[0])] or (0.0, 1.0)
            self._wish.values = self._wish.values or np.linspace(low, high, _LINES + 2)[1:-1].tolist()
        if self._pieces is None:
            return canvas
        for actor in getattr(self, f"_{self._wish.kind}")(view):
            canvas.add(actor)
        if self._wish.edges:
            canvas.add(frame.wires(self._boxes(), _INK, _BORDER))
        return canvas

    def _frame(self, canvas):
        frame.add_axes(canvas, self._axes())
        frame.add_title(canvas, self._title())
        if self._variables:
            frame.add_bar(canvas, self._with_unit(self._variables[-1]), self._colours, *self._range)

    def _range_of_colours(self):
        if self._wish.range or not self._variables:
            return self._wish.range
        low, high = self._facts.ranges[array_name(self._variables[-1])] or (0.0, 1.0)
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    def _actor(self, data, is_flat):
        name = array_name(self._variables[-1]) if self._variables else None
        return actors.shape_actor(data, name, self._colours, *(self._range or (0, 1)), is_flat)

    def _slice(self, view):
        if self._wish.kind == "slice" and hasattr(self, "_plane"):
            return [self._actor(shapes.cut_of(self._pieces.parts, self._across, self._plane), True)]
        return [self._actor(shapes.surface_of(self._pieces.parts), True)]

    def _contour(self, view):
        name = array_name(self._variables[0])
        data = shapes.contour_of(self._pieces.without_nan(name), name, self._wish.values)
        actor = self._actor(data, self._across is not None)
        actor.GetProperty().SetLineWidth(2)
        return [actor]

    def _volume(self, view):
        low, high = self._range
        return [actors.volume_of(shapes.image_of(self._pieces, array_name(self._variables[0]), low), self._colours, low, high)]

    def _particles(self, view):
        points = shapes.together([shapes.points_of(part) for part in self._pieces.parts])
        return [actors.spheres_of(self._actor(points, self._across is not None), max(1.0, 2 * self._radius * view.pixels))]

    def _boxes(self):
        boxes = [(np.array(bounds[::2]), np.array(bounds[1::2])) for bounds in self._pieces.boxes]
        if self._across is None:
            return boxes
        axis = self._across
        crossed = [(low, high) for low, high in boxes if low[axis] <= self._low[axis] <= high[axis]]
        for corner in (corner for box in crossed for corner in box):
            corner[axis] = self._low[axis]
        return crossed

    def _axes(self):
        """Names of x, y and z with their unit."""
        if self._mesh.name:
            return [f"{name} ({self._mesh.unit})" if self._mesh.unit else name for name in "xyz"]
        names = [d.name for d in reversed(self._variables[0].dimensions)]
        return [name or "xyz"[axis] for axis, name in enumerate(names)] + [""] * (3 - len(names))

    def _with_unit(self, variable):
        name = f"|{variable.name}|" if array_name(variable) in self._facts.vectors else variable.name
        return f"{name} ({variable.unit})" if variable.unit else name

    def _title(self):
        what = self._wish.variable
        if self._wish.kind == "contour":
            what += " = " + ", ".join(text_of(value, 4) for value in self._wish.values)
        elif hasattr(self, "_plane"):
            what += f" at {self._axes()[self._across].partition(' (')[0]} = {text_of(self._at, _DIGITS)}"
        words = [what, f"iteration {self._iteration.number}"]
        if self._iteration.time is not None:
            unit = self._iteration.model.time.unit
            words.append(f"t = {text_of(self._iteration.time, _DIGITS)} {unit}".rstrip())
        return ", ".join(words + self._lacks)


def _radius_of(sides, count):
    """So that as many as there are would nearly touch each other."""
    return 0.4 * (np.prod(sides) / count) ** (1 / len(sides)) if len(sides) else 0.5
