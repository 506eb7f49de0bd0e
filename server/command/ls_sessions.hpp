// SPDX-License-Identifier: Apache-2.0
// Running sessions of this user on this node, seen without their notice: nothing is attached,
// written, or locked in a way that a server or a rank would wait for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace leat::command {

using Json = nlohmann::ordered_json;

/// Those that live, each as docs/reference/leat-ls.md says of a session; an error when the runtime
/// folder cannot be used is no reason to see none.
std::vector<Json> look_at_sessions();

}  // namespace leat::command
