// SPDX-License-Identifier: Apache-2.0
// `leat check`: all errors of a configuration at once, or what the run will be.

#include <cstdio>
#include <memory>

#include "lib/base/text.hpp"
#include "lib/model/explain.hpp"
#include "lib/model/read_steps.hpp"
#include "server/cli/check_network.hpp"
#include "server/cli/check_report.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

// Diagnostics as the reader formats them, with the severity in colour.
std::string diagnostics_text(const CheckReport& report, const Look& look) {
  std::string text = format(report.diagnostics);
  for (const auto& [word, paint] :
       {std::pair{": error: ", Paint::red}, std::pair{": warning: ", Paint::yellow},
        std::pair{": note: ", Paint::dim}}) {
    const std::string plain = word;
    const std::string bright = ": " + painted(plain.substr(2, plain.size() - 3), paint, look) + " ";
    for (std::size_t at = 0; (at = text.find(plain, at)) != std::string::npos;) {
      text.replace(at, plain.size(), bright);
      at = std::min(text.find('\n', at), text.size());
    }
  }
  return text;
}

std::string verdict(const CheckReport& report) {
  int errors = 0;
  for (const auto& each : report.diagnostics) errors += each.severity == model::Severity::error;
  return std::to_string(errors) + (errors == 1 ? " error" : " errors") + " in " +
         report.options.file + "\n";
}

int explain(const CheckReport& report) {
  const model::Model& model = *report.model;
  const std::string& name = report.options.explain;
  const std::string text = model::explained(model, name);
  if (!text.empty()) {
    print(text + "\n");
    return kGood;
  }
  std::vector<std::string> known = model::names_of(model.variables);
  for (const std::string& each : model::names_of(model.stores)) known.push_back(each);
  std::fputs(("there is no variable and no store \"" + name + "\" in " + report.options.file +
              did_you_mean(name, known) + "\n")
                 .c_str(),
             stderr);
  return kBad;
}

int run_check(const CheckOptions& options) {
  const Result<CheckReport> report = options.sizes_only ? size_up(options) : check_file(options);
  if (!report) return refuse("check", report.error().message, kUsage);
  const Json facts = json_of(*report);
  if (options.json) {
    print(text_of(facts));
    return report->good() ? kGood : kBad;
  }
  if (!options.explain.empty() && report->model) return explain(*report);
  // What is wrong stands below, where the eye is.
  print(screen(*report, facts, look_of(stdout)));
  if (report->model && !report->diagnostics.empty()) std::fputs("\n", stderr);
  std::fputs(diagnostics_text(*report, look_of(stderr)).c_str(), stderr);
  if (report->good())
    print("\n" + painted("good", Paint::green, look_of(stdout)) + "\n");
  else
    std::fputs(verdict(*report).c_str(), stderr);
  return report->good() ? kGood : kBad;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CheckOptions>();
  const auto network = std::make_shared<NetworkOptions>();
  const auto of_network = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand(
      "check", "Says all errors of a configuration at once, or shows what the run will be.");
  verb->add_option("FILE", options->file, "The XML of the simulation")->required();
  verb->add_option("--ranks", options->ranks, "Ranks of the whole run")->check(CLI::PositiveNumber);
  verb->add_option("--per-node", options->per_node,
                   "Ranks on one node (default: all of --ranks, else 1)")
      ->check(CLI::PositiveNumber);
  verb->add_option("--set", options->set,
                   "name=value of a parameter, as the simulation would set it; several are "
                   "separated by commas, or said one "
                   "by one")
      ->allow_extra_args(false);
  verb->add_option("--import-limit", options->import_limit,
                   "Seconds that importing the scripts may take (default: 60)")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--sizes-only", options->sizes_only,
                 "Looks at nothing but the XML: imports no script, asks no plugin");
  verb->add_option("--explain", options->explain,
                   "Says of one variable or store what will be written, and when");
  CLI::Option* const length =
      verb->add_option("--iterations", options->iterations,
                       "How many the run will have: says which periods never end in it")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 46));
  verb->add_option(
          "--time-step", options->time_step,
          "What an iteration takes of the simulation's time, as \"10 min\", for periods of that")
      ->needs(length);
  verb->add_option("--machine", options->machine,
                   "A machine described as JSON: says where on it server and memory will be");
  verb->add_flag("--json", options->json, "JSON on standard output, and nothing else");
  CLI::Option* const flag = verb->add_flag(
      "--network", *of_network,
      "Run on each node of a job: says which node reaches which, and nothing of the file");
  verb->add_option("--nodes", network->nodes,
                   "Processes that take part with --network (default: as the launcher says)")
      ->check(CLI::PositiveNumber)
      ->needs(flag);
  verb->add_option("--node", network->node,
                   "Which of them this one is, from 0 on (default: likewise)")
      ->check(CLI::NonNegativeNumber)
      ->needs(flag);
  verb->add_option("--within", network->limit, "Seconds that --network may take (default: 60)")
      ->check(CLI::PositiveNumber)
      ->needs(flag);
  verb->footer(
      "Exit codes: 0 the file is good; 1 it has errors, or one iteration does not fit into the "
      "buffer, or with --network some node does not reach another one; 2 the command line is "
      "wrong.");
  verb->callback([options, network, of_network, &exit_code] {
    network->file = options->file;
    network->json = options->json;
    exit_code = *of_network ? check_network(*network) : run_check(*options);
  });
}

}  // namespace leat::cli
