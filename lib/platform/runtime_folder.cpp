// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/runtime_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "lib/platform/process.hpp"

namespace leat::platform {

std::string runtime_folder_name() {
  const char* chosen = std::getenv("LEAT_RUNTIME_DIR");
  if (chosen && *chosen) return chosen;
  return "/tmp/leat-" + std::to_string(geteuid());
}

Result<std::string> runtime_folder() {
  const std::string folder = runtime_folder_name();
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
  if (name.empty() || name.size() > kLongestSessionName || name[0] == '.') return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

SessionFiles session_files(const std::string& folder, const std::string& session) {
  const std::string stem = folder + "/" + session;
  return SessionFiles{stem + ".sock", stem + ".lock",    stem + ".live",
                      stem + ".late", stem + ".control", stem + ".ranks"};
}

std::string misplaced(const SessionFiles& files) {
  const auto stands_at = [](const std::string& path, mode_t wanted) {
    struct stat info {};
    return lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) != wanted;
  };
  for (const std::string* path : {&files.socket, &files.control})
    if (stands_at(*path, S_IFSOCK)) return *path;
  for (const std::string* path : {&files.lock, &files.live, &files.late, &files.ranks})
    if (stands_at(*path, S_IFREG)) return *path;
  return "";
}

SegmentFiles segment_files(const std::string& folder, const std::string& stem) {
  return SegmentFiles{folder + "/" + stem + ".journal", folder + "/" + stem + ".spill"};
}

}  // namespace leat::platform
