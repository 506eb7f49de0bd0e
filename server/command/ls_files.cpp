// SPDX-License-Identifier: Apache-2.0
#include "server/command/ls_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "server/command/ls_ledger.hpp"

namespace leat::command {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLookLimitNs = 120'000'000'000;
constexpr const char* kExtensions[] = {".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".vtkhdf"};

Result<std::vector<Json>> ask(const std::vector<std::string>& paths, Depth depth) {
  std::string input;
  for (const std::string& path : paths) input += path + '\0';
  std::vector<std::string> words{platform::path_beside_program(LEAT_PLUGIN_FOLDER "/ls-hdf5")};
  if (depth == Depth::brief) words.push_back("--brief");
  const Result<std::string> output = platform::run_program(words, input, kLookLimitNs);
  if (!output) return output.error();
  std::vector<Json> files;
  std::istringstream lines(*output);
  for (std::string line; std::getline(lines, line);) {
    files.push_back(Json::parse(line, nullptr, false));
    if (!files.back().is_object()) break;
  }
  if (files.size() == paths.size() && files.back().is_object()) return files;
  return Error{Status::ERROR_SERVER, words[0] + " did not say what is in it"};
}

Json unreadable(const std::string& path, const std::string& why) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return {{"file", path}, {"state", ""}, {"problem", why}, {"bytes", error ? 0 : bytes}};
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

std::vector<Json> look_at_files(const std::vector<std::string>& paths, Depth depth) {
  if (paths.empty()) return {};
  Result<std::vector<Json>> files = ask(paths, depth);
  std::vector<Json> all;
  if (files) {
    all = std::move(*files);
  } else if (paths.size() == 1) {
    all.push_back(unreadable(
        paths[0], "the HDF5 library cannot cope with it, it is damaged: " + files.error().message));
  } else {  // one of them is bad enough to end the program: each by itself
    for (const std::string& path : paths)
      all.push_back(std::move(look_at_files({path}, depth).front()));
  }
  for (Json& file : all) add_ledger(&file);
  return all;
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
