// SPDX-License-Identifier: Apache-2.0
// The file that stores write, as HDF5 sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/disk/bulk_writes.hpp"
#include "server/plugins/hdf5/disk/file_space.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/disk/named_file.hpp"

namespace leat::hdf5 {

// What HDF5 needs of a file: places for its pieces, and their bytes. CommittedFile is the one that
// stores write; tests have others.

/// Functions that return int return 0 or the errno of what failed, and throw nothing but what runs
/// out of memory. One thread at a time.
class File {
 public:
  virtual ~File() = default;
  /// Gives away `bytes` at *address, which were never given away before. `bulk`: values of arrays;
  /// else structures that say where those are.
  virtual int allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) = 0;
  /// Moves the end of what is given away.
  virtual int set_end(std::uint64_t end) = 0;
  virtual std::uint64_t end() const = 0;
  /// Bytes that may be in the file; at least end().
  virtual std::uint64_t size() const = 0;
  virtual int read(std::uint64_t address, void* to, std::size_t bytes) = 0;
  virtual int write(std::uint64_t address, const void* from, std::size_t bytes, bool bulk) = 0;
};

// A file that others can read at any moment, also when its writer is killed at any instruction.
//
// Bulk data go to the file at once: to places that nothing in the file speaks of yet. All else (the
// structures that say where data are) waits in memory until commit(), which writes what is new
// first and what changes last, so that a reader finds either the state of the last commit or that
// of this one. docs/design/hdf5-file.md has the order of it, what a writer that is killed in
// between leaves behind, and what a power cut does.
//
// stage() is for what readers must find before what is written after it: commit() makes the changes
// in this order. Nothing of it is in the file before that. So who continues the file of a killed
// writer finds the state of a commit(), and nothing of what came later, but for bulk data in places
// that were given away before it. Places that the killed writer may have used are not used again: a
// reader may be looking there.
//
// Small pieces of bulk data in memory that is lent go to the file together, before the commit.
//
// Room is taken from the disk before an address in it is given away. A full disk is thus a refused
// allocation, and never a structure that could be written in part only.

/// As File says; the constructor throws too.
class CommittedFile final : public File {
 public:
  enum class Start { anew, existing };
  /// Makes the file without a name (".<file>.part" where the file system cannot do that), or opens
  /// an existing one, whose last commit is finished; throws when it cannot.
  CommittedFile(const FilePlace& place, Start start, Durability durability);
  CommittedFile(const CommittedFile&) = delete;
  DirectWriter& direct_writer() { return direct_writer_; }
  /// Called with the bytes of each piece that is written or read, or known to be on the disk.
  void report_progress(std::function<void(std::uint64_t bytes)> progress) {
    progress_ = std::move(progress);
  }

  int allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) override;
  int set_end(std::uint64_t end) override;
  std::uint64_t end() const override { return places_.end(); }
  std::uint64_t size() const override { return places_.size(); }
  /// 0 when there is room for so many more bytes of bulk data.
  int make_room(std::uint64_t bytes);

  /// Until return_lent(), memory in these ranges stays as it is: small pieces of bulk data in it
  /// need not be written each by itself. They are those of one iteration, behind which `waiting`
  /// more wait.
  void lend(const std::vector<LentRange>& ranges, std::uint64_t waiting = 0);
  /// All that was written from such memory is in the file; or the errno of what is not.
  int return_lent();

  int read(std::uint64_t address, void* to, std::size_t bytes) override;
  int write(std::uint64_t address, const void* from, std::size_t bytes, bool bulk) override;

  /// Everything written up to now is for others to see. After a failure they see the last commit;
  /// nothing is lost, and the next commit() tries again.
  int commit();
  /// What was written up to now comes to the file before all that follows, with the next commit().
  int stage();
  /// Gives the file its name, when there is something in it that can be read: after the first
  /// commit. EEXIST when something else has the name, which stays.
  int publish();
  /// The name that it has.
  const NamedFile& named() const { return file_; }
  /// As NamedFile::move_to(). Between two commits.
  int move_to(const FilePlace& place);
  /// Gives back room that was taken and not used, and removes the journal. After the last commit.
  int finish();

  // Where several processes write one file in turn, each structures of its own. Who has the turn holds its lock.

  /// Others may have written since: to behind what was there, and in place where it is theirs.
  int begin_turn();
  /// After a commit, or one that failed: others write behind all that was given away here.
  int end_turn();

 private:
  bool waits_for_disk() const { return durability_ == Durability::iteration; }
  int sync();
  void did(std::uint64_t bytes) const {
    if (progress_) progress_(bytes);
  }
  void write_back() const;
  int write_new();
  int write_bulk(std::uint64_t address, const void* from, std::size_t bytes);
  int change_in_place();

  NamedFile file_;
  Durability durability_;
  Journal journal_;
  FileSpace places_;
  Reservation reservation_;
  Changes staged_, waiting_;
  InPlace in_place_;
  WriteCombiner combiner_;
  DirectWriter direct_writer_;
  EarlyWriteback early_;
  std::function<void(std::uint64_t)> progress_;
};

}  // namespace leat::hdf5
