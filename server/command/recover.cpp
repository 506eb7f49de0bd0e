// SPDX-License-Identifier: Apache-2.0
#include "server/command/recover.hpp"

#include <memory>

#include "lib/platform/process.hpp"
#include "server/command/become.hpp"

namespace leat::command {
namespace {

// Beside the plugin that has written the file, of which `leat` knows nothing.
std::string program() { return platform::path_beside_program(LEAT_PLUGIN_FOLDER "/recover-hdf5"); }

}  // namespace

void add_recover(CLI::App& app, int& exit_code) {
  const auto file = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("recover",
                                      "Finishes the commit in which the writer of a file was "
                                      "killed. The next run in the same folder "
                                      "does it too.");
  verb->add_option("FILE", *file, "What a store of type hdf5 has written")->required();
  verb->footer(
      "Exit codes: 0 the file is good; 1 it is not, or a run is writing it; 2 the command line is "
      "wrong.");
  verb->callback([file, &exit_code] { exit_code = become("recover", program(), {*file}); });
}

}  // namespace leat::command
