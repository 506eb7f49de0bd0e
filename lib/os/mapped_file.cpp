// SPDX-License-Identifier: Apache-2.0
#include "lib/os/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/os/process.hpp"

namespace leat::os {

// That it cannot shrink is why a read of what it has is no SIGBUS.
Result<std::unique_ptr<MappedFile>> MappedFile::make(const char* title, std::uint64_t most_bytes) {
  UniqueFd file = memory_file(title, MayShrink::no);
  if (!file) return Error{Status::ERROR_SYSTEM, "no file in memory: " + errno_text(errno)};
  void* const start = mmap(nullptr, most_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED)
    return Error{Status::ERROR_MEMORY, "no room for a file in memory: " + errno_text(errno)};
  return std::unique_ptr<MappedFile>(
      new MappedFile(std::move(file), static_cast<const char*>(start), most_bytes));
}

MappedFile::~MappedFile() { munmap(const_cast<char*>(start_), most_bytes_); }

const char* MappedFile::at(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  struct stat facts {};
  if (fstat(file_.get(), &facts) != 0) return nullptr;
  const std::uint64_t size = std::min(most_bytes_, static_cast<std::uint64_t>(facts.st_size));
  return offset <= size && bytes <= size - offset ? start_ + offset : nullptr;
}

}  // namespace leat::os
