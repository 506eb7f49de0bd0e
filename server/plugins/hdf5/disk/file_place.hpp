// SPDX-License-Identifier: Apache-2.0
// A name in a folder that is held open. Others may be able to write to that folder (those of a
// project mostly are writable for a group): whatever they put there, and when, nothing is opened
// through a link of theirs, nothing that exists is taken for new, and a folder that is renamed, or
// replaced by another one, in between is still the one that was meant.
//
// Of another room than lib/os/folder.hpp, which does the same for the server: plugins have
// nothing of Leat but its ABI.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "server/plugins/common/descriptor.hpp"

namespace leat::hdf5 {

/// Functions that return int return 0 or an errno; those that open something a descriptor, or -1
/// and errno. A folder that cannot be opened is the error of each of them.
class FilePlace {
 public:
  /// The folder of `path` is opened now, be there such a file or not.
  FilePlace(const std::string& path);
  FilePlace(const char* path) : FilePlace(std::string(path)) {}
  /// ".<name><ending>" in the same folder.
  FilePlace beside(const std::string& ending) const { return {folder_, "." + name_ + ending}; }
  /// Another one in the same folder.
  FilePlace called(const std::string& name) const { return {folder_, name}; }

  /// As it was named at first.
  std::string path() const;
  const std::string& name() const { return name_; }
  /// 0, or why the folder cannot be opened.
  int error() const { return folder_->error; }
  /// Of the folder.
  int fd() const { return folder_->fd; }

  /// A new file, for reading and writing; EEXIST when anything has the name.
  int make() const;
  /// One without a name.
  int make_unnamed() const;
  /// What is there, when it is a file itself: no link (ELOOP), no pipe or device (EINVAL).
  int open(int flags) const;
  /// Makes a file where none is, and opens it for reading and writing.
  int open_or_make() const;

  /// Anything has the name.
  bool exists() const;
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
  struct Folder {
    explicit Folder(const std::string& folder);
    std::string path;
    Descriptor fd;
    int error;
  };
  int opened(int file) const;
  FilePlace(std::shared_ptr<const Folder> folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {}

  std::shared_ptr<const Folder> folder_;
  std::string name_;
};

}  // namespace leat::hdf5
