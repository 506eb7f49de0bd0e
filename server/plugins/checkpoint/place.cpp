// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/checkpoint/place.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/common/whole_io.hpp"

namespace leat::checkpoint {
namespace {

// A server that has died has its lock until all of its threads are gone.
constexpr int kTriesForLock = 20;
constexpr useconds_t kPauseForLock = 100'000;
constexpr int kNewFile =
    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

}  // namespace

Place::Place(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  fd_ = os::UniqueFd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd_) fail(errno);
}

// A file system that knows no locks has none.
void Place::lock() {
  lock_ = open_lock();
  if (!lock_) fail(errno);
  for (int tries = 0; ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return;
    if (tries == kTriesForLock)
      throw std::runtime_error("another run writes checkpoints to " + folder_ +
                               ": give the store another folder=\"...\"");
    ::usleep(kPauseForLock);
  }
}

os::UniqueFd Place::open_lock() const noexcept {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  return os::UniqueFd(::openat(fd_.get(), "lock", kFlags, 0666));
}

bool Place::is_unlocked() const noexcept {
  const os::UniqueFd lock = open_lock();
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

os::UniqueFd Place::begin(const std::string& name) const {
  os::UniqueFd file(::openat(fd_.get(), (name + kUnfinished).c_str(), kNewFile, 0666));
  struct stat facts {};
  if (!file) fail(errno);
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) fail(EINVAL);
  return file;
}

void Place::finish(const std::string& name, const os::UniqueFd& file) const {
  if (::fdatasync(file.get()) != 0) fail(errno);
  const std::string unfinished = name + kUnfinished;
  if (::renameat(fd_.get(), unfinished.c_str(), fd_.get(), name.c_str()) != 0) fail(errno);
}

void Place::publish(const std::string& stem, const std::string& index) const {
  sync();
  const std::string name = stem + kIndexEnding;
  const os::UniqueFd file = begin(name);
  try {
    const int code = write_whole(file.get(), index.data(), index.size(), 0);
    if (code != 0) fail(code);
    finish(name, file);
  } catch (...) {
    give_up(name);
    throw;
  }
  sync();
}

void Place::give_up(const std::string& name) const noexcept {
  ::unlinkat(fd_.get(), (name + kUnfinished).c_str(), 0);
}

void Place::remove(const PartName& part) const noexcept {
  const std::string stem = part.stem();
  ::unlinkat(fd_.get(), (stem + kIndexEnding).c_str(), 0);
  ::unlinkat(fd_.get(), (stem + kDataEnding).c_str(), 0);
}

void Place::remove_unfinished(std::int64_t generation) const noexcept {
  const std::vector<FileName> files = files_in(folder_);
  std::set<std::string> published;
  for (const FileName& each : files)
    if (each.is_index && !each.is_unfinished) published.insert(each.name.stem());
  for (const FileName& each : files) {
    if (each.name.key.generation >= generation || published.count(each.name.stem()) != 0) continue;
    remove(each.name);
    give_up(each.name.stem() + kIndexEnding);
    give_up(each.name.stem() + kDataEnding);
  }
}

void Place::sync() const {
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) fail(errno);
}

void Place::fail(int code) const {
  throw std::runtime_error("cannot write into the folder " + folder_ + ": " + errno_text(code));
}

void remove_surplus(const Place& place, const Surplus& surplus) {
  std::uint64_t counted = 0;
  for (const Checkpoint& each : checkpoints_in({place.folder()})) {
    if (counted < surplus.keep) {
      counted += surplus.counts(each) ? 1 : 0;
      continue;
    }
    for (const Part& part : each.parts)
      if (surplus.may_be_removed(part.name)) place.remove(part.name);
  }
}

}  // namespace leat::checkpoint
