# SPDX-License-Identifier: Apache-2.0
"""run[k].mesh(): meshes of each kind as data sets of VTK, with the places and values that h5py finds in the file."""
import pathlib
import sys
import types

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, mesh, variable
from leat_run import same_bits
from nodes import Nodes
from stored_blocks import stored_blocks

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))

import leat  # noqa: E402
from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402

GLOBAL = {"global": 1}
VARIABLES = [
    variable("T", "f8", ["z", "y", "x"], mesh=0, **GLOBAL),
    variable("lon", "f8", ["lon"], time_varying=0, **GLOBAL), variable("lat", "f8", ["lat"], time_varying=0, **GLOBAL),
    variable("fields/salt", "f4", ["lat", "lon"], mesh=1, **GLOBAL),
    variable("wx", "f8", ["j", "i"], time_varying=0, **GLOBAL), variable("wy", "f8", ["j", "i"], time_varying=0, **GLOBAL),
    variable("speed", "f4", ["j", "i"], mesh=2, **GLOBAL),
    variable("at", "f8", ["?point", "xyz"]), variable("ids", "i4", ["?corner"]),
    variable("stress", "f8", ["?cell"], mesh=3), variable("flow", "f8", ["?point", "xyz"], mesh=3, nodal=1),
    variable("x", "f8", ["?atom", "xyz"]), variable("kind", "i4", ["?atom"], mesh=4),
    variable("dye", "f8", ["y", "x"], mesh=5),
    variable("wave", "c8", ["z", "y", "x"], mesh=0, **GLOBAL),
]
NUMBER = {each["name"]: i for i, each in enumerate(VARIABLES)}
MESHES = [mesh("box", "uniform", 3, origin=[1.0, 2.0, 3.0], spacing=[0.5, 0.25, 0.125], unit="m"),
          mesh("earth", "rectilinear", 2, coordinates=[NUMBER["lon"], NUMBER["lat"]]),
          mesh("wing", "curvilinear", 2, coordinates=[NUMBER["wx"], NUMBER["wy"]]),
          mesh("body", "unstructured", 3, coordinates=[NUMBER["at"]], connectivity=NUMBER["ids"], cell_type=5),
          mesh("atoms", "points", 3, coordinates=[NUMBER["x"]]),
          mesh("square", "amr", 2, origin=[0.0, 0.0], spacing=[1.0, 0.5], ratio=2)]
RANKS = 2


def give(target, i):
    made = []

    def block(name, values, rank=0, **more):
        dtype = VARIABLES[NUMBER[name]]["dtype"]
        array = np.ascontiguousarray(values, dtype)
        made.append(target.block(NUMBER[name], array.shape, 0, rank=rank, raw=list(array.tobytes()), **more))

    dice = np.random.default_rng(i)
    for rank in range(RANKS):
        block("T", dice.random((2, 3, 5)), rank, position=[2 * rank, 0, 0], **{"global": (4, 3, 5)})
        block("wave", dice.random((2, 3, 5)), rank, position=[2 * rank, 0, 0], **{"global": (4, 3, 5)})
        block("at", dice.random((4 + rank, 3)), rank)
        block("ids", [0, 1, 2, 1, 2, 3], rank)
        block("stress", dice.random(2), rank)
        block("flow", dice.random((4 + rank, 3)), rank)
        block("x", dice.random((i % 3 + rank, 3)), rank)
        block("kind", dice.integers(0, 9, i % 3 + rank), rank)
        block("dye", dice.random((4, 4)), rank, level=rank, position=[4 * rank, 0])
        for name, shape in (("speed", (3, 4)), *([("wx", (4, 5)), ("wy", (4, 5))] if i == 0 and rank == 0 else [])):
            if rank == 0:
                block(name, dice.random(shape), rank, position=[0, 0], **{"global": shape})
    block("fields/salt", dice.random((3, 4)), position=[0, 0], **{"global": (3, 4)})
    if i == 0:
        block("lon", np.arange(4.0) ** 2, position=[0], **{"global": (4,)})
        block("lat", np.arange(3.0) * 10, position=[0], **{"global": (3,)})
    target.must(10 * i, *sorted(made, key=lambda b: (b["variable"], b["rank"])))


