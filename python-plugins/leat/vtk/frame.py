# SPDX-License-Identifier: Apache-2.0
"""What stands around a picture: title, colour bar, axes with their places."""
import numpy as np
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

from .ticks import ticks_of
from .view import corners, edges_with_numbers

_BAR_STEPS = 64
_PALE = 0.6, 0.6, 0.6
_EDGES = [(number, number | 1 << axis) for axis in range(3) for number in range(8) if not number >> axis & 1]  # of corners()


def add_title(canvas, words):
    em, layout = canvas.layout.em, canvas.layout
    canvas.text(words, em, layout.height - 0.8 * em, up="top", size=1.15 * em, most=layout.width - 2 * em)


def add_bar(canvas, title, colours, low, high):
    """Of the colours from `low` to `high`."""
    em = canvas.layout.em
    left, bottom, right, top = canvas.layout.bar
    step = (top - bottom) / _BAR_STEPS
    canvas.boxes([(left, bottom + i * step, right, bottom + (i + 1) * step, colours((i + 0.5) / _BAR_STEPS)) for i in range(_BAR_STEPS)])
    canvas.lines([((left, bottom), (right, bottom)), ((right, bottom), (right, top)), ((right, top), (left, top)),
                  ((left, top), (left, bottom))])
    for value, text in ticks_of(low, high, 7):
        y = bottom + (value - low) / (high - low) * (top - bottom) if high > low else (bottom + top) / 2
        canvas.lines([((right, y), (right + 0.3 * em, y))])
        canvas.text(text, right + 0.6 * em, y, up="centered", most=canvas.layout.width - right - 0.8 * em)
    canvas.text(title, canvas.layout.width - 0.6 * em, top + 0.8 * em, across="right", most=8 * em)


def add_axes(canvas, names):
    """The edges of the box, and along those that are seen best the places. names: of the axes x, y, z."""
    view, taken = canvas.view, []
    canvas.add(wires([(view.low, view.high)], _PALE))
    for axis, first, last, outwards in edges_with_numbers(view):
        _add_axis(canvas, names[axis], (view.low[axis], view.high[axis]), view.place([first, last]), outwards, taken)


def wires(boxes, colour, width=1):
    """Edges of boxes between two corners, as an actor."""
    points, cells = vtkPoints(), vtkCellArray()
    for low, high in boxes:
        first = points.GetNumberOfPoints()
        for place in corners(low, high):
            points.InsertNextPoint(*place)
        for start, end in _EDGES:
            cells.InsertNextCell(2)
            cells.InsertCellPoint(first + start)
            cells.InsertCellPoint(first + end)
    data, mapper, actor = vtkPolyData(), vtkPolyDataMapper(), vtkActor()
    data.SetPoints(points)
    data.SetLines(cells)
    mapper.SetInputData(data)
    actor.SetMapper(mapper)
    actor.GetProperty().SetColor(*colour)
    actor.GetProperty().LightingOff()
    actor.GetProperty().SetLineWidth(width)
    return actor


def _add_axis(canvas, name, limits, ends, outwards, taken):
    """taken: places of texts, in which there must be no other."""
    em, (low, high) = canvas.layout.em, limits
    goes_up = abs(outwards[0]) > abs(outwards[1])
    across, up = ("right", "centered") if goes_up else ("centered", "top")
    length = np.linalg.norm(ends[1] - ends[0])
    for value, text in ticks_of(low, high, max(3, int(length / ((3 if goes_up else 5) * em)))):
        at = ends[0] + (value - low) / (high - low) * (ends[1] - ends[0])
        canvas.lines([(at, at + 0.3 * em * outwards)])
        words = at + 0.5 * em * outwards
        if all(abs(words - other).max() > 1.5 * em for other in taken):
            taken.append(words)
            canvas.text(text, *words, across=across, up=up)
    if goes_up:
        canvas.text(name, *(max(ends, key=lambda end: end[1]) + (0, 0.7 * em)), across="centered")
    else:
        canvas.text(name, *(ends.mean(axis=0) + 1.9 * em * outwards), across="centered", up="top")
