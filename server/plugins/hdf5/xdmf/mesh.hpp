// SPDX-License-Identifier: Apache-2.0
// One mesh of the run as XDMF's Grids, one for each step.
//
//   uniform       3DCoRectMesh
//   rectilinear   3DRectMesh; 2-d ones of both are flat ones of these, see GridMesh::is_flat()
//   curvilinear   3DSMesh, 2DSMesh
//   any of 1-d    Polylines: VTK reads no values of cells where a structured mesh is one cell wide
//   unstructured  cells of one shape, a Grid for each block where there are several
//   points        Polyvertex
//
// All kinds read the file as it is when they are made, and are made anew for each sidecar.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/vtkhdf/field.hpp"
#include "server/plugins/hdf5/xdmf/data_item.hpp"

namespace leat::hdf5::xdmf {

using vtk::Target;

/// An iteration in which something of a mesh was written.
struct Step {
  hsize_t row;
  std::int64_t iteration;
  double time;
};

/// What a sidecar does not show, and why: a sentence each.
using LeftOut = std::set<std::string>;

/// A variable on points or cells of blocks.
struct BlockArray {
  std::string name;
  vtk::Elements values;
  Shape extents;

  bool is_nodal() const { return values.field().variable->centering == LEAT_NODAL; }
};

class Mesh {
 public:
  virtual ~Mesh() = default;
  /// What steps refer to, at the head of the XML.
  virtual void put_shared(XmlStream&) const {}
  /// Puts what the file has of it in this step, as one Grid; `inside`: of another, which says the
  /// time.
  virtual void put(const Output& to, const Step& step, bool inside) = 0;
  /// Whether it, or something on it, was written in the row. To be asked in ascending order.
  bool is_written(hsize_t row) { return written_.at(row); }
  std::string name() const { return mesh_.name; }

 protected:
  Mesh(const Target& target, std::uint32_t number, LeftOut* left_out);

  /// Variables on it that are in the file and can be shown.
  const std::vector<std::uint32_t>& variables() const { return variables_; }
  /// The same as arrays of elements.
  std::vector<BlockArray> block_arrays() const;
  vtk::Field field_of(std::uint32_t variable) const {
    return vtk::field_in(target_, variable).value();
  }
  void leave_out(std::uint32_t variable, const std::string& why) const;
  std::string array_name(std::uint32_t variable) const;

  Target target_;
  const leat_mesh& mesh_;

 private:
  std::vector<std::uint32_t> find_variables() const;

  LeftOut* left_out_;
  std::vector<std::uint32_t> variables_;
  vtk::RowsOfAny written_;
};

/// The mesh; none while the file does not have all that it is made of. Throws when XDMF cannot show
/// it.
using MakeMesh = std::unique_ptr<Mesh>(const Target& target, std::uint32_t number,
                                       LeftOut* left_out);
MakeMesh make_mesh;
/// The same of one that is whole.
MakeMesh make_grid_mesh, make_cells_mesh, make_points_mesh;

/// Its name has the iteration in it: readers give Grids of the same name others by trying all
/// numbers, which takes them minutes where there are thousands
/// (vtkXdmfDomain::CollectLeafMetaData).
void begin_grid(XmlStream& xml, const std::string& name, const Step& step, bool inside);
void begin_collection(XmlStream& xml, const std::string& name, const Step& step, bool inside);

/// No cells, and a point that none has, in the Grid that is begun: a step that were left out would
/// show the one before.
void put_nothing(XmlStream& xml);

/// Values at points ("Node") or in cells ("Cell"), in the Grid that is begun. `components`: of each
/// value; they are the last dimension of the slab's shape when there are several.
void put_attribute(const Output& to, const std::string& name, const char* center, const Slab& slab,
                   hsize_t components);

/// Point coordinates of blocks.
class Points {
 public:
  Points(const Target& target, const std::vector<vtk::Field>& axes);
  /// Their blocks in a row, none when the coordinates do not fit each other.
  vtk::Elements::Row at(hsize_t row);
  /// The Geometry of some of these blocks.
  void put(const Output& to, const vtk::Elements::Row& found, hsize_t row, std::size_t first_block,
           std::size_t blocks) const;

 private:
  std::vector<vtk::Elements> axes_;
  std::vector<Shape> extents_;
  std::uint32_t type_;  // readers take that of the first axis for all of them
};

}  // namespace leat::hdf5::xdmf
