// SPDX-License-Identifier: Apache-2.0
#include "lib/os/folder.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "lib/os/process.hpp"

namespace leat::os {
namespace {

constexpr mode_t kMode = 0666;

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Hard links to files of others are the kernel's matter (fs.protected_hardlinks).
int why_not_own(int file) noexcept {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return errno;
  if (!S_ISREG(facts.st_mode)) return EINVAL;
  return facts.st_uid == geteuid() ? 0 : EPERM;
}

// A working folder that was removed has no path.
std::string absolute(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path found = std::filesystem::absolute(path, unknown);
  return unknown ? path : found.string();
}

bool write_all(int file, const std::string& text) noexcept {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Where a link leads that no other user has made; the path itself when it is none. Nothing is asked
// twice: somebody may put another link there in between.
std::string target_of(const std::string& path) {
  const UniqueFd link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!link || fstat(link.get(), &facts) != 0 || !S_ISLNK(facts.st_mode)) return path;
  if (facts.st_uid != geteuid() && facts.st_uid != 0) return path;
  char target[4096];
  const ssize_t length = ::readlinkat(link.get(), "", target, sizeof target);
  if (length <= 0) return path;
  const std::string name(target, static_cast<std::size_t>(length));
  return (std::filesystem::path(path).parent_path() / name).string();
}

// /dev/null, /dev/stdout, in folders where nobody makes links; or a pipe of the user's.
bool is_stream(const std::string& path) {
  struct stat facts {};
  const bool is_own_pipe =
      lstat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode) && facts.st_uid == geteuid();
  return is_own_pipe || path.starts_with("/dev/") || path.starts_with("/proc/");
}

UniqueFd opened(const std::string& path, bool anew) {
  if (is_stream(path)) return UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  UniqueFd file = Folder(folder.empty() ? "." : folder)
                      .open_to_append(std::filesystem::path(path).filename().string());
  if (file && anew && ::ftruncate(file.get(), 0) != 0) file.reset();
  return file;
}

}  // namespace

UniqueFd open_file_of_user(const std::string& path, bool anew) {
  return opened(target_of(path), anew);
}

Folder::Folder(const std::string& path)
    : path_(absolute(path)), fd_(open_folder(path)), error_(fd_ ? 0 : errno) {}

UniqueFd Folder::open(const std::string& name, int flags, unsigned mode) const noexcept {
  UniqueFd file(::openat(fd_.get(), name.c_str(), flags, static_cast<mode_t>(mode)));
  if (!file && !fd_) errno = error_;
  return file;
}

UniqueFd Folder::make_anew(const std::string& name) const noexcept {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  remove(name);
  return open(name, kFlags, kMode);
}

UniqueFd Folder::open_to_append(const std::string& name) const noexcept {
  constexpr int kFlags =
      O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  UniqueFd file = open(name, kFlags, kMode);
  const int why = file ? why_not_own(file.get()) : 0;
  if (why == 0) return file;
  file.reset();
  errno = why;
  return file;
}

