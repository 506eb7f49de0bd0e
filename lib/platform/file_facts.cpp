// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/file_facts.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace leat::platform
