# SPDX-License-Identifier: Apache-2.0
"""A module: the isosurface of a density, by VTK, and a picture of it, by matplotlib. The isovalue is a parameter: it can be steered."""
import os

import leat.module as module
import matplotlib
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkImageData
from vtkmodules.vtkFiltersCore import vtkFlyingEdges3D

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def triangles_of(density, box, isovalue):
    """(n, 3, 3): corners of the triangles of the isosurface."""
    spacing = (box[:, 1] - box[:, 0]) / np.array(density.shape)
    image = vtkImageData()
    image.SetDimensions(density.shape)
    image.SetSpacing(spacing)
    image.SetOrigin(box[:, 0] + 0.5 * spacing)
    image.GetPointData().SetScalars(numpy_to_vtk(density.ravel(order="F"), deep=True))
    contour = vtkFlyingEdges3D()
    contour.SetInputData(image)
    contour.SetValue(0, isovalue)
    contour.Update()
    surface = contour.GetOutput()
    if surface.GetNumberOfPolys() == 0:
        return np.zeros((0, 3, 3))
    points = vtk_to_numpy(surface.GetPoints().GetData())
    return points[vtk_to_numpy(surface.GetPolys().GetConnectivityArray()).reshape(-1, 3)]


def draw(triangles, box, title, path):
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    light = np.abs(normals @ [0.4, -0.7, 0.6]) / np.maximum(np.linalg.norm(normals, axis=1), 1e-30)
    figure = pyplot.figure(figsize=(5, 4.6), dpi=100)
    axes = figure.add_subplot(projection="3d", title=title)
    axes.add_collection3d(Poly3DCollection(triangles, facecolors=pyplot.cm.YlGnBu_r(0.15 + 0.7 * light)))
    for name, (low, high) in zip("xyz", box):
        getattr(axes, f"set_{name}lim")(low, high)
        getattr(axes, f"set_{name}label")(f"{name} (angstrom)")
    axes.set_box_aspect(box[:, 1] - box[:, 0])
    figure.savefig(path + ".part", format="png")
    os.replace(path + ".part", path)
    pyplot.close(figure)


while module.wait():
    box, isovalue = np.array(module.options()["box"]), module.parameters()["isovalue"]
    triangles = triangles_of(module.get("density"), box, isovalue)
    area = 0.5 * np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1).sum()
    if module.server()[2]:  # the first of several: all have the whole
        draw(triangles, box, f"iteration {module.iteration()}, {isovalue:g} atoms per cubic angstrom", "surface.png")
    module.put("area", area, unit="angstrom2")
