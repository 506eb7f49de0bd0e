# SPDX-License-Identifier: Apache-2.0
# script-version: 2.0
"""A Catalyst script, for tests, that writes down what it is given: given-<iteration>.json beside the XML. catalyst.get_args() names the
inputs."""
import json

import numpy as np
from paraview import catalyst
from paraview.simple import PVTrivialProducer
from vtkmodules.util.numpy_support import vtk_to_numpy

options = catalyst.Options()
sources = {name: PVTrivialProducer(registrationName=name) for name in catalyst.get_args()}


def catalyst_execute(info):
    told = {"time": info.time, "iteration": info.timestep, "parameters": catalyst.get_execute_params()}
    for name, source in sources.items():
        source.UpdatePipeline(info.time)
        told[name] = describe(source.GetClientSideObject().GetOutputDataObject(0))
    with open(f"given-{info.timestep}.json", "w") as file:
        json.dump(told, file)


def describe(data):
    kind = data.GetClassName()
    if hasattr(data, "GetNumberOfLevels"):
        levels = range(data.GetNumberOfLevels())
        return {"kind": kind, "levels": [[describe(data.GetDataSet(level, i)) for i in range(data.GetNumberOfDataSets(level))]
                                         for level in levels]}
    if hasattr(data, "GetNumberOfBlocks"):
        blocks = range(data.GetNumberOfBlocks())
        return {"kind": kind, "names": [data.GetMetaData(i).Get(data.NAME()) for i in blocks],
                "blocks": [describe(data.GetBlock(i)) for i in blocks]}
    points = range(data.GetNumberOfPoints())
    cells = range(data.GetNumberOfCells())
    return {"kind": kind, "points": [data.GetPoint(i) for i in points],
            "cells": [[data.GetCell(i).GetPointId(p) for p in range(data.GetCell(i).GetNumberOfPoints())] for i in cells],
            "types": [data.GetCellType(i) for i in cells],
            "P": arrays(data.GetPointData()), "C": arrays(data.GetCellData()), "F": arrays(data.GetFieldData())}


def arrays(attributes):
    found = {attributes.GetArrayName(i): vtk_to_numpy(attributes.GetArray(i)) for i in range(attributes.GetNumberOfArrays())}
    return {name: np.asarray(values).tolist() for name, values in found.items()}
