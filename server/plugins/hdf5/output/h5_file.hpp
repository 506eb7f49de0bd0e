// SPDX-License-Identifier: Apache-2.0
// HDF5 files of the store, and what they say of themselves as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"

namespace leat::hdf5 {

// HDF5 files of ours, through the file driver.

/// Of the option durability of the store.
Durability durability_of(const leat_run& run);
/// The file on the disk, written as the options durability and io of the store say; a warning where it
/// cannot go past the page cache.
std::unique_ptr<CommittedFile> open_disk(const std::string& path, CommittedFile::Start start,
                                         const leat_run& run, const Host& host);
/// Takes room for the blocks of an iteration: a full disk is found before anything of it is written.
/// Throws where there is none.
void reserve_room(CommittedFile* disk, const leat_iteration_data& data);

/// `disk` was made for `path`, anew, and outlives what is returned.
Id create_file(const std::string& path, CommittedFile* disk);
/// `disk` has opened what is there already.
Id open_file(const std::string& path, CommittedFile* disk);

inline constexpr const char* kRunNumber = "leat_run_number";

struct RunName {
  std::string session;
  std::int64_t number = 0;  ///< leat_run_number()
  bool is_of(const leat_run& run) const {
    return session == run.session && number == leat_run_number(&run);
  }
};
/// Of the run that has written `path`. Its last commit is finished. Throws when it is no file of
/// Leat, or cannot be read.
RunName run_of(const std::string& path);
/// The same of one that is open.
RunName run_in(hid_t file);
/// Whether a file that servers share has the part of this name. Its last commit is finished.
bool has_part(const std::string& path, const std::string& part);

// What the file says of itself as a whole. Source of most names: CF Conventions 1.8, section 2.6.2,
// "Description of file contents".

/// Which run writes it, and by which Leat; run_of() reads it.
void describe_writer(hid_t file, const leat_run& run);
/// Of a new file: that, and all that views and readers of netCDF want.
void describe_file(hid_t file, const leat_run& run);
/// Of a part: what its view is made by. It begins now.
void describe_part(hid_t file, const leat_run& run, const std::string& view);
/// Of one of several pieces: what split="..." was, and what begins with it (SplitPeriod).
void describe_piece(hid_t file, const std::string& split, double begin);
/// Of a file in which several servers have their parts: what is the same for all.
void describe_shared(hid_t file, const leat_run& run, const std::string& view);
/// Of one that an earlier run has written, and this one goes on in, from this iteration on.
void describe_appended(hid_t file, const leat_run& run, std::int64_t first);
/// Of one that this process goes on with for one that died: a line more in `history`.
void note_continued(hid_t file, const leat_run& run);

/// The memory of blocks, which is theirs as long as their iteration is being stored; `waiting` more
/// iterations are behind it.
class Lent {
 public:
  Lent(CommittedFile& disk, const std::vector<BlockList>& by_variable, std::uint64_t waiting)
      : disk_(disk) {
    std::vector<LentRange> ranges;
    for (const BlockList& blocks : by_variable) {
      for (const leat_block* block : blocks) ranges.push_back({block->data, block->bytes});
    }
    disk_.lend(ranges, waiting);
  }
  Lent(const Lent&) = delete;
  ~Lent() { disk_.return_lent(); }
  /// Or the errno of what could not be written.
  int give_back() { return disk_.return_lent(); }

 private:
  CommittedFile& disk_;
};

}  // namespace leat::hdf5
