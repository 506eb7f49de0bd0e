// SPDX-License-Identifier: Apache-2.0
#include "server/session/dropped.hpp"

#include <fmt/core.h>

#include <iterator>

#include "lib/base/words.hpp"

namespace leat::server {
namespace {

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

void Dropped::add(std::int64_t iteration) {
  auto& word =
      run_.segment.drop_words().number[static_cast<std::uint64_t>(iteration) % shm::kDropWords];
  // A rank that is behind has yet to learn of the one that is there.
  if (!iterations_.is_dropped(word.load(std::memory_order_relaxed))) {
    // Release: a server that takes over and finds the memory leased anew finds this as well.
    word.store(iteration, std::memory_order_release);
  }
  journal_.note({{"dropped", {iteration}}});
  numbers_.insert(iteration);
}

std::string Dropped::text() const {
  if (numbers_.empty()) return "";
  return fmt::format("{} left out ({})", counted(numbers_.size(), "iteration"), ranges(numbers_));
}

std::vector<nlohmann::json> Dropped::entries() const {
  std::vector<nlohmann::json> all;
  if (!numbers_.empty()) all.push_back({{"dropped", numbers_}});
  return all;
}

}  // namespace leat::server
