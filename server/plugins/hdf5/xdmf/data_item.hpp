// SPDX-License-Identifier: Apache-2.0
// XDMF's DataItems: how values in the HDF5 file, and few that are in the XML itself, are named.
// Source: "XDMF Model and Format" (xdmf.org).
//
// What readers make of it has left its marks (vtkXdmfReader of VTK 9.2 to 9.7):
//   - Whatever changes in time, and even what does not, is a HyperSlab: a dataset named alone is
//     read whole, by the size that it has when it is read, and ours grow.
//   - There is no white space within: a mesh is taken for that of the step before when its DataItem
//     begins with the same text (vtkXdmfHeavyData::ReadUniformData), and that would be the space.
//   - Places have 64 bits, which is not the default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/vtkhdf/field.hpp"
#include "server/plugins/hdf5/xdmf/xml_stream.hpp"

namespace leat::hdf5::xdmf {

/// A part of a dataset.
struct Slab {
  std::string path;
  std::uint32_t type = 0;  ///< enum leat_scalar
  Shape extents;           ///< of the dataset
  Shape start, count;
  Shape shape;  ///< in which it is shown: as many values as `count`
};

/// Where the steps go: the XML, and the name by which it calls the HDF5 file.
struct Output {
  XmlStream& xml;
  std::string file;
};

void put(const Output& to, const Slab& slab);
/// Values in the XML, at the head of it, for put_shared() to name.
void put_values(XmlStream& xml, const std::string& name, const std::vector<double>& values);
void put_numbers(XmlStream& xml, const std::string& name, const std::vector<std::int64_t>& values);
void put_shared(XmlStream& xml, const std::string& name);
/// The same as rows of `columns` values.
void put_shared_rows(XmlStream& xml, const std::string& name, hsize_t rows, hsize_t columns);

/// Why a dataset cannot be named; "" when it can.
std::string why_no_name(const std::string& path);
/// "3 4 5"
std::string listed_plainly(const Shape& numbers);

/// All of a variable that has one array for each iteration.
Slab whole(const vtk::Field& field, const Shape& extents, hsize_t row);
/// Elements of blocks, as Elements::at() found them: of one block, or of all of the row. `columns`
/// is what an element is shown as, 0 for as it is.
Slab elements(const vtk::Elements& of, const Shape& extents, const vtk::Elements::Row& found,
              hsize_t row, std::size_t first_block, std::size_t blocks);

}  // namespace leat::hdf5::xdmf
