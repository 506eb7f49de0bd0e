// SPDX-License-Identifier: Apache-2.0
// Keeps two runs from writing one file: ".<file>.lock" beside it, locked with flock while this
// object lives, and removed at its end. A lock file that a killed run left locks nothing. On file
// systems without locks ".<file>.owner" stands in for it (owner_file.hpp).
#pragma once

#include <optional>
#include <string>

namespace leat::hdf5 {

class FileLock {
 public:
  /// Nothing when another run, or another store of this one, has it. Throws when the folder of
  /// `path` cannot be written to.
  static std::optional<FileLock> take(const std::string& path);
  /// Whether somebody has it. Makes nothing, and keeps nobody from taking it.
  static bool is_taken(const std::string& path);
  /// Whether there is a lock file, be it locked or not.
  static bool is_left(const std::string& path);
  /// Who has it, where that is known: on a file system without locks, " by process 4711 on node12
  /// (...)", with what to do when that is wrong; else "".
  static std::string holder(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  static std::optional<FileLock> take_without_locks(const std::string& path);
  FileLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
};

}  // namespace leat::hdf5
