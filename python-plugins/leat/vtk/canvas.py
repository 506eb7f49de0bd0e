# SPDX-License-Identifier: Apache-2.0
"""What a picture is drawn on by VTK: things of the mesh, and over them lines and letters at pixels."""
import contextlib

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints, vtkUnsignedCharArray
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkImageData, vtkPolyData
from vtkmodules.vtkIOImage import vtkPNGWriter
from vtkmodules.vtkRenderingCore import (
    vtkActor2D,
    vtkImageMapper,
    vtkPolyDataMapper2D,
    vtkRenderer,
    vtkRenderWindow,
    vtkTextActor,
    vtkTextRenderer,
    vtkWindowToImageFilter,
)

from .arrays import vtk_array

import vtkmodules.vtkRenderingFreeType  # isort: skip  # noqa: F401  draws letters
import vtkmodules.vtkRenderingOpenGL2  # isort: skip  # noqa: F401  draws all else

_INK = 0.15, 0.15, 0.15
_DPI, _SMALLEST = 72, 6  # of letters
_SAMPLES = 4             # of a pixel
_WINDOWS = {}  # that all pictures of this process are drawn in, by samples of a pixel: VTK 9.1 ends where one changes them
_GONE = []     # of X servers that are gone


def forget_windows():
    """They belonged to an X server that is gone: VTK must not even close them, so they are kept, and others are made."""
    _GONE.extend(_WINDOWS.values())
    _WINDOWS.clear()


def _window(samples):
    if samples not in _WINDOWS:
        window = _WINDOWS[samples] = vtkRenderWindow()
        window.SetOffScreenRendering(1)
        window.SetMultiSamples(samples)
        window.SetDPI(_DPI)
        window.SetNumberOfLayers(2)
    return _WINDOWS[samples]


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

    def png(self, under=None):
        """Bytes of a file. under: what scene() gave, in the place of what is drawn behind the things of the mesh."""
        if under is not None:
            self._put_under(under)
        with self._rendered((self._scene, self._over), _SAMPLES) as window:
            writer, pixels = vtkPNGWriter(), _read(window)
            writer.SetInputConnection(pixels.GetOutputPort())
            writer.WriteToMemoryOn()
            writer.Write()
            self.clear()
            self._over.RemoveAllViewProps()
            return vtk_to_numpy(writer.GetResult()).tobytes()

    def scene(self):
        """Things of the mesh alone: colours (height, width, 3), bytes, and depths (height, width), from 0 to 1 where nothing is; the
        first row is the lowest. Each pixel is of one thing: at the borders nothing is blended."""
        with self._rendered((self._scene,), 0) as window:
            colours, depths = _values_of(_read(window)), _values_of(_read(window, is_depth=True))
        return colours.reshape(self.layout.height, self.layout.width, -1)[..., :3], depths.reshape(self.layout.height, self.layout.width)

    def nothing(self):
        """What scene() gives of an empty one."""
        size = self.layout.height, self.layout.width
        return np.full((*size, 3), 255, "u1"), np.ones(size, "f4")

    def clear(self):
        self._scene.RemoveAllViewProps()

    @contextlib.contextmanager
    def _rendered(self, renderers, samples):
        window = _window(samples)
        window.SetSize(self.layout.width, self.layout.height)
        self._look()
        for renderer in renderers:
            window.AddRenderer(renderer)
        try:
            window.Render()
            yield window
        finally:
            for renderer in renderers:
                window.RemoveRenderer(renderer)

    def _put_under(self, colours):
        image, mapper, actor = vtkImageData(), vtkImageMapper(), vtkActor2D()
        image.SetDimensions(self.layout.width, self.layout.height, 1)
        image.GetPointData().SetScalars(vtk_array(colours.reshape(-1, 3), "colours"))
        mapper.SetInputData(image)
        mapper.SetColorWindow(255)
        mapper.SetColorLevel(127.5)
        actor.SetMapper(mapper)
        actor.GetProperty().SetDisplayLocationToBackground()
        self._scene.AddViewProp(actor)

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


def _read(window, is_depth=False):
    pixels = vtkWindowToImageFilter()
    pixels.SetInput(window)
    if is_depth:
        pixels.SetInputBufferTypeToZBuffer()
    pixels.ReadFrontBufferOff()
    pixels.ShouldRerenderOff()
    return pixels


def _values_of(pixels):
    pixels.Update()
    return vtk_to_numpy(pixels.GetOutput().GetPointData().GetScalars()).copy()


def _bytes_of(colours):
    made = vtkUnsignedCharArray()
    made.SetNumberOfComponents(3)
    for colour in colours:
        made.InsertNextTuple3(*(round(255 * part) for part in colour[:3]))
    return made
