# SPDX-License-Identifier: Apache-2.0
"""Prints [origin, spacing] of the image that VTK reads of a VTKHDF file."""
import json
import sys

from vtkmodules.vtkIOHDF import vtkHDFReader

reader = vtkHDFReader()
reader.SetFileName(sys.argv[1])
reader.Update()
image = reader.GetOutputDataObject(0)
assert image.IsA("vtkImageData"), image.GetClassName()
print(json.dumps([image.GetOrigin(), image.GetSpacing()]))
