// SPDX-License-Identifier: Apache-2.0
// The options of the store, each looked at by itself: `leat check` says what the start of a run
// would.
#pragma once

#include <string>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

/// "" when the store has such an option, of this value; of compression="..." see filters.hpp.
std::string why_no_option(const std::string& name, const std::string& value);

/// "" when files can be made in `folder`, which is "" for the working folder.
std::string why_no_folder(const std::string& folder);

/// Throws for the first option of the store that cannot be; compressions too.
void check_options(const leat_run& run);

}  // namespace leat::hdf5
