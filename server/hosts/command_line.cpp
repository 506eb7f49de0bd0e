// SPDX-License-Identifier: Apache-2.0
#include "server/hosts/command_line.hpp"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "server/hosts/join.hpp"
#include "server/hosts/way.hpp"

namespace leat::hosts {

int run_graph_host(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  CLI::App app("Both ends of the way to another host that has modules of a graph.", kGraphHost);
  JoinOptions options;
  std::string module;
  CLI::App* const way = app.add_subcommand("way-to-host", "leatd starts it");
  way->add_option("MODULE", module);
  CLI::App* const join = app.add_subcommand("join", "`leat graph join` starts it");
  join->add_option("CARDS", options.cards)->required();
  join->add_option("NAME", options.name)->required();
  join->add_option("--at", options.at);
  join->add_option("--wait", options.wait_seconds);
  app.require_subcommand(1);
  CLI11_PARSE(app, argc, argv);
  if (*way) return Way::run();
  end_by_signals();
  std::_Exit(Join(options).run());
}

}  // namespace leat::hosts
