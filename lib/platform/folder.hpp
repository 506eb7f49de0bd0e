// SPDX-License-Identifier: Apache-2.0
// Files of a run in a folder to which others may be able to write, as those of a project mostly are
// for a group. The folder is held open, and nothing in it is opened through a link or taken for new
// when something has its name: who may write there may remove files of a run, but not have it write
// elsewhere.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

class Folder {
 public:
  /// Names are those of files in it. One that cannot be opened has the error of all that is tried.
  explicit Folder(const std::string& path);

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
};

/// A file that the user has named, to append to; with `anew` what is in it goes. A link is followed
/// when it is this user's own, or root's; /dev/null and the like may be named too. Empty and errno
/// as of Folder::open_to_append().
UniqueFd open_file_of_user(const std::string& path, bool anew);

}  // namespace leat::platform
