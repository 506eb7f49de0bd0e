// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "server/command/check.hpp"
#include "server/command/exit_codes.hpp"

int main(int argc, char** argv) {
  using namespace leat::command;
  CLI::App app("Leat: a channel beside a simulation.", "leat");
  app.set_version_flag("--version", std::string("leat ") + LEAT_VERSION);
  app.require_subcommand(1);
  app.footer(kExitCodesHelp);
  int exit_code = kGood;
  add_check(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kGood : kUsage;
  }
  return exit_code;
}
