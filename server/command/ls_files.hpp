// SPDX-License-Identifier: Apache-2.0
// What is in output files. They are read by a helper program beside the plugin that writes them:
// `leat` itself knows nothing of their format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace leat::command {

using Json = nlohmann::ordered_json;

enum class Depth { brief, all };

/// For each path what docs/reference/leat-ls.md says of a file. What cannot be read has a
/// "problem".
std::vector<Json> look_at_files(const std::vector<std::string>& paths, Depth depth);

/// Paths of files in a folder that may be output, by their names; not those that begin with a dot.
std::vector<std::string> output_files_in(const std::string& folder);
std::vector<std::string> folders_in(const std::string& folder);

}  // namespace leat::command
