// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace leat {

/// What the system has open, or -1; closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  operator int() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A path to what is open as `fd`. Of the thread that asks: a server on a thread of a simulation has
/// descriptors of its own, and /proc/self has those of the simulation's main thread.
inline std::string path_of_descriptor(int fd) {
  return "/proc/thread-self/fd/" + std::to_string(fd);
}

}  // namespace leat
