// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ls_screen.hpp"

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/cli/ls_files.hpp"

namespace leat::cli {

// What `leat ls FOLDER` and a list of sessions show on a terminal.

namespace {

std::string range_of(const Json& file) {
  const auto found = file.find("iterations");
  if (found == file.end() || !found->is_object()) return "-";
  if ((*found)["count"] == 0) return "none yet";
  return (*found)["first"].dump() + ".." + (*found)["last"].dump();
}

Cell state_of(const Json& file) {
  if (file.value("needs_recover", false) && !file.value("session_alive", false))
    return {"killed, run `leat recover`", Paint::red};
  if (!file["problem"].get<std::string>().empty())
    return {file["problem"].get<std::string>(), Paint::red};
  const std::string state = file["state"].get<std::string>();
  return {state, state == "running"  ? Paint::green
                 : state == "closed" ? Paint::plain
                                     : Paint::yellow};
}

Cell lost_of(const Json& file) {
  const Json lost = file.value("lost", Json());
  if (!lost.is_number()) return right("-");
  return {lost.dump(), lost == 0 ? Paint::plain : Paint::red, true};
}

std::string files_table(const Json& files, const Look& look) {
  auto rows = header_of({"name", "iterations", "variables", "bytes", "lost", "state"});
  for (const std::size_t i : {2u, 3u, 4u}) rows[0][i].right = true;
  for (const Json& file : files) {
    rows.push_back({{file["file"].get<std::string>()},
                    {range_of(file)},
                    right(file.contains("variable_count") ? file["variable_count"].dump() : "-"),
                    bytes_cell(file["bytes"]),
                    lost_of(file),
                    state_of(file)});
  }
  return fitted_table(std::move(rows), {{0, 16}, {5, 10}}, look);
}

std::string sessions_table(const Json& sessions, const Look& look) {
  auto rows =
      header_of({"session", "simulation", "ranks", "iteration", "buffer", "in use", "state"});
  for (const std::size_t i : {2u, 3u, 4u, 5u}) rows[0][i].right = true;
  for (const Json& each : sessions) {
    const Json buffer = each.value("buffer", Json()), ranks = each.value("ranks", Json());
    const Json done = each.value("iteration_done", Json());
    rows.push_back({{each["session"].get<std::string>()},
                    {or_dash(text_in(each, "simulation"))},
                    right(ranks.is_object() ? ranks["node"].dump() : "-"),
                    right(done.is_number() ? done.dump() : "-"),
                    buffer.is_object() ? bytes_cell(buffer["bytes"]) : right("-"),
                    buffer.is_object() ? bytes_cell(buffer["leased_bytes"]) : right("-"),
                    {each["state"].get<std::string>(),
                     each["state"] == "running" ? Paint::green : Paint::yellow}});
  }
  return fitted_table(std::move(rows), {{0, 16}, {1, 10}}, look);
}

}  // namespace

std::string folder_screen(const Json& folder, const Look& look) {
  const Json& files = folder["files"];
  std::string text;
  const std::string where = folder["folder"] == "." ? "here" : folder["folder"].get<std::string>();
  if (files.empty()) {
    text = "no output files of Leat " + (where == "here" ? where : "in " + where) + "\n";
  } else {
    text = painted(counted(files.size(), "output file"), Paint::bold, look.colours) +
           (where == "here" ? "" : " in " + where) + "\n" + files_table(files, look);
  }
  const auto others = folder["other_files"].get<std::uint64_t>();
  if (others > 0)
    text += "  " +
            painted("and " + counted(others, "file") + " that Leat has not made", Paint::dim,
                    look.colours) +
            "\n";
  const Json& sessions = folder["sessions"];
  if (sessions.empty()) return text;
  return text + section(counted(sessions.size(), "session") + " of yours on this node", look) +
         sessions_table(sessions, look);
}

// What `leat ls SESSION` shows on a terminal.

namespace {

constexpr std::size_t kMostRanks = 16;

std::string number_or_dash(const Json& value) { return value.is_number() ? value.dump() : "-"; }

std::string head(const Json& session, const Look& look) {
  const std::string state = session["state"].get<std::string>();
  std::string text =
      painted(session["session"].get<std::string>(), Paint::bold, look.colours) + "  " +
      painted(state, state == "running" ? Paint::green : Paint::yellow, look.colours) + "\n";
  if (const std::string problem = session["problem"].get<std::string>(); !problem.empty())
    text += "  " + painted(problem, Paint::red, look.colours) + "\n";
  const auto add = [&](const char* name, const Json& value) {
    if (value.is_string()) text += line(name, value.get<std::string>(), look);
  };
  add("simulation", session.value("simulation", Json()));
  add("folder", session["folder"]);
  add("XML", session["config"]);
  if (session["pid"].is_number()) text += line("leatd", "process " + session["pid"].dump(), look);
  add("since", session["since"]);
  return text;
}

std::string facts(const Json& session, const Look& look) {
  const Json &buffer = session["buffer"], &ranks = session["ranks"];
  std::string text;
  text += line("buffer",
               format_bytes(buffer["leased_bytes"].get<std::uint64_t>()) + " of " +
                   format_bytes(buffer["bytes"].get<std::uint64_t>()) +
                   " in use; when full: " + buffer["when_full"].get<std::string>(),
               look);
  text += line("ranks",
               ranks["attached"].dump() + " of " + ranks["node"].dump() + " on this node attached" +
                   (ranks["all"].is_number() ? ", " + ranks["all"].dump() + " in all" : ""),
               look);
  const Json held = session.value("in_memory", Json());
  if (held.is_object())
    text += line("in memory",
                 counted(held["iterations"].size(), "iteration") + ", " +
                     counted(held.value("blocks", std::uint64_t{0}), "block") + ", " +
                     format_bytes(held.value("bytes", std::uint64_t{0})) +
                     " are not stored yet: `leat recover` does it, and so does the next run here",
                 look);
  text += line("iterations", "done up to " + number_or_dash(session["iteration_done"]), look);
  if (const Json waits = session.value("waits", Json()); waits.is_string())
    text += line("waits", waits.get<std::string>(), look);
  if (session["takeovers"] != 0)
    text +=
        line("takeovers",
             counted(session["takeovers"].get<std::uint64_t>(), "server") + " of this session died",
             look);
  return text;
}

std::string ranks_table(const Json& clients, const Look& look) {
  auto rows = header_of({"rank", "state", "iteration", "events waiting"});
  for (const std::size_t i : {0u, 2u, 3u}) rows[0][i].right = true;
  for (const Json& each : clients) {
    if (rows.size() > kMostRanks) break;
    rows.push_back({right(number_or_dash(each["rank"])),
                    {each["phase"].get<std::string>()},
                    right(each["iteration"].dump()),
                    right(each["events_waiting"].dump())});
  }
  std::string text = table_or_paragraphs(rows, look);
  if (clients.size() > kMostRanks)
    text += "  and " + std::to_string(clients.size() - kMostRanks) + " more; --json has them all\n";
  return text;
}

std::string stores_table(const Json& stores, const Look& look) {
  auto rows = header_of({"name", "plugin", "takes", "last given", "last done"});
  for (const std::size_t i : {3u, 4u}) rows[0][i].right = true;
  for (const Json& each : stores) {
    const Json& every = each["every"];
    rows.push_back({{each["name"].get<std::string>()},
                    {each["plugin"].is_string() ? each["plugin"].get<std::string>() : "-"},
                    {!every.is_number() ? "-"
                     : every == 1       ? "every iteration"
                                        : "every " + every.dump() + " iterations"},
                    right(number_or_dash(each["begun"])),
                    right(number_or_dash(each["done"]))});
  }
  return fitted_table(std::move(rows), {{1, 10}, {0, 8}}, look);
}

std::string variable_shape(const Json& variable) {
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < variable["shape"].size(); ++d) {
    const std::string name = variable["dimensions"][d].get<std::string>();
    parts.push_back((name.empty() ? "" : name + "=") + variable["shape"][d].get<std::string>());
  }
  return parts.empty() ? "scalar" : joined(parts, " ");
}

std::string variables_table(const Json& variables, const Look& look) {
  auto rows = header_of({"name", "type", "shape of a block", "unit", "description"});
  for (const Json& each : variables)
    rows.push_back({{each["name"].get<std::string>()},
                    {each["type"].get<std::string>()},
                    {variable_shape(each)},
                    {or_dash(each["unit"].get<std::string>())},
                    {each["description"].get<std::string>(), Paint::dim}});
  return fitted_table(std::move(rows), {{4, 12}, {2, 12}, {0, 8}}, look);
}

std::string held_table(const Json& held, const Look& look) {
  auto rows = header_of({"in memory", "blocks", "bytes"});
  for (const std::size_t i : {1u, 2u}) rows[0][i].right = true;
  for (const Json& each : held["variables"])
    rows.push_back({{each["name"].get<std::string>()},
                    right(each["blocks"].dump()),
                    bytes_cell(each["bytes"])});
  return table(rows, look);
}

std::string session_files_table(const Json& files, const Look& look) {
  auto rows = header_of({"bytes", "file"});
  rows[0][0].right = true;
  for (const Json& each : files)
    rows.push_back({bytes_cell(each["bytes"]), {each["file"].get<std::string>()}});
  return table(rows, look);
}

}  // namespace

std::string status_screen(const Json& session, const Look& look) {
  std::string text = head(session, look);
  if (!session.contains("buffer")) return text;
  text += facts(session, look);
  text += section(counted(session["ranks"]["node"].get<std::uint64_t>(), "rank"), look) +
          ranks_table(session["clients"], look);
  if (!session["stores"].empty())
    text += section(counted(session["stores"].size(), "store"), look) +
            stores_table(session["stores"], look);
  return text;
}

std::string variables_screen(const Json& variables, const Look& look) {
  return section(counted(variables.size(), "variable"), look) + variables_table(variables, look);
}

std::string session_screen(const Json& session, const Look& look) {
  std::string text = status_screen(session, look);
  if (!session.contains("buffer")) return text;
  if (session["variables"].is_array()) text += variables_screen(session["variables"], look);
  if (session.contains("in_memory") && !session["in_memory"]["variables"].empty())
    text += section("Killed with", look) + held_table(session["in_memory"], look);
  if (!session["files"].empty())
    text += section(counted(session["files"].size(), "file") + " being written", look) +
            session_files_table(session["files"], look);
  return text + section("Ledger", look) + ledger_text(session["ledger"], look);
}

}  // namespace leat::cli
