// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/staging/losses.hpp"

#include <algorithm>
#include <set>

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostDropped = 1'000'000;
constexpr std::size_t kMostRows = 10'000;  // of one entry

json entries_of(const std::string& ledger) {
  const json all = json::parse(ledger, nullptr, false);
  return all.is_object() ? all.value("entries", json::array()) : json::array();
}

std::int64_t number_of(const json& name, const leat_run& run) {
  if (!name.is_string()) return -1;
  for (std::uint64_t i = 0; i < run.variable_count; ++i)
    if (name.get<std::string>() == leat_variable_at(&run, i)->name)
      return static_cast<std::int64_t>(i);
  return -1;
}

}  // namespace

std::vector<std::int64_t> dropped_in(const std::string& ledger) {
  std::set<std::int64_t> dropped;
  for (const json& entry : entries_of(ledger)) {
    if (entry.value("fate", "") != "dropped") continue;
    const std::vector<std::int64_t> range = entry.value("iterations", std::vector<std::int64_t>());
    if (range.size() != 3 || range[2] < 1 || (range[1] - range[0]) / range[2] > kMostDropped)
      continue;
    for (std::int64_t each = range[0]; each <= range[1]; each += range[2]) dropped.insert(each);
  }
  return {dropped.begin(), dropped.end()};
}

namespace {

// Of each rank and iteration of an entry where all have lost as much; else all of it of the first.
void add_losses(json* losses, const json& entry, std::int64_t variable) {
  std::vector<std::int64_t> ranks, iterations;
  for (const json& range : entry.at("ranks"))
    for (std::int64_t rank = range[0]; rank <= range[1] && ranks.size() < kMostRows; ++rank)
      ranks.push_back(rank);
  const json& row = entry.at("iterations");
  for (std::int64_t each = row[0]; each <= row[1] && iterations.size() < kMostRows;
       each += std::max<std::int64_t>(1, row[2]))
    iterations.push_back(each);
  if (ranks.empty() || iterations.empty()) return;
  const std::uint64_t writes = entry.at("blocks"), bytes = entry.at("bytes");
  const std::uint64_t places = ranks.size() * iterations.size();
  const bool is_even = places <= kMostRows && writes % places == 0;
  if (!is_even) ranks.resize(1), iterations.resize(1);
  const std::uint64_t divisor = is_even ? places : 1;
  for (const std::int64_t iteration : iterations)
    for (const std::int64_t rank : ranks)
      losses->push_back({{"rank", rank},
                         {"variable", variable},
                         {"iteration", iteration},
                         {"writes", writes / divisor},
                         {"bytes", bytes / divisor},
                         {"why", "on its node: " + entry.value("why", "")}});
}

}  // namespace

json losses_of(const std::string& ledger, const leat_run& run, bool with_dropped) {
  json losses = json::array();
  for (const json& entry : entries_of(ledger)) {
    const std::string fate = entry.value("fate", ""), store = entry.value("store", "");
    const bool is_lost = fate == "not written" || (fate == "failed" && store == run.store) ||
                         (with_dropped && fate == "dropped");
    const std::int64_t variable = number_of(entry.value("variable", json()), run);
    if (is_lost && variable >= 0) add_losses(&losses, entry, variable);
  }
  return losses;
}

}  // namespace leat::staging