void Folder::remove_no_file(const std::string& name) const noexcept {
  struct stat facts {};
  if (fstatat(fd_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(facts.st_mode))
    remove(name);
}

bool Folder::exists(const std::string& name) const noexcept {
  struct stat facts {};
  return fstatat(fd_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Folder::remove(const std::string& name) const noexcept {
  return unlinkat(fd_.get(), name.c_str(), 0) == 0;
}

bool Folder::is_gone() const noexcept {
  struct stat facts {};
  return !fd_ || (fstat(fd_.get(), &facts) == 0 && facts.st_nlink == 0);
}

std::string Folder::append(const std::string& name, const std::string& text) const {
  const UniqueFd file = open_to_append(name);
  return file && write_all(file.get(), text) ? "" : errno_text(errno);
}

std::string Folder::write_whole(const std::string& name, const std::string& text) {
  std::string why = try_to_write(name, text);
  if (why.empty() || !is_gone()) return why;
  std::error_code failed;
  std::filesystem::create_directories(path_, failed);
  if (UniqueFd again = open_folder(path_)) fd_ = std::move(again);
  return try_to_write(name, text);
}

std::string Folder::try_to_write(const std::string& name, const std::string& text) const {
  const std::string part = "." + name + ".part";
  const UniqueFd file = make_anew(part);
  if (file && write_all(file.get(), text) &&
      ::renameat(fd_.get(), part.c_str(), fd_.get(), name.c_str()) == 0)
    return "";
  const std::string why = errno_text(errno);
  remove(part);
  return "cannot write " + name + ": " + why;
}

namespace {

// FNV-1a of what changes with the content.
std::uint64_t stamp_of(const struct stat& file) {
  std::uint64_t stamp = 1469598103934665603u;
  for (const auto part :
       {static_cast<std::uint64_t>(file.st_mtim.tv_sec),
        static_cast<std::uint64_t>(file.st_mtim.tv_nsec), static_cast<std::uint64_t>(file.st_size),
        static_cast<std::uint64_t>(file.st_ino)}) {
    stamp = (stamp ^ part) * 1099511628211u;
  }
  return stamp;
}

std::string what_to_do(const FileFacts& thing, const std::string& path) {
  if (!thing.is_folder) return "chmod o-w " + path;
  return "put it into a folder of your own, or chmod o-w " + path;
}

// Called like its user and without others, as most systems make one for each user.
bool is_own_group(gid_t number) {
  const group* found = getgrgid(number);
  if (!found) return false;
  const std::string name = found->gr_name;
  const bool has_members = found->gr_mem && *found->gr_mem;
  const passwd* user = getpwuid(geteuid());
  return user && !has_members && name == user->pw_name;
}

std::string group_name(gid_t number) {
  const group* found = getgrgid(number);
  return found ? found->gr_name : std::to_string(number);
}

std::string group_warning_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || (found.st_mode & S_IWGRP) == 0 ||
      is_own_group(found.st_gid))
    return "";
  return path + " may be changed by all members of the group " + group_name(found.st_gid) +
         ", and is run with your rights: chmod g-w " + path + " if you do not trust them all";
}

std::string folder_of(const std::filesystem::path& file) {
  const std::string folder = file.parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

FileFacts facts_of(const std::string& path) {
  struct stat found {};
  FileFacts facts;
  if (stat(path.c_str(), &found) != 0) {
    facts.error = errno;
    return facts;
  }
  facts.is_file = S_ISREG(found.st_mode);
  facts.is_folder = S_ISDIR(found.st_mode);
  facts.everybody_may_write = (found.st_mode & S_IWOTH) != 0;
  facts.is_own = found.st_uid == geteuid() || found.st_uid == 0;
  facts.stamp = stamp_of(found);
  return facts;
}

std::string why_unsafe(const std::string& path) {
  const FileFacts thing = facts_of(path);
  if (thing.error != 0) return "";
  if (thing.everybody_may_write) {
    return path + " may be changed by everybody on this machine, so nothing of it is run: " +
           what_to_do(thing, path);
  }
  if (!thing.is_own) {
    return path + " belongs to another user, so nothing of it is run: make a copy of your own";
  }
  return "";
}

std::string why_unsafe_to_run(const std::string& file) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  std::string why = why_unsafe(file);
  if (why.empty()) why = why_unsafe(folder_of(file));
  if (why.empty() && !error) why = why_unsafe(folder_of(target));
  return why;
}

std::string group_warning(const std::string& file) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  std::string text = group_warning_of(file);
  if (text.empty()) text = group_warning_of(folder_of(file));
  if (text.empty() && !error) text = group_warning_of(folder_of(target));
  return text;
}

bool is_empty_file(int fd) noexcept {
  struct stat facts {};
  return fstat(fd, &facts) != 0 || facts.st_size == 0;
}

bool has_a_name(int fd) noexcept {
  struct stat facts {};
  return fstat(fd, &facts) == 0 && facts.st_nlink > 0;
}

}  // namespace leat::os
