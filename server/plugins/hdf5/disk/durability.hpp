// SPDX-License-Identifier: Apache-2.0
// When what is written is on the disk for good: durability="iteration|close|none".
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace leat::hdf5 {

enum class Durability {
  iteration,  ///< each commit survives a power cut
  close,      ///< what was closed does; till then it is up to the system when it writes
  none        ///< that is always up to the system
};

/// Of an option's value; "" is the default, "close". Throws for what is none of them.
inline Durability durability_from(const std::string& text) {
  if (text == "iteration") return Durability::iteration;
  if (text == "close" || text.empty()) return Durability::close;
  if (text == "none") return Durability::none;
  throw std::runtime_error("option durability=\"" + text +
                           "\": expected \"iteration\", \"close\" or \"none\"");
}

/// Data of an open file, and its length, are on the disk after this. 0 or an errno. After a failure
/// nobody knows what is there, and a repetition that succeeds does not say so either.
inline int sync_data(int fd) { return ::fdatasync(fd) == 0 ? 0 : errno; }

/// The same for the names in the folder in which `path` lies.
inline int sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  // EINVAL: a file system that keeps names safe in ways of its own.
  const int code = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return code;
}

}  // namespace leat::hdf5
