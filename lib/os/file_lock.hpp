// SPDX-License-Identifier: Apache-2.0
// Files that say by a lock whether their owner lives. The locks are the kernel's (flock): they end with their holder,
// however it ends, hold across containers that share the file, and know no process ids that could be used again.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {

/// Takes an exclusive lock on an open file or folder, when nobody holds one.
bool lock_now(const UniqueFd& fd) noexcept;
/// False when what lay at `path` was removed, or replaced by another one, between our open and our
/// lock: then we have locked nothing.
bool still_there(const UniqueFd& fd, const std::string& path) noexcept;

/// Takes an exclusive lock on the file at `path`, which is made when missing, waiting up to
/// `timeout_ns`. Empty when another process holds it. The lock is held until the descriptor is
/// closed.
UniqueFd lock_file(const std::string& path, std::int64_t timeout_ns);

/// Makes a file that must not be there yet, mode 0600, and returns with its lock. A sweep that
/// takes the file away between the making and the locking is answered by making it again.
Result<UniqueFd> make_locked_file(const std::string& path);

/// Turns an exclusive lock into one that others may share, or takes such a one: the file counts as
/// held as long as anybody has it.
bool share_lock(const UniqueFd& fd, std::int64_t timeout_ns) noexcept;
/// Opens the file that is there, with a shared lock. Empty when that cannot be had in time.
UniqueFd shared_lock(const std::string& path, std::int64_t timeout_ns) noexcept;

/// One byte of a file for each of several processes, to see which of them live, also from another
/// container. A lock of the open file description (F_OFD_SETLK): it ends with the last descriptor.
bool lock_byte(const UniqueFd& fd, std::int64_t index) noexcept;
/// The same for this process alone (F_SETLK): a child that it forks does not have it. It ends when
/// the process closes any descriptor of that file.
bool lock_byte_for_process(const UniqueFd& fd, std::int64_t index) noexcept;
/// lock_byte, tried for so long.
bool lock_byte(const UniqueFd& fd, std::int64_t index, std::int64_t timeout_ns) noexcept;
/// Somebody else holds one of them. Takes nothing, so that nobody else is kept from it.
bool bytes_are_locked(const UniqueFd& fd, std::int64_t first, std::int64_t count) noexcept;
inline bool byte_is_locked(const UniqueFd& fd, std::int64_t index) noexcept {
  return bytes_are_locked(fd, index, 1);
}

/// To look at, or to lock, what is there. Empty when it is not, or is a link or not ours to open.
UniqueFd open_there(const std::string& path) noexcept;

/// What came of trying to lock a file that may be there.
struct LockTry {
  UniqueFd lock;      ///< ours now: nobody held it
  bool held = false;  ///< somebody holds it. Neither: it is not there, or not ours to open
};
LockTry try_lock(const std::string& path) noexcept;

/// A file of this user's alone, mode 0600; with `anew` what is in it goes. Empty when it cannot be
/// had.
UniqueFd open_to_append(const std::string& path, bool anew) noexcept;
/// Such a file, as it is, or made.
UniqueFd open_to_write(const std::string& path) noexcept;

}  // namespace leat::os
