// SPDX-License-Identifier: Apache-2.0
// What this client has asked its server for, and what became of it: memory given, refused, or not
// needed because the iteration is left out. Private to the process; called with the session's mutex
// held.
#pragma once

#include <cstdint>

#include "lib/base/status.hpp"
#include "lib/shm/leases.hpp"

namespace leat::client {

/// A thread that waits for a region for its one block; lives on that thread's stack.
struct OwnRequest {
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;
  bool asked = false;
  shm::Region region;  ///< no bytes: not there yet
  Status answer = Status::OK;
  OwnRequest* next = nullptr;
};

/// Why the last request was refused; with no bytes it was not.
struct Refusal {
  shm::RefusalReason reason = shm::RefusalReason::hopeless;
  std::int64_t iteration = 0;  ///< that has the memory
  std::uint64_t in_use = 0;    ///< bytes
};

class LeaseRequests {
 public:
  /// How a common region was asked for. With `ahead` nobody waits for it.
  enum class Asked { nothing, ahead, urgently };

  void begin(OwnRequest& request) noexcept;
  void end(OwnRequest& request) noexcept;
  /// The event that asks for it.
  static shm::Event event_of(const OwnRequest& request, std::int64_t iteration) noexcept;
  /// The event that asks for a common region; it counts as asked once common_is_asked says so.
  shm::Event common_event(std::uint64_t bytes, Asked how, std::int64_t iteration) noexcept;
  void common_is_asked(std::uint64_t token, Asked how) noexcept;
  /// Should the answer have been lost on its way, the next call asks once more.
  void forget_common() noexcept { common_ = Asked::nothing; }
  Asked common() const noexcept { return common_; }
  /// Of the request for a common region, since expect_common().
  bool is_refused() const noexcept { return common_refused_; }
  void expect_common() noexcept { common_refused_ = false; }

  /// The request that a region is for, to which it is given. Null: it is a common one, or nobody
  /// waits for it any more.
  OwnRequest* take(const shm::Release& release) noexcept;
  void refuse(const shm::Release& release) noexcept;
  void drop(const shm::Release& release) noexcept;
  /// Of a server that has died, which a successor does not know.
  void ask_again() noexcept;

  const Refusal& refusal() const noexcept { return refusal_; }
  void forget_refusal() noexcept { refusal_ = {}; }
  /// The last iteration that an answer, or this client, left out.
  std::int64_t dropped() const noexcept { return dropped_; }
  void set_dropped(std::int64_t iteration) noexcept { dropped_ = iteration; }

 private:
  OwnRequest* find(std::uint64_t token) noexcept;

  OwnRequest* own_ = nullptr;
  std::uint64_t next_token_ = 1;
  Asked common_ = Asked::nothing;
  std::uint64_t common_token_ = 0;
  bool common_refused_ = false;
  Refusal refusal_;
  std::int64_t dropped_ = shm::kNoIteration;
};

}  // namespace leat::client
