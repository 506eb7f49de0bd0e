# script-version: 2.0
# Catalyst state generated using paraview version 5.11.0

#### import the simple module from the paraview
from paraview.simple import *
#### disable automatic camera reset on 'Show'
paraview.simple._DisableFirstRenderCameraReset()

# ----------------------------------------------------------------
# setup views used in the visualization
# ----------------------------------------------------------------

# Create a new 'Render View'
renderView1 = CreateView('RenderView')
renderView1.ViewSize = [400, 300]
renderView1.AxesGrid = 'GridAxes3DActor'
renderView1.OrientationAxesVisibility = 0
renderView1.StereoType = 0
renderView1.CameraPosition = [5.024252387159593, 4.976553649116893, 38.02780218500556]
renderView1.CameraFocalPoint = [5.024252387159593, 4.976553649116893, 4.968715195395423]
renderView1.CameraFocalDisk = 1.0
renderView1.CameraParallelScale = 8.556321326612062
renderView1.UseColorPaletteForBackground = 0
renderView1.Background = [1.0, 1.0, 1.0]

SetActiveView(None)

# ----------------------------------------------------------------
# restore active view
SetActiveView(renderView1)
# ----------------------------------------------------------------

# ----------------------------------------------------------------
# setup the data processing pipelines
# ----------------------------------------------------------------

# create a new 'XML PolyData Reader'
atoms = XMLPolyDataReader(registrationName='atoms', FileName=['atoms.vtp'])
atoms.PointArrayStatus = ['atoms_type']

# ----------------------------------------------------------------
# setup the visualization in view 'renderView1'
# ----------------------------------------------------------------

# show data from atoms
atomsDisplay = Show(atoms, renderView1, 'GeometryRepresentation')

# get 2D transfer function for 'atoms_type'
atoms_typeTF2D = GetTransferFunction2D('atoms_type')

# get color transfer function/color map for 'atoms_type'
atoms_typeLUT = GetColorTransferFunction('atoms_type')
atoms_typeLUT.TransferFunction2D = atoms_typeTF2D
atoms_typeLUT.RGBPoints = [1.0, 0.231373, 0.298039, 0.752941, 1.5, 0.865003, 0.865003, 0.865003, 2.0, 0.705882, 0.0156863, 0.14902]
atoms_typeLUT.ScalarRangeInitialized = 1.0

# trace defaults for the display properties.
atomsDisplay.Representation = 'Point Gaussian'
atomsDisplay.ColorArrayName = ['POINTS', 'atoms_type']
atomsDisplay.LookupTable = atoms_typeLUT
atomsDisplay.SelectTCoordArray = 'None'
atomsDisplay.SelectNormalArray = 'None'
atomsDisplay.SelectTangentArray = 'None'
atomsDisplay.OSPRayScaleArray = 'atoms_type'
atomsDisplay.OSPRayScaleFunction = 'PiecewiseFunction'
atomsDisplay.SelectOrientationVectors = 'None'
atomsDisplay.ScaleFactor = 0.9932012872159567
atomsDisplay.SelectScaleArray = 'None'
atomsDisplay.GlyphType = 'Arrow'
atomsDisplay.GlyphTableIndexArray = 'None'
atomsDisplay.GaussianRadius = 0.3
atomsDisplay.SetScaleArray = ['POINTS', 'atoms_type']
atomsDisplay.ScaleTransferFunction = 'PiecewiseFunction'
atomsDisplay.OpacityArray = ['POINTS', 'atoms_type']
atomsDisplay.OpacityTransferFunction = 'PiecewiseFunction'
atomsDisplay.DataAxesGrid = 'GridAxesRepresentation'
atomsDisplay.PolarAxes = 'PolarAxesRepresentation'
atomsDisplay.SelectInputVectors = [None, '']
atomsDisplay.WriteLog = ''

# init the 'PiecewiseFunction' selected for 'ScaleTransferFunction'
atomsDisplay.ScaleTransferFunction.Points = [1.0, 0.0, 0.5, 0.0, 2.0, 1.0, 0.5, 0.0]

# init the 'PiecewiseFunction' selected for 'OpacityTransferFunction'
atomsDisplay.OpacityTransferFunction.Points = [1.0, 0.0, 0.5, 0.0, 2.0, 1.0, 0.5, 0.0]

# ----------------------------------------------------------------
# setup color maps and opacity mapes used in the visualization
# note: the Get..() functions create a new object, if needed
# ----------------------------------------------------------------

# get opacity transfer function/opacity map for 'atoms_type'
atoms_typePWF = GetOpacityTransferFunction('atoms_type')
atoms_typePWF.Points = [1.0, 0.0, 0.5, 0.0, 2.0, 1.0, 0.5, 0.0]
atoms_typePWF.ScalarRangeInitialized = 1

# ----------------------------------------------------------------
# setup extractors
# ----------------------------------------------------------------

# create extractor
pNG1 = CreateExtractor('PNG', renderView1, registrationName='PNG1')
# trace defaults for the extractor.
pNG1.Trigger = 'TimeStep'

# init the 'PNG' selected for 'Writer'
pNG1.Writer.FileName = 'particles_{timestep:06d}{camera}.png'
pNG1.Writer.ImageResolution = [400, 300]
pNG1.Writer.Format = 'PNG'

# create extractor
vTP1 = CreateExtractor('VTP', atoms, registrationName='VTP1')
# trace defaults for the extractor.
vTP1.Trigger = 'TimeStep'

# init the 'VTP' selected for 'Writer'
vTP1.Writer.FileName = 'particles_{timestep:06d}.vtp'

# ----------------------------------------------------------------
# restore active source
SetActiveSource(vTP1)
# ----------------------------------------------------------------

# ------------------------------------------------------------------------------
# Catalyst options
from paraview import catalyst
options = catalyst.Options()
options.GenerateCinemaSpecification = 1
options.GlobalTrigger = 'TimeStep'
options.CatalystLiveTrigger = 'TimeStep'

# ------------------------------------------------------------------------------
if __name__ == '__main__':
    from paraview.simple import SaveExtractsUsingCatalystOptions
    # Code for non in-situ environments; if executing in post-processing
    # i.e. non-Catalyst mode, let's generate extracts using Catalyst options
    SaveExtractsUsingCatalystOptions(options)
