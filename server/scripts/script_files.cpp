// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/script_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "lib/platform/process.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

std::uint64_t stamp_of(const struct stat& file) {
  std::uint64_t stamp = 1469598103934665603u;  // FNV-1a
  for (const auto part : {static_cast<std::uint64_t>(file.st_mtim.tv_sec),
                          static_cast<std::uint64_t>(file.st_mtim.tv_nsec),
                          static_cast<std::uint64_t>(file.st_size),
                          static_cast<std::uint64_t>(file.st_ino)}) {
    stamp = (stamp ^ part) * 1099511628211u;
  }
  return stamp;
}

// What others may change would run with our rights.
std::string why_unsafe(const struct stat& thing, const std::string& path) {
  if (thing.st_mode & S_IWOTH) {
    return path + " may be changed by everybody on this machine, so nothing of it is run: chmod o-w " +
           path;
  }
  if (thing.st_uid != geteuid() && thing.st_uid != 0) {
    return path + " belongs to another user, so nothing of it is run: make a copy of your own";
  }
  return "";
}

class Finder {
 public:
  void look_into(const model::ScriptSource& source, std::size_t index) {
    if (!source.is_folder) return add(source.path, index);
    struct stat folder{};
    if (stat(source.path.c_str(), &folder) != 0) {
      return problem("the folder " + source.path + ": " + platform::errno_text(errno));
    }
    if (std::string why = why_unsafe(folder, source.path); !why.empty()) return problem(why);
    for (const std::string& path : scripts_in(source.path)) add(path, index);
  }
  ScriptScan take() { return std::move(scan_); }

 private:
  static std::vector<std::string> scripts_in(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
      if (error) break;
      const std::string name = entry->path().filename().string();
      if (entry->path().extension() == ".py" && name[0] != '_' && name[0] != '.')
        paths.push_back(entry->path().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  void add(const std::string& path, std::size_t source) {
    struct stat file{};
    if (stat(path.c_str(), &file) != 0) {
      if (errno != ENOENT) problem(path + ": " + platform::errno_text(errno));
      return;  // removed just now
    }
    if (std::string why = why_unsafe(file, path); !why.empty()) return problem(why);
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    scan_.files.push_back({unique_name(whole), whole.string(), source, stamp_of(file)});
  }

  // The second monitor.py is called after its folder too.
  std::string unique_name(const fs::path& path) {
    std::string name = path.stem().string();
    for (fs::path folder = path.parent_path(); !names_.insert(name).second;
         folder = folder.parent_path()) {
      name = (folder.has_filename() ? folder.filename().string() : "again") + "_" + name;
    }
    return name;
  }

  void problem(std::string text) { scan_.problems.push_back(std::move(text)); }

  ScriptScan scan_;
  std::set<std::string> names_;
};

}  // namespace

ScriptScan find_scripts(const std::vector<model::ScriptSource>& sources) {
  Finder finder;
  for (std::size_t i = 0; i < sources.size(); ++i) finder.look_into(sources[i], i);
  return finder.take();
}

std::string why_not_usable(const model::ScriptSource& source) {
  struct stat found{};
  const bool there = stat(source.path.c_str(), &found) == 0;
  if (there && (source.is_folder ? S_ISDIR(found.st_mode) : S_ISREG(found.st_mode)))
    return why_unsafe(found, source.path);
  std::error_code error;
  return std::string("there is no ") + (source.is_folder ? "folder \"" : "file \"") +
         fs::absolute(source.path, error).string() +
         "\": paths of scripts start from the working folder of the run";
}

std::vector<model::Diagnostic> script_problems(const model::Scripts& scripts) {
  std::vector<model::Diagnostic> problems;
  const auto add = [&](const model::SourceLocation& where, std::string text) {
    if (!text.empty()) problems.push_back({model::Severity::error, where, std::move(text)});
  };
  if (platform::find_program(scripts.interpreter).empty()) {
    add(scripts.where, "there is no program \"" + scripts.interpreter +
                           "\" to run the <scripts> with: install Python 3 with NumPy, or say "
                           "interpreter=\"/path/to/python3\"");
  }
  for (const model::ScriptSource& source : scripts.sources)
    add(source.where, why_not_usable(source));
  return problems;
}

}  // namespace leat::server
