# SPDX-License-Identifier: Apache-2.0
"""Meshes in XDMF: what the file has of one in a step, as one Grid."""
import numpy as np

from .reading import CannotRead
from .stored import common_row
from .xdmf_items import (
    REALS,
    element,
    elements,
    item,
    listed,
    number,
    shared,
    shared_rows,
    shared_values,
    whole,
    why_no_name,
)

UNIFORM, RECTILINEAR, CURVILINEAR, UNSTRUCTURED, POINTS, AMR = range(1, 7)  # enum leat_mesh_kind
NO_ARRAY = {"c": "VTK has no complex numbers", "S": "it is text"}

# XDMF's name of VTK's number, and the points of a cell; 0: as many as the connectivity has components.
# Source: vtkCellType.h; "XDMF Model and Format", "Topology".
CELLS = {1: ("Polyvertex", 1), 2: ("Polyvertex", 0), 3: ("Polyline", 2), 4: ("Polyline", 0), 5: ("Triangle", 3), 7: ("Polygon", 0),
         9: ("Quadrilateral", 4), 10: ("Tetrahedron", 4), 12: ("Hexahedron", 8), 13: ("Wedge", 6), 14: ("Pyramid", 5),
         21: ("Edge_3", 3), 22: ("Triangle_6", 6), 23: ("Quadrilateral_8", 8), 24: ("Tetrahedron_10", 10), 25: ("Hexahedron_20", 20),
         26: ("Wedge_15", 15), 27: ("Pyramid_13", 13)}


def make_mesh(stored, number, left_out):
    """The Mesh; None while the file does not have all that it is made of. CannotRead when XDMF cannot show it. left_out: gets a
    sentence for each variable that is not shown."""
    mesh = stored.meshes[number]
    made_of = _made_of(mesh)
    if not all(stored.has(stored.variables[one].name) for one in made_of):
        return None
    for one in made_of:
        why = _why_not(stored.variables[one])
        if why:
            raise CannotRead(f'"{stored.variables[one].name}", of which it is made: {why}')
    if mesh.kind == AMR:
        raise CannotRead("XDMF has no levels of blocks; VTK and ParaView see them in /VTKHDF")
    made = {UNSTRUCTURED: CellsMesh, POINTS: PointsMesh}.get(mesh.kind, GridMesh)
    return made(stored, number, left_out)


def collection(name, inside, time, *grids):
    """inside: of another one, which says the time."""
    return element("Grid", {"Name": name, "GridType": "Collection", "CollectionType": "Spatial"}, _time(inside, time), *grids)


class Mesh:
    """shown: numbers of variables on it that are in the file and can be shown. written: by row, whether it, or something on it, was."""

    def __init__(self, stored, number, left_out):
        mesh = stored.meshes[number]
        self.stored, self.mesh, self.kind, self.dims, self.name, self._left_out = stored, mesh, mesh.kind, mesh.dims, mesh.name, left_out
        self.axes = [stored.field(one) for one in self.mesh.coordinates] if self.kind != UNIFORM else []
        # Readers take the type of the first axis for all of them.
        self.axis_type = np.dtype("f4" if all(axis.variable.dtype == "f4" for axis in self.axes) else "f8")
        self.shown = []
        for one in stored.variables_on(self.mesh):
            why = _why_not(stored.variables[one])
            if why:
                self.leave_out(one, why)
            elif stored.has(stored.variables[one].name):
                self.shown.append(one)
        self.written = np.zeros(len(stored.numbers), bool)
        for one in _made_of(self.mesh) + self.shown:
            self.written |= stored.field(one).rows_with_news()

    def shared(self):
        """What steps refer to, at the head of the XML."""
        return ""

    def leave_out(self, one, why):
        self._left_out.add(f'variable "{self.stored.variables[one].name}": {why}')

    def array_name(self, one):
        """As in /VTKHDF: there a link has no "/" in its name."""
        name = self.stored.variables[one].name.replace("/", "_")
        for other in self.stored.variables:
            if other.number != one and name == (other.name.replace("/", "_") if other.number < one else other.name):
                name += "_"
        return name

    def grid(self, name, row, inside, time, *inner):
        """Its name has the iteration in it: readers give Grids of the same name others by trying all numbers, which takes them
        minutes where there are thousands (vtkXdmfDomain::CollectLeafMetaData)."""
        return element("Grid", {"Name": f"{name}[{self.stored.numbers[row]}]", "GridType": "Uniform"}, _time(inside, time), *inner)


