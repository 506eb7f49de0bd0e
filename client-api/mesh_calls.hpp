// SPDX-License-Identifier: Apache-2.0
// The calls about meshes: which level a block of an amr mesh is of, and where. Called with the
// session's lock held; member functions return the status of the C call, and have complained when it
// is an error.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "client-api/failures.hpp"
#include "client-api/variable_table.hpp"

namespace leat::client {

class MeshCalls {
 public:
  MeshCalls(const shm::Catalogue& catalogue, VariableTable& variables, Failures& failures);

  /// For this block of all variables on the mesh. When it fails nothing is changed.
  Status set_level(const Call& call, const char* mesh, std::uint32_t block, std::int32_t level,
                   const NumberList& position);

 private:
  struct AmrMesh {
    std::string_view name, where;
    std::int64_t dims;
    std::int32_t levels;  ///< 0: not known
    std::vector<std::uint32_t> variables;
  };

  const AmrMesh* find(std::string_view name) const noexcept;
  Error not_found(std::string_view name) const;
  Error refuses(const AmrMesh& mesh, std::uint32_t block, std::int32_t level,
                const NumberList& position) const;

  shm::Catalogue catalogue_;
  VariableTable& variables_;
  Failures& failures_;
  std::vector<AmrMesh> meshes_;
};

}  // namespace leat::client
