// SPDX-License-Identifier: Apache-2.0
// Running sessions of this user on this node. Servers tell of theirs over the control channel; of one that does not
// answer in time, what its segment and its locks say is shown. Nothing is written, or locked in a way that a server or a
// rank would wait for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace leat::cli {

using Json = nlohmann::ordered_json;

/// Those that live, each as docs/reference/leat-ls.md says of a session. Servers have so long to
/// answer, all together.
std::vector<Json> look_at_sessions(double seconds);

}  // namespace leat::cli
