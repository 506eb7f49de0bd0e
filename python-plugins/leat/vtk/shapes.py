# SPDX-License-Identifier: Apache-2.0
"""What a picture shows of the parts of a mesh: a cut or all of it, surfaces of one value, a volume, points."""
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkImageData, vtkMultiBlockDataSet, vtkPlane
from vtkmodules.vtkFiltersCore import vtkAppendPolyData, vtkContourFilter, vtkCutter, vtkResampleToImage
from vtkmodules.vtkFiltersExtraction import vtkExtractRectilinearGrid
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter
from vtkmodules.vtkImagingCore import vtkExtractVOI

from .arrays import vtk_array
from .pieces import at_nodes

_SAMPLES = 100  # along the longest side of a volume that is no image already


def surface_of(parts):
    """Of flat parts themselves."""
    return together([_out_of(vtkGeometryFilter(), part) for part in parts])


def points_of(part):
    """As vtkPolyData, also where some have been left out."""
    return part if part.IsA("vtkPolyData") else _out_of(vtkGeometryFilter(), part)


def cut_of(parts, axis, place):
    """Where the plane across this axis (0, 1, 2) goes through them."""
    plane = vtkPlane()
    plane.SetNormal(*np.eye(3)[axis])
    plane.SetOrigin(*(place * np.eye(3)[axis]))
    crossed = [part for part in parts if part.GetBounds()[2 * axis] <= place <= part.GetBounds()[2 * axis + 1]]
    return together([_out_of(_cutter(plane), _layer_of(part, axis, place)) for part in crossed])


def contour_of(parts, name, values):
    """Surfaces, of flat parts lines, where the array has these values."""
    found = []
    for part in map(at_nodes, parts):
        part.GetPointData().SetActiveScalars(name)  # or VTK warns, though it is told below
        contour = vtkContourFilter()
        contour.SetInputArrayToProcess(0, 0, 0, vtkDataObject.POINT, name)
        for number, value in enumerate(values):
            contour.SetValue(number, value)
        found.append(_out_of(contour, part))
    return together(found)


def image_of(pieces, name, low):
    """One vtkImageData of all parts, with `low` where there is nothing."""
    if len(pieces.parts) == 1 and pieces.parts[0].IsA("vtkImageData"):
        image = at_nodes(pieces.parts[0])
        values = vtk_to_numpy(image.GetPointData().GetArray(name))
        is_there = np.isfinite(values)
    else:
        image = _sampled(pieces.without_nan(name))
        values = vtk_to_numpy(image.GetPointData().GetArray(name))
        is_there = vtk_to_numpy(image.GetPointData().GetArray("vtkValidPointMask")) != 0
    made = vtkImageData()
    made.CopyStructure(image)
    made.GetPointData().SetScalars(vtk_array(np.where(is_there, values, low), name))
    return made


def _sampled(parts):
    whole = vtkMultiBlockDataSet()
    for number, part in enumerate(map(at_nodes, parts)):
        whole.SetBlock(number, part)
    bounds = np.array([part.GetBounds() for part in parts])
    sides = bounds[:, 1::2].max(0) - bounds[:, ::2].min(0)
    sampled = vtkResampleToImage()
    sampled.SetSamplingDimensions(*(max(2, round(_SAMPLES * side / sides.max())) for side in sides))
    return _out_of(sampled, whole)


def _layer_of(part, axis, place):
    """What the plane can touch: of grids whose axes are straight some layers, which is many times faster."""
    extract = vtkExtractVOI() if part.IsA("vtkImageData") else vtkExtractRectilinearGrid() if part.IsA("vtkRectilinearGrid") else None
    if extract is None:
        return part
    extent = list(part.GetExtent())
    begin, end = extent[2 * axis:2 * axis + 2]
    if part.IsA("vtkImageData"):
        nodes = part.GetOrigin()[axis] + part.GetSpacing()[axis] * np.arange(begin, end + 1)
    else:
        nodes = vtk_to_numpy((part.GetXCoordinates, part.GetYCoordinates, part.GetZCoordinates)[axis]())
    extent[2 * axis] = begin + max(0, int(np.searchsorted(nodes, place)) - 1)
    extent[2 * axis + 1] = min(end, begin + int(np.searchsorted(nodes, place, "right")))
    extract.SetVOI(*extent)
    return _out_of(extract, part)


def _cutter(plane):
    cutter = vtkCutter()
    cutter.SetCutFunction(plane)
    return cutter


def together(parts):
    """vtkPolyData of several as one."""
    if len(parts) == 1:
        return parts[0]
    appended = vtkAppendPolyData()
    for part in parts:
        appended.AddInputData(part)
    if parts:
        appended.Update()
    return appended.GetOutput()


def _out_of(filter_, data):
    filter_.SetInputDataObject(data)
    filter_.Update()
    return filter_.GetOutput()
