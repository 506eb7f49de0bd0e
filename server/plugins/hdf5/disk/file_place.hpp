// SPDX-License-Identifier: Apache-2.0
// Names in folders to which others may be able to write, and files that are opened and made there.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "server/plugins/common/descriptor.hpp"

namespace leat::hdf5 {

// A name in a folder that is held open. Others may be able to write to that folder (those of a
// project mostly are writable for a group): whatever they put there, and when, nothing is opened
// through a link of theirs, nothing that exists is taken for new, and a folder that is renamed, or
// replaced by another one, in between is still the one that was meant.
//
// Of another room than lib/platform/folder.hpp, which does the same for the server: plugins have
// nothing of Leat but its ABI.

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

// A file that gets its name when there is something in it. Till then it has none, and goes with the
// process that made it; on file systems without such files (NFS) it is ".<file>.part" till then.

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

// Opens what is expected to be a file, and waits for nothing that is none.

/// "" or why what is there cannot be read as a file: "is a pipe, and no file".
inline std::string why_no_file(const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return "";
  const char* const what = S_ISDIR(facts.st_mode)    ? "folder"
                           : S_ISFIFO(facts.st_mode) ? "pipe"
                           : S_ISSOCK(facts.st_mode) ? "socket"
                           : S_ISLNK(facts.st_mode)  ? "link"
                                                     : "device";
  return std::string("is a ") + what + ", and no file";
}

class OpenedFile {
 public:
  OpenedFile(const std::string& path, int flags) {
    struct stat facts {};
    const bool follows = (flags & O_NOFOLLOW) == 0;
    // Looked at first: to open a device can do something, and a socket cannot be opened.
    const int found = follows ? ::stat(path.c_str(), &facts) : ::lstat(path.c_str(), &facts);
    if (found == 0) why_ = why_no_file(facts);
    if (!why_.empty()) return;
    fd_ = Descriptor(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
    if (!fd_.is_open())
      why_ = std::string("cannot be opened: ") + std::strerror(errno);
    else if (::fstat(fd_, &facts) == 0)
      why_ = why_no_file(facts);
  }

  /// "" or why it is not open.
  const std::string& why() const noexcept { return why_; }
  int fd() const noexcept { return fd_; }

 private:
  Descriptor fd_;
  std::string why_;
};

}  // namespace leat::hdf5
