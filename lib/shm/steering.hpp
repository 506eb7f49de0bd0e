// SPDX-License-Identifier: Apache-2.0
// Steering: the server gives a parameter a value, and every client of the node has it from the same
// iteration on. Nobody waits for anybody. SteeringWriter is the server's event loop's; a
// SteeringReader is used by one thread of its client at a time.
//
// A value is proposed for an iteration E that nobody is in yet, as far as the server knows. Whether
// that was true is decided once, in one word of the slot, SteeringSlot::decision:
//
//   server   1. writes value and E, then `proposed`, then a new SteeringHeader::version
//            2. looks at every client's ClientLane::iteration
//            3. all < E: turns `proposed` into `committed`; else into `withdrawn`, tries a later E
//   client   1. enters iteration k: stores k in its lane
//            2. looks at the version, and at the slots when it has changed or an E has come
//            3. sees `proposed` with E <= k: turns it into `withdrawn`; `committed`: has the value
//
// Why all clients agree:
// - Steps 1 and 2 are all sequentially consistent, and each side stores before it looks. So when the
//   server proposes while a client enters E or later, either the client sees the proposal or the
//   server sees the client (Dekker): what some client has passed unseen is never committed.
// - What a client does see has one outcome for everybody, because `proposed` is left by one
//   compare-and-swap. The word holds the value's sequence too, so a client that was stopped between
//   looking and swapping cannot withdraw a later value.
//
// This is the one word of the segment that more than one process writes. With single-writer words
// alone, processes that may stop at any instruction cannot agree without waiting for each other
// (Herlihy, Wait-free Synchronization, 1991): a client that finds an undecided proposal would have to
// wait for the server up to some limit, and a server that is stopped just before it decides would
// still leave clients with two opinions. A killed or stopped process leaves this word in one state or
// the next, and holds up nobody.
//
// A committed slot is written again when every live client is in an iteration later than E: each has
// looked at it while it was in E. A client that the server wrongly takes for dead may look while it
// is written: `decision` changes before the fields do, and is looked at again after them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "lib/shm/segment.hpp"

namespace leat::shm {

/// A value as slots hold it. Which of the three it is, the parameter's kind says.
struct SteeredValue {
  std::uint32_t text_bytes = 0;
  std::array<std::uint64_t, 32> words{};

  static SteeredValue of(std::int64_t integer) noexcept;
  static SteeredValue of(double real) noexcept;
  /// At most kMostSteeredText bytes.
  static SteeredValue of(std::string_view text) noexcept;
  std::int64_t integer() const noexcept { return static_cast<std::int64_t>(words[0]); }
  double real() const noexcept;
  std::string_view text() const noexcept;
};

class SteeringWriter {
 public:
  /// Goes on from what the slots hold.
  explicit SteeringWriter(const Segment& segment);

  /// Makes the value visible as `proposed`, in place of what the slot held.
  void propose(std::uint32_t slot, std::int64_t effective, const SteeredValue& value) noexcept;
  /// The caller has seen, after propose, that every live client is before `effective`. False when a
  /// client came there since and has withdrawn it.
  bool commit(std::uint32_t slot) noexcept { return decide(slot, SteeringState::committed); }
  void withdraw(std::uint32_t slot) noexcept { (void)decide(slot, SteeringState::withdrawn); }
  bool is_committed(std::uint32_t slot) const noexcept;
  SteeredValue value(std::uint32_t slot) const noexcept;

 private:
  bool decide(std::uint32_t slot, SteeringState outcome) noexcept;

  SteeringArea area_;
  std::vector<std::uint64_t> sequences_;  // of each slot's value; private, as clients could write
  std::uint64_t next_sequence_ = 1;
};

class SteeringReader {
 public:
  SteeringReader(const Segment& segment, std::uint32_t client);

  /// This client is in `iteration` from now on; numbers only grow. Calls take(slot, value) for each
  /// value that is effective in it and was not taken before. One store and one load when there is
  /// nothing new.
  template <class Take>
  void enter(std::int64_t iteration, Take take) {
    // Both sequentially consistent, see above; on x86-64 the load costs what a relaxed one costs.
    iteration_.store(iteration, std::memory_order_seq_cst);
    const std::uint32_t version = area_.header->version.load(std::memory_order_seq_cst);
    if (version == seen_version_ && iteration < next_effective_) return;
    seen_version_ = version;
    next_effective_ = kNone;
    SteeredValue value;
    for (std::uint32_t slot = 0; slot < area_.slots.size(); ++slot) {
      if (takes(slot, iteration, &value)) take(slot, value);
    }
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  bool takes(std::uint32_t slot, std::int64_t iteration, SteeredValue* value) noexcept;

  SteeringArea area_;
  std::atomic<std::int64_t>& iteration_;
  std::uint32_t seen_version_ = 0;
  std::int64_t next_effective_ = kNone;  // when to look again although no version has changed
  std::vector<std::uint64_t> taken_;     // sequence of the last value taken from each slot
};

}  // namespace leat::shm
