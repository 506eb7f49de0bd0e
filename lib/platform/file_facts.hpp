// SPDX-License-Identifier: Apache-2.0
// What the system says of a file or folder.
#pragma once

#include <cstdint>
#include <string>

namespace leat::platform {

struct FileFacts {
  int error = 0;  ///< an errno; the rest holds when it is 0
  bool is_file = false;
  bool is_folder = false;
  bool everybody_may_write = false;
  bool is_own = false;      ///< ours or root's
  std::uint64_t stamp = 0;  ///< another one when the file has been changed or replaced
};

/// Follows links. On a network file system this may take long.
FileFacts facts_of(const std::string& path);

}  // namespace leat::platform
