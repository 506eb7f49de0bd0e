// SPDX-License-Identifier: Apache-2.0
// The options of the store, each looked at by itself: `leat check` says what the start of a run
// would.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

/// "" when the store has such an option, of this value; of compression="..." see filters.hpp.
std::string why_no_option(const std::string& name, const std::string& value);

/// "" when files can be made in `folder`, which is "" for the working folder.
std::string why_no_folder(const std::string& folder);

/// Where the options want the output. Throws when the folder is none.
std::string wanted_path(const leat_run& run);

/// Of options of one store, by name, each of which can be: the one that cannot be with the others, and
/// why; nothing when all can.
struct Misfit {
  std::string option, why;
};
std::optional<Misfit> misfit_among(const std::map<std::string, std::string>& options);

/// Throws for the first option of the store that cannot be; compressions too.
void check_options(const leat_run& run);

}  // namespace leat::hdf5
