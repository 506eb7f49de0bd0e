// SPDX-License-Identifier: Apache-2.0
#include "lib/model/source_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace leat::model {
namespace {

Error unreadable(std::string why) { return Error{Status::ERROR_CONFIG, std::move(why)}; }

Error from_errno(int number) {
  if (number == ENOENT) return unreadable("no such file");
  if (number == EACCES) return unreadable("no permission to read it");
  return unreadable(std::strerror(number));
}

}  // namespace

Result<std::string> read_source(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return unreadable("it is a folder");
  // To open a pipe that nobody writes to takes for ever.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return unreadable("it is a pipe or a device, and no file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return from_errno(errno);
  std::string text;
  char chunk[1 << 16];
  while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, file.get())) {
    text.append(chunk, got);
    if (text.size() > kMaxSourceBytes) return unreadable("it is larger than 16 MiB");
  }
  if (std::ferror(file.get())) return from_errno(errno);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return unreadable("it is empty");
  return text;
}

}  // namespace leat::model
