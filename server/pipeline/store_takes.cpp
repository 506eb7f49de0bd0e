// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/store_takes.hpp"

#include <algorithm>

namespace leat::server {

StoreTakes::StoreTakes(const model::Model& model, std::uint32_t store, bool is_told)
    : every_(model.stores[store].every), events_(model, store, is_told) {
  for (const model::Variable& each : model.variables)
    variables_.push_back(std::count(each.stores.begin(), each.stores.end(), store) > 0);
}

bool StoreTakes::is_due(const Iteration& iteration) const {
  return events_.awaits_one() ? events_.one_happens(iteration) : iteration.number % every_ == 0;
}

bool StoreTakes::blocks_of(const Iteration& iteration) const {
  return is_due(iteration) &&
         std::any_of(iteration.blocks.begin(), iteration.blocks.end(),
                     [this](const Block& block) { return variable(block.variable); });
}

}  // namespace leat::server
