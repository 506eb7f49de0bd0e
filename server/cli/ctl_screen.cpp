// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ctl_screen.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/ls_screen.hpp"

namespace leat::cli {
namespace {

std::string number(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string bytes_in(const Json& facts, const char* name) {
  return format_bytes(facts.value(name, std::uint64_t{0}));
}

std::string status(Json facts, const Look& look) {
  facts["problem"] = "";
  return status_screen(facts, look);
}

std::string parameters_table(const Json& parameters, const Look& look) {
  auto rows = header_of({"name", "type", "value in the XML", "description"});
  for (const Json& each : parameters)
    rows.push_back({{each.value("name", "")},
                    {each.value("type", "")},
                    {each["value"].is_null() ? "-" : each["value"].dump()},
                    {each.value("description", ""), Paint::dim}});
  return table_or_paragraphs(rows, look);
}

std::string description(const Json& facts, const Look& look) {
  std::string text = painted(facts.value("simulation", ""), Paint::bold, look.colours) + "\n";
  if (const std::string about = facts.value("description", ""); !about.empty())
    text += "  " + about + "\n";
  text += variables_screen(facts["variables"], look);
  if (!facts["parameters"].empty())
    text += section(counted(facts["parameters"].size(), "parameter"), look) +
            parameters_table(facts["parameters"], look);
  return text;
}

std::string work_table(const Json& nodes, const std::vector<std::string>& counts,
                       const Look& look) {
  std::vector<std::string> titles{"name"};
  titles.insert(titles.end(), counts.begin(), counts.end());
  titles.push_back("seconds");
  auto rows = header_of(titles);
  for (std::size_t i = 1; i < titles.size(); ++i) rows[0][i].right = true;
  for (const Json& each : nodes) {
    rows.push_back({{each.value("name", "")}});
    for (const std::string& count : counts)
      rows.back().push_back(count == "bytes" ? bytes_cell(each[count])
                                             : right(each.value(count, Json(0)).dump()));
    rows.back().push_back(right(number("%.3f", each.value("seconds", 0.0))));
  }
  return table_or_paragraphs(rows, look);
}

std::string metrics(const Json& facts, const Look& look) {
  const Json &iterations = facts["iterations"], &rates = facts["rates"], &memory = facts["memory"];
  std::string text;
  text += line("up", number("%.1f s", facts.value("uptime_seconds", 0.0)), look);
  text += line("iterations",
               iterations["complete"].dump() + " complete, " + iterations["stored"].dump() +
                   " stored, " + iterations["failed"].dump() + " failed, " +
                   iterations["dropped"].dump() + " left out; " + facts["queue"].dump() +
                   " on their way",
               look);
  text += line("data", bytes_in(facts, "bytes") + " handed over", look);
  text += line("rates",
               number("%.3g iterations", rates.value("iterations_per_second", 0.0)) + " and " +
                   format_bytes(static_cast<std::uint64_t>(rates.value("bytes_per_second", 0.0))) +
                   " per second, over " + number("%.1f s", rates.value("over_seconds", 0.0)),
               look);
  text +=
      line("buffer",
           bytes_in(memory, "used_bytes") + " of " + bytes_in(memory, "bytes") + " in use", look);
  text += line("idle",
               number("%.1f %%", 100 * facts.value("idle_share", 0.0)) + " of the server's cores",
               look);
  if (!facts["stores"].empty())
    text += section(counted(facts["stores"].size(), "store"), look) +
            work_table(facts["stores"],
                       {"calls", "skipped", "bytes", "products_taken", "products_published"}, look);
  if (!facts["scripts"].empty())
    text += section(counted(facts["scripts"].size(), "script"), look) +
            work_table(facts["scripts"], {"calls", "failed", "skipped", "waiting"}, look);
  return text;
}

}  // namespace

std::string screen_of_reply(const std::string& verb, const Json& result, const Look& look) {
  if (verb == "status") return status(result, look);
  if (verb == "describe") return description(result, look);
  if (verb == "metrics") return metrics(result, look);
  return ledger_text(ledger_in(result.dump(), "of its server"), look);
}

std::string line_of_event(const Json& event, const Look& look) {
  const std::string name = event.value("event", "");
  const bool is_bad = name == "failed" || name == "dropped" || name == "overrun";
  std::string text = painted(name + std::string(name.size() < 9 ? 9 - name.size() : 1, ' '),
                             is_bad ? Paint::red : Paint::plain, look.colours);
  if (event.contains("iteration")) text += "iteration " + event["iteration"].dump();
  if (event.contains("store")) text += " in " + event.value("store", "");
  if (event.contains("bytes")) text += ", " + bytes_in(event, "bytes");
  if (event.contains("parameter"))
    text += ": " + event.value("parameter", "") + " is " + event.value("value", "") + " from it on";
  if (event.value("simulation_sets_it", false))
    text += ", until the simulation sets it itself, as it does in each iteration";
  if (event.contains("signal")) text += ": " + event.value("signal", "");
  if (event.contains("rank")) text += " of rank " + event["rank"].dump();
  if (event.contains("times")) text += ", " + event["times"].dump() + " times";
  if (event.contains("status")) text += "with status " + event["status"].dump();
  for (const char* why : {"why", "error"})
    if (event.contains(why)) text += ": " + event.value(why, "");
  return text + "\n";
}

}  // namespace leat::cli
