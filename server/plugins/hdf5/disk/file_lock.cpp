// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// What stands in for a lock on file systems that have none: a file with the host and the process
// that has it. Such a lock of a killed process is free for the next one on that host; another host
// cannot know whether it lives, and takes it to be so.

struct Owner {
  std::string host;
  long process = 0;
  std::string start;  // of the process: its number may be used again

  bool operator==(const Owner& other) const {
    return host == other.host && process == other.process && start == other.start;
  }
};

std::string this_host() {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return *name ? name : "?";
}

std::string start_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kAfterName = 20;  // of the 22nd field
  std::string field;
  for (int i = 0; i < kAfterName; ++i) fields >> field;
  return field;
}

Owner in_file(const FilePlace& place) {
  char text[512] = "";
  if (const Descriptor fd(place.open(O_RDONLY)); fd.is_open())
    (void)read_whole(fd, text, sizeof text - 1, 0);
  Owner owner;
  std::istringstream(text) >> owner.host >> owner.process >> owner.start;
  return owner;
}

bool may_live(const Owner& owner) {
  if (owner.host.empty() || owner.start.empty()) return false;  // cut off: nobody's
  return owner.host != this_host() || start_of(owner.process) == owner.start;
}

// With its text in it from the start: links are made whole or not at all, on network file systems
// too.
bool make(const FilePlace& place, const Owner& owner) {
  const std::string who = owner.host + ' ' + std::to_string(owner.process) + ' ' + owner.start;
  const FilePlace draft = place.called(place.name() + "." + owner.host + "." +
                                       std::to_string(owner.process) + "." + owner.start);
  draft.remove();
  const Descriptor fd(draft.make());
  int code = !fd.is_open() ? errno : write_whole(fd, (who + '\n').data(), who.size() + 1, 0);
  if (code == 0) code = place.give_to(fd);
  draft.remove();
  if (code != 0 && code != EEXIST)
    throw std::runtime_error("cannot write " + place.path() + ": " + std::strerror(code));
  return code == 0;
}

// Makes the file, unless one whose owner may live is there. Throws when it cannot be written.
bool claim(const FilePlace& owner_file) {
  const Owner self{this_host(), static_cast<long>(getpid()), start_of(getpid())};
  while (!make(owner_file, self)) {
    const Owner other = in_file(owner_file);
    if (may_live(other)) return false;
    if (in_file(owner_file) == other) owner_file.remove();
  }
  return true;
}

// Whether somebody has it who may live.
bool is_claimed(const FilePlace& owner_file) { return may_live(in_file(owner_file)); }

// "process 4711 on node12", or "" when there is none.
std::string owner_in(const FilePlace& owner_file) {
  const Owner owner = in_file(owner_file);
  if (owner.host.empty()) return "";
  return "process " + std::to_string(owner.process) + " on " + owner.host;
}

namespace fs = std::filesystem;

constexpr std::chrono::microseconds kPause(500);

std::string advice(int code) {
  if (code == ENOSPC || code == EDQUOT) return ": make room there";
  return ": give the run the right to write there, or change folder=\"...\" of the store";
}

Descriptor open_lock(const FilePlace& lock) {
  Descriptor fd(lock.open_or_make());
  if (fd.is_open()) return fd;
  const int code = errno;
  throw std::runtime_error("cannot write into the output folder \"" +
                           fs::absolute(lock.path()).parent_path().string() +
                           "\": " + std::strerror(code) + advice(code));
}

// Others may be able to write to the folder, and a link of theirs leads anywhere.
bool is_no_file(const FilePlace& lock) {
  struct stat facts {};
  return fstatat(lock.fd(), lock.name().c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISREG(facts.st_mode);
}

// 0, or an errno: EWOULDBLOCK when others have it; anything else says that there are no locks here.
int try_lock(int fd, int kind) { return flock(fd, kind | LOCK_NB) == 0 ? 0 : errno; }

// is_taken() shares the lock for a moment, and who writes never does: so what can be shared is
// free, as soon as those who ask are gone.
int lock_now(int fd) {
  for (;;) {
    const int code = try_lock(fd, LOCK_EX);
    if (code != EWOULDBLOCK || try_lock(fd, LOCK_SH) == EWOULDBLOCK) return code;
    flock(fd, LOCK_UN);
    std::this_thread::sleep_for(kPause);
  }
}

FilePlace lock_of(const FilePlace& file) { return file.beside(".lock"); }

FilePlace owner_of(const FilePlace& file) { return file.beside(".owner"); }

}  // namespace

bool FileLock::is_taken(const FilePlace& file) {
  const Descriptor fd(lock_of(file).open(O_RDONLY));
  const bool taken = fd.is_open() && try_lock(fd, LOCK_SH) == EWOULDBLOCK;
  return taken || is_claimed(owner_of(file));
}

bool FileLock::is_left(const FilePlace& file) {
  return lock_of(file).exists() || owner_of(file).exists();
}

std::string FileLock::holder(const FilePlace& file) {
  const std::string owner = owner_in(owner_of(file));
  if (owner.empty()) return "";
  return " by " + owner +
         " (there are no locks on this file system: when that process is gone, remove " +
         owner_of(file).path() + ")";
}

std::optional<FileLock> FileLock::take(const FilePlace& file) {
  const FilePlace lock = lock_of(file);
  std::string removed;
  for (;;) {
    if (is_no_file(lock) && lock.remove() == 0) removed = lock.path();
    Descriptor fd = open_lock(lock);
    const int code = lock_now(fd);
    if (code == EWOULDBLOCK) return std::nullopt;
    FileLock taken(lock, std::move(fd));
    if (code != 0) return take_without_locks(file);
    taken.removed_ = removed;
    // Its last owner may have removed the file between our open and our lock: then we have locked
    // nothing, and what has the name now is not ours to remove.
    if (lock.names(taken.held_->fd)) return taken;
  }
}

std::optional<FileLock> FileLock::take_without_locks(const FilePlace& file) {
  if (!claim(owner_of(file))) return std::nullopt;
  return FileLock(owner_of(file), Descriptor());
}

bool FileLock::holds(const FilePlace& file) const {
  return held_->fd.is_open() ? lock_of(file).names(held_->fd) : is_claimed(owner_of(file));
}

FileLock::Held::~Held() {
  if (!fd.is_open() || place.names(fd)) place.remove();
}

}  // namespace leat::hdf5
