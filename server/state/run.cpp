// SPDX-License-Identifier: Apache-2.0
#include "server/state/run.hpp"

#include <algorithm>
#include <exception>

namespace leat::server {
namespace {

constexpr const char* kNames[] = {"debug", "info", "warning", "error"};

}  // namespace

const char* name_of(LogLevel level) noexcept { return kNames[static_cast<int>(level)]; }

LogLevel log_level_of(std::string_view name) noexcept {
  for (const LogLevel level : {LogLevel::debug, LogLevel::warning, LogLevel::error}) {
    if (name == name_of(level)) return level;
  }
  return LogLevel::info;
}

void Log::write(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept {
  if (!shows(level)) return;
  try {
    put(level, fmt::vformat(format, args));
  } catch (const std::exception&) {
    // No memory for a line: the run goes on without it.
  }
}

std::int32_t run_number(const std::string& run_id) noexcept {
  std::uint32_t hash = 0x811c9dc5;  // FNV-1a, 32 bits
  for (const char c : run_id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return static_cast<std::int32_t>(hash >> 1) + 1;
}

void append_rank(Ranks* ranks, std::int32_t rank) {
  if (!ranks->empty()) {
    std::int32_t& last = ranks->back().second;
    if (rank <= last) return;
    if (rank - std::int64_t{last} == 1) {
      last = rank;
      return;
    }
  }
  ranks->emplace_back(rank, rank);
}

Ranks united(const Ranks& a, const Ranks& b) {
  Ranks sorted = a;
  sorted.insert(sorted.end(), b.begin(), b.end());
  std::sort(sorted.begin(), sorted.end());
  Ranks all;
  for (const auto& [first, last] : sorted) {
    if (!all.empty() && std::int64_t{first} <= std::int64_t{all.back().second} + 1) {
      all.back().second = std::max(all.back().second, last);
    } else {
      all.emplace_back(first, last);
    }
  }
  return all;
}

std::string text_of(const Ranks& ranks) {
  std::string text;
  for (const auto& [first, last] : ranks) {
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text.empty() ? "-" : text;
}

RankSets::RankSets(std::int32_t ranks) {
  number({});
  number({{0, std::max(ranks, 1) - 1}});
}

void RankSets::set_everybody(const Ranks& ranks) {
  if (const auto known = numbers_.find(sets_[kEverybody]);
      known != numbers_.end() && known->second == kEverybody)
    numbers_.erase(known);
  sets_[kEverybody] = ranks;
  numbers_.emplace(ranks, kEverybody);
}

std::uint32_t RankSets::number(const Ranks& ranks) {
  if (const auto known = numbers_.find(ranks); known != numbers_.end()) return known->second;
  if (sets_.size() >= kMost) return kEverybody;
  sets_.push_back(ranks);
  return numbers_[ranks] = static_cast<std::uint32_t>(sets_.size() - 1);
}

std::uint32_t RankSets::united(std::uint32_t a, std::uint32_t b) {
  return a == b ? a : number(server::united(sets_[a], sets_[b]));
}

}  // namespace leat::server
