// SPDX-License-Identifier: Apache-2.0
// The bonds of a run on a disk, so that a server that takes over knows them. Replaced as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/include/plugin.h"

namespace leat::analytics {

using Pair = std::array<std::int64_t, 2>;  ///< numbers of particles, the lesser first

class BondsFile {
 public:
  /// In the working folder, "<store>-...bonds": its name is that of no other run or node.
  explicit BondsFile(const leat_run& run);
  /// Those of this run; nothing where none were written.
  std::optional<std::vector<Pair>> read() const;
  /// Throws std::runtime_error with the reason.
  void write(const std::vector<Pair>& bonds) const;
  /// The run is over.
  void remove() const;

 private:
  std::string path_;
};

}  // namespace leat::analytics
