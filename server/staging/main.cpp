// SPDX-License-Identifier: Apache-2.0
// `leat staging`: a staging node.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "lib/model/diagnostics.hpp"
#include "lib/model/places.hpp"
#include "lib/model/reader.hpp"
#include "lib/os/process.hpp"
#include "server/staging/node.hpp"

int main(int argc, char** argv) {
  using namespace leat;
  staging::NodeOptions options;
  CLI::App app(
      "Is a staging node: takes what the servers of a simulation send, for stores and scripts with "
      "at=\"staging\", and ends with the run.",
      "leat staging");
  app.add_option("CONFIG", options.config, "The XML of the simulation")->required();
  app.add_option("--number", options.number,
                 "Which of the staging nodes this is, from 0 (default: the lowest that is free)")
      ->check(CLI::Range(0, 65535));
  bool ends = false;
  app.add_flag(
      "--end", ends,
      "Tells the staging nodes of this simulation that no run of it comes any more: those that "
      "serve none end at once, the others when theirs has ended");
  app.add_flag("--local", options.local)->group("");
  app.footer("Exit codes: 0 all stored; 1 not all, the log says what; 2 it could not begin.");
  CLI11_PARSE(app, argc, argv);
  signal(SIGPIPE, SIG_IGN);
  staging::end_by_signals();
  model::ReadResult read = model::read_file(options.config);
  const std::string said = model::format(read.diagnostics);
  std::fputs(said.c_str(), stderr);
  if (!read.model) return 2;
  if (!model::has_staging(*read.model)) {
    std::fprintf(stderr,
                 "leat staging: %s has no store and no script with at=\"staging\": a staging node "
                 "has nothing to do\n",
                 options.config.c_str());
    return 2;
  }
  if (ends) {
    staging::remove_cards(staging::folder_of_cards(read.model->name));
    return 0;
  }
  setenv("LEAT_AT", "staging", 1);  // for the servers that are started here
  const std::string server = os::path_beside_program(LEAT_SERVER_FROM_HERE);
  if (access(server.c_str(), X_OK) == 0) setenv("LEAT_SERVER", server.c_str(), 0);
  return staging::Node(std::move(*read.model), options).run();
}
