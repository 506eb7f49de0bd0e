// SPDX-License-Identifier: Apache-2.0
// Which iterations scripts wait for or work on. The oldest is in the segment, so that a server that
// takes over can say what they may not have been called with.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

namespace leat::server {

/// From any thread.
class PendingIterations {
 public:
  /// `word`: 1 + the oldest, 0 for none.
  explicit PendingIterations(std::atomic<std::int64_t>& word)
      : state_(std::make_shared<State>(word)) {}

  /// It is pending until the last copy ends.
  std::shared_ptr<const void> hold(std::int64_t iteration) const;

 private:
  struct State {
    explicit State(std::atomic<std::int64_t>& its_word) : word(its_word) {}
    void note() { word.store(all.empty() ? 0 : 1 + *all.begin()); }

    std::mutex mutex;
    std::multiset<std::int64_t> all;
    std::atomic<std::int64_t>& word;
  };
  std::shared_ptr<State> state_;
};

}  // namespace leat::server
