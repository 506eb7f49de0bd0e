// SPDX-License-Identifier: Apache-2.0
#include "server/derive/making.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace leat::server {

void Making::add(const Block& block, bool is_told_elsewhere) {
  from.blocks[block.variable].push_back(block);
  if (is_told_elsewhere)
    told_elsewhere_.insert(block.variable);
  else
    iteration.blocks.push_back(block);
}

void Making::add_window(std::uint32_t period, const PeriodTold& told) {
  const auto [found, is_new] = iteration.windows.try_emplace(period, told.begin, told.end);
  if (is_new || !iteration.is_end) return;
  auto& [begin, end] = found->second;
  const bool is_moment = told.begin == told.end && begin == end;
  end = std::max(end, told.end);
  begin = is_moment ? end : std::min(begin, told.begin);
}

void Making::lose(const Block& block, std::uint32_t number, const std::string& why) {
  wrong_.problems.push_back({block.client, block.rank, number, block.block, why, block.bytes});
}

void Making::find(const char* what, std::uint32_t number, const std::string& text) {
  const model::Variable& its = variable(number);
  wrong_.findings.push_back(
      {what, number, iteration.number,
       fmt::format("\"{}\" ({}:{}): {}", its.name, its.where.file, its.where.line, text)});
}

}  // namespace leat::server
