// SPDX-License-Identifier: Apache-2.0
// What `leat predict` prints, for people and as JSON.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/predict/prediction.hpp"
#include "server/command/predict_report.hpp"

namespace leat::command {
namespace {

using Json = nlohmann::ordered_json;

std::string three_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", number < 9.995 ? 2 : number < 99.95 ? 1 : 0, number);
  return text;
}

std::string percent(double slowdown) { return three_digits(100 * slowdown) + " %"; }

std::string time_text(double ns) { return ns == 0 ? "0 ns" : format_seconds(1e-9 * ns); }

// Without the zeros behind the point.
std::string short_time(double ns) {
  std::string text = time_text(ns);
  const std::size_t blank = text.find(' '), point = text.find('.');
  if (point == std::string::npos) return text;
  const std::size_t last = text.find_last_not_of('0', blank - 1);
  return text.substr(0, last == point ? point : last + 1) + text.substr(blank);
}

std::string of_traces(const std::vector<predict::Trace>& traces) {
  return counted(traces.size(), "trace");
}

std::string job_text(const PredictQuestion& asked) {
  std::string text = "all-reduces of " + counted(static_cast<std::uint64_t>(asked.bytes), "byte");
  if (asked.collective_traces.empty()) {
    text += ", " + short_time(static_cast<double>(asked.compute_ns)) + " of computing between them";
    if (asked.imbalance > 0) text += " (imbalance " + three_digits(asked.imbalance) + ")";
  } else {
    text += ", computing between them as in " + of_traces(asked.collective_traces);
  }
  return text;
}

std::string bursts_text(const PredictQuestion& asked) {
  std::string text = "bursts ";
  if (asked.burst_traces.empty()) {
    text += "of " + short_time(static_cast<double>(asked.bursts.median_ns));
    if (asked.bursts.spread > 0) text += " (spread " + three_digits(asked.bursts.spread) + ")";
    text += " every " + short_time(static_cast<double>(asked.bursts.every_ns));
  } else {
    text += "as in " + of_traces(asked.burst_traces);
  }
  return text + " on each node of " + counted(static_cast<std::uint64_t>(asked.per_node), "rank");
}

std::string machine_text(const predict::Machine& machine) {
  return "L " + short_time(static_cast<double>(machine.latency)) + ", o " +
         short_time(static_cast<double>(machine.overhead)) + ", g " +
         short_time(static_cast<double>(machine.gap)) + ", G " + short_time(machine.gap_per_byte) +
         "/byte, O " + short_time(machine.overhead_per_byte) + "/byte";
}

std::string alone_text(const PredictQuestion& asked, std::int64_t ranks) {
  return time_text(static_cast<double>(predict::undisturbed_all_reduce_ns(asked.costs, ranks)));
}

std::string sigma_text(const predict::Sigma& sigma) {
  return sigma ? short_time(static_cast<double>(*sigma)) : "none";
}

Paint slowdown_paint(double slowdown) {
  return slowdown < 0.05 ? Paint::green : slowdown < 0.25 ? Paint::yellow : Paint::red;
}

Json outcome_json(const SeedOutcome& outcome) {
  return {{"seed", outcome.seed},
          {"collectives", outcome.collectives},
          {"ns", outcome.ns},
          {"ns_without", outcome.ns_without},
          {"arrival_spread_ns", outcome.arrival_spread_ns},
          {"arrival_spread_without_ns", outcome.arrival_spread_without_ns},
          {"slowdown", outcome.slowdown}};
}

Json row_json(const PredictQuestion& asked, const PredictRow& row) {
  Json said{{"ranks", row.ranks},
            {"sigma_ns", row.sigma ? Json(*row.sigma) : Json(nullptr)},
            {"all_reduce_ns", predict::undisturbed_all_reduce_ns(asked.costs, row.ranks)},
            {"slowdown", row.mean_slowdown()},
            {"least", row.least_slowdown()},
            {"most", row.most_slowdown()},
            {"arrival_spread_ns", row.mean_arrival_spread_ns()},
            {"seeds", Json::array()}};
  for (const SeedOutcome& each : row.of_seeds) said["seeds"].push_back(outcome_json(each));
  return said;
}

}  // namespace

std::string screen(const PredictReport& report, const Look& look) {
  const PredictQuestion& asked = report.question;
  std::string text =
      job_text(asked) + "\n" + bursts_text(asked) + "\n" + machine_text(asked.machine) + "\n\n";
  std::vector<std::vector<Cell>> rows{{{"ranks", Paint::bold, true},
                                       {"all-reduce alone", Paint::bold, true},
                                       {"sigma", Paint::bold, true},
                                       {"slowdown", Paint::bold, true},
                                       {"least", Paint::bold, true},
                                       {"most", Paint::bold, true},
                                       {"arrivals apart", Paint::bold, true}}};
  for (const PredictRow& row : report.rows) {
    const double slowdown = row.mean_slowdown();
    rows.push_back({{std::to_string(row.ranks), Paint::plain, true},
                    {alone_text(asked, row.ranks), Paint::plain, true},
                    {sigma_text(row.sigma), Paint::plain, true},
                    {percent(slowdown), slowdown_paint(slowdown), true},
                    {percent(row.least_slowdown()), Paint::dim, true},
                    {percent(row.most_slowdown()), Paint::dim, true},
                    {time_text(row.mean_arrival_spread_ns()), Paint::plain, true}});
  }
  return text + table_or_paragraphs(rows, look) + "\n" + "means, least and most of " +
         counted(static_cast<std::uint64_t>(asked.seeds), "seed") +
         "; sigma none: not synchronised\n";
}

std::string json(const PredictReport& report) {
  const PredictQuestion& asked = report.question;
  const predict::Machine& machine = asked.machine;
  Json root{{"leat_prediction", 1},
            {"machine",
             {{"L", machine.latency},
              {"o", machine.overhead},
              {"g", machine.gap},
              {"G", machine.gap_per_byte},
              {"O", machine.overhead_per_byte},
              {"S", machine.rendezvous_bytes}}},
            {"bytes", asked.bytes},
            {"ranks_per_node", asked.per_node},
            {"job", job_text(asked)},
            {"bursts", bursts_text(asked)},
            {"rows", Json::array()}};
  for (const PredictRow& row : report.rows) root["rows"].push_back(row_json(asked, row));
  return root.dump(2) + "\n";
}

}  // namespace leat::command
