// SPDX-License-Identifier: Apache-2.0
// leatd: the server of one session on one node. Started by leat_init; nobody needs to start it by
// hand.
#include <CLI/CLI.hpp>

#include "lib/platform/process.hpp"
#include "lib/platform/runtime_folder.hpp"
#include "server/startup.hpp"

int main(int argc, char** argv) {
  leat::server::Options options;
  CLI::App app{
      "leatd: takes over what the ranks of a simulation write on this node, stores it, and ends "
      "when they have.\nIt is started by leat_init. Exit status: 0 all stored, 1 something could "
      "not be stored, 2 it could not start."};
  app.set_version_flag("--version", LEAT_VERSION);
  app.add_option("--config", options.config, "XML file of the run")->required();
  app.add_option("--session", options.session, "name of the run on this node")->required();
  app.add_option("--ranks", options.ranks, "processes in the simulation");
  app.add_option("--node-ranks", options.node_ranks, "processes on this node")
      ->check(CLI::Range(1, 65536));
  app.add_option("--folder", options.folder, "folder that paths in the XML count from");
  app.add_option("--take-over", options.take_over, "segment of a server that has died");
  app.add_option("--report-fd", options.report_fd, "descriptor to report readiness to");
  CLI11_PARSE(app, argc, argv);
  if (!leat::platform::valid_session_name(options.session)) {
    fprintf(stderr, "leatd: \"%s\" is no session name\n", options.session.c_str());
    return 2;
  }
  // Of what the starter had open only the report pipe is ours.
  leat::platform::close_from(options.report_fd >= 0 ? leat::platform::kReportFd + 1 : 3);
  return leat::server::run_session(options);
}
