// SPDX-License-Identifier: Apache-2.0
#include "server/workers/graph/output_memory.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace leat::server {

OutputMemory::OutputMemory(std::unique_ptr<os::MappedFile> file)
    : SharedFile{"/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file->descriptor()),
                 file->start()},
      file_(std::move(file)) {}

std::shared_ptr<const void> OutputMemory::hold(std::uint64_t offset) {
  return {start + offset, [self = shared_from_this(), offset](const void*) {
            const std::lock_guard<std::mutex> lock(self->mutex_);
            self->released_.push_back(offset);
          }};
}

std::vector<std::uint64_t> OutputMemory::take_released() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(released_, {});
}

}  // namespace leat::server
