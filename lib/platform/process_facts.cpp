// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/process_facts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace leat::platform {
namespace {

namespace fs = std::filesystem;

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string target_of(const std::string& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? "" : target.string();
}

// The flags that /proc/<pid>/fdinfo/<fd> has, in octal digits.
bool is_for_writing(const std::string& fdinfo) {
  std::ifstream file(fdinfo);
  for (std::string word; file >> word;) {
    unsigned flags = 0;
    if (word != "flags:" || !(file >> std::oct >> flags)) continue;
    return (flags & O_ACCMODE) != O_RDONLY;
  }
  return false;
}

bool is_regular(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool is_own(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && facts.st_uid == geteuid();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

}  // namespace

std::vector<std::string> arguments_of(pid_t pid) {
  std::ifstream file(folder_of(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string working_folder_of(pid_t pid) { return target_of(folder_of(pid) + "/cwd"); }

std::vector<std::string> files_written_by(pid_t pid) {
  std::set<std::string> files;
  std::set<std::string> streams;
  for (const std::string stream : {"0", "1", "2"})
    streams.insert(target_of(folder_of(pid) + "/fd/" + stream));
  for (const std::string& fd : names_in(folder_of(pid) + "/fd")) {
    const std::string path = target_of(folder_of(pid) + "/fd/" + fd);
    // A file that has no name any more is no regular file under that name either.
    if (path.rfind('/', 0) == 0 && streams.count(path) == 0 &&
        is_for_writing(folder_of(pid) + "/fdinfo/" + fd) && is_regular(path))
      files.insert(path);
  }
  return {files.begin(), files.end()};
}

std::vector<pid_t> processes_called(const std::string& program) {
  std::vector<pid_t> found;
  for (const std::string& name : names_in("/proc")) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || *end != '\0' || !is_own(folder_of(pid))) continue;
    const std::vector<std::string> words = arguments_of(pid);
    if (!words.empty() && fs::path(words[0]).filename() == program) found.push_back(pid);
  }
  return found;
}

}  // namespace leat::platform