class GridMesh(Mesh):
    """Uniform, rectilinear and curvilinear: the arrays are the datasets themselves. What was not written in a step is the fill value
    that the dataset has there.

    VTK lays a 2DCoRectMesh into the y-z plane, loses half of a 2DRectMesh when it gives it to a filter, and reads no values of cells
    where a 3-d mesh is no cell thick. So on flat meshes, which are 3-d ones for it, values of cells are shown as those of points, the
    centres of the cells, and nodes have a mesh of their own."""

    def __init__(self, stored, number, left_out):
        super().__init__(stored, number, left_out)
        if self.mesh.is_unplaced:
            raise CannotRead("the parameters that say where it lies had no value")
        self.is_line, self.is_uniform = self.dims == 1, self.kind == UNIFORM
        self.is_flat = self.dims == 2 and self.kind != CURVILINEAR
        self.nodes = () if self.is_uniform else self._nodes_of_axes()  # z, y, x, as variables have them
        self.arrays = []  # (name, "Node" or "Cell", Field)
        for one in self.shown:
            try:
                self._take_up(one)
            except CannotRead as why:
                self.leave_out(one, why)
        if not self.nodes:
            raise CannotRead("nothing on it has the shape of its cells")
        self.key = f"mesh {number}"

    def _nodes_of_axes(self):
        nodes, curvilinear = (), self.kind == CURVILINEAR
        for axis in self.axes:
            if axis.form == "ragged" or not axis.shape or (curvilinear and axis.form == "blocks"):
                raise CannotRead(f'its coordinate "{axis.path}" is in many pieces')
            if curvilinear and nodes and axis.shape != nodes:
                raise CannotRead("its coordinates have different shapes")
            nodes = axis.shape if curvilinear else (axis.shape[-1], *nodes)
        return nodes

    def _take_up(self, one):
        field = self.stored.field(one)
        if field.form != "whole":
            raise CannotRead("it has many blocks and no global shape")
        if self.is_uniform and field.variable.varies:
            raise CannotRead("its shape may change")
        nodal = self._is_nodal(field)
        if self.is_flat and not nodal and any(axis.varies for axis in self.axes):
            raise CannotRead("it has values for cells of a 2-d mesh whose axes vary in time")
        self.arrays.append((self.array_name(one), "Node" if nodal else "Cell", field))

    def _is_nodal(self, field):
        """CannotRead when it has values for neither. The first one says how large a uniform mesh is."""
        if not self.nodes:
            nodes = tuple(n if field.variable.nodal else n + 1 for n in field.shape)
            if len(nodes) != self.dims or min(nodes) < 2:
                raise CannotRead(f"its shape {_shape(field.shape)} has no cells of the mesh")
            self.nodes = nodes
        said_nodal = field.variable.nodal if self.is_uniform else field.shape == self.nodes
        if said_nodal and field.shape == self.nodes:
            return True
        if not said_nodal and 0 not in self.cells and field.shape == self.cells:
            return False
        raise CannotRead(f"its shape {_shape(field.shape)} is neither that of the nodes, {_shape(self.nodes)}, nor that of the cells "
                         "between them")

    @property
    def cells(self):
        return tuple(max(n, 1) - 1 for n in self.nodes)

    def shared(self):
        text = ""
        if self.is_line and self.nodes[0] > 1:
            first = np.arange(self.nodes[0] - 1)
            text += shared_values(f"{self.key} lines", np.stack([first, first + 1], 1).ravel())
        if self.is_line and self.is_uniform:
            text += shared_values(f"{self.key} axis", self.mesh.origin[0] + np.arange(self.nodes[0]) * self.mesh.spacing[0])
        if self.is_flat and not self.is_uniform:
            text += shared_values(f"{self.key} plane", [0.0])
            for number_, axis in enumerate(self.axes if self._has("Cell") else ()):
                places = axis.data[(0,) * (len(axis.extents) - 1)].astype("f8")
                text += shared_values(f"{self.key} centres {number_}", (places[:-1] + places[1:]) / 2)
        return text

    def _has(self, center):
        return any(each == center for _, each, _ in self.arrays)

    def step(self, row, inside, time, file):
        if not self.is_flat:
            return self.grid(self.name, row, inside, time, self._topology(), self._geometry(row, file), *self._attributes(row, file))
        both = self._has("Node") and self._has("Cell")
        within = inside or both
        grids = [self._flat(f"{self.name} {what}" if both else self.name, center, row, within, time, file)
                 for center, what in (("Cell", "centres"), ("Node", "nodes"))
                 if self._has(center) or (center == "Node" and not self._has("Cell"))]
        return collection(self.name, inside, time, *grids) if both else grids[0]

    def _attributes(self, row, file, center=None):
        """center: those there alone, of a flat mesh."""
        for name, at, field in self.arrays:
            if center not in (None, at) or (field.varies and row >= field.extents[0]):
                continue
            slab = whole(field, row)
            if center:
                slab.shape = (1, *slab.shape)
            yield _attribute(name, "Node" if center else at, slab, 1, file)

    def _flat(self, name, center, row, inside, time, file):
        """What is at nodes, or in cells."""
        centres = center == "Cell"
        topology = element("Topology", {"TopologyType": "3DCoRectMesh" if self.is_uniform else "3DRectMesh",
                                        "Dimensions": listed((1, *(self.cells if centres else self.nodes)))})
        if self.is_uniform:
            geometry = self._origin(0.5 if centres else 0.0)
        else:
            axes = [shared(f"{self.key} centres {i}") if centres else item(self._axis(axis, row), file) for i, axis in enumerate(self.axes)]
            geometry = element("Geometry", {"GeometryType": "VXVYVZ"}, *axes, shared(f"{self.key} plane"))
        return self.grid(name, row, inside, time, topology, geometry, *self._attributes(row, file, center))

    def _topology(self):
        if self.is_line and self.cells[0] == 0:
            return element("Topology", {"TopologyType": "Polyvertex", "NumberOfElements": 1})
        if self.is_line:
            return element("Topology", {"TopologyType": "Polyline", "NumberOfElements": self.cells[0], "NodesPerElement": 2},
                           shared_rows(f"{self.key} lines", self.cells[0], 2))
        kind = "2DSMesh" if self.dims == 2 else {CURVILINEAR: "3DSMesh", UNIFORM: "3DCoRectMesh"}.get(self.kind, "3DRectMesh")
        return element("Topology", {"TopologyType": kind, "Dimensions": listed(self.nodes)})

    def _geometry(self, row, file):
        if self.is_uniform and not self.is_line:
            return self._origin(0.0)
        kind = "VXVYVZ" if self.kind == RECTILINEAR and not self.is_line else "X_Y_Z" if self.dims == 3 else "X_Y"
        axes = [item(self._axis(axis, row), file) for axis in self.axes]
        return element("Geometry", {"GeometryType": kind}, *axes, *([shared(f"{self.key} axis")] if self.is_uniform else []))

    def _origin(self, shift):
        """In the order z, y, x, as the dimensions of a dataset. shift: in cells."""
        places = [o + shift * s for o, s in zip(self.mesh.origin, self.mesh.spacing)] + [0] * (3 - self.dims)
        spacing = self.mesh.spacing + [1] * (3 - self.dims)
        return element("Geometry", {"GeometryType": "ORIGIN_DXDYDZ"}, *(
            element("DataItem", {"Dimensions": 3, **REALS}, " ".join(map(number, reversed(three)))) for three in (places, spacing)))

    def _axis(self, axis, row):
        """A mesh stays where it is till it is moved. Of an axis that each rank has written, the first one is taken."""
        slab = whole(axis, int(axis.last_written[row]) if axis.varies else 0)
        slab.dtype = self.axis_type
        if self.kind != CURVILINEAR:
            slab.count[:-1] = [1] * (len(slab.count) - 1)
            slab.shape = (slab.count[-1],)
        return slab


