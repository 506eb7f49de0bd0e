// SPDX-License-Identifier: Apache-2.0
// Files and folders: what the system says of them, and folders to which others may be able to write.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {

// Files of a run in a folder to which others may be able to write, as those of a project mostly are
// for a group. The folder is held open, and nothing in it is opened through a link or taken for new
// when something has its name: who may write there may remove files of a run, but not have it write
// elsewhere.
class Folder {
 public:
  /// Names are those of files in it. One that cannot be opened has the error of all that is tried.
  explicit Folder(const std::string& path);
  /// 0, or the errno for which it cannot be opened.
  int error() const noexcept { return error_; }
  int fd() const noexcept { return fd_.get(); }

  /// openat(). Empty and errno when it cannot.
  UniqueFd open(const std::string& name, int flags, unsigned mode) const noexcept;

  /// A new file of this user's, for writing. What has the name, be it a link, is removed before.
  /// Empty and errno when it cannot be made.
  UniqueFd make_anew(const std::string& name) const noexcept;
  /// Opens, or makes, a file to append to. Empty and errno for anything but a file itself that is
  /// this user's: ELOOP for links, EPERM for files of others.
  UniqueFd open_to_append(const std::string& name) const noexcept;
  bool exists(const std::string& name) const noexcept;
  bool remove(const std::string& name) const noexcept;
  /// When it is a link, a pipe or the like, which no run makes.
  void remove_no_file(const std::string& name) const noexcept;

  /// "" or why it cannot be done.
  std::string append(const std::string& name, const std::string& text) const;
  /// `text` under `name`, in the place of what is there; a reader finds the old one or the new one,
  /// never half of it. Should the folder have been removed, it is made again. "" or why it cannot
  /// be written.
  std::string write_whole(const std::string& name, const std::string& text);

 private:
  std::string try_to_write(const std::string& name, const std::string& text) const;
  bool is_gone() const noexcept;

  std::string path_;  // absolute
  UniqueFd fd_;
  int error_;
};

/// A file that the user has named, to append to; with `anew` what is in it goes. A link is followed
/// when it is this user's own, or root's; /dev/null and the like may be named too. Empty and errno
/// as of Folder::open_to_append().
UniqueFd open_file_of_user(const std::string& path, bool anew);

// What the system says of a file or folder.
struct FileFacts {
  int error = 0;  ///< an errno; the rest holds when it is 0
  bool is_file = false;
  bool is_folder = false;
  bool everybody_may_write = false;
  bool is_own = false;      ///< ours or root's
  std::uint64_t stamp = 0;  ///< another one when the file has been changed or replaced
};

/// Follows links. On a network file system this may take long.
FileFacts facts_of(const std::string& path);

/// What others may change would run with our rights. Says why nothing of a file or folder is run:
/// everybody may write to it, or it belongs to another user than us and root. "" when neither
/// holds, or it is not there.
std::string why_unsafe(const std::string& path);

/// What a group may change is run all the same, since folders of projects mostly are so: a warning,
/// with what to do, of a file of code, its folder, and for a link the folder of its target. "" when
/// none of them can be written by a group, or only by the user's own one, which has no other
/// members.
std::string group_warning(const std::string& file);

/// The same of a file of code and of the folder it lies in, for a link also of the folder of its
/// target. A sticky bit of the folder helps nothing: others may add what the code loads.
std::string why_unsafe_to_run(const std::string& file);

/// Of an open file; true too when the system does not tell.
bool is_empty_file(int fd) noexcept;
/// Nobody has removed it since it was opened.
bool has_a_name(int fd) noexcept;

}  // namespace leat::os
