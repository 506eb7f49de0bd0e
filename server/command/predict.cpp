// SPDX-License-Identifier: Apache-2.0
#include "server/command/predict.hpp"

#include <cstdio>
#include <memory>

#include "server/command/exit_codes.hpp"
#include "server/command/predict_report.hpp"

namespace leat::command {
namespace {

int say_why(const Error& error) {
  std::fprintf(stderr, "leat predict: %s\n", error.message.c_str());
  return error.status == Status::ERROR_ARGUMENT ? kUsage : kBad;
}

int run_predict(const PredictOptions& options) {
  Result<PredictQuestion> question = question_of(options);
  if (!question) return say_why(question.error());
  if (!options.goal.empty()) {
    if (const Result<void> done = export_goal(*question, options.goal); !done)
      return say_why(done.error());
    if (!question->has_bursts()) return kGood;
  }
  const Result<PredictReport> report = predict_report(std::move(*question));
  if (!report) return say_why(report.error());
  std::fputs(options.json ? json(*report).c_str() : screen(*report, look_of(stdout)).c_str(),
             stdout);
  std::fflush(stdout);
  if (options.plot.empty()) return kGood;
  const Result<void> drawn = plot(*report, options.plot, options.interpreter);
  return drawn ? kGood : say_why(drawn.error());
}

void add_job_options(CLI::App& verb, PredictOptions& options) {
  verb.add_option("--ranks", options.ranks, "Ranks that meet in collectives, like 1024,65536")
      ->delimiter(',')
      ->required()
      ->check(CLI::PositiveNumber);
  verb.add_option("--per-node", options.per_node, "Ranks of a node (default: 1)")
      ->check(CLI::PositiveNumber);
  CLI::Option* compute = verb.add_option(
      "--compute", options.compute, "Computing between two collectives, like 10ms (the median)");
  verb.add_option("--imbalance", options.imbalance,
                  "Standard deviation of its logarithm, over ranks and time (default: 0)");
  verb.add_option("--collective-traces", options.collective_traces,
                  "Instead: traces of collectives, \"start_ns duration_ns\", a file of a rank")
      ->excludes(compute);
  verb.add_option("--bytes", options.bytes, "Bytes of a message of the all-reduce (default: 8)")
      ->check(CLI::PositiveNumber);
  verb.add_option("--collectives", options.collectives,
                  "How many (default: as many as --for, or the traces, have)")
      ->check(CLI::PositiveNumber);
  verb.add_option("--for", options.length,
                  "How long a run is, with bursts (default: five times --every)");
}

void add_burst_options(CLI::App& verb, PredictOptions& options) {
  CLI::Option* burst =
      verb.add_option("--burst", options.burst,
                      "How long analytics take the cores of a node, like 40ms (the median)");
  verb.add_option("--spread", options.spread,
                  "Standard deviation of its logarithm (default: 0, all alike)");
  verb.add_option("--every", options.every, "From the start of a burst to the next, like 2s");
  verb.add_option("--burst-traces", options.burst_traces,
                  "Instead: traces of analytics, \"start_ns duration_ns\", a file of a node")
      ->excludes(burst);
  verb.add_option("--sigma", options.sigma,
                  "How well the nodes' bursts are synchronised: standard deviations, like "
                  "1ms,10ms,none (default: none, not at all)")
      ->delimiter(',');
  verb.add_option("--seed", options.seed, "The first seed (default: 1)")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--seeds", options.seeds, "How many are simulated (default: 3)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));
}

void add_machine_options(CLI::App& verb, PredictOptions& options) {
  const auto add = [&](const char* names, std::string& value, const char* what) {
    verb.add_option(names, value, std::string(what) + " (default: " + value + ")");
  };
  add("-L,--latency", options.latency, "Of the network");
  add("-o,--overhead", options.overhead, "CPU time of a send, and of a receive");
  add("-g,--gap", options.gap, "Between two messages of a rank");
  add("-G,--gap-per-byte", options.gap_per_byte, "Time of a byte on the wire");
  add("-O,--overhead-per-byte", options.overhead_per_byte, "CPU time of a byte");
  verb.add_option("-S,--rendezvous", options.rendezvous,
                  "Bytes from which on messages wait for receivers (default: 65535)");
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* verb = app.add_subcommand(
      "predict",
      "Says what bursts of analytics cost a simulation whose ranks meet in collectives.");
  add_job_options(*verb, *options);
  add_burst_options(*verb, *options);
  add_machine_options(*verb, *options);
  verb->add_option("--export-goal", options->goal,
                   "A file for the same schedule in GOAL, for LogGOPSim");
  verb->add_option("--plot", options->plot,
                   "A picture, .png, .svg or .pdf, of the slowdown over ranks and sigma");
  verb->add_option("--interpreter", options->interpreter,
                   "Python with matplotlib, for --plot (default: python3 in PATH)");
  verb->add_flag("--json", options->json, "JSON on standard output, and nothing else");
  verb->footer(
      "Starts nothing, and looks at no machine: docs/explanation/predictions.md says what to "
      "measure. Exit codes: 0 good; 1 a trace, or what was asked, makes no sense; 2 the command "
      "line is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_predict(*options); });
}

}  // namespace leat::command
