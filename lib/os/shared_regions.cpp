// SPDX-License-Identifier: Apache-2.0
#include "lib/os/shared_regions.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"

namespace leat::os {

Result<MappedRegion> MappedRegion::map(int file, std::uint64_t offset, std::uint64_t bytes) {
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  if (start == MAP_FAILED)
    return Error{Status::ERROR_MEMORY,
                 "cannot map " + format_bytes(bytes) + " of shared memory: " + errno_text(errno)};
  return MappedRegion(
      std::shared_ptr<char>(static_cast<char*>(start), [bytes](char* at) { munmap(at, bytes); }));
}

std::uint64_t page_bytes() noexcept { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

Result<UniqueFd> open_shared_file(const std::string& path) {
  UniqueFd file = path.empty()
                      ? memory_file("leat-shared")
                      : UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                                      S_IRUSR | S_IWUSR));
  const std::string what = path.empty() ? "a file in memory" : path;
  if (!file) return Error{Status::ERROR_SYSTEM, "cannot open " + what + ": " + errno_text(errno)};
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
    return Error{Status::ERROR_SYSTEM, what + " is no file of this user"};
  return file;
}

std::uint64_t bytes_of_file(int file) noexcept {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

Result<void> lengthen_file(int file, std::uint64_t from, std::uint64_t to) {
  int code = 0;
  do {
    code = posix_fallocate(file, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (code == EINTR);
  if (code == 0) return {};
  return Error{Status::ERROR_MEMORY, "there are no " + format_bytes(to - from) +
                                         " of shared memory: " + errno_text(code)};
}

namespace {

// "" or why not.
std::string copy_all(int from, std::uint64_t bytes, int to) {
  std::vector<char> room(1 << 20);
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t got = pread(from, room.data(), std::min<std::uint64_t>(room.size(), bytes - at),
                              static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno_text(errno) : "it is cut off";
    if (!write_at(to, room.data(), static_cast<std::uint64_t>(got), at)) return errno_text(errno);
    at += static_cast<std::uint64_t>(got);
  }
  return fdatasync(to) == 0 || errno == EINVAL ? "" : errno_text(errno);
}

}  // namespace

std::string copy_durably(int file, std::uint64_t bytes, const std::string& path) {
  const std::string part = path + ".part";
  unlink(part.c_str());
  const UniqueFd to(
      open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!to) return errno_text(errno);
  std::string why = copy_all(file, bytes, to.get());
  if (why.empty() && rename(part.c_str(), path.c_str()) != 0) why = errno_text(errno);
  if (!why.empty()) unlink(part.c_str());
  return why;
}

}  // namespace leat::os
