# SPDX-License-Identifier: Apache-2.0
"""Reads an XDMF sidecar as VTK's own reader shows it, in the environment of tools/judges:
xdmf_read.py FILE OUT.npz     all steps; what is where is in the names of the arrays
Names: "time", and "<step>/<mesh>/<block>/" with kind, points, cells, P/<array>, C/<array> as of vtk_read.py; of a single mesh
without "<mesh>/", of one that has no blocks without "<block>/". Exit status 1: the reader has said something is wrong."""
import sys

import numpy as np
from vtk_read import put
from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkFiltersCore import vtkCellCenters
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader


def put_tree(found, name, data):
    if data.IsA("vtkMultiBlockDataSet"):
        found[name + "blocks"] = np.array(data.GetNumberOfBlocks())
        for i in range(data.GetNumberOfBlocks()):
            block = data.GetMetaData(i).Get(vtkCompositeDataSet.NAME()).split("[")[0]  # the iteration is behind it
            put_tree(found, f"{name}{block}/", data.GetBlock(i))
        return
    put(found, name, data)
    if data.IsA("vtkRectilinearGrid"):
        found[name + "points"] = np.array([data.GetPoint(i) for i in range(data.GetNumberOfPoints())])


def main(path, out):
    found, errors = {}, []
    reader = vtkXdmfReader()
    reader.AddObserver("ErrorEvent", lambda *_: errors.append("VTK said an error"))
    reader.SetFileName(path)
    reader.UpdateInformation()
    information, key = reader.GetOutputInformation(0), vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    times = [information.Get(key, i) for i in range(information.Length(key))]
    taker = vtkCellCenters()  # what filters do not get, the reader loses when they ask
    taker.SetInputConnection(reader.GetOutputPort())
    for step, time in enumerate(times):
        taker.UpdateTimeStep(time)
        put_tree(found, f"{step}/", reader.GetOutputDataObject(0))
    np.savez(out, time=np.array(times), **found)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
