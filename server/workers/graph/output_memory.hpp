// SPDX-License-Identifier: Apache-2.0
// Where a module puts what it makes: a file in memory that its process writes, and that the server and all who take it
// read, without a copy. What nobody reads any more is given back to the module.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/os/mapped_file.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// Of one process. Lives as long as somebody reads.
class OutputMemory : public SharedFile, public std::enable_shared_from_this<OutputMemory> {
 public:
  explicit OutputMemory(std::unique_ptr<os::MappedFile> file);

  const os::MappedFile& file() const noexcept { return *file_; }
  /// What lies there is kept until the last copy ends.
  std::shared_ptr<const void> hold(std::uint64_t offset);
  /// Offsets of what nobody reads any more, each once.
  std::vector<std::uint64_t> take_released();

 private:
  std::unique_ptr<os::MappedFile> file_;
  std::mutex mutex_;
  std::vector<std::uint64_t> released_;
};

}  // namespace leat::server
