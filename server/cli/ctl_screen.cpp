// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ctl_screen.hpp"

#include <cstdio>

#include "lib/base/text.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/ls_screen.hpp"

namespace leat::cli {
namespace {

std::string real(const char* form, const Json& facts, const char* key, double factor = 1) {
  char text[64];
  std::snprintf(text, sizeof text, form, factor * facts.value(key, 0.0));
  return text;
}

void add_description(const Json& facts, Screen* screen) {
  screen->title(text_in(facts, "simulation"));
  if (const std::string about = text_in(facts, "description"); !about.empty())
    screen->note(about, Paint::plain);
  add_variables(facts["variables"], screen);
  const Json& parameters = facts["parameters"];
  if (parameters.empty()) return;
  screen->section(counted(parameters.size(), "parameter"));
  screen->table(parameters, {text("name"), text("type"),
                             made({.title = "value in the XML"},
                                  [](const Json& each) {
                                    const Json& value = each["value"];
                                    return Cell{value.is_null() ? "-" : value.dump()};
                                  }),
                             dim("description")});
}

void add_work(const Json& nodes, const std::string& noun, std::vector<Field> counts,
              Screen* screen) {
  if (nodes.empty()) return;
  screen->section(counted(nodes.size(), noun));
  counts.insert(counts.begin(), text("name"));
  counts.push_back(made({.title = "seconds", .right = true},
                        [](const Json& each) { return Cell{real("%.3f", each, "seconds")}; }));
  screen->table(nodes, counts);
}

void add_metrics(const Json& facts, Screen* screen) {
  const Json &iterations = facts["iterations"], &rates = facts["rates"], &memory = facts["memory"];
  screen->fact("up", real("%.1f s", facts, "uptime_seconds"));
  screen->fact("iterations", shown(iterations, "complete") + " complete, " +
                                 shown(iterations, "stored") + " stored, " +
                                 shown(iterations, "failed") + " failed, " +
                                 shown(iterations, "dropped") + " dropped; " +
                                 shown(facts, "queue") + " on their way");
  screen->fact("data", shown_bytes(facts, "bytes") + " written");
  screen->fact("rates", real("%.3g iterations", rates, "iterations_per_second") + " and " +
                            shown_bytes(rates, "bytes_per_second") + " per second, over " +
                            real("%.1f s", rates, "over_seconds"));
  screen->fact("buffer", shown_bytes(memory, "used_bytes") + " of " + shown_bytes(memory, "bytes") +
                             " in use");
  screen->fact("idle", real("%.1f %%", facts, "idle_share", 100) + " of the server's cores");
  add_work(facts["stores"], "store",
           {number("calls"), number("skipped"), bytes("bytes"),
            number("products taken", "products_taken"),
            number("products published", "products_published")},
           screen);
  add_work(facts["scripts"], "script",
           {number("calls"), number("failed"), number("skipped"), number("waiting")}, screen);
}

void add_run(const Json& facts, Screen* screen) {
  const Json& servers = facts["servers"];
  const auto sum = [&servers](const char* key) {
    std::uint64_t all = 0;
    for (const Json& each : servers) all += each.value(key, std::uint64_t{0});
    return all;
  };
  screen->fact("servers", std::to_string(servers.size()) + " with " + std::to_string(sum("ranks")) +
                              " ranks, of which " + std::to_string(sum("ranks_there")) +
                              " are there");
  screen->fact("iterations", std::to_string(facts.value("agreed", std::int64_t{-1}) + 1) +
                                 " ended by all of them");
  screen->fact("data",
               format_bytes(sum("bytes")) + " written, " + counted(sum("lost"), "block") + " lost");
  if (!facts["alone"].is_null()) screen->fact("alone", text_in(facts, "alone"));
  screen->table(servers, fields_of_servers());
}

}  // namespace

std::vector<Field> fields_of_servers() {
  return {
      text("server"),   text("state"),    number("ranks"),   number("in iteration", "iteration"),
      number("stored"), number("failed"), number("dropped"), number("lost"),
      bytes("bytes")};
}

std::string screen_of_reply(const std::string& verb, const Json& result, const Look& look) {
  Screen screen(look);
  Json facts = result;
  if (verb == "status") {
    facts["problem"] = "";
    add_status(facts, &screen);
  } else if (verb == "describe") {
    add_description(facts, &screen);
  } else if (verb == "metrics") {
    add_metrics(facts, &screen);
  } else if (verb == "run") {
    add_run(facts, &screen);
  } else if (verb == "ledger") {
    add_ledger(ledger_in(result.dump(), "of its server"), &screen);
  } else {
    screen.any(facts);
  }
  return screen.text();
}

std::string line_of_event(const Json& event, const Look& look) {
  constexpr std::size_t kNameWidth = 9;
  const std::string name = text_in(event, "event");
  const bool is_bad = name == "failed" || name == "dropped" || name == "overrun";
  std::string text =
      painted(name + std::string(name.size() < kNameWidth ? kNameWidth - name.size() : 1, ' '),
              is_bad ? Paint::red : Paint::plain, look);
  const auto add = [&](const char* before, const char* key, const char* after = "") {
    if (event.contains(key)) text += before + shown(event, key) + after;
  };
  add("iteration ", "iteration");
  add(" in ", "store");
  if (event.contains("bytes")) text += ", " + shown_bytes(event, "bytes");
  add(": ", "parameter");
  add(" is ", "value", " from it on");
  if (event.value("simulation_sets_it", false))
    text += ", until the simulation sets it itself, as it does in each iteration";
  add(": ", "signal");
  add(" of rank ", "rank");
  add(", ", "times", " times");
  add("with status ", "status");
  add(": ", "why");
  add(": ", "error");
  return text + "\n";
}

}  // namespace leat::cli
