// SPDX-License-Identifier: Apache-2.0
// Iterations that were left out, whole and on all ranks. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "server/session/iteration_tracker.hpp"
#include "server/session/run.hpp"
#include "server/session/session_journal.hpp"

namespace leat::server {

class Dropped {
 public:
  Dropped(const Run& run, const IterationTracker& iterations, SessionJournal& journal)
      : run_(run), iterations_(iterations), journal_(journal) {}

  /// From now on; all ranks see it.
  void add(std::int64_t iteration);
  bool has(std::int64_t iteration) const { return numbers_.count(iteration) > 0; }
  std::size_t count() const noexcept { return numbers_.size(); }
  const std::set<std::int64_t>& numbers() const noexcept { return numbers_; }
  /// "3 iterations left out (4, 7-8)"; "" for none.
  std::string text() const;

  // Going on where a server has died
  void take_entry(const nlohmann::json& numbers) {
    numbers_.insert(numbers.begin(), numbers.end());
  }
  std::vector<nlohmann::json> entries() const;

 private:
  const Run& run_;
  const IterationTracker& iterations_;
  SessionJournal& journal_;
  std::set<std::int64_t> numbers_;
};

}  // namespace leat::server
