// SPDX-License-Identifier: Apache-2.0
// The threads that somebody brings for analyses, for servers in this process.
#pragma once

#include "lib/base/server_library.h"

namespace leat::client {

/// As leat_set_executor said last; without functions for none.
leat_server_pieces chosen_executor() noexcept;

}  // namespace leat::client