@pytest.fixture(scope="module", params=["one", "view"])
def stored(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    more = {"meshes": MESHES}
    target = Nodes(folder, VARIABLES, [[0], [1]], **more) if request.param == "view" else Plugin(folder, VARIABLES, ranks=RANKS, **more)
    for i in range(3):
        give(target, i)
    target.finish()
    with h5py.File(folder / "run.h5") as judge:
        yield leat.open(folder / "run.h5"), judge


def array(attributes, name):
    return vtk_to_numpy(attributes.GetArray(name))


def test_structured_meshes(stored):
    run, judge = stored
    for row, number in enumerate(run.iterations):
        with pytest.warns(UserWarning, match='variable "wave" is not in the data set: VTK has no complex numbers'):
            box = run[number].mesh("box")
        assert box.GetClassName() == "vtkImageData" and box.GetOrigin() == (1.0, 2.0, 3.0) and box.GetSpacing() == (0.5, 0.25, 0.125)
        assert same_bits(array(box.GetCellData(), "T"), judge["T"][row].ravel())
        earth = run[number].mesh("earth", "fields/salt")
        assert earth.GetClassName() == "vtkRectilinearGrid"
        assert same_bits(array(earth.GetPointData(), "fields_salt"), judge["fields/salt"][row].ravel())
        assert same_bits(vtk_to_numpy(earth.GetXCoordinates()), judge["lon"][:])
        wing = run[number].mesh("wing")
        assert wing.GetClassName() == "vtkStructuredGrid" and same_bits(array(wing.GetCellData(), "speed"), judge["speed"][row].ravel())
        assert same_bits(vtk_to_numpy(wing.GetPoints().GetData())[:, 0], judge["wx"][()].ravel())


def test_cells_points_and_patches(stored):
    run, judge = stored
    for row, number in enumerate(run.iterations):
        found = {name: list(stored_blocks(judge, name, row).values()) for name in ("at", "stress", "flow", "x", "kind", "dye")}
        body = run[number].mesh("body")
        assert body.GetClassName() == "vtkUnstructuredGrid" and body.GetNumberOfCells() == 4
        assert same_bits(vtk_to_numpy(body.GetPoints().GetData()), np.concatenate(found["at"]))
        assert same_bits(array(body.GetCellData(), "stress"), np.concatenate(found["stress"]))
        assert same_bits(array(body.GetPointData(), "flow"), np.concatenate(found["flow"]))
        atoms = run[number].mesh("atoms")
        assert same_bits(vtk_to_numpy(atoms.GetPoints().GetData()), np.concatenate(found["x"]))
        assert same_bits(array(atoms.GetPointData(), "kind"), np.concatenate(found["kind"]))
        square = run[number].mesh("square")
        assert square.GetClassName() == "vtkOverlappingAMR" and square.GetNumberOfLevels() == 2
        for level in range(2):
            assert same_bits(array(square.GetDataSet(level, 0).GetCellData(), "dye"), found["dye"][level].ravel())


def test_what_pyvista_makes_of_it_is_given_where_it_is_installed(stored, monkeypatch):
    run, _ = stored
    monkeypatch.setitem(sys.modules, "pyvista", types.SimpleNamespace(wrap=lambda grid: ("wrapped", grid.GetClassName())))
    assert run[10].mesh("wing") == ("wrapped", "vtkStructuredGrid")


def test_what_is_no_mesh_of_it_is_said(stored, monkeypatch):
    run, _ = stored
    with pytest.raises(KeyError, match='there is no mesh "boxx" in .*; did you mean "box"'):
        run[0].mesh("boxx")
    with pytest.raises(ValueError, match='variable "speed" is not on the mesh "box", but on "wing"'):
        run[0].mesh("box", "speed")
    monkeypatch.setitem(sys.modules, "vtkmodules.vtkCommonDataModel", None)
    with pytest.raises(ImportError, match="a mesh is a data set of VTK: .* -m pip install vtk"):
        run[0].mesh("box")