class BlocksMesh(Mesh):
    """One whose values lie in blocks. An array is not there in a step in which it is not whole."""

    def __init__(self, stored, number, left_out):
        super().__init__(stored, number, left_out)
        self.arrays = [(self.array_name(one), stored.field(one)) for one in self.shown]

    def _points(self, found, row, file, blocks=slice(None)):
        """Axes that are not said are 0."""
        together = self.axes[0].components if len(self.axes) == 1 else 1
        axes = together if len(self.axes) == 1 else len(self.axes)
        slabs = [elements(axis, found, row, blocks) for axis in self.axes]
        for slab in slabs:
            slab.dtype = self.axis_type
        kind = {3: "XYZ", 2: "XY"}.get(together) or ("X_Y_Z" if axes == 3 else "X_Y")
        return element("Geometry", {"GeometryType": kind}, *(item(slab, file) for slab in slabs))


class CellsMesh(BlocksMesh):
    """Unstructured, with cells of one shape: a Grid is a block of ours, with point numbers of its own. Where a mesh has several
    blocks, or may have, its Grids are a spatial collection."""

    def __init__(self, stored, number, left_out):
        super().__init__(stored, number, left_out)
        self.ids = stored.field(self.mesh.cells[0])
        self.cell, self.cell_points = self._cell()
        self.is_collection = stored.ranks > 1 or bool(self.ids.blocks and self.ids.blocks.has_row_of_several())

    def _cell(self):
        kind = self.mesh.cell_type
        if kind == 0:
            raise CannotRead("XDMF wants the shape of each cell between the points of cells, which would be a second copy of mixed "
                             "cells: open /VTKHDF, or write cells of one shape with cells=\"...\"")
        if kind not in CELLS:
            raise CannotRead(f"XDMF has no cells of VTK's type {kind}: open /VTKHDF")
        name, points = CELLS[kind]
        return name, points or self.ids.components

    def step(self, row, inside, time, file):
        points, ids = common_row(self.axes, row), self.ids.row(row)
        numbers = [count * self.ids.components for count in ids.counts]
        is_whole = points.counts and points.has_blocks_of(ids) and not any(n % self.cell_points for n in numbers)
        cells = tuple(n // self.cell_points for n in numbers) if is_whole else ()
        if not self.is_collection:
            inner = self._block(points, ids, cells, row, 0, file) if len(cells) == 1 and cells[0] > 0 else _nothing()
            return self.grid(self.name, row, inside, time, *inner)
        return collection(self.name, inside, time, *(
            self.grid(_block_name(ids, block), row, True, time, *self._block(points, ids, cells, row, block, file))
            for block, count in enumerate(cells) if count > 0))

    def _block(self, points, ids, cells, row, block, file):
        only = slice(block, block + 1)
        slab = elements(self.ids, ids, row, only)
        slab.shape = (cells[block], self.cell_points)
        yield element("Topology", {"TopologyType": self.cell, "NumberOfElements": cells[block], "NodesPerElement": self.cell_points},
                      item(slab, file))
        yield self._points(points, row, file, only)
        for name, field in self.arrays:
            found, nodal = field.row(row), field.variable.nodal
            if found.has_blocks_of(points) and found.counts[block] == (points.counts if nodal else cells)[block]:
                yield _attribute(name, "Node" if nodal else "Cell", elements(field, found, row, only), field.components, file)


class PointsMesh(BlocksMesh):
    """Particles: one Grid with the points of all blocks, which lie one after the other in the file."""

    def step(self, row, inside, time, file):
        points = common_row(self.axes, row)
        return self.grid(self.name, row, inside, time, *(self._whole(points, row, file) if points.total > 0 else _nothing()))

    def _whole(self, points, row, file):
        yield element("Topology", {"TopologyType": "Polyvertex", "NumberOfElements": points.total})
        yield self._points(points, row, file)
        for name, field in self.arrays:
            found = field.row(row)
            if found.matches(points):
                yield _attribute(name, "Node", elements(field, found, row), field.components, file)


def _made_of(mesh):
    """Numbers of the variables of which it is made."""
    return [] if mesh.kind == UNIFORM else [*mesh.coordinates, *mesh.cells]


def _why_not(variable):
    """"" when VTK can show it, however it is written, and XDMF can name it."""
    why = why_no_name(variable.name) or NO_ARRAY.get(variable.dtype.kind, "")
    if not why and not variable.has_global and any(d.varying for d in variable.dimensions[1:]):
        why = "each of its blocks has a shape of its own"
    if not why and variable.is_packed:
        why = "it is stored as whole numbers, of which VTK makes no values"
    return why


def _time(inside, time):
    return "" if inside else element("Time", {"Value": number(time)})


def _shape(shape):
    return f"({', '.join(map(str, shape))})"


def _block_name(ids, block):
    if block >= len(ids.owners):
        return "block"
    rank, number_ = ids.owners[block]
    return f"rank {rank}" + (f" block {number_}" if number_ > 0 else "")


def _nothing():
    """No cells, and a point that none has: a step that were left out would show the one before. Of a geometry without any point, VTK
    takes the number from memory that nobody has written (XdmfGeometry, to 9.7), and ends with a crash."""
    return (element("Topology", {"TopologyType": "Polyvertex", "NumberOfElements": 0}),
            element("Geometry", {"GeometryType": "XYZ"}, element("DataItem", {"Dimensions": "1 3", **REALS}, "0 0 0")))


def _attribute(name, center, slab, components, file):
    """A vector of two gets a third number, 0, for which large integers go through doubles. Readers count the values of a Matrix
    otherwise when its shape has two dimensions. components: the last dimension of the slab's shape when there are several."""
    is_long = slab.dtype.kind in "iu" and slab.dtype.itemsize == 8
    is_vector = components == 3 or (components == 2 and not is_long)
    kind = "Scalar" if components == 1 else "Vector" if is_vector else "Tensor" if components == 9 else "Matrix"
    if components > 1 and not is_vector:
        slab.shape = (*slab.shape[:-1], 1, slab.shape[-1])
    return element("Attribute", {"Name": name, "AttributeType": kind, "Center": center}, item(slab, file))
