// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/secret_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "lib/os/crc32c.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfFile = std::size_t{64} << 20;

}  // namespace

os::UniqueFd open_secret_folder(const std::string& path, std::string* why) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    *why = "cannot make the folder " + path + ": " + os::errno_text(errno);
    return {};
  }
  os::UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!folder || fstat(folder.get(), &facts) != 0) {
    *why = "cannot open the folder " + path + ": " + os::errno_text(errno);
    return {};
  }
  if (facts.st_uid != geteuid()) {
    *why = "the folder " + path + " belongs to another user: nothing of it is taken";
    return {};
  }
  if ((facts.st_mode & 0077) != 0) fchmod(folder.get(), 0700);
  return folder;
}

std::string read_secret(int folder, const std::string& name, std::string_view mark) {
  const os::UniqueFd file(
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  if (facts.st_uid != geteuid() || facts.st_size > static_cast<off_t>(kMostOfFile)) return "";
  std::string text = os::text_of(file.get(), static_cast<std::size_t>(facts.st_size));
  std::uint32_t sum = 0;
  if (text.size() < mark.size() + sizeof sum || !text.starts_with(mark)) return "";
  const std::size_t size = text.size() - sizeof sum;
  std::memcpy(&sum, text.data() + size, sizeof sum);
  if (sum != os::crc32c(text.data(), size)) return "";
  return text.substr(mark.size(), size - mark.size());
}

std::string write_secret(int folder, const std::string& name, std::string_view mark,
                         const std::string& body) {
  std::string text = std::string(mark) + body;
  const std::uint32_t sum = os::crc32c(text.data(), text.size());
  text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  const std::string part = "." + name + ".part";
  unlinkat(folder, part.c_str(), 0);
  os::UniqueFd file(
      openat(folder, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_written =
      file && os::write_at(file.get(), text.data(), text.size(), 0) && fsync(file.get()) == 0;
  file.reset();
  if (is_written && renameat(folder, part.c_str(), folder, name.c_str()) == 0) return "";
  std::string why = "cannot write " + name + ": " + os::errno_text(errno);
  unlinkat(folder, part.c_str(), 0);
  return why;
}

}  // namespace leat::comm
