// SPDX-License-Identifier: Apache-2.0
// Files on a disk that are written once and then read through memory.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// A new file, mode 0600, in the place of one that may be there. Its room on the disk is taken at
/// once, so that a disk without it says so before much is written; a file system that cannot do
/// that says it later. Empty, with errno, when there is no room.
UniqueFd make_file(const std::string& path, std::uint64_t bytes) noexcept;

/// A whole file, mapped to be read.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) = delete;
  ~MappedFile();

  std::uint64_t bytes() const noexcept { return bytes_; }
  bool has(std::uint64_t offset, std::uint64_t length) const noexcept {
    return offset <= bytes_ && length <= bytes_ - offset;
  }
  const char* at(std::uint64_t offset) const noexcept {
    return static_cast<const char*>(start_) + offset;
  }

 private:
  MappedFile(void* start, std::uint64_t bytes) noexcept : start_(start), bytes_(bytes) {}

  void* start_;  // null: moved from
  std::uint64_t bytes_;
};

}  // namespace leat::platform
