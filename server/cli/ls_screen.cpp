// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ls_screen.hpp"

#include <algorithm>

#include "lib/base/text.hpp"

namespace leat::cli {
namespace {

constexpr std::size_t kMostRanks = 16, kMostOfLedger = 6;

Paint paint_of_session(const std::string& state) {
  return state == "running" ? Paint::green : Paint::yellow;
}

Cell range_of(const Json& file) {
  const Json found = file.value("iterations", Json());
  if (!found.is_object()) return {"-"};
  if (found["count"] == 0) return {"none yet"};
  return {found["first"].dump() + ".." + found["last"].dump()};
}

Cell state_of(const Json& file) {
  if (file.value("needs_recover", false) && !file.value("session_alive", false))
    return {"killed, run `leat recover`", Paint::red};
  if (const std::string problem = text_in(file, "problem"); !problem.empty())
    return {problem, Paint::red};
  const std::string state = text_in(file, "state");
  return {state, state == "closed" ? Paint::plain : paint_of_session(state)};
}

Cell lost_of(const Json& file) {
  const Json lost = file.value("lost", Json());
  return {shown(file, "lost"), lost.is_null() || lost == 0 ? Paint::plain : Paint::red};
}

// A number of another object within the row.
Field number_in(const std::string& title, const std::string& object, const std::string& key) {
  return made({.title = title, .right = true},
              [=](const Json& row) { return Cell{shown(row.value(object, Json::object()), key)}; });
}

Field bytes_in(const std::string& title, const std::string& object, const std::string& key) {
  return made({.title = title, .right = true}, [=](const Json& row) {
    return Cell{shown_bytes(row.value(object, Json::object()), key)};
  });
}

Cell when_taken(const Json& store) {
  const std::string every = shown(store, "every");
  if (every == "1") return {"every iteration"};
  return {every == "-" ? every : "every " + every + " iterations"};
}

Cell shape_with_names(const Json& variable) {
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < variable["shape"].size(); ++d) {
    const std::string name = variable["dimensions"][d];
    parts.push_back((name.empty() ? "" : name + "=") + variable["shape"][d].get<std::string>());
  }
  return {parts.empty() ? "scalar" : joined(parts, " ")};
}

std::string in_memory(const Json& held) {
  return counted(held["iterations"].size(), "iteration") + ", " +
         counted(count_in(held, "blocks"), "block") + ", " + shown_bytes(held, "bytes");
}

void add_facts(const Json& session, Screen* screen) {
  const Json &buffer = session["buffer"], &ranks = session["ranks"];
  screen->fact("buffer", shown_bytes(buffer, "leased_bytes") + " of " +
                             shown_bytes(buffer, "bytes") +
                             " in use; when full: " + text_in(buffer, "when_full"));
  screen->fact("ranks",
               shown(ranks, "attached") + " of " + shown(ranks, "node") + " on this node attached" +
                   (ranks["all"].is_number() ? ", " + shown(ranks, "all") + " in all" : ""));
  if (const Json held = session.value("in_memory", Json()); held.is_object())
    screen->fact("in memory",
                 in_memory(held) +
                     " are not stored yet: `leat recover` does it, and so does the next run here");
  screen->fact("iterations", "done up to " + shown(session, "iteration_done"));
  screen->fact_in(session, "waits");
  if (const std::uint64_t takeovers = count_in(session, "takeovers"); takeovers > 0)
    screen->fact("takeovers", counted(takeovers, "server") + " of this session died");
}

Cell state_of_checkpoint(const Json& each) {
  if (each["whole"] == false) return {"not whole: " + text_in(each, "problem"), Paint::red};
  return {each["goes_on"] == true ? "whole, a run goes on from it" : "whole"};
}

void show_checkpoints(const Json& checkpoints, Screen* screen) {
  if (checkpoints.empty()) return;
  if (screen->text().empty())
    screen->line(screen->paint(counted(checkpoints.size(), "checkpoint"), Paint::bold));
  else
    screen->section(counted(checkpoints.size(), "checkpoint"));
  screen->table(checkpoints,
                {text("folder", "", 16), text("simulation", "", 10), number("iteration"),
                 number("ranks"), number("parts"), bytes("bytes"), text("written", "", 10),
                 made({.title = "state", .least = 10}, state_of_checkpoint)});
}

}  // namespace

