// SPDX-License-Identifier: Apache-2.0
// A session's folder on a disk of its node, for iterations that find no room in memory:
// <where>/leat-<uid>-<session>, mode 0700, locked by the server as long as it lives. The symbolic
// link session_files().spill leads those to it who remove what dead sessions left; it is there
// before the folder is, and goes after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// "leat-1000-slurm-17.0"
std::string spill_folder_name(const std::string& session);
/// The name of the file in it for one iteration, and for one that is being written.
std::string spill_file_name(std::int64_t iteration);
std::string spill_part_name(std::int64_t iteration);

/// "" or why no run can spill there: it is no folder, or not to be written to.
std::string why_no_spill_folder(const std::string& where);

/// Paths of the whole ones in a folder.
std::vector<std::string> spilled_files(const std::string& folder);

class SpillFolder {
 public:
  /// Makes link and folder. What a dead session of this name left in the folder is removed, or with
  /// `goes_on`, for this session's next server, only what is not whole; one that lives is not
  /// touched, and an error.
  static Result<SpillFolder> make(const std::string& where, const std::string& session,
                                  const std::string& link, bool goes_on = false);
  SpillFolder(SpillFolder&&) = default;
  SpillFolder& operator=(SpillFolder&&) = default;
  /// Removes it.
  ~SpillFolder();

  const std::string& path() const noexcept { return path_; }

 private:
  SpillFolder(std::string path, std::string link, UniqueFd lock)
      : path_(std::move(path)), link_(std::move(link)), lock_(std::move(lock)) {}

  std::string path_, link_;
  UniqueFd lock_;  // moved from: empty, and nothing is removed
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

}  // namespace leat::platform
