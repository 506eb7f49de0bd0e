// SPDX-License-Identifier: Apache-2.0
// What was lost or dropped, as a table for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/state/ledger/ledger.hpp"

namespace leat::server {

// What went wrong in a run besides its data: ranks that died, scripts that failed or left iterations out, warnings.

/// A line for all ranks that died in one iteration, and one for each script that is not as it
/// should be, one for each of the first warnings; at most some 20 lines. `causes`: why scripts failed, which the log has
/// said when they did.
std::vector<std::string> problems_of(const Ledger& ledger, bool causes);

// What was lost or dropped as a table for people, and what else went wrong: the server's last word to its clients and its
// log.

/// "" when all is well: nobody died, no script failed, there is no warning. At most some 20 lines of at most 100 columns, and `most`
/// bytes; `file` has it all. `causes`: see problems_of().
std::string loss_table(const Ledger& ledger, const std::string& file, std::size_t most,
                       bool causes = true);

}  // namespace leat::server