std::string folder_screen(const Json& folder, const Look& look) {
  Screen screen(look);
  const Json& files = folder["files"];
  const bool is_here = folder["folder"] == ".";
  const std::string where = is_here ? "" : " in " + text_in(folder, "folder");
  const Json& checkpoints = folder["checkpoints"];
  if (files.empty() && checkpoints.empty())
    screen.line("no output files of Leat" + (is_here ? " here" : where));
  else if (!files.empty())
    screen.line(screen.paint(counted(files.size(), "output file"), Paint::bold) + where);
  screen.table(files, {text("name", "file", 16), made({.title = "iterations"}, range_of),
                       number("variables", "variable_count"), bytes("bytes"),
                       made({.title = "lost", .right = true}, lost_of),
                       made({.title = "state", .least = 10}, state_of)});
  if (const std::uint64_t others = count_in(folder, "other_files"); others > 0)
    screen.note("and " + counted(others, "file") + " that Leat has not made");
  show_checkpoints(checkpoints, &screen);
  const Json& sessions = folder["sessions"];
  if (sessions.empty()) return screen.text();
  screen.section(counted(sessions.size(), "session") + " of yours on this node");
  screen.table(
      sessions,
      {text("session", "", 16), text("simulation", "", 10), number_in("ranks", "ranks", "node"),
       number("iteration", "iteration_done"), bytes_in("buffer", "buffer", "bytes"),
       bytes_in("in use", "buffer", "leased_bytes"), made({.title = "state"}, [](const Json& each) {
         const std::string state = text_in(each, "state");
         return Cell{state, paint_of_session(state)};
       })});
  return screen.text();
}

void add_status(const Json& session, Screen* screen) {
  const std::string state = text_in(session, "state");
  screen->line(screen->paint(text_in(session, "session"), Paint::bold) + "  " +
               screen->paint(state, paint_of_session(state)));
  if (const std::string problem = text_in(session, "problem"); !problem.empty())
    screen->note(problem, Paint::red);
  for (const char* name : {"simulation", "folder"}) screen->fact_in(session, name);
  screen->fact_in(session, "XML", "config");
  if (session["pid"].is_number()) screen->fact("leatd", "process " + shown(session, "pid"));
  screen->fact_in(session, "since");
  if (!session.contains("buffer")) return;
  add_facts(session, screen);
  screen->section(counted(count_in(session["ranks"], "node"), "rank"));
  screen->table(session["clients"],
                {number("rank"), text("state", "phase"), number("iteration"),
                 number("events waiting", "events_waiting")},
                kMostRanks);
  const Json& stores = session["stores"];
  if (stores.empty()) return;
  screen->section(counted(stores.size(), "store"));
  screen->table(stores,
                {text("name", "", 8), text("plugin", "", 10), made({.title = "takes"}, when_taken),
                 number("last given", "begun"), number("last done", "done")});
}

void add_variables(const Json& variables, Screen* screen) {
  screen->section(counted(variables.size(), "variable"));
  screen->table(variables, {text("name", "", 8), text("type"),
                            made({.title = "shape of a block", .least = 12}, shape_with_names),
                            text("unit"), dim("description", "", 12)});
}

std::string session_screen(const Json& session, const Look& look) {
  Screen screen(look);
  add_status(session, &screen);
  if (!session.contains("buffer")) return screen.text();
  if (session["variables"].is_array()) add_variables(session["variables"], &screen);
  const Json held = session.value("in_memory", Json::object());
  if (const Json variables = held.value("variables", Json()); !variables.empty()) {
    screen.section("Killed with");
    screen.table(variables, {text("in memory", "name"), number("blocks"), bytes("bytes")});
  }
  if (!session["files"].empty()) {
    screen.section(counted(session["files"].size(), "file") + " being written");
    screen.table(session["files"], {bytes("bytes"), text("file")});
  }
  screen.section("Ledger");
  add_ledger(session["ledger"], &screen);
  return screen.text();
}

std::string advice_on(const Json& file) {
  const bool lives = file.value("session_alive", false);
  if (file.value("needs_recover", false)) {
    return lives ? "its server was killed in the midst of a commit; the next one, which comes with "
                   "a rank's next call, puts that right"
                 : "its writer was killed in the midst of a commit: run `leat recover " +
                       text_in(file, "file") + "`; till then readers may see half of it";
  }
  if (const std::string problem = text_in(file, "problem"); !problem.empty()) return problem;
  const Json held = file.value("in_memory", Json());
  if (held.is_object() && !lives)
    return "everything of its run was killed; " + counted(held["iterations"].size(), "iteration") +
           " (" + counted(count_in(held, "blocks"), "block") + ", " + shown_bytes(held, "bytes") +
           ") are in memory: `leat recover` stores them, and so does the next run on this node";
  if (file["state"] == "killed")
    return lives ? "its server was killed; the next one goes on with it"
                 : "its writer was killed; all that is here is whole";
  if (file["state"] == "unclosed")
    return "never closed: its writer was killed, or this is a copy made while it was written";
  return "";
}

// The ledger

