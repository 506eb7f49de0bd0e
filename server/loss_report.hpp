// SPDX-License-Identifier: Apache-2.0
// What was not stored, and what was: the last word of the server to its clients and its log.
#pragma once

#include <cstdint>
#include <map>
#include <set>
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
  /// Left out, as when-full says: no loss.
  void iteration_dropped(std::int64_t iteration, const std::string& why);
  void store_did(const PipelineResult& result);

  bool anything_lost() const noexcept { return !losses_.empty() || lost_blocks_ > 0; }
  /// "3 iterations left out (4, 7-8)"; "" when none was.
  std::string dropped_iterations() const;
  std::uint64_t stored_iterations() const noexcept { return stored_; }
  /// One line per kind of loss, and for what was left out, the first cases named; "" for neither.
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
  std::set<std::int64_t> dropped_;
  std::string why_dropped_;  // of the first
  std::uint64_t stored_ = 0;
};

}  // namespace leat::server
