// SPDX-License-Identifier: Apache-2.0
// What a commit is about to change in place, written beside the file first: ".<file>.journal".
// Should the writer be killed in the midst, the changes are made once more, however far they came.
// A writer that is killed while it writes a record leaves one that is not whole, and what that one
// was for was not begun.
//
// Bytes, numbers as this machine has them: "LEATJRN2", where the changes were made, inode of the
// file, length of the rest, FNV-1a of the rest; then for each change: address, length, bytes. More
// records follow when a commit was tried again; the last one counts. Behind it is a head of zeros.
// The inode keeps a record from being applied to another file of the same name.
//
// "Where the changes were made" is the id of the system's boot, written when all of them are in the
// file. As long as the system runs, they are there for all that look, and the file may have been
// changed since: nothing is to be done. After a power cut they may be gone, though that they were
// made is not, so they are made once more.
#pragma once

#include <string>

#include "server/plugins/hdf5/disk/changes.hpp"

namespace leat::hdf5 {

class Journal {
 public:
  /// The journal of `file`; made when there is something to write. With `durable`, a record is on
  /// the disk before add() returns.
  Journal(const std::string& file, bool durable);
  Journal(const Journal&) = delete;
  ~Journal();

  /// Adds a record. 0 or an errno; after 0 the changes may be made.
  int add(const Changes& changes, int file);
  /// All changes are made. 0 or an errno.
  int done();
  /// They are on the disk, and are never to be made again. 0 or an errno.
  int forget();
  /// No commit comes any more.
  void remove();

 private:
  int put_at_begin(const void* from, std::size_t bytes, std::size_t at);
  int sync();

  std::string path_;
  bool durable_;
  bool name_is_safe_ = false;  // from a power cut
  int fd_ = -1;
  std::uint64_t end_ = 0;  // of the last record
};

/// Finishes the commit in which the writer of `file` was killed, waits till that is on the disk,
/// and removes the journal. Nobody may be writing the file. Returns whether something was changed;
/// throws when it could not be done, and may be called again then.
bool finish_last_commit(const std::string& file);

/// Whether it would change something.
bool has_unfinished_commit(const std::string& file);

/// Name of the journal of `file`.
std::string journal_of(const std::string& file);

}  // namespace leat::hdf5
