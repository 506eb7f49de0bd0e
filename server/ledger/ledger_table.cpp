// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/ledger_table.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/session/node_name.hpp"

namespace leat::server {
namespace {

constexpr const char* kExtras[] = {"(unknown name)", "(whole iteration)", "(products)",
                                   "(not known which)"};

}  // namespace

LedgerNames names_of(const model::Model& model, const RunFacts& facts) {
  LedgerNames names{model.name, facts.session, facts.ranks, facts.node_ranks, {}, {},
                    {},         facts.run_id};
  if (!facts.has_all_ranks()) names.apart = "-" + own_node_name(facts);
  for (const model::Store& store : model.stores) names.stores.push_back(store.name);
  names.takes.resize(model.stores.size());
  for (const model::Variable& variable : model.variables) {
    names.variables.push_back(variable.name);
    for (auto& takes : names.takes) takes.push_back(0);
    for (const std::uint32_t store : variable.stores) names.takes[store].back() = 1;
  }
  return names;
}

LedgerTable::LedgerTable(LedgerNames names)
    : names_(std::make_shared<const LedgerNames>(std::move(names))),
      rows_(names_->variables.size() + std::size(kExtras)),
      rank_sets_(names_->ranks) {}

std::string LedgerTable::subject(std::size_t place) const {
  return is_variable(place) ? names_->variables[place] : kExtras[place - names_->variables.size()];
}

std::uint32_t LedgerTable::store_number(const std::string& name) const {
  const auto& stores = names_->stores;
  return static_cast<std::uint32_t>(std::find(stores.begin(), stores.end(), name) - stores.begin());
}

void LedgerTable::add(std::uint32_t place, const Row& row) {
  const Fate& fate = fates_[row.fate];
  if (fate.is_loss()) lost_ += row.blocks;
  if (fate.kind == Fate::Kind::dropped) {
    ++dropped_iterations_;
    dropped_ += row.blocks;
  }
  if (fate.kind == Fate::Kind::skipped) ++skipped_[fate.store];
  rows_[place].add(row, &rank_sets_);
}

std::uint64_t LedgerTable::skipped(const std::string& store) const {
  const auto found = skipped_.find(store_number(store));
  return found == skipped_.end() ? 0 : found->second;
}

}  // namespace leat::server
