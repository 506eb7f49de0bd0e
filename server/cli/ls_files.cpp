// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ls_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/base/text.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShown = 6;

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string range_in(const Json& entry, const char* what) {
  const Json& range = entry.value(what, Json::array());
  if (range.size() != 3) return "";
  if (range[0] == range[1]) return range[0].dump();
  return range[0].dump() + " to " + range[1].dump() +
         (range[2] == 1 ? "" : " in steps of " + range[2].dump());
}

std::string ranks_of(const Json& entry) {
  std::vector<std::string> ranges;
  for (const Json& range : entry.value("ranks", Json::array())) {
    if (range.size() != 2) continue;
    ranges.push_back(range[0] == range[1] ? range[0].dump()
                                          : range[0].dump() + "-" + range[1].dump());
  }
  return joined(ranges, ",");
}

std::string subject_of(const Json& entry) {
  const auto variable = entry.find("variable");
  return variable != entry.end() && variable->is_string() ? variable->get<std::string>()
                                                          : "(" + entry.value("what", "") + ")";
}

std::string missing_table(const Json& missing, const Look& look) {
  std::vector<std::vector<Cell>> rows{header({"what", "fate", "iterations", "ranks", "why"})};
  for (std::size_t i = 0; i < std::min(missing.size(), kMostShown); ++i) {
    const Json& entry = missing[i];
    const std::string store = entry.value("store", "");
    rows.push_back({{subject_of(entry)},
                    {entry.value("fate", "") + (store.empty() ? "" : " in " + store)},
                    {range_in(entry, "iterations")},
                    {ranks_of(entry)},
                    {entry.value("why", "")}});
  }
  std::string text = fitted_table(rows, {{4, 24}, {0, 12}}, look);
  if (missing.size() > kMostShown)
    text += "  and " + std::to_string(missing.size() - kMostShown) + " more; --json has them all\n";
  return text;
}

std::vector<Json> scripts_with_problems(const Json& ledger) {
  std::vector<Json> problems;
  const Json scripts = ledger.value("scripts", Json::array());
  if (!scripts.is_array()) return problems;  // written by a Leat that kept none
  for (const Json& script : scripts) {
    if (script.value("failed", 0) > 0 || script.value("skipped", 0) > 0) problems.push_back(script);
  }
  return problems;
}

// Of a ledger from before there were some: none.
Json warnings_of(const Json& ledger) {
  const auto found = ledger.find("warnings");
  return found != ledger.end() && found->is_array() ? *found : Json::array();
}

std::string node_of(const Json& ledger) {
  const Json node = ledger.value("node", Json());
  return node.is_string() ? " (it ran on " + node.get<std::string>() + ")" : "";
}

std::string server_gone(const Json& ledger) {
  const std::uint64_t waiting = ledger.value("iterations_in_memory", std::uint64_t{0});
  return "running, but its server is gone: " +
         (waiting > 0 ? counted(waiting, "iteration") + " in memory, store them with `leat recover`"
                      : "nothing of it is in memory on this node: it had handed over nothing yet, "
                        "its node was started anew, or somebody removed it" +
                            node_of(ledger));
}

std::string verdict_of_ledger(const Json& ledger, const Look& look) {
  std::vector<std::string> parts;
  const auto count = [&ledger](const char* what) { return ledger.value(what, std::uint64_t{0}); };
  const Json stores = ledger.value("stores", Json::array());
  const bool failed_store =
      std::any_of(stores.begin(), stores.end(), [](const Json& s) { return s.contains("failed"); });
  if (count("lost") > 0) parts.push_back(counted(count("lost"), "write") + " lost");
  if (count("lost") == 0 && failed_store) parts.push_back("a store failed");
  if (count("dropped_iterations") > 0)
    parts.push_back(counted(count("dropped_iterations"), "iteration") +
                    " left out, as the XML allows");
  for (const Json& death : ledger.value("died", Json::array()))
    parts.push_back("rank " + death.value("rank", Json()).dump() + " died in iteration " +
                    death.value("iteration", Json()).dump());
  if (const Json order = ledger.value("drained_by", Json()); order.is_object())
    parts.push_back("drained by order of " + order.value("who", "") + " while ranks were at work");
  for (const Json& store : stores) {
    if (const auto skipped = store.value("skipped", std::uint64_t{0}); skipped > 0)
      parts.push_back("store " + store.value("name", "") + " left " +
                      counted(skipped, "iteration") + " out");
  }
  for (const Json& script : scripts_with_problems(ledger)) {
    const auto times = [&script](const char* what) { return script.value(what, std::uint64_t{0}); };
    const std::string name = "script " + script.value("name", "");
    if (times("failed") > 0) parts.push_back(name + " failed " + counted(times("failed"), "time"));
    if (times("skipped") > 0)
      parts.push_back(name + " left " + counted(times("skipped"), "iteration") + " out");
  }
  if (const std::size_t warnings = warnings_of(ledger).size(); warnings > 0)
    parts.push_back(counted(warnings, "warning"));
  if (ledger.value("server_is_gone", false)) parts.push_back(server_gone(ledger));
  const Json drained = ledger.value("drained", Json());
  if (drained.is_object())
    parts.push_back(counted(drained.value("iterations", std::uint64_t{0}), "iteration") +
                    " stored after all of it was killed");
  const bool is_over = ledger.value("state", "") != "running";
  if (parts.empty())
    return painted(is_over ? "nothing was lost" : "nothing is lost so far", Paint::green,
                   look.colours);
  const bool is_lost = count("lost") > 0 || failed_store;
  return painted(joined(parts, "; "), is_lost ? Paint::red : Paint::yellow, look.colours);
}

}  // namespace

