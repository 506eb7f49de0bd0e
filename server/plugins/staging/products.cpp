// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/staging/products.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/base/scalar.hpp"

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

json told(const leat_result& result, std::size_t offset) {
  json dimensions = json::array(), extents = json::array();
  for (std::uint32_t d = 0; d < result.dims; ++d) {
    dimensions.push_back(result.dimension[d]);
    extents.push_back(result.extent[d]);
  }
  return {{"name", result.name},
          {"unit", result.unit ? result.unit : ""},
          {"dimensions", dimensions},
          {"extents", extents},
          {"offset", offset},
          {"bytes", result.bytes},
          {"type", scalar_name(static_cast<ScalarType>(result.type))}};
}

}  // namespace

PackedProducts pack(const leat_result_set& set, const leat_run& run, std::uint64_t number) {
  PackedProducts packed;
  packed.number = number;
  const bool is_of_node = run.ranks != run.node_ranks && set.of_run == 0;
  json head = {
      {"number", number},
      {"source", set.source + (is_of_node ? "@" + std::to_string(run.first_rank) : std::string())},
      {"by_plugin", leat_result_set_kind(&set) == LEAT_FROM_PLUGIN},
      {"iteration", set.iteration},
      {"arrays", json::array()}};
  for (std::uint64_t i = 0; i < set.result_count; ++i) {
    const leat_result& each = *leat_result_at(&set, i);
    const std::size_t at = packed.data.size();
    head["arrays"].push_back(told(each, at));
    packed.data.resize(at + aligned(each.bytes));
    if (each.bytes > 0) std::memcpy(packed.data.data() + at, each.data, each.bytes);
  }
  packed.head = head.dump(-1, ' ', false, json::error_handler_t::replace);
  packed.head.resize(aligned(packed.head.size()), ' ');
  return packed;
}

}  // namespace leat::staging
