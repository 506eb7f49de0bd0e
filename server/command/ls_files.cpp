// SPDX-License-Identifier: Apache-2.0
#include "server/command/ls_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "server/command/ls_ledger.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::command {
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

}  // namespace leat::command
