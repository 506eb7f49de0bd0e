// SPDX-License-Identifier: Apache-2.0
#include "server/command/xdmf.hpp"

#include <memory>
#include <string>
#include <vector>

#include "server/command/exec_program.hpp"

namespace leat::command {
namespace {

struct XdmfOptions {
  std::vector<std::string> files;
  bool json = false;
};

}  // namespace

void add_xdmf(CLI::App& app, int& exit_code) {
  const auto words = std::make_shared<XdmfOptions>();
  CLI::App* verb = app.add_subcommand(
      "xdmf",
      "Makes the XDMF sidecar of a file, run.xmf beside run.h5, for tools that do not read "
      "/VTKHDF. The server does it itself where the store has the option xdmf.");
  verb->add_option("FILE", words->files, "What a store of type hdf5 has written, or a view")
      ->required();
  verb->add_flag("--json", words->json, "Print JSON, a line for each file");
  verb->footer(
      "Exit codes: 0 the sidecars are made; 1 one could not be; 2 the command line is wrong.");
  verb->callback([words, &exit_code] {
    std::vector<std::string> all{words->json ? "json" : ""};
    all.insert(all.end(), words->files.begin(), words->files.end());
    exit_code = exec_store_program("xdmf", all);
  });
}

}  // namespace leat::command
