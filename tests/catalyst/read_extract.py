# SPDX-License-Identifier: Apache-2.0
"""read_extract.py FILE OUT.npz: what VTK's reader finds in a data extract: "points", "P/<array>", "C/<array>"."""
import sys

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLGenericDataObjectReader

reader = vtkXMLGenericDataObjectReader()
reader.SetFileName(sys.argv[1])
reader.Update()
data = reader.GetOutput()
found = {"points": vtk_to_numpy(data.GetPoints().GetData())}
for letter, arrays in (("P", data.GetPointData()), ("C", data.GetCellData())):
    found.update({f"{letter}/{arrays.GetArrayName(i)}": vtk_to_numpy(arrays.GetArray(i)) for i in range(arrays.GetNumberOfArrays())})
np.savez(sys.argv[2], **found)
