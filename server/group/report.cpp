// SPDX-License-Identifier: Apache-2.0
#include "server/group/report.hpp"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

namespace leat::server {
namespace {

using nlohmann::json;

constexpr int kReportVersion = 1;

json words_of(const Step& step) {
  json tallies = json::array();
  for (const Tally& each : step.tallies) tallies.push_back({each.least, each.most, each.ordered});
  return {step.iteration, std::move(tallies)};
}

Step step_in(const json& words) {
  Step step{words.at(0).get<std::int64_t>(), {}};
  for (const json& each : words.at(1)) step.tallies.push_back({each.at(0), each.at(1), each.at(2)});
  return step;
}

Report report_of(const json& words) {
  Report report;
  report.name = words.at("name");
  report.ranks = words.at("ranks");
  report.knows = words.at("knows").get<std::vector<std::string>>();
  report.beat = words.at("beat");
  report.first = words.at("first");
  report.until = words.at("until");
  report.decided = words.at("decided");
  report.ended = words.at("ended");
  report.gave_up = words.at("gave_up");
  for (const json& each : words.at("steps")) report.steps.push_back(step_in(each));
  return report;
}

bool makes_sense(const Report& report, std::size_t events) {
  const auto comes_before = [](const Step& a, const Step& b) { return a.iteration < b.iteration; };
  return report.ranks > 0 &&
         std::is_sorted(report.steps.begin(), report.steps.end(), comes_before) &&
         std::all_of(report.steps.begin(), report.steps.end(),
                     [&](const Step& each) { return each.tallies.size() == events; });
}

}  // namespace

const std::vector<Tally>* Report::at(std::int64_t iteration) const noexcept {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), iteration,
                       [](std::int64_t value, const Step& step) { return value < step.iteration; });
  return after == steps.begin() ? nullptr : &std::prev(after)->tallies;
}

std::string line_of(const Report& report) {
  json steps = json::array();
  for (const Step& each : report.steps) steps.push_back(words_of(each));
  const json words{
      {"leat_group", kReportVersion}, {"name", report.name},       {"ranks", report.ranks},
      {"knows", report.knows},        {"beat", report.beat},       {"first", report.first},
      {"until", report.until},        {"decided", report.decided}, {"ended", report.ended},
      {"gave_up", report.gave_up},    {"steps", std::move(steps)}};
  return words.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Report> report_in(const std::string& line, std::size_t events) {
  try {
    const json words = json::parse(line);
    if (words.at("leat_group") != kReportVersion) return std::nullopt;
    Report report = report_of(words);
    if (makes_sense(report, events)) return report;
  } catch (const std::exception&) {  // whatever lies in that folder
  }
  return std::nullopt;
}

}  // namespace leat::server
