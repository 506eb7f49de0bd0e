// SPDX-License-Identifier: Apache-2.0
// What went wrong in a run besides its data: ranks that died, scripts that failed or left iterations out, warnings.
#pragma once

#include <string>
#include <vector>

#include "server/state/ledger/ledger.hpp"

namespace leat::server {

/// A line for all ranks that died in one iteration, and one for each script that is not as it
/// should be, one for each of the first warnings; at most some 20 lines. `causes`: why scripts failed, which the log has
/// said when they did.
std::vector<std::string> problems_of(const Ledger& ledger, bool causes);

}  // namespace leat::server
