// SPDX-License-Identifier: Apache-2.0
// `leat clean`: removes what dead sessions of this user left on this node, and says which live.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <set>

#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/node/stale_resources.hpp"
#include "server/cli/drain.hpp"
#include "server/cli/programs.hpp"
#include "server/cli/screen.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

struct CleanOptions {
  bool dry_run = false, json = false, discard = false;
};

// No server: of another container, or one that has died and has yet to be followed.
Json json_of_live(const node::LiveOne& one) {
  Json facts{{"session", one.session}, {"pid", nullptr}, {"since", nullptr}, {"segment", nullptr}};
  if (one.maker.pid != 0 && os::lives(one.maker)) {
    facts["pid"] = one.maker.pid;
    facts["since"] = json_of_time(os::time_of_start(one.maker));
  }
  if (!one.segment.empty()) facts["segment"] = one.segment;
  facts["bytes"] = one.bytes;
  return facts;
}

Json json_of_dead(const node::StaleResource& each, bool dry_run) {
  return {{"session", each.session},
          {"kind", each.kind},
          {"path", each.path},
          {"bytes", each.bytes},
          {"removed", !dry_run && each.problem.empty()},
          {"problem", each.problem}};
}

// Whether nothing is left that should be gone.
bool is_clean(const Json& report) {
  for (const Json& each : report["dead"])
    if (each["problem"] != "") return false;
  for (const Json& each : report["undrained"])
    if (!report["dry_run"] && each["outcome"] == "in memory") return false;
  return true;
}

// The folder is not made for the sake of looking into it.
Result<std::string> folder_to_clean() {
  const std::string name = node::runtime_folder_name();
  if (access(name.c_str(), F_OK) != 0) return name;
  return node::runtime_folder();
}

Json clean(const std::string& folder, const CleanOptions& options) {
  std::vector<KilledSession> killed = killed_sessions();
  if (!options.dry_run) {
    std::vector<KilledSession*> all;
    for (KilledSession& each : killed) all.push_back(&each);
    drain(all);
    for (KilledSession* each : all)
      if (options.discard && each->outcome == "in memory") give_up(each);
  }
  const node::Findings found = node::sweep(
      {folder}, options.dry_run ? node::Sweep::look : node::Sweep::remove, shm::must_stay);
  Json report{{"runtime_folder", folder}, {"dry_run", options.dry_run}, {"good", true},
              {"alive", Json::array()},   {"undrained", Json::array()}, {"dead", Json::array()}};
  for (const auto& each : found.alive) report["alive"].push_back(json_of_live(each));
  for (const auto& each : killed) report["undrained"].push_back(json_of(each));
  for (const auto& each : found.dead) report["dead"].push_back(json_of_dead(each, options.dry_run));
  report["good"] = is_clean(report);
  return report;
}

std::string title_of_dead(const Json& report) {
  std::set<std::string> sessions;
  std::uint64_t failed = 0;
  for (const Json& each : report["dead"]) {
    sessions.insert(text_in(each, "session"));
    failed += each["problem"] != "";
  }
  if (sessions.empty()) return "Dead sessions left nothing";
  return counted(report["dead"].size(), "file") + " of " +
         counted(sessions.size(), "dead session") +
         (report["dry_run"] ? ", to be removed"
          : failed == 0     ? ", removed"
                            : "") +
         (failed > 0 ? ", " + std::to_string(failed) + " could not be removed" : "");
}

void add_killed(const Json& report, Screen* screen) {
  const Json &killed = report["undrained"], &dry_run = report["dry_run"];
  if (killed.empty()) return;
  screen->section(counted(killed.size(), "session") + " killed with data in memory" +
                  (dry_run ? ", to be stored" : ""));
  for (const Json& each : killed) {
    const bool stays = each["outcome"] == "in memory" && !dry_run;
    screen->note(sentence(each), stays ? Paint::red : Paint::plain);
    if (stays)
      screen->note("mend that and say `leat recover " + text_in(each, "session") +
                       "`, or give it up: `leat clean --discard`",
                   Paint::plain);
  }
}

// "2026-11-26 07:30:00" of what the JSON has.
Cell since_of(const Json& session) {
  const std::string since = text_in(session, "since");
  return {since.empty() ? "" : since.substr(0, 10) + " " + since.substr(11, 8)};
}

Cell memory_of(const Json& session) {
  return {session["segment"].is_null() ? "starting" : shown_bytes(session, "bytes")};
}

Cell memory_of_dead(const Json& each) {
  return {each["kind"] == "segment" ? shown_bytes(each, "bytes") : "-"};
}

Cell file_of_dead(const Json& each) {
  const std::string path = text_in(each, "path"), problem = text_in(each, "problem");
  if (problem.empty()) return {path, Paint::dim};
  return {path + ": " + problem, Paint::red};
}

std::string clean_screen(const Json& report, const Look& look) {
  Screen screen(look);
  screen.title("Your sessions on this node",
               "(" + text_in(report, "runtime_folder") + ", /dev/shm)");
  screen.section(counted(report["alive"].size(), "session") + " alive, untouched");
  screen.table(report["alive"], {text("session"), text("pid"), made({.title = "since"}, since_of),
                                 made({.title = "memory", .right = true}, memory_of)});
  add_killed(report, &screen);
  screen.section(title_of_dead(report));
  screen.table(report["dead"], {text("session"), text("what", "kind"),
                                made({.title = "memory", .right = true}, memory_of_dead),
                                made({.title = "file"}, file_of_dead)});
  return screen.text();
}

int run_clean(const CleanOptions& options) {
  const Result<std::string> folder = folder_to_clean();
  if (!folder) return refuse("clean", folder.error().message);
  const Json report = clean(*folder, options);
  print(options.json ? text_of(report) : clean_screen(report, look_of(stdout)));
  return report["good"] ? kGood : kBad;
}

}  // namespace

void add_clean(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CleanOptions>();
  CLI::App* verb = app.add_subcommand("clean",
                                      "Removes what dead sessions of yours left on this node, once "
                                      "what they had in memory is stored, "
                                      "and shows those that live.");
  verb->add_flag("--dry-run", options->dry_run, "Only say what would be removed");
  verb->add_flag("--discard", options->discard,
                 "Give up what a killed session has in memory, if it cannot be stored");
  verb->add_flag("--json", options->json, "JSON on standard output, and nothing else");
  verb->footer(
      "Looks into /dev/shm and $LEAT_RUNTIME_DIR (default: /tmp/leat-<uid>). Sessions that live, "
      "stopped ones too, "
      "are never touched.\n"
      "Exit codes: 0 nothing is left behind, or --dry-run; 1 something could not be removed, or "
      "the runtime folder cannot be used; 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_clean(*options); });
}

}  // namespace leat::cli
