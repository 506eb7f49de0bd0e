// SPDX-License-Identifier: Apache-2.0
// The blocks of an iteration that lie on the disk, in memory while plugins work on it: one
// iteration at a time has memory beside the segment. Waits for the disk: for the pipeline's thread.
#pragma once

#include <memory>
#include <vector>

#include "server/session/iteration.hpp"

namespace leat::server {

class SpilledBlocks {
 public:
  /// Reads them. What cannot be read as it was written is taken out of the iteration, which is not
  /// complete then, and is in problems().
  explicit SpilledBlocks(Iteration* iteration);
  SpilledBlocks(const SpilledBlocks&) = delete;
  /// The blocks' data are null again.
  ~SpilledBlocks();

  const std::vector<BlockProblem>& problems() const noexcept { return problems_; }

 private:
  struct Free {
    void operator()(char* memory) const noexcept;
  };

  Iteration* iteration_;
  std::unique_ptr<char, Free> memory_;
  std::vector<BlockProblem> problems_;
};

}  // namespace leat::server
