// SPDX-License-Identifier: Apache-2.0
// Which iterations stores and scripts are at: whose blocks are being read, and for which the
// simulation waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

namespace leat::server {

class UnderWay {
 public:
  /// Blocks of it are held so many times.
  void hold(std::int64_t iteration, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) held_.insert(iteration);
  }
  void release(std::int64_t iteration) { held_.erase(held_.find(iteration)); }
  bool anything_held() const noexcept { return !held_.empty(); }

  /// The simulation waits for it.
  void await(std::int64_t iteration) { awaited_.insert(iteration); }
  /// If it did.
  void came(std::int64_t iteration) { awaited_.erase(iteration); }

  /// INT64_MAX for none.
  std::int64_t oldest_held() const noexcept { return held_.empty() ? INT64_MAX : *held_.begin(); }
  std::int64_t oldest_awaited() const noexcept {
    return awaited_.empty() ? INT64_MAX : *awaited_.begin();
  }

 private:
  std::multiset<std::int64_t> held_;
  std::set<std::int64_t> awaited_;
};

}  // namespace leat::server
