// SPDX-License-Identifier: Apache-2.0
// When what is written is on the disk for good: durability="iteration|close|none".
#pragma once

#include <unistd.h>

#include <cerrno>
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

}  // namespace leat::hdf5
