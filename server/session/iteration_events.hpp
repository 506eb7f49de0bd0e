// SPDX-License-Identifier: Apache-2.0
// What happens to iterations, for those who watch the run: how much it was so far, and, while
// somebody wants to know, each event. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace leat::server {

struct IterationEvent {
  enum class Kind {
    open,      ///< its first block has come
    complete,  ///< all ranks have ended it, and it goes to stores and scripts
    stored,    ///< `subject`, a store, has it
    failed,    ///< `subject`, a store, does not have it; `text` says why
    skipped,   ///< `subject`, a store, was busy and has left it out
    dropped,   ///< it is left out; `text` says why
    steered,   ///< `subject`, a parameter, has the value `text` from it on
    signalled  ///< `subject`, an event of the XML, happens in it
  };
  Kind kind = Kind::open;
  std::int64_t iteration = 0;
  std::string subject{}, text{};
  std::string who{};        ///< steered
  std::uint64_t bytes = 0;  ///< complete
  std::int32_t rank = -1;   ///< signalled; -1: not by one rank
  std::uint32_t times = 1;  ///< signalled
  bool is_set_too = false;  ///< steered: the simulation sets it as well, in each iteration
};

class IterationEvents {
 public:
  struct Totals {
    std::uint64_t iterations = 0, bytes = 0;  ///< that were complete
  };

  /// From now on each event is kept until it is taken, or none is.
  void watch(bool watched) noexcept {
    watched_ = watched;
    if (!watched) events_.clear();
  }
  bool is_watched() const noexcept { return watched_; }

  void add(IterationEvent event) {
    if (watched_) events_.push_back(std::move(event));
  }
  void complete(std::int64_t iteration, std::uint64_t bytes) {
    ++totals_.iterations;
    totals_.bytes += bytes;
    add({IterationEvent::Kind::complete, iteration, {}, {}, {}, bytes, -1, 1});
  }

  void signalled(std::int64_t iteration, const std::string& event, std::int32_t rank,
                 std::uint32_t times) {
    add({IterationEvent::Kind::signalled, iteration, event, {}, {}, 0, rank, times});
  }

  std::vector<IterationEvent> take() { return std::exchange(events_, {}); }
  const Totals& totals() const noexcept { return totals_; }

 private:
  bool watched_ = false;
  std::vector<IterationEvent> events_;
  Totals totals_;
};

}  // namespace leat::server
