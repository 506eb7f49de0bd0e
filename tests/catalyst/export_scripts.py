# SPDX-License-Identifier: Apache-2.0
"""Has ParaView write the Catalyst scripts of the folder exported, by what its File > Export Catalyst State calls: xvfb-run pvpython
export_scripts.py. What they are drawn from stands for meshes of a run, under their names; its files are not needed any more."""
import os
import pathlib
import tempfile

import numpy as np
from paraview import catalyst, simple
from paraview.detail.catalyst_export import save_catalyst_state
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkImageData, vtkPolyData
from vtkmodules.vtkIOXML import vtkXMLImageDataWriter, vtkXMLPolyDataWriter

HERE = pathlib.Path(__file__).resolve().parent


def array(values, name):
    made = numpy_to_vtk(np.ascontiguousarray(values), deep=1)
    made.SetName(name)
    return made


def write(writer, data, path):
    writer.SetInputData(data)
    writer.SetFileName(path)
    writer.Write()
    return path


def box():
    """16 x 16 x 16 cells from 0 to 1, whose temperature is x."""
    image = vtkImageData()
    image.SetDimensions(17, 17, 17)
    image.SetSpacing(1 / 16, 1 / 16, 1 / 16)
    centres = (np.arange(16) + 0.5) / 16
    image.GetCellData().AddArray(array(np.broadcast_to(centres, (16, 16, 16)).ravel(), "temperature"))
    return simple.XMLImageDataReader(registrationName="box", FileName=[write(vtkXMLImageDataWriter(), image, "box.vti")])


def atoms():
    places = np.random.default_rng(1).random((200, 3)) * 10
    cloud, points = vtkPolyData(), vtkPoints()
    points.SetData(array(places, "points"))
    cloud.SetPoints(points)
    cloud.GetPointData().AddArray(array(np.arange(200) % 2 + 1.0, "atoms_type"))
    return simple.XMLPolyDataReader(registrationName="atoms", FileName=[write(vtkXMLPolyDataWriter(), cloud, "atoms.vtp")])


def view_of(source, kind, name, low, high):
    view = simple.CreateRenderView(ViewSize=[400, 300], UseColorPaletteForBackground=0, Background=[1, 1, 1], OrientationAxesVisibility=0)
    shown = simple.Show(source, view)
    simple.ColorBy(shown, (kind, name))
    simple.GetColorTransferFunction(name).RescaleTransferFunction(low, high)
    return view, shown


def export(name, view, source):
    simple.ResetCamera(view)
    png = simple.CreateExtractor("PNG", view, registrationName="PNG1")
    png.Writer.FileName = name + "_{timestep:06d}{camera}.png"
    png.Writer.ImageResolution = [400, 300]
    table = simple.CreateExtractor("VTP", source, registrationName="VTP1")
    table.Writer.FileName = name + "_{timestep:06d}.vtp"
    options = catalyst.Options()
    options.GenerateCinemaSpecification = 1
    save_catalyst_state(str(HERE / f"exported/{name}.py"), options)
    simple.ResetSession()


def slice_of_a_box():
    cut = simple.Slice(registrationName="Slice1", Input=box())
    cut.SliceType.Origin, cut.SliceType.Normal = [0.5, 0.5, 0.5], [0, 0, 1]
    view, shown = view_of(cut, "CELLS", "temperature", 0, 1)
    shown.SetScalarBarVisibility(view, False)
    export("slice", view, cut)


def contour_with_a_colour_bar():
    nodes = simple.CellDatatoPointData(registrationName="nodes", Input=box())
    nodes.CellDataArraytoprocess = ["temperature"]
    surface = simple.Contour(registrationName="Contour1", Input=nodes)
    surface.ContourBy = ["POINTS", "temperature"]
    surface.Isosurfaces = [0.25, 0.75]
    view, shown = view_of(surface, "POINTS", "temperature", 0, 1)
    view.CameraPosition = [3, 2, 2]
    shown.SetScalarBarVisibility(view, True)
    bar = simple.GetScalarBar(simple.GetColorTransferFunction("temperature"), view)
    bar.TitleColor = bar.LabelColor = [0, 0, 0]
    export("contour", view, surface)


def particles():
    source = atoms()
    view, shown = view_of(source, "POINTS", "atoms_type", 1, 2)
    shown.SetRepresentationType("Point Gaussian")
    shown.GaussianRadius = 0.3
    shown.SetScalarBarVisibility(view, False)
    export("particles", view, source)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    slice_of_a_box()
    contour_with_a_colour_bar()
    particles()
