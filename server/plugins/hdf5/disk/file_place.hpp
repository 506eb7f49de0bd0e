// SPDX-License-Identifier: Apache-2.0
// Names in folders to which others may be able to write, and files that are opened, made and named there.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "server/plugins/common/descriptor.hpp"

namespace leat::hdf5 {

// A name in a folder that is held open. Others may be able to write to that folder (those of a
// project mostly are writable for a group): whatever they put there, and when, nothing is opened
// through a link of theirs, nothing that exists is taken for new, and a folder that is renamed, or
// replaced by another one, in between is still the one that was meant.
// The server's Folder does the same for what it writes itself.

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

// When what is written is on the disk for good: durability="iteration|close|none".

enum class Durability {
  iteration,  ///< each commit survives a power cut
  close,      ///< what was closed does; till then it is up to the system when it writes
  none        ///< that is always up to the system
};

/// Of an option's value; "" is the default, "close". Throws for what is none of them.
inline Durability durability_from(const std::string& text) {
  if (text == "iteration") return Durability::iteration;
  if (text == "close" || text.empty()) return Durability::close;
  if (text == "none") return Durability::none;
  throw std::runtime_error("option durability=\"" + text +
                           "\": expected \"iteration\", \"close\" or \"none\"");
}

/// Data of an open file, and its length, are on the disk after this. 0 or an errno. After a failure
/// nobody knows what is there, and a repetition that succeeds does not say so either.
inline int sync_data(int fd) { return ::fdatasync(fd) == 0 ? 0 : errno; }

// An open file and its name, which it gets when there is something in it, and which others may take
// from it while it is written: what is in it would go with this process then.

/// Functions that return int return 0 or an errno.
class NamedFile {
 public:
  /// Makes it without a name (".<file>.part" where the file system cannot do that), or opens an
  /// existing one; throws when it cannot.
  NamedFile(const FilePlace& place, bool is_new);
  int fd() const { return fd_; }

  /// Gives it its name. EEXIST when something else has the name, which stays.
  int publish() { return new_.publish(fd_); }
  /// False when somebody has removed or renamed it, or put another one in its place. Costs one
  /// system call.
  bool has_its_name() const { return place_.leads_to(device_, inode_); }
  /// What it is called now; "" when it has no name, or none that the system knows.
  std::string name_now() const;
  bool is_at(const FilePlace& place) const { return place.names(fd_); }
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
  Descriptor fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace leat::hdf5
