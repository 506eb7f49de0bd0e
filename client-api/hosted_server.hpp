// SPDX-License-Identifier: Apache-2.0
// A server in this very process: its library is loaded for that, and only then.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::client {

/// Runs a server with leatd's command line, less its first word, on this thread until the run is
/// over. `told` is called once: it is ready, or why there is none. False of it ends the server.
void run_server_here(const std::vector<std::string>& arguments,
                     const std::function<bool(Status status, const std::string& message)>& told);

}  // namespace leat::client
