// SPDX-License-Identifier: Apache-2.0
#include "server/command/xdmf.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "server/command/exec_program.hpp"
#include "server/command/exit_codes.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::command {
namespace {

struct XdmfOptions {
  std::vector<std::string> files;
  std::string interpreter = "python3";
  bool json = false;
};

int run_xdmf(const XdmfOptions& options) {
  const Result<std::string> python = server::find_python(options.interpreter, "h5py");
  if (!python) {
    std::fprintf(stderr, "leat xdmf: %s\n", python.error().message.c_str());
    return kBad;
  }
  std::vector<std::string> words{server::python_launcher(), "xdmf",
                                 options.json ? "json" : "screen"};
  words.insert(words.end(), options.files.begin(), options.files.end());
  return exec_program("xdmf", *python, words);
}

}  // namespace

void add_xdmf(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<XdmfOptions>();
  CLI::App* verb = app.add_subcommand("xdmf",
                                      "Makes the XDMF sidecar of a file, run.xmf beside run.h5, "
                                      "for tools that do not read /VTKHDF.");
  verb->add_option("FILE", options->files, "What a store of type hdf5 has written, or a view")
      ->required();
  verb->add_flag("--json", options->json, "Print JSON, a line for each file");
  verb->add_option("--interpreter", options->interpreter,
                   "Python with h5py (default: python3 in PATH)");
  verb->footer(
      "Exit codes: 0 the sidecars are made; 1 one could not be; 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_xdmf(*options); });
}

}  // namespace leat::command
