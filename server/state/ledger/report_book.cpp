// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/report_book.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "lib/base/table.hpp"
#include "lib/base/text.hpp"
#include "server/state/ledger/rows.hpp"
#include "server/state/run.hpp"

namespace leat::server {
namespace {

constexpr std::size_t kMostRanks = 60;

// The rank's own memory may be spoilt.
std::string text_in(const shm::Report& report) {
  std::string text(report.text, strnlen(report.text, sizeof report.text));
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// A layout, a parameter or a mesh may have the variable's name as well.
bool is_of_another(std::string_view before) {
  return before.ends_with("layout ") || before.ends_with("parameter ") || before.ends_with("mesh ");
}

void call_it_it(std::string* text, const std::string& quoted) {
  for (std::size_t at = 0; (at = text->find(quoted, at)) != std::string::npos; ++at)
    if (!is_of_another(std::string_view(*text).substr(0, at)))
      text->replace(at, quoted.size(), "it");
}

// 'leat_write: variable "t" (run.xml:7): a block of "t"...' is 'a block of it...' for all
// variables.
std::string general(std::string text, const std::string& variable) {
  const std::size_t call = text.find(": ");
  if (text.starts_with("leat_") && call != std::string::npos) text.erase(0, call + 2);
  if (variable.empty()) return text;
  const std::string quoted = "\"" + variable + "\"";
  if (const std::string title = "variable " + quoted + " ("; text.starts_with(title)) {
    const std::size_t end = text.find("): ");
    if (end != std::string::npos) text.erase(0, end + 3);
  }
  call_it_it(&text, quoted);
  return text;
}

// "ranks 0-3"
std::string ranks_in_words(std::vector<std::int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  Ranks ranks;
  for (const std::int32_t rank : numbers) append_rank(&ranks, rank);
  return (numbers.size() == 1 ? "rank " : "ranks ") + cut(text_of(ranks), kMostRanks);
}

LogLevel level_of_report(const shm::Report& report) {
  if ((report.number & shm::kIsWarning) != 0) return LogLevel::warning;
  return (report.number & shm::kIsNote) != 0 ? LogLevel::info : LogLevel::error;
}

// The same of ranks that have the same to say. A warning is of the name in it: "u1" is not "u2".
std::string shape_of_report(LogLevel level, const std::string& why) {
  const std::size_t begin = level == LogLevel::warning ? why.find('"') : std::string::npos;
  if (begin == std::string::npos) return without_numbers(why);
  return without_numbers(why) + why.substr(begin, why.find('"', begin + 1) - begin);
}

template <class T>
void add_once(std::vector<T>* values, T value) {
  if (std::find(values->begin(), values->end(), value) == values->end()) values->push_back(value);
}

}  // namespace

ReportBook::ReportBook(const model::Model& model, std::uint32_t clients)
    : model_(model), whys_(clients) {}

void ReportBook::take(std::uint32_t client, std::int32_t rank, const shm::Report& report,
                      std::int64_t now_ns) {
  if (whys_[client].size() >= kMostOfAClient) return;
  const std::string text = text_in(report);
  const bool known = report.variable < model_.variables.size();
  const std::string why = general(text, known ? model_.variables[report.variable].name : "");
  whys_[client].emplace_back(report.number & ~(shm::kWasSaid | shm::kIsWarning | shm::kIsNote),
                             why);
  if ((report.number & shm::kWasSaid) != 0) return;
  const std::string shape = shape_of_report(level_of_report(report), why);
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&shape](const Group& each) { return each.shape == shape; });
  if (group == groups_.end())
    group = groups_.insert(groups_.end(),
                           {shape, text, {}, {}, now_ns + kWaitNs, level_of_report(report)});
  add_once(&group->ranks, rank);
  if (known) add_once(&group->variables, report.variable);
}

std::string ReportBook::why(std::uint32_t client, std::uint32_t number) const {
  for (const auto& [known, why] : whys_[client]) {
    if (known == number) return why;
  }
  return "";
}

void ReportBook::died(std::int32_t rank, std::int64_t iteration, std::int64_t now_ns) {
  Deaths& deaths = deaths_.try_emplace(iteration, Deaths{{}, now_ns + kWaitNs}).first->second;
  add_once(&deaths.ranks, rank);
}

std::string ReportBook::text_of_group(const Group& group) const {
  std::string text = ranks_in_words(group.ranks) + ": " + group.first;
  if (group.variables.size() < 2) return text;
  const std::size_t others = group.variables.size() - 1;
  text += "; the same of " + counted(others, "other variable") + ":";
  for (std::size_t i = 1; i <= others && i <= kMostNamed; ++i)
    text += fmt::format("{} \"{}\"", i > 1 ? "," : "", model_.variables[group.variables[i]].name);
  return others > kMostNamed ? text + ", ..." : text;
}

std::vector<ReportBook::Line> ReportBook::take_due(std::int64_t now_ns, bool all) {
  std::vector<Line> due;
  std::erase_if(groups_, [&](const Group& group) {
    if (!all && now_ns < group.until_ns) return false;
    due.push_back({group.level, text_of_group(group)});
    return true;
  });
  std::erase_if(deaths_, [&](const auto& each) {
    const auto& [iteration, deaths] = each;
    if (!all && now_ns < deaths.until_ns) return false;
    due.push_back({LogLevel::warning,
                   fmt::format("{} ended without leat_finalize, in iteration {}; the data {} had "
                               "written will be stored",
                               ranks_in_words(deaths.ranks), iteration,
                               deaths.ranks.size() == 1 ? "it" : "they")});
    return true;
  });
  return due;
}

}  // namespace leat::server
