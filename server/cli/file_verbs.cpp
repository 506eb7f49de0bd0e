// SPDX-License-Identifier: Apache-2.0
// The verbs staging, view and merge: each is told of files.

#include <cstdio>
#include <memory>
#include <string>

#include "lib/model/reader.hpp"
#include "server/cli/programs.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
void add_staging(CLI::App& app, int& exit_code) {
  struct Options {
    std::string config, number;
    bool ends = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "staging",
      "Is a staging node: takes what the servers of a simulation send, for stores and scripts with "
      "at=\"staging\", and ends with the run.");
  verb->add_option("CONFIG", options->config, "The XML of the simulation")->required();
  verb->add_option("--number", options->number,
                   "Which of the staging nodes this is, from 0 (default: the lowest that is free)")
      ->check(CLI::Range(0, 65535));
  verb->add_flag(
      "--end", options->ends,
      "Tells the staging nodes of this simulation that no run of it comes any more: those "
      "that serve none end at once, the others when theirs has ended");
  verb->footer("Exit codes: 0 all stored; 1 not all, the log says what; 2 it could not begin.");
  verb->callback([options, &exit_code] {
    std::vector<std::string> words{"leat staging", options->config};
    if (!options->number.empty()) words.insert(words.end(), {"--number", options->number});
    if (options->ends) words.push_back("--end");
    exit_code = exec_named("staging", staging_program(), words);
  });
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

}  // namespace leat::cli
