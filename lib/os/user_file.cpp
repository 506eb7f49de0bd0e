// SPDX-License-Identifier: Apache-2.0
#include "lib/os/user_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"

namespace leat::os {

Result<std::string> text_of_file(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (file.get() < 0 || fstat(file.get(), &found) != 0)
    return Error{Status::ERROR_SYSTEM, path + ": " + errno_text(errno)};
  if (!S_ISREG(found.st_mode)) return Error{Status::ERROR_SYSTEM, path + " is no file"};
  std::string text;
  std::vector<char> part(std::size_t{1} << 16);
  for (;;) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Status::ERROR_SYSTEM, path + ": " + errno_text(errno)};
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace leat::os
