// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/open_target.hpp"

#include <sys/stat.h>

#include <charconv>
#include <cstdint>
#include <filesystem>

namespace leat::platform {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeleted = " (deleted)";

bool is_regular(const std::string& path, std::uint64_t* number) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  *number = facts.st_ino;
  return true;
}

// 0: it has no such name.
std::uint64_t number_in(const std::string& name) {
  if (!name.starts_with('#') || !name.ends_with(kDeleted)) return 0;
  const char* const end = name.data() + name.size() - kDeleted.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data() + 1, end, number);
  return error == std::errc() && stop == end ? number : 0;
}

}  // namespace

std::string file_at_target(const std::string& target) {
  std::uint64_t found = 0;
  if (is_regular(target, &found)) return target;
  const fs::path path = target;
  const std::uint64_t wanted = number_in(path.filename().string());
  if (wanted == 0) return "";
  std::error_code error;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_regular(entry->path().string(), &found) && found == wanted)
      return entry->path().string();
  }
  return "";
}

}  // namespace leat::platform
