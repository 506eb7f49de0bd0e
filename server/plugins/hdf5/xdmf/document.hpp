// SPDX-License-Identifier: Apache-2.0
// All steps of a file in XDMF 2. A step is an iteration in which something of a mesh was written,
// as in /VTKHDF; several meshes are a collection in each.
#pragma once

#include <functional>
#include <string>

#include "server/plugins/hdf5/xdmf/mesh.hpp"

namespace leat::hdf5::xdmf {

struct Facts {
  hsize_t steps = 0;  ///< 0: there is nothing that could be shown
  LeftOut left_out;
};

/// How a document of `file_name` begins, behind the XML declaration.
std::string mark_of(const std::string& file_name);

/// Writes it to `path`, for tools that find `file` by the name `file_name` beside it. All rows that
/// `file` has are there to stay. Calls `progress` with each step.
Facts write_document(hid_t file, const leat_run& run, const std::string& path,
                     const std::string& file_name, const std::function<void()>& progress);

}  // namespace leat::hdf5::xdmf