Json ledger_in(const std::string& text, const std::string& source) {
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_object() || !whole.contains("leat_ledger")) return nullptr;
  Json ledger{{"source", source}};
  for (const char* name :
       {"session", "state", "status", "lost", "dropped", "dropped_iterations", "in_progress",
        "stores", "died", "drained_by", "scripts", "warnings", "node", "run_id", "drained"})
    ledger[name] = whole.value(name, Json());
  ledger["missing"] = Json::array();
  for (const Json& entry : whole.value("entries", Json::array())) {
    const std::string fate = entry.value("fate", "");
    if (fate != "written" && fate != "stored") ledger["missing"].push_back(entry);
  }
  return ledger;
}

Json ledger_of(const std::string& folder, const std::string& simulation,
               const std::string& session) {
  const std::string ending = ".ledger.json";
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(simulation) || !name.ends_with(ending)) continue;
    Json ledger = ledger_in(text_of_file(entry->path()), entry->path().lexically_normal().string());
    if (ledger.is_object() && ledger["session"] == session) return ledger;
  }
  return nullptr;
}

Json ledger_beside(const Json& file) {
  const std::string simulation = file.value("simulation", ""), session = file.value("session", "");
  if (simulation.empty() || session.empty()) return nullptr;
  Json ledger =
      ledger_of(fs::path(file.value("file", "")).parent_path().string(), simulation, session);
  return ledger.is_null() ? ledger_of("", simulation, session) : ledger;
}

std::string ledger_text(const Json& ledger, const Look& look) {
  if (!ledger.is_object())
    return "  " + painted("none: what was lost is not known here", Paint::dim, look.colours) + "\n";
  std::string text = "  " + verdict_of_ledger(ledger, look) + "  " +
                     painted("(" + ledger.value("source", "") + ")", Paint::dim, look.colours) +
                     "\n";
  for (const Json& store : ledger.value("stores", Json::array())) {
    if (store.contains("failed"))
      text += "  " +
              painted("store " + store.value("name", "") + " failed", Paint::red, look.colours) +
              ": " + store.value("failed", "") + "\n";
  }
  const Json warnings = warnings_of(ledger);
  for (std::size_t i = 0; i < std::min(warnings.size(), kMostShown); ++i)
    text += "  " + painted("warning", Paint::yellow, look.colours) + ": " +
            warnings[i].value("text", "") + "\n";
  const Json& missing = ledger.value("missing", Json::array());
  return missing.empty() ? text : text + missing_table(missing, look);
}

namespace {

namespace fs = std::filesystem;

constexpr double kLookSeconds = 120;
constexpr const char* kExtensions[] = {".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".vtkhdf"};

Result<std::vector<Json>> ask(const std::vector<std::string>& paths, Depth depth,
                              const std::string& interpreter) {
  const Result<std::string> python = server::find_python(interpreter, "h5py");
  if (!python) return python.error();
  std::string input;
  for (const std::string& path : paths) input += path + '\0';
  const Result<std::string> output = server::run_python_tool(
      *python, {"ls", state_program(), depth == Depth::brief ? "brief" : "all"}, input,
      kLookSeconds);
  if (!output) return output.error();
  std::vector<Json> files;
  std::istringstream lines(*output);
  for (std::string line; std::getline(lines, line);) {
    files.push_back(Json::parse(line, nullptr, false));
    if (!files.back().is_object()) break;
    if (files.back().contains("no_h5py"))
      return Error{Status::ERROR_SYSTEM, files.back()["no_h5py"].get<std::string>()};
  }
  if (files.size() == paths.size() && files.back().is_object()) return files;
  return Error{Status::ERROR_SERVER, *python + " did not say what is in it"};
}

void add_ledger(Json* file) {
  const auto text = file->find("ledger");
  if (text == file->end()) return;
  Json ledger = text->is_string() ? ledger_in(text->get<std::string>(), "in the file") : Json();
  if (ledger.is_null()) ledger = ledger_beside(*file);
  *text = std::move(ledger);
}

std::vector<std::string> paths_in(const std::string& folder,
                                  bool (*wanted)(const fs::directory_entry&)) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name[0] == '.' || !wanted(*entry)) continue;
    paths.push_back(folder == "." ? name : entry->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::string state_program() {
  return platform::path_beside_program(LEAT_PLUGIN_FOLDER "/state-hdf5");
}

Result<std::vector<Json>> look_at_files(const std::vector<std::string>& paths, Depth depth,
                                        const std::string& interpreter) {
  if (paths.empty()) return std::vector<Json>();
  Result<std::vector<Json>> files = ask(paths, depth, interpreter);
  for (std::size_t i = 0; files && i < paths.size(); ++i) {
    (*files)[i]["file"] = paths[i];
    add_ledger(&(*files)[i]);
  }
  return files;
}

Json unread_file(const std::string& path, const std::string& why) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return {{"file", path}, {"state", ""}, {"problem", why}, {"bytes", error ? 0 : bytes}};
}

std::vector<std::string> output_files_in(const std::string& folder) {
  return paths_in(folder, [](const fs::directory_entry& entry) {
    std::error_code error;
    const bool named = std::find(std::begin(kExtensions), std::end(kExtensions),
                                 entry.path().extension()) != std::end(kExtensions);
    return named && entry.is_regular_file(error);
  });
}

std::vector<std::string> folders_in(const std::string& folder) {
  return paths_in(folder, [](const fs::directory_entry& entry) {
    std::error_code error;
    return entry.is_directory(error);
  });
}

}  // namespace leat::cli
