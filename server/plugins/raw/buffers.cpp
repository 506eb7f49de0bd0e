// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/raw/buffers.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace leat::raw {
namespace {

char* new_buffer() {
  constexpr std::size_t kBytes = Buffers::kBytes;
  void* const all =
      ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<char*>(all);
  const std::size_t before = (kBytes - reinterpret_cast<std::uintptr_t>(begin) % kBytes) % kBytes;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + kBytes, kBytes - before);
  ::madvise(begin + before, kBytes, MADV_HUGEPAGE);
  std::memset(begin + before, 0, kBytes);
  return begin + before;
}

}  // namespace

Buffers::~Buffers() {
  for (char* buffer : free_) ::munmap(buffer, kBytes);
}

char* Buffers::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      char* const buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
  }
  return new_buffer();
}

void Buffers::give_back(char* buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

}  // namespace leat::raw
