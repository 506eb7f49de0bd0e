// SPDX-License-Identifier: Apache-2.0
// What was lost or dropped, as a table for people.
#pragma once

#include <cstddef>
#include <string>

#include "server/state/ledger/ledger.hpp"

namespace leat::server {

// What was lost or dropped as a table for people, and what else went wrong: the server's last word to its clients and its
// log.

/// "" when all is well: nobody died, no script failed, there is no warning. At most some 20 lines of at most 100 columns, and `most`
/// bytes; `file` has it all.
std::string loss_table(const Ledger& ledger, const std::string& file, std::size_t most);

}  // namespace leat::server
