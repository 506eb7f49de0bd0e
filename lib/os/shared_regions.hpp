// SPDX-License-Identifier: Apache-2.0
// A file in shared memory that outlives its process, and parts of it that are mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {

/// Bytes of a file, to read and write. Unmapped with the last copy.
class MappedRegion {
 public:
  MappedRegion() = default;
  /// Of a file that has them.
  static Result<MappedRegion> map(int file, std::uint64_t offset, std::uint64_t bytes);

  char* start() const noexcept { return start_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(start_); }

 private:
  explicit MappedRegion(std::shared_ptr<char> start) : start_(std::move(start)) {}
  std::shared_ptr<char> start_;
};

/// Multiples of it can be mapped.
std::uint64_t page_bytes() noexcept;

/// Opens the file at `path`, of this user, or makes it; with path "" a file in memory that ends with this process. Never through a link.
Result<UniqueFd> open_shared_file(const std::string& path);
std::uint64_t bytes_of_file(int file) noexcept;
/// The first bytes of a file as a new one at `path`, which takes its name when it is whole and on the disk. "" or why it is not there.
std::string copy_durably(int file, std::uint64_t bytes, const std::string& path);
/// Makes it so long, and takes the memory for it: what is not there is an error here, and no SIGBUS later.
Result<void> lengthen_file(int file, std::uint64_t from, std::uint64_t to);

}  // namespace leat::os
