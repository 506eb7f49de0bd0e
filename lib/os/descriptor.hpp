// SPDX-License-Identifier: Apache-2.0
// Descriptors: owned, waited for, read and written with a time limit.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "lib/base/status.hpp"

namespace leat::os {

// A file descriptor that closes itself.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// To wait for a descriptor, with a deadline.

/// Sleeps until a descriptor has something to read, or `ns` have passed. True: it has.
bool is_readable_within(int descriptor, std::int64_t ns) noexcept;

// Bytes over a connected pair of sockets, with a time limit for the whole.

/// Two connected ends.
Result<std::pair<UniqueFd, UniqueFd>> stream_pair();

/// Asked about every kGlanceNs while one waits for the other side: true when there is nobody to
/// wait for any more. A stream alone does not tell: whatever the other side has started may hold
/// its end open.
using GivenUp = std::function<bool()>;

/// False when the other side is gone, or does not take all until `deadline_ns` of now_ns(). Never
/// raises SIGPIPE.
bool send_all(int stream, const void* data, std::size_t bytes, std::int64_t deadline_ns,
              const GivenUp& given_up = {}) noexcept;

enum class Arrived { all, late, ended };

/// What was sent before the other side was given up arrives.
Arrived receive_all(int stream, void* data, std::size_t bytes, std::int64_t deadline_ns,
                    const GivenUp& given_up = {}) noexcept;

/// The other side has closed its end, whatever it said before. One that has died may have left its
/// end to others.
bool stream_has_ended(int stream) noexcept;

// A file in memory without a name, for what another process shall read.

enum class MayShrink { yes, no };

/// `title` is seen in /proc only. Empty when the system has no descriptor left.
UniqueFd memory_file(const char* title, MayShrink may_shrink = MayShrink::yes) noexcept;

/// False when there is no memory for it.
bool write_at(int file, const void* data, std::uint64_t bytes, std::uint64_t offset) noexcept;

/// All of a file in memory that another process has passed. Nothing for any other file, which might let us wait, nor for
/// more than `most` bytes.
std::string text_of_memory_file(int file, std::size_t most);

/// The first `most` bytes.
std::string text_of(int file, std::size_t most);

// Files that a process has open, by what the system calls them there.

/// The path of a regular file that still has a name; "" for anything else. One that was made without
/// a name (O_TMPFILE) and got it later is "<folder>/#<number> (deleted)" to the system for good: its
/// folder knows better.
std::string file_at_target(const std::string& target);

}  // namespace leat::os
