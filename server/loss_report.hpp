// SPDX-License-Identifier: Apache-2.0
// What was not stored, and what was: the last word of the server to its clients and its log.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/pipeline.hpp"

namespace leat::server {

class LossReport {
 public:
  /// A write that failed at the client, or whose event made no sense.
  void block_lost(int rank, const std::string& variable, std::int64_t iteration,
                  const std::string& why);
  /// A client died before it had ended `iteration`.
  void client_died(int rank, std::int64_t iteration);
  void store_did(const PipelineResult& result);

  bool anything_lost() const noexcept { return !losses_.empty() || lost_blocks_ > 0; }
  std::uint64_t stored_iterations() const noexcept { return stored_; }
  /// One line per kind of loss, the first cases named; "" when nothing was lost.
  std::string text() const;

 private:
  struct StoreLoss {
    std::vector<std::int64_t> iterations;
    std::uint64_t count = 0;
    std::string why;  // of the first
  };

  std::map<std::string, StoreLoss> losses_;  // by store
  std::uint64_t lost_blocks_ = 0;
  std::string first_lost_block_;
  std::vector<std::string> deaths_;
  std::uint64_t stored_ = 0;
};

}  // namespace leat::server
