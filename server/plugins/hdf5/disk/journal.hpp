// SPDX-License-Identifier: Apache-2.0
// The journal of a file's commits: its records, what is done with one that is found, and the changes in place that go
// through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "server/plugins/hdf5/disk/changes.hpp"
#include "server/plugins/hdf5/disk/named_file.hpp"

namespace leat::hdf5 {

// What a commit is about to change in place, written beside the file first: ".<file>.journal".
// Should the writer be killed in the midst, the changes are made once more, however far they came.
//
// docs/design/hdf5-file.md has its bytes, and what is done with which record.
//
// A record is written as `being_written`, and is `ready` from the moment in which its changes may
// have begun. So a record that is not whole is either one for which nothing was begun, or damage,
// and it is known which. It is `made` when all of its changes are in the file, in the boot of the
// system that is noted: after a power cut they may be gone, and are made once more. A record is
// applied only to the file that it was made for: all else is said, and kept.

enum class RecordState : std::uint64_t;

class Journal {
 public:
  /// The journal of `file`; made when there is something to write. With `durable`, a record is on
  /// the disk before add() returns.
  Journal(const FilePlace& file, bool durable);
  Journal(const Journal&) = delete;

  /// Adds a record; what is `there` now is known. 0 or an errno; after 0 the changes may be made.
  int add(const Changes& changes, const ShadowCopy& there, int file);
  /// All changes are made. 0 or an errno.
  int done();
  /// They are on the disk, and are never to be made again. 0 or an errno.
  int forget();
  /// No commit comes any more; or not under this name of the file.
  void remove();
  /// The file has another name now. Between two commits.
  void move_to(const FilePlace& file);

 private:
  int open();
  void close();
  int publish();
  int mark(RecordState state, std::uint64_t at) const;
  int mark_all(RecordState state);
  void make_way() const;

  FilePlace place_;
  bool durable_;
  bool name_is_safe_ = false;  // from a power cut
  NewFile new_;
  bool is_published_ = false;
  UniqueFd fd_;
  std::uint64_t end_ = 0;  // of the last record
};

/// What became of the commit in which the writer of a file was killed.
struct LastCommit {
  enum class Kind {
    whole,         ///< nothing had to be done
    not_begun,     ///< it had changed nothing yet, and is taken back
    finished,      ///< now
    not_finished,  ///< it may be there in part: `why`
  };
  Kind kind = Kind::whole;
  std::string why{};   ///< names the journal
  std::string kept{};  ///< where the journal is now that could not be used
  bool was_finished() const noexcept { return kind == Kind::finished; }
};

/// Finishes it, waits till that is on the disk, and removes the journal; one that cannot be used is
/// kept under another name. Nobody may be writing the file. Throws when the file could not be read
/// or written, and may be called again then.
LastCommit finish_last_commit(const std::string& file);

/// Whether it would change something, or say that it cannot.
bool has_unfinished_commit(const std::string& file);

/// Name of the journal of `file`.
std::string journal_of(const std::string& file);

// What a commit changes in places that readers may be looking at: through the journal, and in few
// writes. Of structures side by side, all of whose bytes are known, what has not changed between
// two changes is written with them: that costs less than a second write.

/// Functions that return int return 0 or the errno of what failed.
class InPlace {
 public:
  /// Makes these changes, `first` before `then`, each in the order of addresses. Each byte changes
  /// once, to what the journal says: else a kill in between leaves one that does not fit it. So
  /// `first` gets what `then` has for the same places.
  int make(int file, Journal* journal, Changes* first, const Changes& then);
  /// Nothing was ever written there.
  void note_zeros(std::uint64_t address, std::size_t bytes);
  /// Somebody has written there: structures, as they are now, or other things.
  void note_structure(std::uint64_t address, const unsigned char* from, std::size_t bytes) {
    shadow_.note(address, from, bytes);
  }
  void note_other(std::uint64_t address, std::size_t bytes) { shadow_.forget(address, bytes); }
  /// Others may have changed anything.
  void forget_all() { shadow_.forget_all(); }

 private:
  int learn(int file, const Changes& places);
  int write(int file, const Changes& changes);

  ShadowCopy shadow_;
};

}  // namespace leat::hdf5
