// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk_space.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace leat::hdf5 {

DiskSpace::DiskSpace(const std::string& path) : fd_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}

DiskSpace::~DiskSpace() {
  if (fd_ >= 0) ::close(fd_);
}

void DiskSpace::ensure(std::uint64_t end) {
  if (end <= reserved_) return;
  int code = 0;
  do {
    code = ::fallocate(fd_, 0, 0, static_cast<off_t>(end)) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code == ENOSPC || code == EFBIG || code == EDQUOT) {
    throw std::runtime_error("no room on the disk: the file would have up to " +
                             std::to_string(end) + " bytes: " + std::strerror(code));
  }
  if (code == 0) reserved_ = end;
}

}  // namespace leat::hdf5
