// SPDX-License-Identifier: Apache-2.0
// What lies in a segment and is not in the files yet: for those who find it without its processes,
// and for those who look at it while it lives. Only reads; a segment that is in use changes
// meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/shm/catalogue.hpp"
#include "lib/shm/segment.hpp"

namespace leat::shm {

struct Undrained {
  struct Held {
    std::uint64_t blocks = 0, bytes = 0;
  };

  /// "" or why nothing of it can be read: it is of another version of Leat, or broken.
  std::string problem;
  /// Ranks have handed something over in this run, be it stored or not.
  bool begun = false;
  std::set<std::int64_t> iterations;      ///< of which blocks are waiting
  std::map<std::string, Held> variables;  ///< by name
  std::uint64_t blocks = 0, bytes = 0;
  std::int64_t done = -1;               ///< the last iteration that is through all stores
  std::uint32_t failovers_in_vain = 0;  ///< servers in a row that died with it
  std::optional<RunText> run;

  /// Its end must be seen to before it may be removed.
  bool must_stay() const noexcept { return begun || !problem.empty(); }
};

Undrained undrained_in(const Segment& segment);
/// Of a segment by its name, which is mapped for reading. One that was never finished holds
/// nothing.
Undrained undrained_in(const std::string& name);
/// For node::sweep.
bool must_stay(const std::string& name);

}  // namespace leat::shm
