// SPDX-License-Identifier: Apache-2.0
#include "server/command/clean.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "lib/node/runtime_folder.hpp"
#include "server/command/clean_report.hpp"
#include "server/command/exit_codes.hpp"

namespace leat::command {
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

}  // namespace leat::command
