// SPDX-License-Identifier: Apache-2.0
#include "server/cli/clean.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "server/cli/programs.hpp"

namespace leat::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<Cell>>;

// 0 for one of another container, or one that has died and has yet to be followed.
pid_t server_of(const platform::LiveOne& one) {
  return one.maker.pid != 0 && platform::lives(one.maker) ? one.maker.pid : 0;
}

std::string since(const platform::LiveOne& one, const char* form) {
  if (server_of(one) == 0) return "";
  const std::time_t when = platform::time_of_start(one.maker);
  std::tm local{};
  char text[64];
  const bool known = localtime_r(&when, &local) != nullptr;
  return known && std::strftime(text, sizeof text, form, &local) > 0 ? text : "";
}

std::string pid_of(const platform::LiveOne& one) {
  const pid_t pid = server_of(one);
  return pid == 0 ? "-" : std::to_string(pid);
}

std::string alive_table(const CleanReport& report, const Look& look) {
  Rows rows{header({"session", "pid", "since", "memory"})};
  rows[0].back().right = true;
  for (const platform::LiveOne& one : report.found.alive) {
    rows.push_back(
        {{one.session},
         {pid_of(one)},
         {since(one, "%Y-%m-%d %H:%M:%S")},
         {one.segment.empty() ? "starting" : format_bytes(one.bytes), Paint::plain, true}});
  }
  return table_or_paragraphs(rows, look);
}

std::string dead_table(const CleanReport& report, const Look& look) {
  Rows rows{header({"session", "what", "memory", "file"})};
  rows[0][2].right = true;
  for (const platform::StaleResource& each : report.found.dead) {
    rows.push_back({{each.session},
                    {each.kind},
                    {each.kind == "segment" ? format_bytes(each.bytes) : "-", Paint::plain, true},
                    {each.path, Paint::dim}});
    if (!each.problem.empty()) rows.back()[3] = {each.path + ": " + each.problem, Paint::red};
  }
  return table_or_paragraphs(rows, look);
}

std::string dead_title(const CleanReport& report) {
  std::set<std::string> sessions;
  std::uint64_t failed = 0;
  for (const platform::StaleResource& each : report.found.dead) {
    sessions.insert(each.session);
    failed += !each.problem.empty();
  }
  std::string title =
      counted(report.found.dead.size(), "file") + " of " + counted(sessions.size(), "dead session");
  title += report.dry_run ? ", to be removed" : failed == 0 ? ", removed" : "";
  if (failed > 0) title += ", " + std::to_string(failed) + " could not be removed";
  return title;
}

std::string killed_lines(const CleanReport& report, const Look& look) {
  std::string text;
  for (const KilledSession& each : report.killed) {
    const bool stays = each.outcome == "in memory";
    text += "  " +
            painted(sentence(each), stays && !report.dry_run ? Paint::red : Paint::plain,
                    look.colours) +
            "\n";
    if (stays && !report.dry_run)
      text += "  mend that and say `leat recover " + each.what.session +
              "`, or give it up: `leat clean --discard`\n";
  }
  return text;
}

Json json_of(const platform::LiveOne& one) {
  const pid_t server = server_of(one);
  Json pid = server == 0 ? Json(nullptr) : Json(server);
  Json start = server == 0 ? Json(nullptr) : Json(since(one, "%Y-%m-%dT%H:%M:%S%z"));
  Json segment = one.segment.empty() ? Json(nullptr) : Json(one.segment);
  return {{"session", one.session},
          {"pid", std::move(pid)},
          {"since", std::move(start)},
          {"segment", std::move(segment)},
          {"bytes", one.bytes}};
}

Json json_of(const CleanReport& report, const platform::StaleResource& each) {
  return {{"session", each.session},
          {"kind", each.kind},
          {"path", each.path},
          {"bytes", each.bytes},
          {"removed", !report.dry_run && each.problem.empty()},
          {"problem", each.problem}};
}

}  // namespace

bool CleanReport::good() const {
  for (const platform::StaleResource& each : found.dead) {
    if (!each.problem.empty()) return false;
  }
  for (const KilledSession& each : killed) {
    if (!dry_run && each.outcome == "in memory") return false;
  }
  return true;
}

std::string screen(const CleanReport& report, const Look& look) {
  const auto bold = [&](const std::string& text) {
    return painted(text, Paint::bold, look.colours);
  };
  const platform::Findings& found = report.found;
  std::string text = bold("Your sessions on this node") + "  " +
                     painted("(" + report.runtime_folder + ", /dev/shm)", Paint::dim, look.colours);
  text += "\n\n" + bold(counted(found.alive.size(), "session") + " alive, untouched") + "\n";
  if (!found.alive.empty()) text += alive_table(report, look);
  if (!report.killed.empty()) {
    text += "\n" +
            bold(counted(report.killed.size(), "session") + " killed with data in memory" +
                 (report.dry_run ? ", to be stored" : "")) +
            "\n";
    text += killed_lines(report, look);
  }
  text +=
      "\n" + bold(found.dead.empty() ? "Dead sessions left nothing" : dead_title(report)) + "\n";
  if (!found.dead.empty()) text += dead_table(report, look);
  return text;
}

std::string json(const CleanReport& report) {
  Json root{{"runtime_folder", report.runtime_folder},
            {"dry_run", report.dry_run},
            {"good", report.good()},
            {"alive", Json::array()},
            {"undrained", Json::array()},
            {"dead", Json::array()}};
  for (const auto& each : report.found.alive) root["alive"].push_back(json_of(each));
  for (const auto& each : report.killed) root["undrained"].push_back(json_of(each));
  for (const auto& each : report.found.dead) root["dead"].push_back(json_of(report, each));
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

struct CleanOptions {
  bool dry_run = false;
  bool json = false;
  bool discard = false;
};

// The folder is not made for the sake of looking into it.
Result<std::string> folder_to_clean() {
  const std::string name = platform::runtime_folder_name();
  if (access(name.c_str(), F_OK) != 0) return name;
  return platform::runtime_folder();
}

int run_clean(const CleanOptions& options) {
  const Result<std::string> folder = folder_to_clean();
  if (!folder) {
    std::fprintf(stderr, "leat clean: %s\n", folder.error().message.c_str());
    return kBad;
  }
  std::vector<KilledSession> killed = killed_sessions();
  if (!options.dry_run) {
    std::vector<KilledSession*> all;
    for (KilledSession& each : killed) all.push_back(&each);
    drain(all);
    for (KilledSession* each : all)
      if (options.discard && each->outcome == "in memory") give_up(each);
  }
  const auto what = options.dry_run ? platform::Sweep::look : platform::Sweep::remove;
  const CleanReport report{*folder, options.dry_run,
                           platform::sweep({*folder}, what, shm::must_stay), std::move(killed)};
  std::fputs((options.json ? json(report) : screen(report, look_of(stdout))).c_str(), stdout);
  return report.good() ? kGood : kBad;
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
