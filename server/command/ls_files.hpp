// SPDX-License-Identifier: Apache-2.0
// What is in output files. A Python program reads them, with h5py: `leat` itself knows nothing of
// their format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::command {

using Json = nlohmann::ordered_json;

enum class Depth { brief, all };

/// For each path what docs/reference/leat-ls.md says of a file. What cannot be read has a
/// "problem". `interpreter`: a Python with h5py. Fails when it is none: no file can be read.
Result<std::vector<Json>> look_at_files(const std::vector<std::string>& paths, Depth depth,
                                        const std::string& interpreter);
/// The same of one that is not read, for this reason.
Json unread_file(const std::string& path, const std::string& why);
/// The program beside the plugin that tells of writers, and of sessions.
std::string state_program();

/// Paths of files in a folder that may be output, by their names; not those that begin with a dot.
std::vector<std::string> output_files_in(const std::string& folder);
std::vector<std::string> folders_in(const std::string& folder);

}  // namespace leat::command
