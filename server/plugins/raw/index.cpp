// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/raw/index.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace leat::raw {
namespace {

// A server that has died has its lock until all of its threads are gone.
constexpr int kTriesForLock = 20;
constexpr useconds_t kPauseForLock = 100'000;

}  // namespace

Index::Index(const std::string& folder) : path_(folder + "/index.jsonl") {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  fd_ = ::open(path_.c_str(), kFlags, 0666);
  if (fd_ < 0) fail("write");
  for (int tries = 0; ::flock(fd_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || tries == kTriesForLock) {
      const bool is_taken = errno == EWOULDBLOCK;
      ::close(fd_);
      if (!is_taken) fail("lock");
      throw std::runtime_error("another run writes to " + folder +
                               ": give the store another folder, "
                               "<option name=\"folder\" value=\"...\"/>");
    }
    ::usleep(kPauseForLock);
  }
}

Index::~Index() { ::close(fd_); }

bool Index::has_something() const {
  struct stat facts {};
  return fstat(fd_, &facts) == 0 && facts.st_size > 0;
}

std::optional<Index::Reached> Index::take_up() {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) fail("read");
  std::vector<char> text(static_cast<std::size_t>(facts.st_size));
  if (::pread(fd_, text.data(), text.size(), 0) != facts.st_size) fail("read");
  std::optional<Reached> reached;
  auto at = text.begin();
  for (auto end = at; (end = std::find(at, text.end(), '\n')) != text.end(); at = end + 1) {
    const nlohmann::json line = nlohmann::json::parse(at, end, nullptr, false);
    if (!line.is_object()) break;
    if (!line.contains("iteration")) continue;
    if (!reached) reached.emplace();
    reached->iteration = line.at("iteration");
    for (const nlohmann::json& block : line.at("blocks")) {
      std::uint64_t& known = reached->ends[block.at("file")];
      known = std::max(
          known, block.at("offset").get<std::uint64_t>() + block.at("bytes").get<std::uint64_t>());
    }
  }
  if (::ftruncate(fd_, at - text.begin()) != 0 || ::lseek(fd_, 0, SEEK_END) < 0) fail("write");
  return reached;
}

void Index::append(const std::string& line, bool durable) {
  const off_t begin = ::lseek(fd_, 0, SEEK_END);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(fd_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int code = n < 0 ? errno : ENOSPC;
      if (::ftruncate(fd_, begin) != 0) code == 0 ? fail("cut") : void();
      errno = code;
      fail("write");
    }
    done += static_cast<std::size_t>(n);
  }
  if (durable && ::fdatasync(fd_) != 0) fail("write");
}

void Index::fail(const char* what) const {
  throw std::runtime_error(std::string("cannot ") + what + " " + path_ + ": " +
                           std::strerror(errno));
}

}  // namespace leat::raw
