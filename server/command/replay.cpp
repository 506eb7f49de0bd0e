// SPDX-License-Identifier: Apache-2.0
#include "server/command/replay.hpp"

#include <cstdio>
#include <memory>
#include <optional>

#include "lib/os/process.hpp"
#include "server/command/exec_program.hpp"
#include "server/command/exit_codes.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::command {
namespace {

struct ReplayOptions {
  std::string file, interpreter = "python3", output;
  std::vector<std::string> scripts;
  std::optional<std::int64_t> from, to;
};

// What follows the interpreter.
std::vector<std::string> arguments_of(const ReplayOptions& options) {
  std::vector<std::string> words{server::python_launcher(), "replay"};
  if (!options.output.empty()) words.push_back("--output=" + options.output);
  if (options.from) words.push_back("--from=" + std::to_string(*options.from));
  if (options.to) words.push_back("--to=" + std::to_string(*options.to));
  words.insert(words.end(), {"--", options.file});
  words.insert(words.end(), options.scripts.begin(), options.scripts.end());
  return words;
}

int complain(int exit_code, const std::string& message) {
  std::fprintf(stderr, "leat replay: %s\n", message.c_str());
  return exit_code;
}

int run_replay(const ReplayOptions& options) {
  if (options.from && options.to && *options.from > *options.to) {
    return complain(kUsage, "--from " + std::to_string(*options.from) + " is behind --to " +
                                std::to_string(*options.to));
  }
  const Result<std::string> python = server::find_python(options.interpreter, "NumPy and h5py");
  if (!python) return complain(kBad, python.error().message);
  return exec_program("replay", *python, arguments_of(options));
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* verb = app.add_subcommand(
      "replay", "Runs analysis scripts on a stored run, as they would have run beside it.");
  verb->add_option("FILE", options->file, "What a store of type hdf5 has written")->required();
  verb->add_option("SCRIPT", options->scripts, "Python scripts")->required();
  verb->add_option("--output", options->output,
                   "Folder for what the scripts make (default: <simulation>-replay)");
  verb->add_option("--from", options->from, "The first iteration");
  verb->add_option("--to", options->to, "The last iteration");
  verb->add_option("--interpreter", options->interpreter,
                   "Python with NumPy and h5py (default: python3 in PATH)");
  verb->footer(
      "Exit codes: 0 all calls went well; 1 a script failed, or nothing could be replayed; 2 the "
      "command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_replay(*options); });
}

}  // namespace leat::command
