// SPDX-License-Identifier: Apache-2.0
// What a store takes of iterations, as the XML says.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/store_events.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

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
