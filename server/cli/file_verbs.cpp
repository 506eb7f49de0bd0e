// SPDX-License-Identifier: Apache-2.0
#include "server/cli/file_verbs.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/damaris/translate.hpp"
#include "lib/model/reader.hpp"
#include "server/cli/programs.hpp"

namespace leat::cli {
namespace {

int run_convert(const std::string& file) {
  const model::damaris::Converted converted = model::damaris::convert_file(file);
  std::fputs(format(converted.diagnostics).c_str(), stderr);
  if (!converted.text) return kBad;
  const bool written = std::fputs(converted.text->c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) std::perror("leat convert: cannot write");
  return written ? kGood : kBad;
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  const auto file = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand(
      "convert", "Writes an XML for Damaris as one for Leat, to standard output.");
  verb->add_option("FILE", *file, "The XML for Damaris")->required();
  verb->footer(
      "What has no equal in Leat is said on standard error, and in comments of the output.\n"
      "Exit codes: 0 good; 1 the file has errors, and nothing is written; 2 the command line is "
      "wrong.");
  verb->callback([file, &exit_code] { exit_code = run_convert(*file); });
}

namespace {

struct ViewOptions {
  std::string from, to;
  bool json = false, force = false;
};

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  const auto words = std::make_shared<ViewOptions>();
  CLI::App* verb =
      app.add_subcommand("view",
                         "Makes the view of a run on several nodes anew: the file that "
                         "shows what its servers have written as one. The servers do it "
                         "themselves; it is needed when all of them were killed.");
  verb->add_option("TARGET", words->from, "The view, or the folder of its parts")->required();
  verb->add_option("-o,--output", words->to,
                   "Where the view is to be; default: where the run has it");
  verb->add_flag("--json", words->json, "Print JSON");
  verb->footer("Exit codes: 0 the view is made; 1 it could not be; 2 the command line is wrong.");
  verb->callback([words, &exit_code] {
    exit_code = exec_store_program("view", {words->from, words->to, words->json ? "json" : ""});
  });
}

void add_merge(CLI::App& app, int& exit_code) {
  const auto words = std::make_shared<ViewOptions>();
  CLI::App* verb = app.add_subcommand("merge",
                                      "Makes one plain HDF5 file of a view and its parts, with the "
                                      "same content.");
  verb->add_option("VIEW", words->from, "The view of a run on several nodes")->required();
  verb->add_option("FILE", words->to, "The file to be made")->required();
  verb->add_flag("--force", words->force, "Replace FILE when it is there");
  verb->add_flag("--json", words->json, "Print JSON");
  verb->footer(
      "Exit codes: 0 the file is made; 1 it could not be, and nothing is changed; 2 the command "
      "line "
      "is wrong.");
  verb->callback([words, &exit_code] {
    exit_code = exec_store_program(
        "merge", {words->from, words->to, words->force ? "force" : "", words->json ? "json" : ""});
  });
}

namespace {

struct XdmfOptions {
  std::vector<std::string> files;
  std::string interpreter = "python3";
  bool json = false;
};

int run_xdmf(const XdmfOptions& options) {
  std::vector<std::string> words{options.json ? "json" : "screen"};
  words.insert(words.end(), options.files.begin(), options.files.end());
  return exec_python_tool("xdmf", options.interpreter, "h5py", words);
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

namespace {

struct ReplayOptions {
  std::string file, interpreter = "python3", output;
  std::vector<std::string> scripts;
  std::optional<std::int64_t> from, to;
};

std::vector<std::string> arguments_of(const ReplayOptions& options) {
  std::vector<std::string> words;
  if (!options.output.empty()) words.push_back("--output=" + options.output);
  if (options.from) words.push_back("--from=" + std::to_string(*options.from));
  if (options.to) words.push_back("--to=" + std::to_string(*options.to));
  words.insert(words.end(), {"--", options.file});
  words.insert(words.end(), options.scripts.begin(), options.scripts.end());
  return words;
}

int run_replay(const ReplayOptions& options) {
  if (options.from && options.to && *options.from > *options.to) {
    std::fprintf(stderr, "leat replay: --from %s is behind --to %s\n",
                 std::to_string(*options.from).c_str(), std::to_string(*options.to).c_str());
    return kUsage;
  }
  return exec_python_tool("replay", options.interpreter, "NumPy and h5py", arguments_of(options));
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

}  // namespace leat::cli
