# SPDX-License-Identifier: Apache-2.0
"""Reads a file as VTK's own reader shows it, in the environment of tools/judges:
vtk_read.py FILE OUT.npz ...     all steps; what is where is in the names of the arrays. More such pairs may follow
Names: "time", and "<step>/<part>/" with kind, points, cells (types, offsets, connectivity), P/<array>, C/<array>;
of levels "<step>/<level>/" with boxes, origins, spacings, C/<array>."""
import sys

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader


def put(found, name, data):
    found[name + "kind"] = np.array(data.GetClassName())
    if data.IsA("vtkImageData"):
        found[name + "image"] = np.array([data.GetDimensions(), data.GetOrigin(), data.GetSpacing()])
    elif data.IsA("vtkPointSet") and data.GetPoints() and data.GetNumberOfPoints():
        found[name + "points"] = vtk_to_numpy(data.GetPoints().GetData())
    if data.IsA("vtkUnstructuredGrid") and data.GetNumberOfCells():
        found[name + "types"] = np.array([data.GetCellType(i) for i in range(data.GetNumberOfCells())])
        found[name + "connectivity"] = vtk_to_numpy(data.GetCells().GetConnectivityArray())
        found[name + "offsets"] = vtk_to_numpy(data.GetCells().GetOffsetsArray())
    found[name + "counts"] = np.array([data.GetNumberOfPoints(), data.GetNumberOfCells()])
    for letter, arrays in (("P", data.GetPointData()), ("C", data.GetCellData())):
        for i in range(arrays.GetNumberOfArrays()):
            found[f"{name}{letter}/{arrays.GetArrayName(i)}"] = vtk_to_numpy(arrays.GetArray(i))


def put_parts(found, name, parts):
    """As if they were one."""
    if len(parts) == 1:
        return put(found, name, parts[0])
    each, points = [], 0
    for part in parts:
        one = {}
        put(one, "", part)
        one["connectivity"] = one.get("connectivity", np.zeros(0, int)) + points
        points += one["counts"][0]
        each.append(one)
    found[name + "counts"] = sum(one["counts"] for one in each)
    found[name + "kind"] = each[0]["kind"]
    for key in {k for one in each for k in one} - {"counts", "kind", "offsets"}:
        found[name + key] = np.concatenate([one[key] for one in each if key in one])


def put_levels(found, name, data):
    """Boxes as low and high corners (x, y, z), origins and spacings, one behind the other; arrays likewise."""
    found[name + "kind"] = np.array(data.GetClassName())
    found[name + "levels"] = np.array(data.GetNumberOfLevels())
    for level in range(data.GetNumberOfLevels()):
        each = []
        for i in range(data.GetNumberOfBlocks(level)):
            low, high, one, grid = [0] * 3, [0] * 3, {}, data.GetDataSetAsImageData(level, i)
            data.GetAMRBox(level, i).GetDimensions(low, high)
            put(one, "", grid)
            each.append({"boxes": [low + high], "origins": [grid.GetOrigin()], "spacings": [grid.GetSpacing()],
                         **{key: one[key] for key in one if key[0] == "C"}})
        for key in {k for one in each for k in one}:
            found[f"{name}{level}/{key}"] = np.concatenate([np.asarray(one[key]) for one in each])


def put_all(found, step, data):
    if data.IsA("vtkOverlappingAMR"):
        put_levels(found, f"{step}/", data)
    elif data.IsA("vtkPartitionedDataSet"):
        put_parts(found, f"{step}/", [data.GetPartition(i) for i in range(data.GetNumberOfPartitions())])
    elif not data.IsA("vtkMultiBlockDataSet"):
        put(found, f"{step}/", data)
    else:
        for i in range(data.GetNumberOfBlocks()):
            block, name = data.GetBlock(i), data.GetMetaData(i).Get(data.NAME())
            parts = [block.GetPiece(k) for k in range(block.GetNumberOfPieces())] if block.IsA("vtkMultiPieceDataSet") else [block]
            put_parts(found, f"{step}/{name}/", parts)


def read(path, out):
    found, errors = {}, []
    reader = vtkHDFReader()
    reader.AddObserver("ErrorEvent", lambda *_: errors.append("VTK said an error"))
    reader.SetFileName(path)
    reader.UpdateInformation()
    information, key = reader.GetOutputInformation(0), vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    times = [information.Get(key, i) for i in range(information.Length(key))] if information.Has(key) else []
    for step, time in enumerate(times or [None]):
        reader.Update() if time is None else reader.UpdateTimeStep(time)
        put_all(found, step, reader.GetOutputDataObject(0))
    np.savez(out, time=np.array(times), **found)
    return not errors


def main(*words):
    done = [read(path, out) for path, out in zip(words[::2], words[1::2])]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
