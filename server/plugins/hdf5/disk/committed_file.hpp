// SPDX-License-Identifier: Apache-2.0
// A file that others can read at any moment, also when its writer is killed at any instruction.
//
// Bulk data go to the file at once: to places that nothing in the file speaks of yet. All else (the
// structures that say where data are) waits in memory until commit(), which writes what is new
// first and what changes last, so that a reader finds either the state of the last commit or that
// of this one. What is changed in place are a few hundred bytes for each variable. A process that
// is killed in the microseconds between two of these writes leaves a mixture behind, and a journal
// with which finish_last_commit() makes it whole.
//
// stage() is for what readers must find before what is written after it: commit() makes the changes
// in this order. Nothing of it is in the file before that. So who continues the file of a killed
// writer finds the state of a commit(), and nothing of what came later, but for bulk data in places
// that were given away before it. Places that the killed writer may have used are not used again: a
// reader may be looking there.
//
// With Durability::iteration that holds for a power cut too: what commit() has returned 0 for is on
// the disk, and a cut at any moment leaves a file that finish_last_commit() makes whole. The system
// writes in any order what is not waited for, so commit() waits (fdatasync) twice, each before the
// first write that counts on what was written before:
//   1. What is new, and what the last commit changed in place. Waits: the record that comes now
//   stands
//      in the place of the last one, and speaks of what is new.
//   2. Journal: the changes. Waits, then notes there that they begin, and makes them in place. That
//      these are on the disk needs no wait: as long as the record is there, they are made once
//      more.
// A record that is on the disk in part has a wrong sum, and nothing that it is for was begun. The
// names of file and journal are there (fsync of the folder) before anything counts on them.
// Durability::close has the system write what is new early, waits for the file in finish(), and
// then for the folder in which the journal is no more: an old record that comes back after a cut
// would undo what is in the file.
//
// Small pieces of bulk data in memory that is lent go to the file together, before the commit.
//
// Room is taken from the disk before an address in it is given away. A full disk is thus a refused
// allocation, and never a structure that could be written in part only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/disk/direct_io.hpp"
#include "server/plugins/hdf5/disk/durability.hpp"
#include "server/plugins/hdf5/disk/early_writeback.hpp"
#include "server/plugins/hdf5/disk/file.hpp"
#include "server/plugins/hdf5/disk/file_space.hpp"
#include "server/plugins/hdf5/disk/gathered.hpp"
#include "server/plugins/hdf5/disk/in_place.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/disk/new_file.hpp"

namespace leat::hdf5 {

/// As File says; the constructor throws too.
class CommittedFile final : public File {
 public:
  enum class Start { anew, existing };
  /// Makes the file without a name (".<file>.part" where the file system cannot do that), or opens
  /// an existing one, whose last commit is finished; throws when it cannot.
  CommittedFile(const FilePlace& place, Start start, Durability durability);
  CommittedFile(const CommittedFile&) = delete;
  /// Large pieces of bulk data go past the page cache from now on. 0 or the errno why not.
  int write_direct() { return direct_.open(fd_); }
  /// Called with the bytes of each piece that is written or read, or known to be on the disk.
  void report_progress(std::function<void(std::uint64_t bytes)> progress) {
    progress_ = std::move(progress);
  }
  ~CommittedFile() override;

  int allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) override;
  int set_end(std::uint64_t end) override;
  std::uint64_t end() const override { return places_.end(); }
  std::uint64_t size() const override { return places_.size(); }
  /// 0 when there is room for so many more bytes of bulk data.
  int make_room(std::uint64_t bytes);

  /// Until return_lent(), memory in these ranges stays as it is: small pieces of bulk data in it
  /// need not be written each by itself.
  void lend(const std::vector<LentRange>& ranges);
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
  /// False when somebody has removed or renamed the file, or put another one in its place: what is
  /// in it goes with this process then, unless it has a name elsewhere. Costs one system call.
  bool has_its_name() const { return place_.leads_to(device_, inode_); }
  bool is_at(const FilePlace& place) const { return place.names(fd_); }
  /// What it is called now; "" when it has no name, or none that the system knows.
  std::string name_now() const;
  /// Gives the file another name, or its own once more, with all that is in it: of a file that has
  /// no name anywhere everything is copied. EEXIST when something else has that name. Between two
  /// commits.
  int move_to(const FilePlace& place);
  /// Gives back room that was taken and not used, and removes the journal. After the last commit.
  int finish();

 private:
  bool waits_for_disk() const { return durability_ == Durability::iteration; }
  int sync();
  void did(std::uint64_t bytes) const {
    if (progress_) progress_(bytes);
  }
  void write_back() const;
  int take_room(std::uint64_t end);
  int write_new();
  int write_bulk(std::uint64_t address, const void* from, std::size_t bytes);
  void write_gathered();
  int change_in_place();
  int copy_to(const FilePlace& place);
  void note_identity();

  FilePlace place_;
  Durability durability_;
  NewFile new_;
  bool name_is_safe_ = false;  // from a power cut
  Journal journal_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  FileSpace places_;
  std::uint64_t room_ = 0;  // the disk has room up to here
  Changes staged_, waiting_;
  InPlace in_place_;
  Gathered gathered_;
  int gathered_failed_ = 0;  // errno
  DirectIo direct_;
  EarlyWriteback early_;
  std::function<void(std::uint64_t)> progress_;
};

}  // namespace leat::hdf5
