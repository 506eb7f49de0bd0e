// SPDX-License-Identifier: Apache-2.0
// The clocks of all ranks of a communicator, through computing and dissemination all-reduces: D.
// Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988).
#pragma once

#include <cstdint>
#include <vector>

#include "lib/predict/compute_times.hpp"
#include "lib/predict/interruptions.hpp"
#include "lib/predict/machine.hpp"

namespace leat::predict {

/// In round k, of ceil(log2 P), rank r sends to rank r + 2^k and then receives from rank r - 2^k, both
/// modulo P. It sends when it has received in the round before. A send takes o of CPU time, then
/// the message is gone, and its first byte is there L later. A receive begins when that is there
/// and the rank has nothing else to do; it takes o of CPU time, and then the other bytes their time.
///
/// 40 bytes a rank, 56 where the gap between messages can bind.
class RankClocks {
 public:
  /// `bursts` may be null, and outlives this.
  RankClocks(const MessageCosts& costs, std::int64_t ranks, std::int64_t ranks_per_node,
             const BurstSource* bursts);

  /// All ranks compute, then arrive at that collective.
  void compute(const ComputeTimes& times, std::int64_t collective);
  /// All ranks go through one.
  void all_reduce();

  const std::vector<std::int64_t>& now() const { return now_; }
  /// Of the last rank.
  std::int64_t last() const;
  /// How long the first rank that arrived waited for the last one.
  std::int64_t arrival_spread() const { return last_arrival_ - first_arrival_; }

 private:
  void receive_from(std::int64_t begin, std::int64_t end, std::int64_t offset, bool is_last);
  std::int64_t receive(std::size_t rank, std::int64_t sender_gone, bool is_last);
  std::int64_t send(std::size_t rank, std::int64_t from);

  MessageCosts costs_;
  Interruptions interruptions_;
  std::vector<std::int64_t> now_;   ///< in a collective: when the rank's message was gone
  std::vector<std::int64_t> then_;  ///< the same after the round that is being computed
  std::vector<std::int64_t> may_send_, may_receive_;  ///< empty where the gap cannot bind
  std::int64_t first_arrival_ = 0, last_arrival_ = 0;
};

}  // namespace leat::predict
