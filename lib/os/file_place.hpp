// SPDX-License-Identifier: Apache-2.0
// A file's name in a folder that is held open, files that are made and opened there, and files that get a name later.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lib/os/descriptor.hpp"
#include "lib/os/folder.hpp"

namespace leat::os {

/// A name in a folder to which others may be able to write: whatever they put there, and when, nothing
/// is opened through a link of theirs, nothing that exists is taken for new, and a folder that is
/// renamed, or replaced by another one, in between is still the one that was meant.
///
/// Functions that return int return 0 or an errno; those that open something an empty descriptor, and
/// errno, when they cannot. A folder that cannot be opened is the error of each of them.
class FilePlace {
 public:
  /// The folder of `path` is opened now, be there such a file or not.
  FilePlace(const std::string& path);
  FilePlace(const char* path) : FilePlace(std::string(path)) {}

  /// ".<name><ending>" in the same folder.
  FilePlace beside(const std::string& ending) const { return called("." + name_ + ending); }
  /// Another one in the same folder.
  FilePlace called(const std::string& name) const { return {folder_, parent_, name}; }
  /// As it was named at first.
  std::string path() const;
  const std::string& name() const { return name_; }
  const Folder& folder() const { return *folder_; }

  /// A new file, for reading and writing; EEXIST when anything has the name.
  UniqueFd make() const;
  /// One without a name.
  UniqueFd make_unnamed() const;
  /// What is there, when it is a file itself: no link (ELOOP), no pipe or device (EINVAL).
  UniqueFd open(int flags) const;
  /// Makes a file where none is, and opens it for reading and writing.
  UniqueFd open_or_make() const;
  /// Anything has the name.
  bool exists() const { return folder_->exists(name_); }
  /// Anything but a file has it.
  bool is_no_file() const;
  /// It is the name of this open file.
  bool names(int file) const;
  /// The same, found by its path: also the folder is where it was. One system call.
  bool leads_to(dev_t device, ino_t inode) const;

  /// Gives an open file this name, when nothing has it.
  int give_to(int file) const;
  /// In the place of what is there.
  int rename_to(const FilePlace& other) const;
  /// When nothing has that name.
  int rename_to_new(const FilePlace& other) const;
  int remove() const;
  /// The names in the folder are on the disk.
  int sync_folder() const;

 private:
  FilePlace(std::shared_ptr<const Folder> folder, std::string parent, std::string name)
      : folder_(std::move(folder)), parent_(std::move(parent)), name_(std::move(name)) {}

  std::shared_ptr<const Folder> folder_;
  std::string parent_, name_;
};

/// A file that gets its name when there is something in it. Until then it has none, and goes with the
/// process that made it; on file systems without such files (NFS) it is ".<file>.part" until then.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  /// Removes what has no name yet.
  ~NewFile() { give_up(); }

  /// Opens it for reading and writing; empty and errno when that cannot be. Nobody else may be making
  /// the same file. What one that died has left under the other name is removed.
  UniqueFd make(const FilePlace& place);
  /// Gives it its name. 0 or an errno: EEXIST when something has that name, which stays.
  int publish(int fd);
  /// It gets no name any more.
  void give_up();
  bool is_published() const { return !place_; }

 private:
  std::optional<FilePlace> place_;  // until it is published or given up
  bool has_part_ = false;
};

/// A path to what is open as `fd`. Of the thread that asks: a server on a thread of a simulation has
/// descriptors of its own, and /proc/self has those of the simulation's main thread.
inline std::string path_of_descriptor(int fd) {
  return "/proc/thread-self/fd/" + std::to_string(fd);
}

/// "" or why what is there cannot be read as a file: "is a pipe, and no file". "" too when nothing is.
std::string why_no_file(const std::string& path, bool follows_links = true);
/// Opens a file, and waits for nothing that is none. Empty, and `*why`, when it cannot: what
/// why_no_file() says, or "cannot be opened: Permission denied". `flags` may have O_NOFOLLOW.
UniqueFd open_file(const std::string& path, int flags, std::string* why);

}  // namespace leat::os
