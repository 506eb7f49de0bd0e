# SPDX-License-Identifier: Apache-2.0
"""What a picture is drawn on by VTK: things of the mesh, and over them lines and letters at pixels."""
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints, vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkIOImage import vtkPNGWriter
from vtkmodules.vtkRenderingCore import (
    vtkActor2D,
    vtkPolyDataMapper2D,
    vtkRenderer,
    vtkRenderWindow,
    vtkTextActor,
    vtkTextRenderer,
    vtkWindowToImageFilter,
)

import vtkmodules.vtkRenderingFreeType  # isort: skip  # noqa: F401  draws letters
import vtkmodules.vtkRenderingOpenGL2  # isort: skip  # noqa: F401  draws all else

_INK = 0.15, 0.15, 0.15
_DPI, _SMALLEST = 72, 6  # of letters
_WINDOWS = []  # the one that all pictures of this process are drawn in


def forget_window():
    """It belonged to an X server that is gone: VTK must not even close it, so it is kept, and another one is made."""
    if _WINDOWS and _WINDOWS[-1] is not None:
        _WINDOWS.append(None)


def _window():
    if not _WINDOWS or _WINDOWS[-1] is None:
        window = vtkRenderWindow()
        window.SetOffScreenRendering(1)
        window.SetMultiSamples(4)
        window.SetDPI(_DPI)
        window.SetNumberOfLayers(2)
        _WINDOWS.append(window)
    return _WINDOWS[-1]


class Canvas:
    """One picture. layout: Layout; view: View of what is drawn."""

    def __init__(self, layout, view):
        self.layout, self.view = layout, view
        self._scene, self._over = vtkRenderer(), vtkRenderer()
        self._scene.SetBackground(1, 1, 1)
        self._over.SetLayer(1)
        self._over.InteractiveOff()

    def add(self, thing):
        """An actor or a volume, in the places of the mesh."""
        self._scene.AddViewProp(thing)

    def lines(self, pairs, width=1.0, colour=_INK):
        """pairs: of ends, in pixels."""
        self._add_cells([[first, last] for first, last in pairs], "SetLines", colour, width)

    def boxes(self, each):
        """each: [(left, bottom, right, top, colour)], filled."""
        squares = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1, _ in each]
        self._add_cells(squares, "SetPolys", [colour for *_, colour in each])

    def text(self, words, x, y, across="left", up="bottom", size=None, most=None):
        """most: pixels that it may be long; letters become smaller."""
        actor = vtkTextActor()
        actor.SetInput(words.replace("$", "\\$"))  # two of them would be a formula
        actor.SetPosition(float(x), float(y))
        looks = actor.GetTextProperty()
        looks.SetFontSize(round(size or self.layout.em))
        looks.SetColor(*_INK)
        getattr(looks, f"SetJustificationTo{across.title()}")()
        getattr(looks, f"SetVerticalJustificationTo{up.title()}")()
        if most:
            box = [0, 0, 0, 0]
            vtkTextRenderer.GetInstance().GetBoundingBox(looks, actor.GetInput(), box, _DPI)
            if box[1] - box[0] > most:
                looks.SetFontSize(max(_SMALLEST, int(looks.GetFontSize() * most / (box[1] - box[0]))))
        self._over.AddViewProp(actor)

    def png(self):
        """Bytes of a file."""
        window = _window()
        window.SetSize(self.layout.width, self.layout.height)
        self._look()
        for renderer in (self._scene, self._over):
            window.AddRenderer(renderer)
        try:
            window.Render()
            pixels = vtkWindowToImageFilter()
            pixels.SetInput(window)
            pixels.ReadFrontBufferOff()
            pixels.ShouldRerenderOff()
            writer = vtkPNGWriter()
            writer.SetInputConnection(pixels.GetOutputPort())
            writer.WriteToMemoryOn()
            writer.Write()
            return vtk_to_numpy(writer.GetResult()).tobytes()
        finally:
            for renderer in (self._scene, self._over):
                renderer.RemoveAllViewProps()
                window.RemoveRenderer(renderer)

    def _look(self):
        """As self.view says. What is in the middle of the window is not the middle of the box."""
        view, camera = self.view, self._scene.GetActiveCamera()
        off = (np.array([self.layout.width, self.layout.height]) / 2 - view.middle) / view.pixels
        focus = view.centre + off[0] * view.right + off[1] * view.up
        far = np.linalg.norm(view.high - view.low) or 1.0
        camera.ParallelProjectionOn()
        camera.SetFocalPoint(*focus)
        camera.SetPosition(*(focus + 2 * far * view.towards))
        camera.SetViewUp(*view.up)
        camera.SetParallelScale(self.layout.height / 2 / view.pixels)
        camera.SetClippingRange(0.5 * far, 3.5 * far)

    def _add_cells(self, shapes, kind, colour, width=1.0):
        data, points, cells = vtkPolyData(), vtkPoints(), vtkCellArray()
        for shape in shapes:
            cells.InsertNextCell(len(shape))
            for x, y in shape:
                cells.InsertCellPoint(points.InsertNextPoint(float(x), float(y), 0.0))
        data.SetPoints(points)
        getattr(data, kind)(cells)
        actor, mapper = vtkActor2D(), vtkPolyDataMapper2D()
        if isinstance(colour, list):
            data.GetCellData().SetScalars(_bytes_of(colour))
        else:
            actor.GetProperty().SetColor(*colour)
        mapper.SetInputData(data)
        actor.SetMapper(mapper)
        actor.GetProperty().SetLineWidth(width)
        self._over.AddViewProp(actor)


def _bytes_of(colours):
    made = vtkUnsignedCharArray()
    made.SetNumberOfComponents(3)
    for colour in colours:
        made.InsertNextTuple3(*(round(255 * part) for part in colour[:3]))
    return made
