// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "lib/os/process.hpp"
#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::chrono::microseconds kPause(500);
constexpr int kTriesToRemove = 40;

// What stands in for a lock on file systems that have none: a file with the host and the process
// that has it. Such a lock of a killed process is free for the next one on that host; another host
// cannot know whether it lives, and takes it to be so.

struct Owner {
  std::string host;
  os::ProcessId process;
};

Owner this_owner() { return {os::node_name(), os::this_process()}; }

std::string text_of(const Owner& owner, char between) {
  std::string text = owner.host;
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(owner.process.pid), owner.process.start, owner.process.space})
    text += between + std::to_string(number);
  return text;
}

Owner in_open_file(int fd) {
  constexpr std::size_t kMost = 512;
  Owner owner;
  std::istringstream(os::text_of(fd, kMost)) >> owner.host >> owner.process.pid >>
      owner.process.start >> owner.process.space;
  return owner;
}

Owner in_file(const FilePlace& place) {
  const UniqueFd fd = place.open(O_RDONLY);
  return fd ? in_open_file(fd.get()) : Owner();
}

// Processes of other hosts and containers cannot be seen from here.
bool may_live(const Owner& owner) {
  if (owner.process.start == 0) return false;  // the text is cut off: nobody's
  const std::uint64_t space = owner.process.space;
  const bool is_seen = owner.host == os::node_name() && (space == 0 || space == os::this_space());
  return !is_seen || os::lives(owner.process);
}

// With its text in it from the start: links are made whole or not at all, on network file systems
// too.
bool make(const FilePlace& place, const Owner& owner) {
  const std::string who = text_of(owner, ' ') + '\n';
  const FilePlace draft = place.called(place.name() + "." + text_of(owner, '.'));
  draft.remove();
  const UniqueFd fd = draft.make();
  int code = !fd ? errno : write_whole(fd.get(), who.data(), who.size(), 0);
  if (code == 0) code = place.give_to(fd.get());
  draft.remove();
  if (code != 0 && code != EEXIST)
    throw std::runtime_error("cannot write " + place.path() + ": " + std::strerror(code));
  return code == 0;
}

bool claim(const FilePlace& owner_file);

// That of a dead process, or one whose text is cut off. Two that look at it and remove it would remove what a third one has made in
// between: so one at a time has the right to. False where another one has it.
bool remove_dead(const FilePlace& owner_file) {
  const FilePlace right = owner_file.called(owner_file.name() + ".gone");
  if (!claim(right)) return false;
  const UniqueFd fd = owner_file.open(O_RDONLY);
  if (fd && !may_live(in_open_file(fd.get())) && owner_file.names(fd.get())) owner_file.remove();
  right.remove();
  return true;
}

// Makes the file, unless one whose owner may live is there. Throws when it cannot be written.
bool claim(const FilePlace& owner_file) {
  int tries = 0;
  while (!make(owner_file, this_owner())) {
    if (may_live(in_file(owner_file))) return false;
    if (remove_dead(owner_file)) continue;
    if (++tries == kTriesToRemove) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

// Whether somebody has it who may live.
bool is_claimed(const FilePlace& owner_file) { return may_live(in_file(owner_file)); }

// "process 4711 on node12", or "" when there is none.
std::string owner_in(const FilePlace& owner_file) {
  const Owner owner = in_file(owner_file);
  if (owner.host.empty()) return "";
  const bool is_here = owner.host == os::node_name();
  const bool is_apart =
      is_here && owner.process.space != 0 && owner.process.space != os::this_space();
  return "process " + std::to_string(owner.process.pid) +
         (is_apart ? " of another container" : "") + " on " + owner.host;
}

namespace fs = std::filesystem;

std::string advice(int code) {
  if (code == ENOSPC || code == EDQUOT) return ": make room there";
  return ": give the run the right to write there, or change folder=\"...\" of the store";
}

UniqueFd open_lock(const FilePlace& lock) {
  UniqueFd fd = lock.open_or_make();
  if (fd) return fd;
  const int code = errno;
  throw std::runtime_error("cannot write into the output folder \"" +
                           fs::absolute(lock.path()).parent_path().string() +
                           "\": " + std::strerror(code) + advice(code));
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
  const UniqueFd fd = lock_of(file).open(O_RDONLY);
  const bool taken = fd && try_lock(fd.get(), LOCK_SH) == EWOULDBLOCK;
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
    // Others may be able to write to the folder, and a link of theirs leads anywhere.
    if (lock.is_no_file() && lock.remove() == 0) removed = lock.path();
    UniqueFd fd = open_lock(lock);
    const int code = lock_now(fd.get());
    if (code == EWOULDBLOCK) return std::nullopt;
    FileLock taken(lock, std::move(fd));
    if (code != 0) return take_without_locks(file);
    taken.removed_ = removed;
    (void)ftruncate(taken.held_->fd.get(), 0);
    // Its last owner may have removed the file between our open and our lock: then we have locked
    // nothing, and what has the name now is not ours to remove.
    if (lock.names(taken.held_->fd.get())) return taken;
  }
}

std::optional<FileLock> FileLock::take_without_locks(const FilePlace& file) {
  if (!claim(owner_of(file))) return std::nullopt;
  return FileLock(owner_of(file), UniqueFd());
}

void FileLock::mark(const std::string& who) const {
  if (held_->fd) (void)write_whole(held_->fd.get(), who.data(), who.size(), 0);
}

std::string FileLock::left_by(const FilePlace& file) {
  constexpr std::size_t kMost = 512;
  const UniqueFd fd = lock_of(file).open(O_RDONLY);
  return fd ? os::text_of(fd.get(), kMost) : "";
}

bool FileLock::holds(const FilePlace& file) const {
  return held_->fd ? lock_of(file).names(held_->fd.get()) : is_claimed(owner_of(file));
}

FileLock::Held::~Held() {
  if (!fd || place.names(fd.get())) place.remove();
}

}  // namespace leat::hdf5
