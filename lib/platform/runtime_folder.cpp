// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/runtime_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>

#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"

namespace leat::platform {
namespace {

constexpr char kLive[] = ".live";
constexpr char kLock[] = ".lock";

std::string folder_name() {
  const char* chosen = std::getenv("LEAT_RUNTIME_DIR");
  if (chosen && *chosen) return chosen;
  return "/tmp/leat-" + std::to_string(geteuid());
}

// False when the file was removed, or replaced by another one, between our open and our lock.
bool still_the_file(int fd, const std::string& path) {
  struct stat by_fd {}, by_path {};
  return fstat(fd, &by_fd) == 0 && stat(path.c_str(), &by_path) == 0 &&
         by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

std::string read_text(int fd) {
  char text[256];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

bool remove_if_dead(const std::string& folder, const std::string& session,
                    void (*remove_segment)(const std::string& name)) {
  const SessionFiles files = session_files(folder, session);
  const UniqueFd lock = lock_file(files.live, 0);
  if (!lock) return false;
  const std::string segment = read_text(lock.get());
  if (!segment.empty()) remove_segment(segment);
  ::unlink(files.socket.c_str());
  ::unlink(files.live.c_str());
  return true;
}

// Left by a client that was killed while it started a server; one that starts it now holds it.
void remove_if_nobody_holds(const std::string& lock_path) {
  const UniqueFd lock = lock_file(lock_path, 0);  // held while it is removed
  if (lock) ::unlink(lock_path.c_str());
}

// Names of all sessions with a file that ends so.
std::vector<std::string> sessions_with(const std::string& suffix, const std::string& folder) {
  std::vector<std::string> sessions;
  DIR* entries = opendir(folder.c_str());
  if (!entries) return sessions;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      sessions.push_back(name.substr(0, name.size() - suffix.size()));
    }
  }
  closedir(entries);
  return sessions;
}

}  // namespace

Result<std::string> runtime_folder() {
  const std::string folder = folder_name();
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Status::ERROR_SYSTEM,
                 "cannot make the runtime folder " + folder + ": " + errno_text(errno) +
                     "; set LEAT_RUNTIME_DIR to a folder of yours on this node"};
  }
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error{Status::ERROR_SYSTEM, "the runtime folder " + folder + " is not a folder"};
  }
  const bool foreign = info.st_uid != geteuid();
  if (foreign || (info.st_mode & 022) != 0) {
    return Error{Status::ERROR_SYSTEM,
                 "the runtime folder " + folder +
                     (foreign ? " belongs to another user: " : " can be written by others: ") +
                     "remove it, or set LEAT_RUNTIME_DIR to a folder that only you can write"};
  }
  return folder;
}

bool valid_session_name(const std::string& name) noexcept {
  if (name.empty() || name.size() > 64 || name[0] == '.') return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

SessionFiles session_files(const std::string& folder, const std::string& session) {
  const std::string stem = folder + "/" + session;
  return SessionFiles{stem + ".sock", stem + kLock, stem + kLive};
}

UniqueFd lock_file(const std::string& path, std::int64_t timeout_ns) {
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  for (;;) {
    UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && still_the_file(fd.get(), path)) return fd;
    if (deadline.passed()) return {};
    const timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
}

int remove_dead_sessions(const std::string& folder,
                         void (*remove_segment)(const std::string& name)) {
  int removed = 0;
  for (const std::string& session : sessions_with(kLive, folder)) {
    removed += remove_if_dead(folder, session, remove_segment);
  }
  for (const std::string& session : sessions_with(kLock, folder)) {
    remove_if_nobody_holds(session_files(folder, session).lock);
  }
  return removed;
}

}  // namespace leat::platform
