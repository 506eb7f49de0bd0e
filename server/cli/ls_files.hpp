// SPDX-License-Identifier: Apache-2.0
// What is in output files and in ledgers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "server/cli/terminal.hpp"

namespace leat::cli {

// What a ledger says of losses; docs/reference/ledger.md describes ledgers.

using Json = nlohmann::ordered_json;

/// Its head, and of its entries those of what is missing. Null when `text` is no ledger. `source`:
/// where it stands, for people.
Json ledger_in(const std::string& text, const std::string& source);

/// That of a session from the files in a folder; null when there is none.
Json ledger_of(const std::string& folder, const std::string& simulation,
               const std::string& session);

/// That of a file which has none yet, from its folder or the working folder.
Json ledger_beside(const Json& file);

/// The lines of a section "Ledger".
std::string ledger_text(const Json& ledger, const Look& look);

// What is in output files. A Python program reads them, with h5py: `leat` itself knows nothing of
// their format.

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

}  // namespace leat::cli
