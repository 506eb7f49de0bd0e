// SPDX-License-Identifier: Apache-2.0
// What `leat ls FOLDER` and a list of sessions show on a terminal.
#include "lib/base/text.hpp"
#include "server/command/ls_screen.hpp"

#include <nlohmann/json.hpp>
#include "server/command/ls_screen_parts.hpp"

namespace leat::command {
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

}  // namespace leat::command
