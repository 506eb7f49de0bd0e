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

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;  // iterators would throw where it cannot be read
  text << file.rdbuf();
  return text.str();
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

namespace {

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

std::string state_program() { return os::path_beside_program(LEAT_PLUGIN_FOLDER "/state-hdf5"); }

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