namespace {

// A list that older ledgers do not have.
Json list_in(const Json& ledger, const char* name) {
  const Json list = ledger.value(name, Json());
  return list.is_array() ? list : Json::array();
}

Cell range_in(const Json& entry) {
  const Json range = entry.value("iterations", Json::array());
  if (range.size() != 3) return {};
  if (range[0] == range[1]) return {range[0].dump()};
  return {range[0].dump() + " to " + range[1].dump() +
          (range[2] == 1 ? "" : " in steps of " + range[2].dump())};
}

Cell ranks_in(const Json& entry) {
  std::vector<std::string> ranges;
  for (const Json& range : list_in(entry, "ranks")) {
    if (range.size() != 2) continue;
    ranges.push_back(range[0] == range[1] ? range[0].dump()
                                          : range[0].dump() + "-" + range[1].dump());
  }
  return {joined(ranges, ",")};
}

Cell subject_of(const Json& entry) {
  const std::string variable = text_in(entry, "variable");
  return {variable.empty() ? "(" + text_in(entry, "what") + ")" : variable};
}

Cell fate_of(const Json& entry) {
  const std::string store = text_in(entry, "store");
  return {text_in(entry, "fate") + (store.empty() ? "" : " in " + store)};
}

std::string server_gone(const Json& ledger) {
  const std::uint64_t waiting = count_in(ledger, "iterations_in_memory");
  const std::string node = text_in(ledger, "node");
  return "running, but its server is gone: " +
         (waiting > 0 ? counted(waiting, "iteration") + " in memory, store them with `leat recover`"
                      : "nothing of it is in memory on this node: it had written nothing yet, "
                        "its node was started anew, or somebody removed it" +
                            (node.empty() ? "" : " (it ran on " + node + ")"));
}

bool has_failed_store(const Json& ledger) {
  const Json stores = list_in(ledger, "stores");
  return std::any_of(stores.begin(), stores.end(),
                     [](const Json& each) { return each.contains("failed"); });
}

// All that is not as it should be, the gravest first.
std::vector<std::string> verdicts_of(const Json& ledger) {
  std::vector<std::string> parts;
  const auto add_left_out = [&](const Json& each, const std::string& kind) {
    if (const std::uint64_t skipped = count_in(each, "skipped"); skipped > 0)
      parts.push_back(kind + text_in(each, "name") + " left " + counted(skipped, "iteration") +
                      " out");
  };
  if (const std::uint64_t lost = count_in(ledger, "lost"); lost > 0)
    parts.push_back(counted(lost, "write") + " lost");
  else if (has_failed_store(ledger))
    parts.push_back("a store failed");
  if (const std::uint64_t dropped = count_in(ledger, "dropped_iterations"); dropped > 0)
    parts.push_back(counted(dropped, "iteration") + " dropped, as the XML allows");
  for (const Json& death : list_in(ledger, "died"))
    parts.push_back("rank " + shown(death, "rank") + " died in iteration " +
                    shown(death, "iteration"));
  if (const Json order = ledger.value("drained_by", Json()); order.is_object())
    parts.push_back("drained by order of " + text_in(order, "who") + " while ranks were at work");
  for (const Json& store : list_in(ledger, "stores")) add_left_out(store, "store ");
  for (const Json& script : list_in(ledger, "scripts")) {
    if (const std::uint64_t failed = count_in(script, "failed"); failed > 0)
      parts.push_back("script " + text_in(script, "name") + " failed " + counted(failed, "time"));
    add_left_out(script, "script ");
  }
  if (const std::size_t warnings = list_in(ledger, "warnings").size(); warnings > 0)
    parts.push_back(counted(warnings, "warning"));
  if (ledger.value("server_is_gone", false)) parts.push_back(server_gone(ledger));
  if (const Json drained = ledger.value("drained", Json()); drained.is_object())
    parts.push_back(counted(count_in(drained, "iterations"), "iteration") +
                    " stored after all of it was killed");
  return parts;
}

std::string verdict_of(const Json& ledger, const Screen& screen) {
  const std::vector<std::string> parts = verdicts_of(ledger);
  const bool is_over = text_in(ledger, "state") != "running";
  if (parts.empty())
    return screen.paint(is_over ? "nothing was lost" : "nothing is lost so far", Paint::green);
  const bool is_lost = count_in(ledger, "lost") > 0 || has_failed_store(ledger);
  return screen.paint(joined(parts, "; "), is_lost ? Paint::red : Paint::yellow);
}

}  // namespace

void add_ledger(const Json& ledger, Screen* screen) {
  if (!ledger.is_object()) return screen->note("none: what was lost is not known here");
  screen->note(verdict_of(ledger, *screen) + "  " +
                   screen->paint("(" + text_in(ledger, "source") + ")", Paint::dim),
               Paint::plain);
  for (const Json& store : list_in(ledger, "stores")) {
    if (store.contains("failed"))
      screen->note(screen->paint("store " + text_in(store, "name") + " failed", Paint::red) + ": " +
                       text_in(store, "failed"),
                   Paint::plain);
  }
  const Json warnings = list_in(ledger, "warnings");
  for (std::size_t i = 0; i < std::min(warnings.size(), kMostOfLedger); ++i)
    screen->note(screen->paint("warning", Paint::yellow) + ": " + text_in(warnings[i], "text"),
                 Paint::plain);
  screen->table(list_in(ledger, "missing"),
                {made({.title = "what", .least = 12}, subject_of), made({.title = "fate"}, fate_of),
                 made({.title = "iterations"}, range_in), made({.title = "ranks"}, ranks_in),
                 made({.title = "why", .least = 24},
                      [](const Json& entry) { return Cell{text_in(entry, "why")}; })},
                kMostOfLedger);
}

}  // namespace leat::cli
