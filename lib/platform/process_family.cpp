// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/process_family.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

#include "lib/platform/clock.hpp"
#include "lib/platform/process_id.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {
namespace {

constexpr const char* kName = "LEAT_WORKER=";
constexpr std::size_t kMostEnvironment = std::size_t{4} << 20;

struct Seen {
  pid_t pid = 0, parent = 0, session = 0;
  char state = '?';
  std::uint64_t start = 0;
};

std::string content_of(const std::string& path, std::size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[16384];
  while (fd && text.size() < most) {
    const ssize_t got = read(fd.get(), part, sizeof part);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

// False when it is gone. The name in parentheses may hold anything.
bool look_at(pid_t pid, Seen* seen) {
  const std::string text = content_of(folder_of(pid) + "/stat", 4096);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  seen->pid = pid;
  int group = 0;
  unsigned long long start = 0;
  const int read = sscanf(text.c_str() + name_end + 1,
                          " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                          "%*d %*d %llu",
                          &seen->state, &seen->parent, &group, &seen->session, &start);
  seen->start = start;
  return read == 5;
}

// Processes of this user, dead ones included: they are parents still.
std::vector<Seen> own_processes() {
  std::vector<Seen> all;
  DIR* const folder = opendir("/proc");
  if (!folder) return all;
  while (const dirent* entry = readdir(folder)) {
    char* end = nullptr;
    const long pid = strtol(entry->d_name, &end, 10);
    struct stat found {};
    if (pid <= 0 || *end != '\0' || stat(folder_of(static_cast<pid_t>(pid)).c_str(), &found) != 0 ||
        found.st_uid != geteuid())
      continue;
    Seen seen;
    if (look_at(static_cast<pid_t>(pid), &seen)) all.push_back(seen);
  }
  closedir(folder);
  return all;
}

// The mark in its environment; "" when there is none.
std::string mark_of(pid_t pid) {
  std::string text = content_of(folder_of(pid) + "/environ", kMostEnvironment);
  text.insert(text.begin(), '\0');
  const std::size_t at = text.find(std::string(1, '\0') + kName);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find('\0', at + 1) - at - 1);
}

// Those of whom `begins` says so, and all who descend from them.
std::vector<Seen> family_of(const std::function<bool(const Seen&)>& begins) {
  const std::vector<Seen> all = own_processes();
  std::set<pid_t> members;
  for (const Seen& each : all) {
    if (begins(each)) members.insert(each.pid);
  }
  for (bool grown = !members.empty(); std::exchange(grown, false);) {
    for (const Seen& each : all) {
      if (members.count(each.parent)) grown = members.insert(each.pid).second || grown;
    }
  }
  std::vector<Seen> family;
  std::copy_if(all.begin(), all.end(), std::back_inserter(family),
               [&](const Seen& each) { return members.count(each.pid) && each.state != 'Z'; });
  return family;
}

int kill_all(const std::vector<Seen>& family) {
  for (const Seen& each : family) kill(each.pid, SIGKILL);
  return static_cast<int>(family.size());
}

// Process ids mean nothing in another container.
unsigned long long pid_namespace() {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

bool has_lost_its_maker(const Seen& seen) {
  const std::string mark = mark_of(seen.pid);
  unsigned long long space = 0, start = 0;
  int maker = 0;
  if (mark.empty() || seen.state == 'Z' ||
      sscanf(mark.c_str() + std::char_traits<char>::length(kName), "%llu.%d.%llu.", &space, &maker,
             &start) != 3)
    return false;
  return space == pid_namespace() && !lives({maker, start});
}

}  // namespace

std::string family_mark() {
  static std::atomic<unsigned> made{0};
  const ProcessId self = this_process();
  return kName + std::to_string(pid_namespace()) + "." + std::to_string(self.pid) + "." +
         std::to_string(self.start) + "." + std::to_string(++made);
}

bool end_family(pid_t leader, const std::string& mark, std::int64_t limit_ns) {
  const Deadline deadline = Deadline::in_ns(limit_ns);
  // Who descends from it is known only as long as it lives: all who were ever seen are waited for.
  std::set<std::pair<pid_t, std::uint64_t>> known;
  const auto is_member = [&](const Seen& seen) {
    return seen.pid == leader || seen.session == leader || known.count({seen.pid, seen.start}) ||
           mark_of(seen.pid) == mark;
  };
  std::vector<Seen> family = family_of(is_member);
  kill(-leader, SIGKILL);
  while (kill_all(family) > 0) {
    if (deadline.passed()) return false;
    for (const Seen& each : family) known.emplace(each.pid, each.start);
    pause_shortly();
    family = family_of(is_member);
  }
  return true;
}

int end_orphaned_families() { return kill_all(family_of(has_lost_its_maker)); }

}  // namespace leat::platform
