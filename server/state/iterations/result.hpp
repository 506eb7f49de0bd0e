// SPDX-License-Identifier: Apache-2.0
// What becomes of an iteration in the stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// What is wrong with the blocks of an iteration, though each of them is right.
struct Finding {
  const char* what = "";  ///< "holes" or "overlap"
  std::uint32_t variable = 0;
  std::int64_t iteration = 0;
  std::string text;  ///< the same as long as it is the same that is wrong
};

// What the pipeline is given, and what it says of it.

using Work = std::variant<Iteration, Publication>;

/// What became of one iteration, or of what somebody made of it, at one store.
struct StoreOutcome {
  std::string store;
  std::string error;     ///< empty: stored, or skipped
  bool skipped = false;  ///< left out, as the XML allows: the store was busy and others waited
};

/// What became of one piece of work, in order; but for what comes late.
struct PipelineResult {
  /// awaited: those stores have an iteration that the simulation waits for. late: from a store that
  /// was still busy with one when the others were done with it.
  enum class Kind { opened, awaited, iteration, late, products, closed } kind = Kind::iteration;
  std::int64_t iteration = 0;
  std::vector<StoreOutcome> outcomes{};  ///< of the stores that were called, with the iteration
  std::vector<StoreOutcome> products{};  ///< of those that were called with what was made of it
  std::vector<BlockProblem> problems{};  ///< of blocks whose checksums are not theirs
  std::vector<Finding> findings{};       ///< of global arrays, whose blocks are all right
  std::size_t at_work = 0;               ///< stores whose outcome comes late
  Work work{};                           ///< what it is about; its blocks are held until this ends
};

}  // namespace leat::server
