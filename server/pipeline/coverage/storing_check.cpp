// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/storing_check.hpp"

#include <fmt/core.h>

#include "lib/base/text.hpp"

namespace leat::server {

StoringCheck::StoringCheck(const model::Model& model, const std::set<std::uint32_t>& changed)
    : model_(model) {
  for (const std::uint32_t each : changed) {
    const StoredAs as = stored_as(model.variables[each].options);
    if (as.is_any()) changed_.emplace(each, as);
  }
}

std::vector<Finding> StoringCheck::check(const Iteration& iteration) const {
  std::vector<Finding> findings;
  if (changed_.empty()) return findings;
  std::map<std::uint32_t, StoringLoss> losses;
  for (const Block& block : iteration.blocks) {
    const auto as = changed_.find(block.variable);
    if (as != changed_.end() && block.data) losses[block.variable].add(loss_of(as->second, block));
  }
  for (const auto& [variable, loss] : losses) {
    if (loss.too_large + loss.not_a_number > 0)
      findings.push_back(finding(variable, loss, iteration.number));
  }
  return findings;
}

StoringLoss StoringCheck::loss_of(const StoredAs& as, const Block& block) const {
  const model::Layout& layout = model_.layouts[model_.variables[block.variable].layout];
  std::int64_t low[kMaxDims] = {}, high[kMaxDims] = {};
  for (std::size_t d = 0; d < layout.dimensions.size(); ++d) {
    low[d] = layout.dimensions[d].ghost_low;
    high[d] = layout.dimensions[d].ghost_high;
  }
  StoringLoss loss;
  each_own_row(layout.dimensions.size(), block.extent.data(), low, high,
               [&](std::int64_t first, std::int64_t count) {
                 loss.add(as.store(layout.type, block.data, first, count, nullptr));
               });
  return loss;
}

Finding StoringCheck::finding(std::uint32_t variable, const StoringLoss& loss,
                              std::int64_t iteration) const {
  const model::Variable& its = model_.variables[variable];
  const StoredAs& as = changed_.at(variable);
  std::string text;
  if (loss.too_large > 0)
    text = fmt::format("{} beyond what {}",
                       counted(static_cast<std::uint64_t>(loss.too_large), "value"),
                       as.is_packed() ? fmt::format("fits in {}, {} to {}", scalar_name(as.type),
                                                    short_number(as.low()), short_number(as.high()))
                                      : fmt::format("{} can have", scalar_name(as.type)));
  if (loss.not_a_number > 0)
    text += fmt::format("{}{} no number", text.empty() ? "" : ", and ",
                        counted(static_cast<std::uint64_t>(loss.not_a_number), "value"));
  text +=
      as.is_packed() ? ": the missing value is in their place" : ": an infinity is in their place";
  return {"too large", variable, iteration,
          fmt::format("\"{}\" ({}:{}): {}", its.name, its.where.file, its.where.line, text)};
}

}  // namespace leat::server
