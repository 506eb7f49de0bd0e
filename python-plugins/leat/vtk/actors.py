# SPDX-License-Identifier: Apache-2.0
"""Shapes in their colours, as VTK draws them."""
from vtkmodules.vtkCommonDataModel import vtkPiecewiseFunction
from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper, vtkVolume, vtkVolumeProperty
from vtkmodules.vtkRenderingVolume import vtkGPUVolumeRayCastMapper

import vtkmodules.vtkRenderingVolumeOpenGL2  # isort: skip  # noqa: F401  draws them

from .colours import table_of, transfer_of

_PLAIN = 0.3, 0.45, 0.6  # without a variable that colours it
_DENSEST = 0.9           # opacity of the greatest values, over _DEPTH of the volume's longest side
_DEPTH = 0.05


def shape_actor(data, name, colours, low, high, is_flat):
    """A vtkPolyData; name: of the array that colours it, or None. is_flat: its colours are not shaded."""
    actor, mapper = vtkActor(), vtkPolyDataMapper()
    mapper.SetInputData(data)
    if name is None:
        mapper.ScalarVisibilityOff()
        actor.GetProperty().SetColor(*_PLAIN)
    else:
        mapper.SetLookupTable(table_of(colours, low, high))
        mapper.UseLookupTableScalarRangeOn()
        mapper.InterpolateScalarsBeforeMappingOn()
        if data.GetPointData().GetArray(name):
            mapper.SetScalarModeToUsePointFieldData()
        else:
            mapper.SetScalarModeToUseCellFieldData()
        mapper.SelectColorArray(name)
    actor.SetMapper(mapper)
    if is_flat:
        actor.GetProperty().LightingOff()
    else:
        actor.GetProperty().SetAmbient(0.4)
        actor.GetProperty().SetDiffuse(0.6)
    return actor


def spheres_of(actor, pixels):
    """Points of this actor as balls of that diameter."""
    actor.GetProperty().SetRenderPointsAsSpheres(True)
    actor.GetProperty().SetPointSize(pixels)
    return actor


def volume_of(image, colours, low, high):
    """The least values cannot be seen, the greatest hide what is behind them."""
    volume, mapper, looks, opacity = vtkVolume(), vtkGPUVolumeRayCastMapper(), vtkVolumeProperty(), vtkPiecewiseFunction()
    opacity.AddPoint(low, 0.0)
    opacity.AddPoint(high, _DENSEST)
    looks.SetColor(transfer_of(colours, low, high))
    looks.SetScalarOpacity(opacity)
    looks.SetInterpolationTypeToLinear()
    looks.SetScalarOpacityUnitDistance(_DEPTH * max(high - low for low, high in zip(image.GetBounds()[::2], image.GetBounds()[1::2])))
    mapper.SetInputData(image)
    mapper.AutoAdjustSampleDistancesOff()
    mapper.SetSampleDistance(min(image.GetSpacing()))
    volume.SetMapper(mapper)
    volume.SetProperty(looks)
    return volume
