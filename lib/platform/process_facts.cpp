// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/process_facts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace leat::platform {
namespace {

namespace fs = std::filesystem;

// Those of the process's main thread may be others: a server on a thread of a simulation has its own.
const std::string kOwnFiles = "/proc/thread-self/fd/";

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string target_of(const std::string& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? "" : target.string();
}

// The flags that an fdinfo has, in octal digits.
bool is_for_writing(const std::string& fdinfo) {
  std::ifstream file(fdinfo);
  for (std::string word; file >> word;) {
    unsigned flags = 0;
    if (word != "flags:" || !(file >> std::oct >> flags)) continue;
    return (flags & O_ACCMODE) != O_RDONLY;
  }
  return false;
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

std::int64_t processor_time_of(pid_t pid) noexcept {
  clockid_t clock{};
  timespec time{};
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool is_stopped(pid_t pid) {
  std::ifstream file(folder_of(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // a name may hold anything, brackets too
  const char state = name_end + 2 < text.size() ? text[name_end + 2] : '?';
  return name_end != std::string::npos && (state == 'T' || state == 't');
}

// Lines like "3: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF", with the device in hexadecimal.
pid_t holder_of_lock(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return 0;
  std::ifstream file("/proc/locks");
  for (std::string line; std::getline(file, line);) {
    int pid = 0;
    unsigned major_part = 0, minor_part = 0;
    unsigned long long inode = 0;
    const bool is_flock = sscanf(line.c_str(), "%*s FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_part,
                                 &minor_part, &inode) == 4;
    if (is_flock && inode == facts.st_ino && makedev(major_part, minor_part) == facts.st_dev)
      return pid;
  }
  return 0;
}

std::vector<std::string> targets_open_for_writing() {
  std::set<std::string> targets, streams;
  for (const std::string stream : {"0", "1", "2"}) streams.insert(target_of(kOwnFiles + stream));
  for (const std::string& fd : names_in(kOwnFiles)) {
    const std::string target = target_of(kOwnFiles + fd);  // of a socket it is no path
    if (!target.starts_with('/') || streams.count(target) > 0) continue;
    if (is_for_writing("/proc/thread-self/fdinfo/" + fd)) targets.insert(target);
  }
  return {targets.begin(), targets.end()};
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
