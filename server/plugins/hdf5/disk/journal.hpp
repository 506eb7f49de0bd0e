// SPDX-License-Identifier: Apache-2.0
// What a commit is about to change in place, written beside the file first: ".<file>.journal". With
// it the file of a killed writer comes to a state in which everything that is in it is whole.
//
// A record of kind `back` has what stood in the file before a change: the change is taken back, as
// long as nothing follows that is not. One of kind `forth` has the change itself: it is made once
// more, however far it came. A writer that is killed while it writes a record leaves one that is
// not whole, and what that one was for was not begun.
//
// Bytes, numbers as this machine has them; records one after the other: "LEATBAK1" or "LEATJRN1"
// (forth), inode of the file, length of the rest, FNV-1a of the rest; then for each change:
// address, length, bytes. Behind the last one is a head of zeros. The inode keeps it from being
// applied to another file of the same name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace leat::hdf5 {

using Changes = std::map<std::uint64_t, std::vector<unsigned char>>;  // by address

class Journal {
 public:
  /// The journal of `file`; made when there is something to write. With `durable`, a record is on
  /// the disk before add() returns.
  Journal(const std::string& file, bool durable);
  Journal(const Journal&) = delete;
  ~Journal();

  enum class Kind { back, forth };
  /// Adds a record. 0 or an errno; after 0 the changes may be made.
  int add(Kind kind, const Changes& changes, int file);
  /// All changes are made, and stay: nothing is to be done again. 0 or an errno.
  int forget();
  /// What it says is on the disk. 0 or an errno.
  int sync();
  /// No commit comes any more.
  void remove();

 private:
  std::string path_;
  bool durable_;
  bool name_is_safe_ = false;  // from a power cut
  int fd_ = -1;
  std::uint64_t end_ = 0;  // of the last record
};

/// Finishes the commit in which the writer of `file` was killed, or takes back what it had only
/// staged (CommittedFile), waits till that is on the disk, and removes the journal. Nobody may be
/// writing the file. Returns whether there was something to do; throws when it could not be done,
/// and may be called again then.
bool finish_last_commit(const std::string& file);

/// Whether there is something to do for it. Changes nothing.
bool has_unfinished_commit(const std::string& file);

/// Name of the journal of `file`.
std::string journal_of(const std::string& file);

}  // namespace leat::hdf5
