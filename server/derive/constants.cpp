// SPDX-License-Identifier: Apache-2.0
#include "server/derive/constants.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/model/wanted.hpp"

namespace leat::server {

namespace {

// Which iterations it takes is known beforehand, and what it has had need not be given again.
bool goes_by_number(const model::Store& store) {
  return !store.due && !store.period && !store.awaits_event && !model::is_checkpoint(store);
}

// Of the two slots what does not vary in time needs one. This one has a number where it came from the run before.
constexpr int kOfRunBefore = 1;

bool has_of_run_before(const std::vector<Sum*>& all) {
  return std::any_of(all.begin(), all.end(), [](const Sum* each) {
    return each->head().slots[kOfRunBefore].number.load() != 0;
  });
}

// Of the whole array, without ghosts.
bool has_cells_of(const Block& a, const Block& b, const model::Layout& layout) {
  bool has_some = a.level == b.level;
  for (std::size_t d = 0; d < layout.dimensions.size(); ++d) {
    const model::Dimension& each = layout.dimensions[d];
    const std::int64_t ghosts = each.ghost_low + each.ghost_high;
    const auto end = [&](const Block& of) { return of.position[d] + of.extent[d] - ghosts; };
    has_some = has_some && a.position[d] < end(b) && b.position[d] < end(a);
  }
  return has_some;
}

bool is_late(const model::Store& store) { return !goes_by_number(store) || store.every > 1; }

}  // namespace

Constants::Constants(const model::Model& model) : model_(model) {
  const auto want = [&](std::uint32_t variable) {
    if (!model.variables[variable].time_varying) for_others_.insert(variable);
  };
  for (const std::uint32_t each : model.derived_order) {
    const model::Derived& derived = *model.variables[each].derived;
    for (const model::Derived::Input& input : derived.inputs) {
      if (!input.is_parameter) want(input.number);
    }
    for (const std::uint32_t coordinate : model::coordinates_of(derived)) want(coordinate);
  }
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    const model::Variable& variable = model.variables[i];
    const bool any_late =
        std::any_of(variable.stores.begin(), variable.stores.end(),
                    [&](std::uint32_t each) { return is_late(model.stores[each]); });
    if (!variable.time_varying && any_late) for_stores_.insert(i);
    if (!variable.time_varying && model.scripts.exist()) for_scripts_.insert(i);
  }
}

// Mostly all stores take the iteration in which it is written.
bool Constants::is_needed(const Block& block, const Iteration& iteration) const {
  if (for_others_.count(block.variable) > 0) return true;
  if (for_stores_.count(block.variable) == 0) return false;
  const std::vector<std::uint32_t>& stores = model_.variables[block.variable].stores;
  return std::any_of(stores.begin(), stores.end(), [&](std::uint32_t each) {
    const model::Store& store = model_.stores[each];
    return !goes_by_number(store) || iteration.number % store.every != 0;
  });
}

void Constants::take(const Iteration& iteration, Sums* sums,
                     std::vector<BlockProblem>* problems) const {
  std::map<std::uint32_t, bool> has_old;  // by variable
  for (const Block& block : iteration.blocks) {
    // What an earlier iteration had is not what the block is now.
    const bool is_needed_now = is_needed(block, iteration);
    const bool is_kept = is_needed_now || for_scripts_.count(block.variable) > 0 ||
                         (for_stores_.count(block.variable) > 0 && sums->own(block));
    if (!is_kept) continue;
    const Result<Sum*> sum = room_for(block, sums);
    if (!sum && !is_needed_now) continue;  // scripts have it, as long as this server lives
    if (!sum) {
      problems->push_back(
          {block.client, block.rank, block.variable, block.block,
           fmt::format("\"{}\", block {} of rank {}, is not kept for what is made of "
                       "it, and for stores that take a later iteration: {}",
                       model_.variables[block.variable].name, block.block, block.rank,
                       sum.error().message),
           block.bytes});
      continue;
    }
    const auto [old, is_first] = has_old.try_emplace(block.variable, false);
    if (is_first) old->second = has_of_run_before(sums->all_of(block.variable));
    if (old->second) forget_replaced(block, *sum, sums);
    SumSlot& slot = (*sum)->head().slots[0];
    slot.number.store(0);
    slot.had.clear();
    (*sum)->head().slots[kOfRunBefore].number.store(0);
    std::copy_n(static_cast<const char*>(block.data), block.bytes,
                reinterpret_cast<char*>((*sum)->array(0, 0)));
    slot.number.store(iteration.number + 1);
  }
}

