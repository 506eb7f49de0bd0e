// SPDX-License-Identifier: Apache-2.0
#include "lib/node/output_folders.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>
#include <vector>

#include "lib/os/file_lock.hpp"
#include "lib/os/process.hpp"

namespace leat::node {
namespace {

namespace fs = std::filesystem;

// The folder itself, or the lowest one above it that is there.
fs::path lowest_there(fs::path path) {
  std::error_code error;
  while (path.has_relative_path() && !fs::exists(fs::symlink_status(path, error)))
    path = path.parent_path();
  return path;
}

std::string problem(const fs::path& wanted, const fs::path& there, const std::string& why) {
  const std::string of_it = "the output folder \"" + wanted.string() + "\" cannot be ";
  if (wanted == there) return of_it + "written to: " + why;
  return of_it + "made: \"" + there.string() + "\": " + why;
}

}  // namespace

std::string why_no_output_folder(const std::string& path) {
  std::error_code error;
  const fs::path wanted = fs::absolute(path.empty() ? "." : path, error).lexically_normal();
  const fs::path there = lowest_there(wanted);
  if (!fs::is_directory(there, error)) return problem(wanted, there, "it is not a folder");
  if (access(there.c_str(), W_OK | X_OK) == 0) return "";
  return problem(wanted, there, os::errno_text(errno));
}

std::string make_output_folder(const std::string& path) {
  std::string why = why_no_output_folder(path);
  if (!why.empty() || path.empty()) return why;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return "the output folder \"" + path + "\" cannot be made: " + error.message();
  return why_no_output_folder(path);
}

namespace {

constexpr char kStem[] = "iteration-", kEnd[] = ".spill";

// Of this user and a folder itself, no link to one: others may write to the folder that it lies in.
os::UniqueFd open_own_folder(const std::string& path) noexcept {
  os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (fd && (fstat(fd.get(), &found) != 0 || found.st_uid != geteuid())) fd.reset();
  return fd;
}

bool is_ours(const std::string& name) { return name.starts_with(kStem) && name.ends_with(kEnd); }

// Names of Leat's files in it.
std::vector<std::string> files_in(int folder) {
  std::vector<std::string> names;
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(again < 0 ? nullptr : fdopendir(again),
                                                    &closedir);
  if (!entries) return names;
  while (const dirent* entry = readdir(entries.get())) {
    if (is_ours(entry->d_name)) names.push_back(entry->d_name);
  }
  return names;
}

Error error_of(const std::string& what) {
  return Error{Status::ERROR_SYSTEM, what + ": " + os::errno_text(errno)};
}

// A sweep that takes the folder away between the making and the locking is answered by making it
// again.
Result<os::UniqueFd> make_locked(const std::string& path) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return error_of("cannot make " + path);
    os::UniqueFd fd = open_own_folder(path);
    if (!fd && errno == ENOENT) continue;
    if (!fd) {
      return Error{Status::ERROR_SYSTEM,
                   path + " is there already and is no folder of this user: remove it"};
    }
    if (!os::lock_now(fd)) {
      return Error{Status::ERROR_STATE, path +
                                            " belongs to a session that lives: give the two "
                                            "runs different LEAT_SESSION names"};
    }
    if (!os::still_there(fd, path)) continue;
    if (fchmod(fd.get(), 0700) != 0) return error_of("cannot close " + path + " to others");
    return fd;
  }
  return Error{Status::ERROR_SYSTEM, path + " is removed again and again"};
}

}  // namespace

std::string spill_folder_name(const std::string& session) {
  return "leat-" + std::to_string(geteuid()) + "-" + session;
}

std::string spill_file_name(std::int64_t iteration, std::size_t part) {
  return kStem + std::to_string(iteration) + (part == 0 ? "" : "." + std::to_string(part)) + kEnd;
}

void remove_spilled_files(int folder, const std::set<std::string>& but) {
  for (const std::string& name : files_in(folder)) {
    if (but.count(name) == 0) unlinkat(folder, name.c_str(), 0);
  }
}

std::string why_no_spill_folder(const std::string& where) {
  struct stat found {};
  if (stat(where.c_str(), &found) != 0) {
    return "there is no folder \"" + where + "\": " + os::errno_text(errno);
  }
  if (!S_ISDIR(found.st_mode)) return "\"" + where + "\" is no folder";
  if (access(where.c_str(), W_OK | X_OK) == 0) return "";
  return "the folder \"" + where + "\" cannot be written to: " + os::errno_text(errno);
}

Result<SpillFolder> SpillFolder::make(const std::string& where, const std::string& session,
                                      const std::string& link, bool goes_on) {
  char* const absolute = realpath(where.c_str(), nullptr);
  if (!absolute) return error_of("cannot find the folder \"" + where + "\"");
  const std::string path = std::string(absolute) + "/" + spill_folder_name(session);
  free(absolute);
  unlink(link.c_str());
  if (symlink(path.c_str(), link.c_str()) != 0) return error_of("cannot make " + link);
  Result<os::UniqueFd> lock = make_locked(path);
  if (!lock) {
    unlink(link.c_str());
    return lock.error();
  }
  if (!goes_on) remove_spilled_files(lock->get(), {});
  return SpillFolder(path, link, std::move(*lock), goes_on);
}

SpillFolder::~SpillFolder() {
  if (!lock_ || goes_on_) return;
  remove_spilled_files(lock_.get(), {});
  rmdir(path_.c_str());
  unlink(link_.c_str());
}

FoundSpill find_spill(const std::string& link, const std::string& session) {
  char target[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), target, sizeof target);
  FoundSpill found;
  if (length <= 0 || length == sizeof target) return found;
  const std::string path(target, static_cast<std::size_t>(length));
  if (path.substr(path.rfind('/') + 1) != spill_folder_name(session)) return found;
  const os::UniqueFd folder = open_own_folder(path);
  if (!folder) return found;
  found.path = path;
  found.alive = !os::lock_now(folder);
  for (const std::string& name : files_in(folder.get())) {
    struct stat file {};
    if (fstatat(folder.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0)
      found.bytes += static_cast<std::uint64_t>(file.st_size);
  }
  return found;
}

std::string remove_spill(const std::string& path) {
  const os::UniqueFd folder = open_own_folder(path);
  if (!folder) return "";
  if (!os::lock_now(folder)) return "a session that lives has it";
  remove_spilled_files(folder.get(), {});
  return rmdir(path.c_str()) == 0 ? "" : os::errno_text(errno);
}

os::UniqueFd make_spill_file(int folder, const std::string& name, std::uint64_t bytes) noexcept {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  unlinkat(folder, name.c_str(), 0);
  os::UniqueFd file(openat(folder, name.c_str(), kFlags, 0600));
  if (!file) return file;
  const auto size = static_cast<off_t>(bytes);
  if (fallocate(file.get(), 0, 0, size) == 0) return file;
  if (errno == EOPNOTSUPP && ftruncate(file.get(), size) == 0) return file;
  return {};
}

os::UniqueFd open_spill_file(int folder, const std::string& name) noexcept {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  if (folder >= 0) return os::UniqueFd(openat(folder, name.c_str(), kFlags));
  errno = ENOENT;
  return {};
}

}  // namespace leat::node
