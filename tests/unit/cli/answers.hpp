// SPDX-License-Identifier: Apache-2.0
// Answers of a server, as docs/reference/leat-ctl.md describes them, for the tests of `leat top`.
#pragma once

#include "server/cli/top/figures.hpp"

namespace leat::cli::top {

struct RunAt {
  double uptime = 10;
  std::uint64_t complete = 0, bytes = 0, used_bytes = 0;
  double waited_seconds = 0;
  std::uint64_t calls = 0;
  double seconds = 0;
};

constexpr std::uint64_t kBufferBytes = 1000;

inline Answers answers_of(const RunAt& run) {
  Answers answers;
  const auto iteration = static_cast<std::int64_t>(run.complete);
  answers.status = {{"session", "s1"},
                    {"simulation", "heat"},
                    {"state", "running"},
                    {"pid", 4711},
                    {"waits", nullptr},
                    {"takeovers", 0},
                    {"ranks", {{"node", 2}, {"all", 2}, {"attached", 2}}}};
  answers.status["clients"] = Json::array();
  for (const int rank : {0, 1})
    answers.status["clients"].push_back(
        {{"rank", rank}, {"phase", "attached"}, {"iteration", iteration}, {"events_waiting", 0}});
  answers.status["stores"] = Json::array();
  answers.status["stores"].push_back({{"name", "out"}, {"every", 1}, {"done", iteration - 1}});
  answers.metrics = {
      {"uptime_seconds", run.uptime},
      {"bytes", run.bytes},
      {"queue", 0},
      {"idle_share", 0.9},
      {"iterations",
       {{"complete", run.complete}, {"stored", run.complete}, {"failed", 0}, {"dropped", 0}}},
      {"rates", {{"over_seconds", 5}, {"iterations_per_second", 3.0}, {"bytes_per_second", 4.0}}},
      {"memory",
       {{"bytes", kBufferBytes},
        {"used_bytes", run.used_bytes},
        {"waiting_ranks", Json::array()},
        {"waited_seconds", run.waited_seconds}}}};
  answers.metrics["stores"] = Json::array();
  answers.metrics["stores"].push_back({{"name", "out"},
                                       {"calls", run.calls},
                                       {"bytes", run.bytes},
                                       {"skipped", 0},
                                       {"seconds", run.seconds}});
  answers.metrics["scripts"] = Json::array();
  return answers;
}

}  // namespace leat::cli::top