// What the run before had with other ranks or blocks, where this one has said it anew.
void Constants::forget_replaced(const Block& block, Sum* own, Sums* sums) const {
  const model::Layout& layout = layout_of(block.variable);
  for (Sum* const each : sums->all_of(block.variable)) {
    if (each == own || each->head().slots[kOfRunBefore].number.load() == 0) continue;
    const Block old = each->as_block();
    const bool is_replaced = old.has_position && block.has_position
                                 ? has_cells_of(old, block, layout)
                                 : old.rank == block.rank;
    if (is_replaced) each->head().slots[0].number.store(0);
  }
}

Result<Sum*> Constants::room_for(const Block& block, Sums* sums) const {
  const std::size_t dims = layout_of(block.variable).dimensions.size();
  Sum* const sum = sums->own(block);
  if (sum && sum->is_like(block, dims)) return sum;
  return sums->make(block, dims, 0, sum);
}

std::vector<Block> Constants::blocks(std::uint32_t variable, Sums* sums) const {
  std::vector<Block> all;
  for (Sum* const sum : sums->all_of(variable)) {
    if (sum->head().slots[0].number.load() == 0) continue;
    Block& block = all.emplace_back(sum->as_block());
    block.data = sum->array(0, 0);
    block.bytes = sum->head().elements * scalar_bytes(layout_of(variable).type);
    block.had = &sum->head().slots[0].had;
  }
  return all;
}

std::vector<Block> Constants::blocks_of(const std::set<std::uint32_t>& variables,
                                        Sums* sums) const {
  std::vector<Block> all;
  for (const std::uint32_t each : variables)
    for (const Block& block : blocks(each, sums)) all.push_back(block);
  return all;
}

void Constants::begin_anew(Sums* sums) const {
  sums->took().clear();
  for (std::uint32_t each = 0; each < model_.variables.size(); ++each) {
    if (model_.variables[each].time_varying) continue;
    for (const Sum* const sum : sums->all_of(each)) {
      sum->head().slots[0].had.clear();
      sum->head().slots[kOfRunBefore].number.store(1);
    }
  }
}

std::vector<Finding> Constants::not_had(Sums* sums) const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> first;
  for (const std::uint32_t number : for_stores_) {
    for (const Sum* const sum : sums->all_of(number)) {
      const SumSlot& slot = sum->head().slots[0];
      const std::int64_t written_in = slot.number.load() - 1;
      if (written_in < 0) continue;
      for (const std::uint32_t store : model_.variables[number].stores) {
        if (!is_late(model_.stores[store]) || slot.had.has(store) || !sums->took().has(store))
          continue;
        const auto [found, is_new] = first.try_emplace({number, store}, written_in);
        found->second = std::min(found->second, written_in);
      }
    }
  }
  std::vector<Finding> all;
  for (const auto& [of, iteration] : first) {
    const model::Variable& variable = model_.variables[of.first];
    all.push_back(
        {"not due", of.first, iteration,
         fmt::format("\"{}\" ({}:{}) was written once, and is not in store \"{}\", which "
                     "took no iteration from then on: write it before the last one that the "
                     "store takes",
                     variable.name, variable.where.file, variable.where.line,
                     model_.stores[of.second].name)});
  }
  return all;
}

}  // namespace leat::server
