// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/staging/losses.hpp"

#include <algorithm>
#include <set>

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostDropped = 1'000'000;

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

json losses_of(const std::string& ledger, const leat_run& run, bool with_dropped) {
  json losses = json::array();
  for (const json& entry : entries_of(ledger)) {
    const std::string fate = entry.value("fate", ""), store = entry.value("store", "");
    const bool is_lost = fate == "not written" || (fate == "failed" && store == run.store) ||
                         (with_dropped && fate == "dropped");
    const std::int64_t variable = number_of(entry.value("variable", json()), run);
    if (!is_lost || variable < 0) continue;
    const json& ranks = entry.at("ranks");
    losses.push_back({{"rank", ranks.empty() ? 0 : ranks[0][0].get<std::int32_t>()},
                      {"variable", variable},
                      {"iteration", entry.at("iterations")[0]},
                      {"writes", entry.at("blocks")},
                      {"bytes", entry.at("bytes")},
                      {"why", "on its node: " + entry.value("why", "")}});
  }
  return losses;
}

}  // namespace leat::staging
