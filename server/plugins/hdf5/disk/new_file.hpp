// SPDX-License-Identifier: Apache-2.0
// A file that gets its name when there is something in it. Till then it has none, and goes with the
// process that made it; on file systems without such files (NFS) it is ".<file>.part" till then.
#pragma once

#include <optional>

#include "server/plugins/hdf5/disk/file_place.hpp"

namespace leat::hdf5 {

class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  /// Removes what has no name yet.
  ~NewFile() { give_up(); }

  /// Opens it for reading and writing; -1 and errno when that cannot be. Nobody else may be making
  /// the same file. What one that died has left under the other name is removed.
  int make(const FilePlace& place);
  /// Gives it its name. 0 or an errno: EEXIST when something has that name, which stays.
  int publish(int fd);
  /// It gets no name any more.
  void give_up();
  bool is_published() const { return !place_; }

 private:
  std::optional<FilePlace> place_;  // until it is published or given up
  bool has_part_ = false;
};

}  // namespace leat::hdf5
