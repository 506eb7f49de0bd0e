// SPDX-License-Identifier: Apache-2.0
// `leat top`: shows running sessions as they go on, or once for logs.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "server/cli/control_client.hpp"
#include "server/cli/screen.hpp"
#include "server/cli/top/live.hpp"
#include "server/cli/top/sessions.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

constexpr int kTopVersion = 1;  // of the JSON
constexpr std::size_t kWidthOfLogs = 100;

struct TopOptions {
  std::string session;
  bool once = false, json = false;
  double interval = 0.25, timeout = 2;
  std::uint64_t iterations = 0;
};

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// The session of this name, or that of the simulation where only one runs it. "": it is said why there is none.
std::string session_named(const TopOptions& options) {
  const os::Deadline deadline = os::Deadline::in_ns(nanoseconds(options.timeout));
  const std::vector<std::string> names = names_of_sessions();
  for (const std::string& each : names)
    if (each == options.session) return each;
  const std::vector<std::string> runs = sessions_of_simulation(options.session, deadline);
  if (runs.size() == 1) return runs.front();
  refuse("top", runs.empty() ? "no session \"" + options.session + "\" runs on this node" +
                                   did_you_mean(options.session, names)
                             : several_runs(options.session, runs));
  return "";
}

// Reads answers of all until they are there, or the time is up.
void read_once(top::Sessions* sessions, double timeout) {
  const std::int64_t until_ns = os::now_ns() + nanoseconds(timeout);
  for (;;) {
    const std::int64_t now_ns = os::now_ns();
    sessions->turn(now_ns);
    bool is_complete = true;
    for (const auto& each : sessions->all())
      is_complete &= each->is_complete() || each->state() == top::Watch::State::ended ||
                     each->state() == top::Watch::State::waiting;
    if (is_complete || now_ns >= until_ns) return;
    os::pause_shortly();
  }
}

Json json_of_shown(const top::Shown& one) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json facts{{"session", one.session}, {"state", one.state}, {"note", one.note}};
  facts["iterations_per_minute"] = number(one.figures.iterations_per_minute);
  facts["bytes_per_second"] = number(one.figures.bytes_per_second);
  facts["seconds_left"] = number(seconds_left(one.of_iterations, one.answers, one.figures));
  facts["waits"] = waits(one.answers, one.figures);
  facts["status"] = one.answers.status;
  facts["metrics"] = one.answers.metrics;
  facts["parameters"] = one.answers.parameters;
  facts["run"] = one.answers.run;
  return facts;
}

std::string screens_of(const std::vector<top::Shown>& all) {
  Look look = look_of(stdout);
  std::string text;
  if (all.empty()) return "no session of yours runs on this node\n";
  for (const top::Shown& each : all) {
    top::Grid grid(look.width > 0 ? look.width : kWidthOfLogs);
    draw_session(each, top::clock_text(true), {.blocks = top::shows_utf8()}, &grid);
    text += (text.empty() ? "" : "\n") + grid.text(look);
  }
  return text;
}

// Exit code 1: of a session that is named nothing could be learnt.
int show_once(const TopOptions& options, const std::string& session) {
  top::Sessions sessions(nanoseconds(options.interval));
  const std::int64_t now_ns = os::now_ns();
  if (session.empty())
    sessions.discover(now_ns);
  else
    sessions.add(session);
  read_once(&sessions, options.timeout);
  std::vector<top::Shown> all;
  bool is_known = true;
  for (const auto& each : sessions.all()) {
    all.push_back(shown_of(*each, os::now_ns(), 0, options.iterations));
    is_known &= each->is_complete();
  }
  if (options.json) {
    Json list = Json::array();
    for (const top::Shown& each : all) list.push_back(json_of_shown(each));
    print(text_of({{"leat_top", kTopVersion}, {"sessions", std::move(list)}}));
  } else {
    print(screens_of(all));
  }
  return is_known || session.empty() ? kGood : kBad;
}

int run_top_of(const TopOptions& options) {
  std::string session;
  if (!options.session.empty() && (session = session_named(options)).empty()) return kBad;
  if (options.once || options.json) return show_once(options, session);
  if (session.empty()) {
    const std::vector<std::string> names = names_of_sessions();
    if (names.size() == 1) session = names.front();
  }
  std::string why;
  const std::unique_ptr<top::Terminal> terminal = top::Terminal::open(&why);
  if (!terminal)
    return refuse("top", why + "; `leat top --once` prints what it would show", kUsage);
  top::Live(*terminal, {session, nanoseconds(options.interval), options.iterations}).run();
  return kGood;
}

// Another version's server may say what makes no sense here.
int run_top(const TopOptions& options) {
  try {
    return run_top_of(options);
  } catch (const Json::exception& e) {
    return refuse("top", std::string("the answer of a server makes no sense: ") + e.what());
  }
}

}  // namespace

void add_top(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TopOptions>();
  CLI::App* verb = app.add_subcommand(
      "top",
      "Shows running sessions as they go on: rates, buffer, who waits for whom; and steers them.");
  verb->add_option("SESSION", options->session,
                   "Its name, or that of its simulation (default: all of yours on this node)");
  verb->add_flag("--once", options->once, "Prints what there is now, for logs");
  verb->add_flag("--json", options->json, "The same as JSON");
  verb->add_option("--interval", options->interval,
                   "Seconds from one question to the server to the next")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 3600.0));
  verb->add_option("--iterations", options->iterations,
                   "How many iterations the run will have: says how long it takes yet");
  verb->add_option("--timeout", options->timeout,
                   "Seconds that servers have to answer, with --once")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->footer(
      "Keys: q quit; Esc all sessions; r reload scripts; s set a parameter; e signal an event; d "
      "drain.\n"
      "Exit codes: 0 good; 1 there is no such session, or with --once it does not answer; 2 the "
      "command line is "
      "wrong, or this is no terminal.");
  verb->callback([options, &exit_code] { exit_code = run_top(*options); });
}

}  // namespace leat::cli
