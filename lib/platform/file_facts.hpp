// SPDX-License-Identifier: Apache-2.0
// What the system says of a file or folder.
#pragma once

#include <cstdint>
#include <string>

namespace leat::platform {

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

}  // namespace leat::platform
