// SPDX-License-Identifier: Apache-2.0
#include "lib/os/limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/process.hpp"

namespace leat::platform {
namespace {

constexpr rlim_t kUseful = 65536;

}  // namespace

std::uint64_t most_descriptors() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 64;
}

void allow_more_descriptors() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kUseful) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kUseful));
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::uint64_t most_address_space() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

std::uint64_t address_space() noexcept {
  const UniqueFd facts(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  if (!facts || read(facts.get(), text, sizeof text - 1) <= 0) return 0;
  return std::strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string limit_hint() {
  const std::uint64_t most = most_address_space();
  if (most == UINT64_MAX) return "";
  return "; the address space of a process is limited to " + format_bytes(most) + " (ulimit -v)";
}

namespace {

constexpr std::size_t kPiece = 4 << 20;

UniqueFd make_file(const std::string& folder) {
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = folder + "/.leat-disk-XXXXXX";
  UniqueFd named(mkostemp(name.data(), O_CLOEXEC));
  if (named) ::unlink(name.c_str());
  return named;
}

}  // namespace

Result<double> disk_speed(const std::string& folder, std::uint64_t bytes) {
  const auto failed = [&folder] {
    return Error{Status::ERROR_SYSTEM,
                 "cannot measure the disk of " + folder + ": " + errno_text(errno)};
  };
  const UniqueFd fd = make_file(folder);
  if (!fd) return failed();
  std::vector<char> piece(kPiece);
  for (std::size_t i = 0; i < piece.size(); ++i)
    piece[i] = static_cast<char>(i * 2654435761u >> 13);
  const std::int64_t begun_ns = now_ns();
  for (std::uint64_t left = bytes; left > 0;) {
    const ssize_t n = ::write(fd.get(), piece.data(), std::min<std::uint64_t>(left, piece.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed();
    left -= static_cast<std::uint64_t>(n);
  }
  if (fdatasync(fd.get()) != 0) return failed();
  return static_cast<double>(bytes) * 1e9 /
         static_cast<double>(std::max<std::int64_t>(1, now_ns() - begun_ns));
}

}  // namespace leat::platform
