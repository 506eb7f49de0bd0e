// SPDX-License-Identifier: Apache-2.0
#include "server/derive/constants.hpp"

#include <algorithm>
#include <utility>

#include "lib/model/wanted.hpp"

namespace leat::server {

Constants::Constants(const model::Model& model, std::shared_ptr<Log> log)
    : model_(model), log_(std::move(log)) {
  const auto want = [&](std::uint32_t variable) {
    if (!model.variables[variable].time_varying) wanted_.insert(variable);
  };
  for (const std::uint32_t each : model.derived_order) {
    const model::Derived& derived = *model.variables[each].derived;
    for (const model::Derived::Input& input : derived.inputs) {
      if (!input.is_parameter) want(input.number);
    }
    for (const std::uint32_t coordinate : model::coordinates_of(derived)) want(coordinate);
  }
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    const std::vector<std::uint32_t>& stores = model.variables[i].stores;
    const bool is_in_periods = std::any_of(stores.begin(), stores.end(), [&](std::uint32_t each) {
      return model.stores[each].period.has_value();
    });
    if (is_in_periods) want(i);
  }
}

void Constants::take(const Iteration& iteration, Sums* sums) const {
  for (const Block& block : iteration.blocks) {
    if (wanted_.count(block.variable) == 0) continue;
    Sum* const sum = room_for(block, sums);
    if (!sum) continue;
    std::copy_n(static_cast<const char*>(block.data), block.bytes,
                reinterpret_cast<char*>(sum->array(0, 0)));
    sum->head().slots[0].number.store(1);
  }
}

// Null where there is none.
Sum* Constants::room_for(const Block& block, Sums* sums) const {
  const std::size_t dims = layout_of(block.variable).dimensions.size();
  Sum* const sum = sums->own(block);
  if (sum && sum->is_like(block, dims)) return sum;
  Result<Sum*> made = sums->make(block, dims, 0, sum);
  if (made) return *made;
  log_->error("\"{}\" of rank {} cannot be kept for what is made of it: {}",
              model_.variables[block.variable].name, block.rank, made.error().message);
  return nullptr;
}

std::vector<Block> Constants::blocks(std::uint32_t variable, Sums* sums) const {
  std::vector<Block> all;
  for (const Sum* const sum : sums->all_of(variable)) {
    if (sum->head().slots[0].number.load() == 0) continue;
    all.push_back(sum->as_block());
    all.back().data = sum->array(0, 0);
    all.back().bytes = sum->head().elements * scalar_bytes(layout_of(variable).type);
  }
  return all;
}

}  // namespace leat::server
