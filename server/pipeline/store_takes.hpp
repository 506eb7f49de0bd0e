// SPDX-License-Identifier: Apache-2.0
// What a store takes of iterations and events, as the XML says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// Which events of the XML a store waits for, and which its plugin is told of.
class StoreEvents {
 public:
  /// `is_told`: the plugin can be.
  StoreEvents(const model::Model& model, std::uint32_t store, bool is_told)
      : model_(model), awaits_one_(model.stores[store].awaits_event) {
    const auto has = [store](const std::vector<std::uint32_t>& stores) {
      return std::count(stores.begin(), stores.end(), store) > 0;
    };
    for (const model::Event& event : model.events) {
      awaited_.push_back(has(event.stores));
      told_.push_back(is_told && has(event.told));
    }
  }

  /// It takes only iterations for which one_happens().
  bool awaits_one() const noexcept { return awaits_one_; }
  bool one_happens(const Iteration& iteration) const { return any(iteration, awaited_); }
  bool any_to_tell(const Iteration& iteration) const { return any(iteration, told_); }
  bool is_told(const Signal& signal) const { return told_[signal.event] != 0; }
  const char* name(const Signal& signal) const { return model_.events[signal.event].name.c_str(); }

 private:
  static bool any(const Iteration& iteration, const std::vector<std::uint8_t>& which) {
    return std::any_of(iteration.signals.begin(), iteration.signals.end(),
                       [&](const Signal& signal) { return which[signal.event] != 0; });
  }

  const model::Model& model_;
  bool awaits_one_;
  std::vector<std::uint8_t> awaited_, told_;  // by event
};

// What a store takes of iterations, as the XML says.
class StoreTakes {
 public:
  /// `is_told`: its plugin is told of events.
  StoreTakes(const model::Model& model, std::uint32_t store, bool is_told);

  const StoreEvents& events() const noexcept { return events_; }
  bool variable(std::uint32_t variable) const { return variables_[variable] != 0; }
  /// True when it takes the variable in this iteration.
  bool variable(std::uint32_t number, const Iteration& iteration) const {
    return is_due(iteration) && variable(number);
  }
  bool blocks_of(const Iteration& iteration) const;
  /// It takes blocks, or is told of events.
  bool something_of(const Iteration& iteration) const {
    return blocks_of(iteration) || events_.any_to_tell(iteration);
  }

 private:
  bool is_due(const Iteration& iteration) const;

  std::int64_t every_;
  StoreEvents events_;
  std::vector<std::uint8_t> variables_;
};

}  // namespace leat::server
