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
renderView1.CameraPosition = [2.6084428161598003, 1.9056285441065335, 1.9056285441065335]
renderView1.CameraFocalPoint = [0.5, 0.5, 0.5]
renderView1.CameraFocalDisk = 1.0
renderView1.CameraParallelScale = 0.75
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

# create a new 'XML Image Data Reader'
box = XMLImageDataReader(registrationName='box', FileName=['box.vti'])
box.CellArrayStatus = ['temperature']

# create a new 'Cell Data to Point Data'
nodes = CellDatatoPointData(registrationName='nodes', Input=box)
nodes.CellDataArraytoprocess = ['temperature']

# create a new 'Contour'
contour1 = Contour(registrationName='Contour1', Input=nodes)
contour1.ContourBy = ['POINTS', 'temperature']
contour1.Isosurfaces = [0.25, 0.75]
contour1.PointMergeMethod = 'Uniform Binning'

# ----------------------------------------------------------------
# setup the visualization in view 'renderView1'
# ----------------------------------------------------------------

# show data from contour1
contour1Display = Show(contour1, renderView1, 'GeometryRepresentation')

# get 2D transfer function for 'temperature'
temperatureTF2D = GetTransferFunction2D('temperature')

# get color transfer function/color map for 'temperature'
temperatureLUT = GetColorTransferFunction('temperature')
temperatureLUT.TransferFunction2D = temperatureTF2D
temperatureLUT.ScalarRangeInitialized = 1.0

# trace defaults for the display properties.
contour1Display.Representation = 'Surface'
contour1Display.ColorArrayName = ['POINTS', 'temperature']
contour1Display.LookupTable = temperatureLUT
contour1Display.SelectTCoordArray = 'None'
contour1Display.SelectNormalArray = 'Normals'
contour1Display.SelectTangentArray = 'None'
contour1Display.OSPRayScaleArray = 'temperature'
contour1Display.OSPRayScaleFunction = 'PiecewiseFunction'
contour1Display.SelectOrientationVectors = 'None'
contour1Display.ScaleFactor = 0.1
contour1Display.SelectScaleArray = 'temperature'
contour1Display.GlyphType = 'Arrow'
contour1Display.GlyphTableIndexArray = 'temperature'
contour1Display.GaussianRadius = 0.005
contour1Display.SetScaleArray = ['POINTS', 'temperature']
contour1Display.ScaleTransferFunction = 'PiecewiseFunction'
contour1Display.OpacityArray = ['POINTS', 'temperature']
contour1Display.OpacityTransferFunction = 'PiecewiseFunction'
contour1Display.DataAxesGrid = 'GridAxesRepresentation'
contour1Display.PolarAxes = 'PolarAxesRepresentation'
contour1Display.SelectInputVectors = ['POINTS', 'Normals']
contour1Display.WriteLog = ''

# init the 'PiecewiseFunction' selected for 'ScaleTransferFunction'
contour1Display.ScaleTransferFunction.Points = [0.25, 0.0, 0.5, 0.0, 0.75, 1.0, 0.5, 0.0]

# init the 'PiecewiseFunction' selected for 'OpacityTransferFunction'
contour1Display.OpacityTransferFunction.Points = [0.25, 0.0, 0.5, 0.0, 0.75, 1.0, 0.5, 0.0]

# setup the color legend parameters for each legend in this view

# get color legend/bar for temperatureLUT in view renderView1
temperatureLUTColorBar = GetScalarBar(temperatureLUT, renderView1)
temperatureLUTColorBar.Title = 'temperature'
temperatureLUTColorBar.ComponentTitle = ''
temperatureLUTColorBar.TitleColor = [0.0, 0.0, 0.0]
temperatureLUTColorBar.LabelColor = [0.0, 0.0, 0.0]

# set color bar visibility
temperatureLUTColorBar.Visibility = 1

# show color legend
contour1Display.SetScalarBarVisibility(renderView1, True)

# ----------------------------------------------------------------
# setup color maps and opacity mapes used in the visualization
# note: the Get..() functions create a new object, if needed
# ----------------------------------------------------------------

# get opacity transfer function/opacity map for 'temperature'
temperaturePWF = GetOpacityTransferFunction('temperature')
temperaturePWF.Points = [0.25, 0.0, 0.5, 0.0, 0.75, 1.0, 0.5, 0.0]
temperaturePWF.ScalarRangeInitialized = 1

# ----------------------------------------------------------------
# setup extractors
# ----------------------------------------------------------------

# create extractor
pNG1 = CreateExtractor('PNG', renderView1, registrationName='PNG1')
# trace defaults for the extractor.
pNG1.Trigger = 'TimeStep'

# init the 'PNG' selected for 'Writer'
pNG1.Writer.FileName = 'contour_{timestep:06d}{camera}.png'
pNG1.Writer.ImageResolution = [400, 300]
pNG1.Writer.Format = 'PNG'

# create extractor
vTP1 = CreateExtractor('VTP', contour1, registrationName='VTP1')
# trace defaults for the extractor.
vTP1.Trigger = 'TimeStep'

# init the 'VTP' selected for 'Writer'
vTP1.Writer.FileName = 'contour_{timestep:06d}.vtp'

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
