# SPDX-License-Identifier: Apache-2.0
"""What the published schema of Damaris has (src/model/Model.xsd of version 1.7), element by element: names of attributes; and what
public files carry beside it. The list is a test's own, so that a row that the table lacks is found."""

SCHEMA = {
    "simulation": "name language",
    "architecture": "name comment",
    "domains": "count",
    "dedicated": "cores nodes",
    "placement": "mask start step blocksize comment",
    "buffer": "name size type blocks enabled",
    "queue": "name size",
    "data": "",
    "parameter": "name type value comment",
    "layout": "name type dimensions global ghosts language visualizable comment",
    "variable": "name unit layout enabled mesh type vectorlength centering visualizable time-varying store script comment",
    "group": "name enabled store",
    "mesh": "name type topology time-varying comment",
    "coord": "name unit label comment",
    "vertex_global_id": "name offset comment",
    "section_types": "name comment",
    "section_sizes": "name comment",
    "section_connectivity": "name comment",
    "curve": "name",
    "storage": "",
    "store": "name type frequency",
    "option": "key",
    "actions": "",
    "event": "name action execution library scope external comment",
    "error": "event script",
    "scripts": "",
    "pyscript": "name file execution language scope external frequency scheduler-file nthreads timeout keep-workers comment",
    "visit": "update-frequency",
    "path": "",
    "options": "",
    "paraview": "update-frequency realtime-timestep end-iteration comment",
    "script": "",
    "log": "FileName RotationSize LogFormat LogLevel Flush",
}
# Of the files that OPM Flow makes, and of files for older versions.
IN_FILES = {
    "variable": "select-file",
    "element_offsets": "name",
    "polyhedral_cell_faces_connectivity": "name",
    "polyhedral_cell_faces_offsets": "name",
    "polyhedral_n_faces_per_cell": "name",
    "paraview": "write-vtk write-vtk-binary",
    "cores": "count",
    "clients": "count domains",
    "python": "",
    "home": "",
}
WORDS = {
    ("layout", "type"): "short int integer long float real double char character string label undefined",
    ("variable", "type"): "scalar vector tensor symmetric-tensor material matspecies label array mesh curve",
    ("mesh", "type"): "unknown rectilinear curvilinear unstructured point csg amr",
    ("store", "type"): "null HDF5",
    ("simulation", "language"): "unknown fortran c cpp python r",
    ("buffer", "type"): "posix sysv",
    ("variable", "centering"): "nodal zonal",
    ("log", "LogLevel"): "trace debug info warning error fatal",
}
OPTIONS = "FileMode XDMFMode FilesPath"
