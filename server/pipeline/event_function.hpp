// SPDX-License-Identifier: Apache-2.0
// Functions of libraries that are called when an event happens, as Damaris has them, in the place
// of a plugin.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "server/pipeline/plugin_loader.hpp"

namespace leat::server {

/// void FUNCTION(const char* event, int32_t source, int32_t iteration, const char* args), exported by
/// the library; source is the rank, -1 when it is not one rank's. The library is refused as
/// load_own_plugin() does. A path without a '/' is one in the current folder, else where
/// LD_LIBRARY_PATH says.
Result<LoadedPlugin> load_event_function(const std::string& library, const std::string& function);

}  // namespace leat::server
