// SPDX-License-Identifier: Apache-2.0
// Opens what is expected to be a file, and waits for nothing that is none.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "server/plugins/common/descriptor.hpp"

namespace leat::hdf5 {

/// "" or why what is there cannot be read as a file: "is a pipe, and no file".
inline std::string why_no_file(const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return "";
  const char* const what = S_ISDIR(facts.st_mode)    ? "folder"
                           : S_ISFIFO(facts.st_mode) ? "pipe"
                           : S_ISSOCK(facts.st_mode) ? "socket"
                           : S_ISLNK(facts.st_mode)  ? "link"
                                                     : "device";
  return std::string("is a ") + what + ", and no file";
}

class OpenedFile {
 public:
  OpenedFile(const std::string& path, int flags) {
    struct stat facts {};
    const bool follows = (flags & O_NOFOLLOW) == 0;
    // Looked at first: to open a device can do something, and a socket cannot be opened.
    const int found = follows ? ::stat(path.c_str(), &facts) : ::lstat(path.c_str(), &facts);
    if (found == 0) why_ = why_no_file(facts);
    if (!why_.empty()) return;
    fd_ = Descriptor(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
    if (!fd_.is_open())
      why_ = std::string("cannot be opened: ") + std::strerror(errno);
    else if (::fstat(fd_, &facts) == 0)
      why_ = why_no_file(facts);
  }

  /// "" or why it is not open.
  const std::string& why() const noexcept { return why_; }
  int fd() const noexcept { return fd_; }

 private:
  Descriptor fd_;
  std::string why_;
};

}  // namespace leat::hdf5
