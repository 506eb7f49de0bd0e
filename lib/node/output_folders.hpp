// SPDX-License-Identifier: Apache-2.0
// The folders that a run writes to: of its output, and of what it spills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::node {

// Folders that a run writes to: made when they are not there.

/// "" when it is a folder that can be written to, or when such a one can be made; else what is in
/// the way. Changes nothing.
std::string why_no_output_folder(const std::string& path);

/// Makes it, and the folders above it. "" or why it cannot be written to.
std::string make_output_folder(const std::string& path);

// A session's folder on a disk of its node, for iterations that find no room in memory:
// <where>/leat-<uid>-<session>, mode 0700, locked by the server as long as it lives. The symbolic
// link session_files().spill leads those to it who remove what dead sessions left; it is there
// before the folder is, and goes after it.

/// "leat-1000-slurm-17.0"
std::string spill_folder_name(const std::string& session);
/// The name of the file in it for one iteration, or a part of it; parts count from 0.
std::string spill_file_name(std::int64_t iteration, std::size_t part = 0);

/// "" or why no run can spill there: it is no folder, or not to be written to.
std::string why_no_spill_folder(const std::string& where);

/// All but those of these names.
void remove_spilled_files(int folder, const std::set<std::string>& but);

class SpillFolder {
 public:
  /// Makes link and folder; `session` is what no other folder is called after. What a dead session
  /// of this name left in the folder is removed, but with `goes_on`, for this session's next
  /// server, stays; one that lives is not touched, and an error.
  static Result<SpillFolder> make(const std::string& where, const std::string& session,
                                  const std::string& link, bool goes_on = false);
  SpillFolder(SpillFolder&&) = default;
  SpillFolder& operator=(SpillFolder&&) = default;
  /// Removes it, unless it goes on and nobody has said that it is done with.
  ~SpillFolder();

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return lock_.get(); }
  void done_with() noexcept { goes_on_ = false; }

 private:
  SpillFolder(std::string path, std::string link, os::UniqueFd lock, bool goes_on)
      : path_(std::move(path)), link_(std::move(link)), lock_(std::move(lock)), goes_on_(goes_on) {}

  std::string path_, link_;
  os::UniqueFd lock_;  // moved from: empty, and nothing is removed
  bool goes_on_;
};

/// What a link of a session leads to.
struct FoundSpill {
  std::string path;         ///< "" when there is none of this user, with this session's name
  bool alive = false;       ///< a server has locked it
  std::uint64_t bytes = 0;  ///< of its files
};
FoundSpill find_spill(const std::string& link, const std::string& session);
/// Removes a folder that find_spill has found, with Leat's files in it; "" or why it is still
/// there. One that is alive, or becomes it, stays.
std::string remove_spill(const std::string& path);

/// A new file in the open folder, instead of what has its name. Its room on the disk is taken at
/// once, so that a disk without it says so before much is written; a file system that cannot do
/// that says it later. Empty and errno when it cannot be made.
os::UniqueFd make_spill_file(int folder, const std::string& name, std::uint64_t bytes) noexcept;
/// For reading. Whatever has this name now: it is not waited for. Empty and errno when it cannot be
/// opened; `folder` below 0: there is none.
os::UniqueFd open_spill_file(int folder, const std::string& name) noexcept;

}  // namespace leat::node
