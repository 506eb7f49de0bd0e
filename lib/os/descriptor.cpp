// SPDX-License-Identifier: Apache-2.0
#include "lib/os/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>

#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::os {

bool is_readable_within(int descriptor, std::int64_t ns) noexcept {
  pollfd entry{descriptor, POLLIN, 0};
  const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
  return ppoll(&entry, 1, &limit, nullptr) > 0;
}

namespace {

enum class Wait { over, late, given_up };

// Over when the stream may be tried again.
Wait wait_for(int stream, short what, std::int64_t deadline_ns, const GivenUp& given_up) noexcept {
  constexpr int kGlanceMs = static_cast<int>(kGlanceNs / 1'000'000);
  while (const int ms = left_ms(deadline_ns)) {
    pollfd entry{stream, what, 0};
    const int ready = poll(&entry, 1, given_up ? std::min(ms, kGlanceMs) : ms);
    if (ready > 0) return Wait::over;
    if (ready < 0 && errno != EINTR) return Wait::late;
    if (given_up && given_up()) return Wait::given_up;
  }
  return Wait::late;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> stream_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{Status::ERROR_SYSTEM, "cannot make a socket: " + errno_text(errno)};
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool send_all(int stream, const void* data, std::size_t bytes, std::int64_t deadline_ns,
              const GivenUp& given_up) noexcept {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(stream, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (wait_for(stream, POLLOUT, deadline_ns, given_up) != Wait::over) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Arrived receive_all(int stream, void* data, std::size_t bytes, std::int64_t deadline_ns,
                    const GivenUp& given_up) noexcept {
  char* to = static_cast<char*>(data);
  for (Wait wait = Wait::over; bytes > 0;) {
    const ssize_t got = ::recv(stream, to, bytes, MSG_DONTWAIT);
    if (got > 0) {
      to += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (wait == Wait::given_up) return Arrived::ended;
      wait = wait_for(stream, POLLIN, deadline_ns, given_up);
      if (wait == Wait::late) return Arrived::late;
    } else if (got == 0 || errno != EINTR) {
      return Arrived::ended;
    }
  }
  return Arrived::all;
}

bool stream_has_ended(int stream) noexcept {
  pollfd entry{stream, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

UniqueFd memory_file(const char* title, MayShrink may_shrink) noexcept {
  if (may_shrink == MayShrink::yes) return UniqueFd(memfd_create(title, MFD_CLOEXEC));
  UniqueFd file(memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file && fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) file.reset();
  return file;
}

bool write_at(int file, const void* data, std::uint64_t bytes, std::uint64_t offset) noexcept {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

std::string text_of_memory_file(int file, std::size_t most) {
  struct stat facts {};
  const bool is_in_memory = fcntl(file, F_GET_SEALS) >= 0 && fstat(file, &facts) == 0;
  const auto bytes = static_cast<std::uint64_t>(is_in_memory ? facts.st_size : 0);
  return bytes == 0 || bytes > most ? "" : text_of(file, bytes);
}

std::string text_of(int file, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeleted = " (deleted)";

bool is_regular(const std::string& path, std::uint64_t* number) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  *number = facts.st_ino;
  return true;
}

// 0: it has no such name.
std::uint64_t number_in(const std::string& name) {
  if (!name.starts_with('#') || !name.ends_with(kDeleted)) return 0;
  const char* const end = name.data() + name.size() - kDeleted.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data() + 1, end, number);
  return error == std::errc() && stop == end ? number : 0;
}

}  // namespace

std::string file_at_target(const std::string& target) {
  std::uint64_t found = 0;
  if (is_regular(target, &found)) return target;
  const fs::path path = target;
  const std::uint64_t wanted = number_in(path.filename().string());
  if (wanted == 0) return "";
  std::error_code error;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_regular(entry->path().string(), &found) && found == wanted)
      return entry->path().string();
  }
  return "";
}

}  // namespace leat::os
