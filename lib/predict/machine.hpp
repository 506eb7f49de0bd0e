// SPDX-License-Identifier: Apache-2.0
// A machine as the LogGOPS model sees it: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim:
// Simulating Large-Scale Applications in the LogGOPS Model", LSAP 2010.
#pragma once

#include <cstdint>

#include "lib/base/status.hpp"

namespace leat::predict {

/// The longest time that may be said of anything, in ns: eleven days. Sums of them stay far from
/// the end of 64 bits.
inline constexpr std::int64_t kLongestNs = 1'000'000'000'000'000;

/// Times in ns. The defaults are those of LogGOPSim.
struct Machine {
  std::int64_t latency = 2500;            ///< L: of the network, for the first byte
  std::int64_t overhead = 1500;           ///< o: CPU time of a send, and of a receive
  std::int64_t gap = 1000;                ///< g: between two sends of a rank, and two receives
  double gap_per_byte = 6;                ///< G
  double overhead_per_byte = 0;           ///< O
  std::int64_t rendezvous_bytes = 65535;  ///< S: larger messages wait for their receiver
};

/// What every message of an all-reduce costs, of so many bytes, in ns.
struct MessageCosts {
  std::int64_t overhead = 0;   ///< o
  std::int64_t latency = 0;    ///< L
  std::int64_t sending = 0;    ///< (s-1)O: CPU time of the sender behind o, the message being gone
  std::int64_t receiving = 0;  ///< max((s-1)O, (s-1)G): of the receiver, behind o
  std::int64_t send_gap = 0;   ///< g + (s-1)G between starts of two sends, and of two receives
  bool gap_can_bind = false;   ///< otherwise a rank is too slow to notice it
};

/// Fails when there is no such machine, or messages of that size would have to wait for receivers.
Result<MessageCosts> message_costs(const Machine& machine, std::int64_t bytes);

/// Rounds of a dissemination among so many ranks: ceil(log2 ranks).
int rounds_among(std::int64_t ranks);

}  // namespace leat::predict
