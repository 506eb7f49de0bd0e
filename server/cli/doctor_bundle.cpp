// SPDX-License-Identifier: Apache-2.0
// What somebody who was not there needs to find a fault: one small file without data.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "lib/model/reader.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "server/cli/doctor.hpp"

extern char** environ;

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostOfFile = std::uint64_t{16} << 20;
constexpr std::int64_t kTarNs = 120'000'000'000;

// A folder of this process, which goes with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "leat-doctor-XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string end_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::uint64_t size = file ? static_cast<std::uint64_t>(file.tellg()) : 0;
  const std::uint64_t from = size > kMostOfFile ? size - kMostOfFile : 0;
  file.seekg(static_cast<std::streamoff>(from));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return from == 0 ? text : "(the end of " + std::to_string(size) + " bytes)\n" + text;
}

class Bundle {
 public:
  explicit Bundle(fs::path folder) : folder_(std::move(folder)) {}

  void add_text(const std::string& name, const std::string& text) {
    if (!names_.insert(name).second) return;
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void add(const fs::path& path) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) add_text(path.filename().string(), end_of_file(path));
  }
  void add_config(const std::string& path) {
    add(path);
    const model::ReadResult read = model::read_file(path);
    if (!read.model) return add_text("leat-check.txt", model::format(read.diagnostics));
    for (const auto& [name, text] : read.model->included) add_text(fs::path(name).filename(), text);
    if (!read.model->log.file.empty()) add(read.model->log.file);
  }
  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  fs::path folder_;
  std::set<std::string> names_;
};

bool tells_of_a_run(const std::string& name, const std::string& run) {
  const bool is_one = name.ends_with(".ledger.json") || name.ends_with(".report.json");
  return is_one && (run.empty() || name.starts_with(run + "."));
}

bool is_xml_of_leat(const fs::path& path) {
  if (path.extension() != ".xml") return false;
  const std::string text = end_of_file(path);
  return text.find("<simulation") != std::string::npos;
}

std::string environment() {
  std::string text;
  for (char** each = environ; *each; ++each) {
    const std::string line = *each;
    if (line.starts_with("LEAT") || line.starts_with("HDF5_PLUGIN_PATH")) text += line + "\n";
  }
  return text;
}

std::string name_of_simulation(const std::string& config) {
  const model::ReadResult read = model::read_file(config);
  return read.model ? read.model->name : "";
}

}  // namespace

Result<std::vector<std::string>> make_bundle(const std::string& file, const std::string& config,
                                             const Json& facts) {
  const Scratch scratch;
  if (scratch.path().empty())
    return Error{Status::ERROR_SYSTEM, "cannot make a folder in " +
                                           fs::temp_directory_path().string() + ": " +
                                           os::errno_text(errno)};
  Bundle bundle(scratch.path());
  bundle.add_text("doctor.json", text_of(facts));
  bundle.add_text("environment.txt", environment());
  const std::string run = config.empty() ? "" : name_of_simulation(config);
  std::error_code error;
  for (const fs::directory_entry& each : fs::directory_iterator(".", error)) {
    const std::string name = each.path().filename().string();
    if (tells_of_a_run(name, run)) bundle.add(each.path());
    if (config.empty() && is_xml_of_leat(each.path())) bundle.add_config(each.path().string());
  }
  if (!config.empty()) bundle.add_config(config);
  const std::vector<std::string> names = bundle.names();
  std::vector<std::string> words{
      os::find_program("tar"), "-czf", fs::absolute(file, error).string(), "-C",
      scratch.path().string(), "--"};
  if (words.front().empty())
    return Error{Status::ERROR_SYSTEM, "there is no program \"tar\", which makes the bundle"};
  words.insert(words.end(), names.begin(), names.end());
  const Result<std::string> done = os::run_program(words, "", kTarNs);
  if (!done)
    return Error{Status::ERROR_SYSTEM, "cannot make " + file + ": " + done.error().message};
  return names;
}

}  // namespace leat::cli
