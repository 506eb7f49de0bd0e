// SPDX-License-Identifier: Apache-2.0
// What was found of idle phases of the ranks of a node, and what a plugin has made of them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace leat::server {

struct IdleUse {
  double found_seconds = 0;  ///< of all ranks together
  std::uint64_t phases = 0, left_alone = 0, mispredicted = 0;
  double used_seconds = 0;  ///< by pieces, those while ranks waited for Leat or had ended too
  std::uint64_t pieces = 0;
  std::uint64_t outlasted = 0;  ///< pieces that were at work when their phase ended
  double late_seconds = 0;      ///< a core was back so long after its phase at most
};

nlohmann::json json_of(const IdleUse& use);

class IdleUser {
 public:
  virtual ~IdleUser() = default;
  /// So far; from any thread.
  virtual IdleUse use() const noexcept = 0;
};

}  // namespace leat::server
