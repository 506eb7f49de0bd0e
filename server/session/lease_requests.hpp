// SPDX-License-Identifier: Apache-2.0
// Who waits for memory. Those that need it now come before those that ask ahead, and of each those
// of earlier iterations first: a rank that is behind is never stuck after one that is ahead.
// Private to the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/shm/layout.hpp"

namespace leat::server {

struct LeaseRequest {
  std::uint32_t client = 0;
  std::uint32_t flags = 0;  ///< shm::LeaseFlags
  std::int64_t iteration = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;
  std::int64_t since_ns = 0;  ///< when it came, of the monotonic clock
  bool was_said = false;      ///< that somebody waits for long

  bool is_ahead() const noexcept { return (flags & shm::kLeaseAhead) != 0; }
  bool is_own() const noexcept { return (flags & shm::kLeaseOwn) != 0; }
};

class LeaseRequests {
 public:
  /// A client that waits for as many already is in error: false, and nothing is noted.
  static constexpr std::ptrdiff_t kMost = 1024;
  bool add(const LeaseRequest& request);
  /// The client has ended.
  void forget(std::uint32_t client);

  /// Null: nobody asks for anything.
  const LeaseRequest* first() const noexcept {
    return waiting_.empty() ? nullptr : &waiting_.front();
  }
  /// Takes it off the line.
  LeaseRequest take_first();

  // Of ranks that wait now
  bool somebody_waits() const noexcept { return first_unmet() != nullptr; }
  /// The first in line; null for none.
  const LeaseRequest* first_unmet() const noexcept;
  /// All made in this iteration, taken off the line.
  std::vector<LeaseRequest> take_unmet_of(std::int64_t iteration);
  /// Those that wait since before `before_ns` and were not returned here yet.
  std::vector<LeaseRequest> take_overdue(std::int64_t before_ns);

 private:
  std::vector<LeaseRequest> waiting_;  // by (ahead, iteration, arrival)
};

}  // namespace leat::server
