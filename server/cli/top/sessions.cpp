// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/sessions.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "lib/base/text.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli::top {
namespace {

constexpr std::int64_t kDiscoverNs = 1'000'000'000;
constexpr double kEndedShownSeconds = 60, kTakeoverShownSeconds = 60;

std::string state_of(const Watch& watch) {
  switch (watch.state()) {
    case Watch::State::connecting:
      return "connecting";
    case Watch::State::answering:
      return watch.answers().status.is_object() ? text_in(watch.answers().status, "state")
                                                : "running";
    case Watch::State::silent:
      return "not answering";
    case Watch::State::waiting:
      return "server died";
    case Watch::State::ended:
      return "ended";
  }
  return "";
}

std::string note_of(const Watch& watch, std::int64_t now_ns) {
  const std::string since = duration_text(watch.seconds_in_state(now_ns));
  const std::string below = watch.is_complete() ? "; below is what it said last" : "";
  switch (watch.state()) {
    case Watch::State::connecting:
      return "";
    case Watch::State::answering:
      break;
    case Watch::State::silent:
      return "its server is stopped or has no time: no answer for " + since + below;
    case Watch::State::waiting:
      return "its server " +
             (watch.is_complete() ? "died " + since + " ago" : std::string("has died")) +
             "; the next calls of its ranks start another one (no rank is left: `leat "
             "recover " +
             watch.session() + "`)" + below;
    case Watch::State::ended:
      if (!watch.is_complete()) return "there is no such session yet, or any more";
      return "ended " + since + " ago" + (watch.outcome().empty() ? "" : ": " + watch.outcome()) +
             below;
  }
  if (watch.takeovers() == 0 || watch.seconds_since_takeover(now_ns) > kTakeoverShownSeconds)
    return "";
  return "another server has taken over " + duration_text(watch.seconds_since_takeover(now_ns)) +
         " ago; its numbers begin at 0";
}

}  // namespace

Shown shown_of(const Watch& watch, std::int64_t now_ns, std::size_t columns,
               std::uint64_t of_iterations) {
  return {.session = watch.session(),
          .state = state_of(watch),
          .note = note_of(watch, now_ns),
          .answers = watch.answers(),
          .figures = watch.history().figures(watch.answers()),
          .fills = watch.history().fills(columns, kHistorySeconds),
          .of_iterations = of_iterations};
}

std::string clock_text(bool with_date) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[64] = "";
  if (localtime_r(&now, &local))
    std::strftime(text, sizeof text, with_date ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &local);
  return text;
}

Watch& Sessions::add(const std::string& session) {
  if (Watch* const known = find(session)) return *known;
  all_.push_back(std::make_unique<Watch>(session, interval_ns_));
  std::sort(all_.begin(), all_.end(),
            [](const auto& a, const auto& b) { return a->session() < b->session(); });
  return *find(session);
}

Watch* Sessions::find(const std::string& session) noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& each) { return each->session() == session; });
  return found == all_.end() ? nullptr : found->get();
}

void Sessions::discover(std::int64_t now_ns) {
  if (discovered_ns_ != 0 && now_ns - discovered_ns_ < kDiscoverNs) return;
  discovered_ns_ = now_ns;
  std::erase_if(all_, [&](const auto& each) {
    return each->state() == Watch::State::ended &&
           each->seconds_in_state(now_ns) > kEndedShownSeconds;
  });
  for (const std::string& name : names_of_sessions()) add(name);
}

bool Sessions::turn(std::int64_t now_ns) {
  bool is_new = false;
  for (const auto& each : all_) is_new |= each->turn(now_ns);
  return is_new;
}

}  // namespace leat::cli::top
