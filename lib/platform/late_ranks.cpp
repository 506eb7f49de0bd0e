// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/late_ranks.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "lib/platform/file_lock.hpp"
#include "lib/platform/process_id.hpp"

namespace leat::platform {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string clock_text(std::int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm parts {};
  char text[32] = "";
  if (localtime_r(&time, &parts)) strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

}  // namespace

std::int64_t boot_time_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// The system rounds down to whole ticks: a process that was started right after an end shall not
// seem to have been there before it.
std::int64_t began_ns() {
  const std::uint64_t start = this_process().start;
  const std::int64_t tick = kSecond / sysconf(_SC_CLK_TCK);
  return start == 0 ? boot_time_ns() : (static_cast<std::int64_t>(start) + 1) * tick;
}

LateRanks LateRanks::read(const std::string& path) {
  LateRanks late;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    One one;
    if (std::istringstream(line) >> one.node_rank >> one.ended_ns >> one.ended_time)
      late.ranks_.push_back(one);
  }
  return late;
}

// A kill leaves the old one or the new one; one that cannot be written is not worth a word.
void LateRanks::note(const std::string& path, const std::vector<std::int32_t>& node_ranks) {
  std::erase_if(ranks_, [&](const One& one) {
    return std::find(node_ranks.begin(), node_ranks.end(), one.node_rank) != node_ranks.end();
  });
  for (const std::int32_t rank : node_ranks)
    ranks_.push_back({rank, boot_time_ns(), static_cast<std::int64_t>(time(nullptr))});
  std::ostringstream text;
  for (const One& one : ranks_)
    text << one.node_rank << ' ' << one.ended_ns << ' ' << one.ended_time << '\n';
  const std::string part = path + ".part", all = text.str();
  const UniqueFd file = open_to_append(part, true);
  const bool whole =
      file && ::write(file.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size());
  if (!whole || std::rename(part.c_str(), path.c_str()) != 0) ::unlink(part.c_str());
}

std::string LateRanks::why_too_late(const std::string& session, std::int32_t node_rank,
                                    std::int64_t since_ns) const {
  for (const One& one : ranks_) {
    if (one.node_rank != node_rank || since_ns >= one.ended_ns) continue;
    return "rank " + std::to_string(node_rank) + " of this node came too late: session " + session +
           " ended at " + clock_text(one.ended_time) +
           " without it, after the other ranks had waited for it for the timeout of <buffer>; "
           "nothing of this rank is stored";
  }
  return "";
}

}  // namespace leat::platform
