// SPDX-License-Identifier: Apache-2.0
// Locks of output files, on file systems with locks and without.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/plugins/hdf5/disk/named_file.hpp"

namespace leat::hdf5 {

// Keeps two runs from writing one file: ".<file>.lock" beside it, locked with flock while this
// object lives, and removed at its end. A lock file that a killed run left locks nothing. On file
// systems without locks a file that says who has it, ".<file>.owner", stands in for it.

class FileLock {
 public:
  /// Nothing when another run, or another store of this one, has it. Throws when the folder of
  /// `file` cannot be written to. What has the name of the lock and is no file is removed.
  static std::optional<FileLock> take(const FilePlace& file);
  /// Whether somebody has it. Makes nothing, and keeps nobody from taking it.
  static bool is_taken(const FilePlace& file);
  /// Whether there is a lock file, be it locked or not.
  static bool is_left(const FilePlace& file);
  /// Who has it, where that is known: on a file system without locks, " by process 4711 on node12
  /// (...)", with what to do when that is wrong; else "".
  static std::string holder(const FilePlace& file);
  /// Who has it, in words that the next one who takes it finds no more, and who finds it after a kill does. Nothing where there
  /// are no locks.
  void mark(const std::string& who) const;
  /// What mark() has said in a lock that was left; "" when there is none, or nothing.
  static std::string left_by(const FilePlace& file);
  /// False when somebody has removed the lock file: then another run may have a lock of that name.
  bool holds(const FilePlace& file) const;
  /// What was removed since it had the name of the lock and was no file, or "".
  const std::string& removed() const { return removed_; }

 private:
  static std::optional<FileLock> take_without_locks(const FilePlace& file);
  // A file that is there as long as it is held.
  struct Held {
    ~Held();
    FilePlace place;
    UniqueFd fd;  // none where there are no locks
  };
  FileLock(FilePlace place, UniqueFd fd) : held_(new Held{std::move(place), std::move(fd)}) {}

  std::unique_ptr<const Held> held_;
  std::string removed_;
};

}  // namespace leat::hdf5
