// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/file_facts.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace leat::platform {
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

}  // namespace leat::platform
