// SPDX-License-Identifier: Apache-2.0
// What `leat ls` looks at: output files, ledgers, sessions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

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

// What is in output files. A Python program reads them, with h5py: `leat` itself knows nothing of
// their format.

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

/// Checkpoints in a folder and in those in it, as docs/reference/leat-ls.md says; of each folder the newest first.
Json checkpoints_below(const std::string& folder);

/// Running sessions of this user on this node, each as docs/reference/leat-ls.md says of a session.
/// Servers tell of theirs over the control channel, and have so long to answer, all together; of one
/// that does not, what its segment and its locks say is shown. Nothing is written, or locked in a way
/// that a server or a rank would wait for.
std::vector<Json> look_at_sessions(double seconds);

}  // namespace leat::cli
