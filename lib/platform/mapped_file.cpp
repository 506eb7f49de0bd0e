// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "lib/platform/process.hpp"

namespace leat::platform {
namespace {

bool take_room(int file, std::uint64_t bytes) noexcept {
  const auto size = static_cast<off_t>(bytes);
  if (fallocate(file, 0, 0, size) == 0) return true;
  return errno == EOPNOTSUPP && ftruncate(file, size) == 0;
}

}  // namespace

UniqueFd make_file(const std::string& path, std::uint64_t bytes) noexcept {
  constexpr int kFlags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd file(::open(path.c_str(), kFlags, 0600));
  if (file && !take_room(file.get(), bytes)) {
    const int why = errno;
    file.reset();
    errno = why;
  }
  return file;
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  if (file && fstat(file.get(), &found) == 0) {
    const auto bytes = static_cast<std::uint64_t>(found.st_size);
    void* const start = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
    if (start != MAP_FAILED) return MappedFile(start, bytes);
  }
  return Error{Status::ERROR_SYSTEM, "cannot read " + path + ": " + errno_text(errno)};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}

MappedFile::~MappedFile() {
  if (start_) munmap(start_, bytes_);
}

}  // namespace leat::platform
