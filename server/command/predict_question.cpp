// SPDX-License-Identifier: Apache-2.0
// The words of `leat predict`'s command line, read and checked.
#include <charconv>

#include "lib/base/text.hpp"
#include "lib/predict/draws.hpp"
#include "lib/predict/prediction.hpp"
#include "server/command/predict_report.hpp"

namespace leat::command {
namespace {

using predict::kLongestNs;

// Times the bursts come in a run, unless something else is asked for.
constexpr std::int64_t kUsualPeriods = 5;

// Nobody waits for more.
constexpr std::int64_t kMostCollectives = 1'000'000'000;

struct TimeUnit {
  const char* name;
  double ns;
};
constexpr TimeUnit kTimeUnits[] = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},
                                   {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};

Error bad_word(const std::string& option, const std::string& why) {
  return {Status::ERROR_ARGUMENT, option + ": " + why};
}

Result<double> read_time(const std::string& option, const std::string& text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (fault != std::errc{} || !(number >= 0))
    return bad_word(option, "\"" + text + "\" is no time; write one like 40ms");
  for (const TimeUnit& each : kTimeUnits) {
    if (unit != each.name) continue;
    if (number * each.ns <= static_cast<double>(kLongestNs)) return number * each.ns;
    return bad_word(option, "\"" + text + "\" is longer than eleven days");
  }
  return bad_word(option, "\"" + text + "\" has " +
                              (unit.empty() ? "no unit" : "the unit \"" + unit + "\"") +
                              "; units are ns, us, ms, s, min, h");
}

// Reads one option after the other; the first error is kept.
class WordReader {
 public:
  std::int64_t ns(const std::string& option, const std::string& text) {
    return predict::rounded(exact(option, text));
  }
  double exact(const std::string& option, const std::string& text) {
    const Result<double> time = read_time(option, text);
    if (time) return *time;
    fail(time.error());
    return 0;
  }
  std::vector<predict::Trace> traces(const std::vector<std::string>& files) {
    Result<std::vector<predict::Trace>> read = predict::read_traces(files);
    if (read) return std::move(*read);
    fail(read.error());
    return {};
  }
  predict::Sigma sigma(const std::string& text) {
    if (text == "none") return std::nullopt;
    return ns("--sigma", text);
  }
  void need(bool is_there, const std::string& why) {
    if (!is_there) fail({Status::ERROR_ARGUMENT, why});
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  void fail(const Error& error) {
    if (!error_) error_ = error;
  }
  std::optional<Error> error_;
};

void read_machine(const PredictOptions& options, WordReader& words, PredictQuestion& question) {
  question.machine = {words.ns("--latency", options.latency),
                      words.ns("--overhead", options.overhead),
                      words.ns("--gap", options.gap),
                      words.exact("--gap-per-byte", options.gap_per_byte),
                      words.exact("--overhead-per-byte", options.overhead_per_byte),
                      options.rendezvous};
}

void read_job(const PredictOptions& options, WordReader& words, PredictQuestion& question) {
  words.need(!options.compute.empty() || !options.collective_traces.empty(),
             "how long do ranks compute between collectives? Say --compute 10ms, or "
             "--collective-traces FILE...");
  if (!options.compute.empty()) {
    question.compute_ns = words.ns("--compute", options.compute);
    words.need(question.compute_ns > 0, "--compute: ranks compute between collectives");
  }
  question.imbalance = options.imbalance;
  question.collective_traces = words.traces(options.collective_traces);
  for (const std::int64_t ranks : options.ranks)
    words.need(ranks <= predict::kMostRanks, "--ranks: " + std::to_string(ranks) +
                                                 " are more than " +
                                                 std::to_string(predict::kMostRanks));
}

void read_bursts(const PredictOptions& options, WordReader& words, PredictQuestion& question) {
  words.need(!options.burst.empty() || !options.burst_traces.empty() || !options.goal.empty(),
             "what do analytics do? Say --burst 40ms --every 2s, or --burst-traces FILE...");
  words.need(
      options.burst.empty() == options.every.empty(),
      "--burst and --every belong together: how long bursts are, and how far apart they begin");
  if (!options.burst.empty()) {
    question.bursts = {words.ns("--burst", options.burst), options.spread,
                       words.ns("--every", options.every)};
    words.need(question.bursts.every_ns > 0, "--every: bursts begin some time apart");
  }
  question.burst_traces = words.traces(options.burst_traces);
  for (const std::string& text : options.sigma) question.sigmas.push_back(words.sigma(text));
}

// As many collectives as were recorded, or some turns of the bursts.
void read_length(const PredictOptions& options, WordReader& words, PredictQuestion& question) {
  question.collectives = options.collectives.value_or(0);
  words.need(question.collectives <= kMostCollectives,
             "--collectives: " + std::to_string(question.collectives) + " are more than " +
                 std::to_string(kMostCollectives));
  if (!options.length.empty()) question.length_ns = words.ns("--for", options.length);
  if (question.collectives > 0 || question.length_ns > 0) return;
  if (!question.collective_traces.empty())
    question.collectives =
        static_cast<std::int64_t>(question.collective_traces.front().events.size()) - 1;
  else if (question.bursts.every_ns > 0)
    question.length_ns = kUsualPeriods * question.bursts.every_ns;
  else if (!question.burst_traces.empty())
    question.length_ns = question.burst_traces.front().span();
  else
    question.collectives = 1;
}

}  // namespace

Result<PredictQuestion> question_of(const PredictOptions& options) {
  PredictQuestion question;
  question.ranks = options.ranks;
  question.per_node = options.per_node;
  question.bytes = options.bytes;
  question.seed = options.seed;
  question.seeds = options.seeds;
  WordReader words;
  read_machine(options, words, question);
  read_job(options, words, question);
  read_bursts(options, words, question);
  read_length(options, words, question);
  if (words.error()) return *words.error();
  const Result<predict::MessageCosts> costs =
      predict::message_costs(question.machine, question.bytes);
  if (!costs) return costs.error();
  question.costs = *costs;
  return question;
}

}  // namespace leat::command
