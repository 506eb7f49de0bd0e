// SPDX-License-Identifier: Apache-2.0
// The open output file and its name, which it gets when there is something in it, and may lose.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "lib/os/file_place.hpp"

namespace leat::hdf5 {

using os::FilePlace;
using os::NewFile;
using os::UniqueFd;

// When what is written is on the disk for good: durability="iteration|close|none".

enum class Durability {
  iteration,  ///< each commit survives a power cut
  close,      ///< what was closed does; until then it is up to the system when it writes
  none        ///< that is always up to the system
};

/// Of an option's value; "" is the default, "close". Throws for what is none of them.
Durability durability_from(const std::string& text);

/// Data of an open file, and its length, are on the disk after this. 0 or an errno. After a failure
/// nobody knows what is there, and a repetition that succeeds does not say so either.
inline int sync_data(int fd) { return ::fdatasync(fd) == 0 ? 0 : errno; }

/// An open file and its name. Others may take the name while the file is written: what is in it would
/// go with this process then. Functions that return int return 0 or an errno.
class NamedFile {
 public:
  /// Makes it without a name (".<file>.part" where the file system cannot do that), or opens an
  /// existing one; throws when it cannot.
  NamedFile(const FilePlace& place, bool is_new);
  int fd() const { return fd_.get(); }

  /// Gives it its name. EEXIST when something else has the name, which stays.
  int publish() { return new_.publish(fd()); }
  /// False when somebody has removed or renamed it, or put another one in its place. Costs one
  /// system call.
  bool has_its_name() const { return place_.leads_to(device_, inode_); }
  /// What it is called now; "" when it has no name, or none that the system knows.
  std::string name_now() const;
  bool is_at(const FilePlace& place) const { return place.names(fd()); }
  /// Gives it another name, or its own once more, with all that is in it: of a file that has no
  /// name anywhere everything is copied, and fd() is the copy then. EEXIST when something else has
  /// that name. `durable`: what is copied is on the disk before it has the name.
  int move_to(const FilePlace& place, bool durable);
  /// The name that it has, when it has one, is on the disk.
  int sync_name();
  /// All names in its folder are.
  int sync_folder() const { return place_.sync_folder(); }

 private:
  int copy_to(const FilePlace& place, bool durable);
  void note_identity();

  FilePlace place_;
  NewFile new_;
  bool name_is_safe_ = false;  // from a power cut
  UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace leat::hdf5
