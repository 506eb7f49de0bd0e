// SPDX-License-Identifier: Apache-2.0
// Ranks of the job become the servers of their nodes, as place="ranks" says.
#pragma once

#include <functional>
#include <string>

#include "client-api/leat.h"
#include "client-api/session_handle.hpp"
#include "lib/base/status.hpp"

namespace leat::client {

/// Collective over the group, whose calls are made by this thread. On a server it returns when the
/// run is over: SERVED. Whatever goes wrong anywhere is told on all ranks; waits are bounded, as
/// far as the group's own calls return.
Status split(const char* function, Handle& the, const char* config, const leat_group* group,
             std::int32_t* divided);

/// Why this process, with that rank in a communicator of that size, cannot be part of the
/// simulation; "" when it can. `size` 0: of no communicator.
std::string why_unfit(const Split& split, int rank, int size);

/// Who this process is in its simulation, which the split knows if there is one.
Result<Ranks> in_split(const Split& split, const std::function<Result<Ranks>()>& make_ranks);

}  // namespace leat::client
