// SPDX-License-Identifier: Apache-2.0
// What an earlier run has left where a run is about to write. A view and its parts are one thing:
// the parts lie in a folder called after the session, so they stay where they are when the view
// gets another name, and it still finds them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"

namespace leat::hdf5 {

/// "run.h5" of session "s" is "run-s.h5".
std::string of_session(const std::string& wanted, const leat_run& run);
/// "run.h5" with 2 is "run.2.h5"; with 0 itself.
std::string numbered(const std::string& path, int number);
/// Renames `path` to <name>.1.h5, .2, ..., with its journal, which may have something for it.
/// Returns the new name.
std::filesystem::path set_aside(const std::string& path);
/// The first of <name>.1.h5, .2, ... that is free.
std::filesystem::path unused_name(const std::filesystem::path& path);
/// Of those, the ones that are there.
std::vector<std::string> names_set_aside(const std::filesystem::path& path);
/// The lock, which a process that is just dying may still have.
std::optional<FileLock> lock_soon(const std::string& path);
/// Makes `path` free: `exists` is "keep" or "replace". The caller has its lock.
void make_room(const std::string& path, const std::string& exists, const Host& host);
/// The same for a part: kept ones go into a folder of their own, <session>.1, .2, ...
void move_away_part(const std::string& part, const std::string& exists, const Host& host);
void move_away_parts(const std::vector<std::string>& parts, const std::string& exists,
                     const Host& host);
/// Whether `path` is a view of which some part is being written.
bool is_view_of_live_run(const std::string& path);

}  // namespace leat::hdf5
