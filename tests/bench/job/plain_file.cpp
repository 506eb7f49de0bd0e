// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/job/plain_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "tests/bench/job/output.hpp"

namespace leat::bench {

PlainFile::PlainFile(const std::string& path)
    : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (!fd_) give_up("cannot write " + path);
}

void PlainFile::write(const void* data, std::size_t bytes, std::size_t offset) const {
  const char* const from = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t now =
        pwrite(fd_.get(), from + done, bytes - done, static_cast<off_t>(offset + done));
    if (now <= 0) give_up("pwrite");
    done += static_cast<std::size_t>(now);
  }
}

void PlainFile::sync() const {
  if (fdatasync(fd_.get()) != 0) give_up("fdatasync");
}

}  // namespace leat::bench
