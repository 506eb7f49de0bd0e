// SPDX-License-Identifier: Apache-2.0
// damaris_initialize takes a path or the XML itself, and Leat a path that all nodes see: a text becomes a file in the
// working folder, which is there as long as a server may read it.
#pragma once

#include <mpi.h>

#include <string>

namespace leat::damaris {

class GivenXml {
 public:
  GivenXml() = default;
  /// Collective: what the first rank has been given counts. False, and said, when there is no place for the file.
  bool take(const char* config, MPI_Comm comm);
  /// Null where none was given.
  const char* path() const noexcept { return is_given_ ? path_.c_str() : nullptr; }
  /// The file is no longer needed. One whose XML has errors stays, for the lines that they name.
  void remove();

 private:
  std::string path_;
  bool is_given_ = false;
  bool is_own_ = false;  ///< made by this rank
};

}  // namespace leat::damaris
