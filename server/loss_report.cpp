// SPDX-License-Identifier: Apache-2.0
#include "server/loss_report.hpp"

#include <fmt/format.h>

#include <iterator>

namespace leat::server {
namespace {

constexpr std::size_t kMostNamed = 8;
constexpr std::size_t kMostRanges = 64;

// "4, 7-8" of {4, 7, 8}.
std::string ranges(const std::set<std::int64_t>& numbers) {
  std::string text;
  std::size_t count = 0;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first, after = std::next(first);
    while (after != numbers.end() && *after == *last + 1) last = after++;
    text += text.empty() ? "" : ", ";
    if (count++ == kMostRanges) return text + "...";
    text += std::to_string(*first);
    if (last != first) text += "-" + std::to_string(*last);
    first = after;
  }
  return text;
}

}  // namespace

void LossReport::block_lost(int rank, const std::string& variable, std::int64_t iteration,
                            const std::string& why) {
  if (lost_blocks_++ > 0) return;
  first_lost_block_ =
      fmt::format("\"{}\" of rank {} in iteration {}: {}", variable, rank, iteration, why);
}

void LossReport::client_died(int rank, std::int64_t iteration) {
  deaths_.push_back(fmt::format("rank {} died in iteration {}", rank, iteration));
}

void LossReport::store_did(const PipelineResult& result) {
  bool stored = !result.outcomes.empty();
  for (const StoreOutcome& outcome : result.outcomes) {
    if (outcome.error.empty()) continue;
    stored = false;
    StoreLoss& loss = losses_[outcome.store];
    if (loss.why.empty()) loss.why = outcome.error;
    if (result.kind != PipelineResult::Kind::iteration &&
        result.kind != PipelineResult::Kind::script_results)
      continue;
    ++loss.count;
    if (loss.iterations.size() < kMostNamed) loss.iterations.push_back(result.iteration);
  }
  if (stored && result.kind == PipelineResult::Kind::iteration) ++stored_;
}

void LossReport::iteration_dropped(std::int64_t iteration, const std::string& why) {
  if (dropped_.empty()) why_dropped_ = why;
  dropped_.insert(iteration);
}

std::string LossReport::dropped_iterations() const {
  if (dropped_.empty()) return "";
  return fmt::format("{} iteration{} left out ({})", dropped_.size(),
                     dropped_.size() == 1 ? "" : "s", ranges(dropped_));
}

std::string LossReport::text() const {
  std::string text;
  for (const auto& [store, loss] : losses_) {
    text += fmt::format("{}store \"{}\": ", text.empty() ? "" : "\n", store);
    if (loss.count > 0) {
      text += fmt::format("{} iteration{} not stored ({}{}): ", loss.count,
                          loss.count == 1 ? "" : "s", fmt::join(loss.iterations, ", "),
                          loss.count > loss.iterations.size() ? ", ..." : "");
    }
    text += loss.why;
  }
  if (lost_blocks_ > 0) {
    text += fmt::format("{}{} write{} failed; the first: {}", text.empty() ? "" : "\n",
                        lost_blocks_, lost_blocks_ == 1 ? "" : "s", first_lost_block_);
  }
  if (!dropped_.empty()) {
    text += fmt::format("{}{}, as when-full=\"drop-iteration\" says; the first: {}",
                        text.empty() ? "" : "\n", dropped_iterations(), why_dropped_);
  }
  for (const std::string& death : deaths_) {
    text += (text.empty() ? "" : "\n") + death + "; what it had handed over is stored";
  }
  return text;
}

}  // namespace leat::server
