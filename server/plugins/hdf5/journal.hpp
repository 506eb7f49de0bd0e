// SPDX-License-Identifier: Apache-2.0
// What a commit is about to change in place, written beside the file first: ".<file>.journal". A
// writer that is killed while it changes the file leaves a whole journal, and doing its changes
// once more, however far they came, gives the state of that commit. One that is killed while it
// writes the journal leaves one that is not whole, and a file that was not touched.
//
// Bytes, numbers as this machine has them: "LEATJRN1", inode of the file, length of the rest,
// FNV-1a of the rest; then for each change: address, length, bytes. The inode keeps it from being
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
  /// The journal of `file`; made when there is something to write.
  explicit Journal(const std::string& file);
  Journal(const Journal&) = delete;
  ~Journal();

  /// 0 or an errno. After that the changes may be made.
  int write(const Changes& changes, int file);
  /// The changes are made: nothing is to be done again. 0 or an errno.
  int forget();
  /// No commit comes any more.
  void remove();

 private:
  std::string path_;
  int fd_ = -1;
};

/// Finishes the commit in which the writer of `file` was killed, if there was one, and removes the
/// journal. Nobody may be writing the file. Returns whether there was something to do; throws when
/// it could not be done.
bool finish_last_commit(const std::string& file);

}  // namespace leat::hdf5
