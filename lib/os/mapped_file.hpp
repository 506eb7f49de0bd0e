// SPDX-License-Identifier: Apache-2.0
// A file in memory that another process fills, and this one reads: it may grow, and never shrinks.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {

class MappedFile {
 public:
  /// Of at most so many bytes, which are taken as they are used. `title` is seen in /proc only.
  static Result<std::unique_ptr<MappedFile>> make(const char* title, std::uint64_t most_bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  int descriptor() const noexcept { return file_.get(); }
  const char* start() const noexcept { return start_; }
  /// Null where the file does not have these bytes, whatever the other side says.
  const char* at(std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  MappedFile(UniqueFd file, const char* start, std::uint64_t most_bytes) noexcept
      : file_(std::move(file)), start_(start), most_bytes_(most_bytes) {}

  UniqueFd file_;
  const char* start_;
  std::uint64_t most_bytes_;
};

}  // namespace leat::os
