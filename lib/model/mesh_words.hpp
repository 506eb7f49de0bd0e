// SPDX-License-Identifier: Apache-2.0
// The words of the XML for meshes.
#pragma once

#include <string>

#include "lib/model/model.hpp"

namespace leat::model {

inline Mesh::Kind mesh_kind_of(const std::string& word) {
  if (word == "rectilinear") return Mesh::Kind::rectilinear;
  if (word == "curvilinear") return Mesh::Kind::curvilinear;
  if (word == "unstructured") return Mesh::Kind::unstructured;
  return word == "points" ? Mesh::Kind::points : Mesh::Kind::uniform;
}

struct CellShape {
  const char* word;
  std::uint32_t vtk;  ///< VTK's number. Source: vtkCellType.h
};

inline constexpr CellShape kCellShapes[] = {{"vertex", 1}, {"line", 3},         {"triangle", 5},
                                            {"quad", 9},   {"tetrahedron", 10}, {"hexahedron", 12},
                                            {"wedge", 13}, {"pyramid", 14}};

/// 0 for "".
inline std::uint32_t cell_type_of(const std::string& word) {
  for (const CellShape& shape : kCellShapes) {
    if (word == shape.word) return shape.vtk;
  }
  return 0;
}

}  // namespace leat::model
