// SPDX-License-Identifier: Apache-2.0
// Ranks of the job become the servers of their nodes, as place="ranks" says.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "client-api/api/leat_build.h"
#include "client-api/connect/ranks.hpp"
#include "lib/base/status.hpp"

namespace leat::client {

/// What leat_split has made of this process.
struct Split {
  bool happened = false;  ///< servers are ranks, and this process was in it
  bool served = false;    ///< it was a server
  bool pending = false;   ///< the server waits for this process
  Ranks ranks;            ///< who it is in the simulation
  std::string config;
};

/// That, with what guards it; and whether leat_init was called meanwhile.
struct GuardedSplit {
  Split& split;
  std::mutex& mutex;
  bool is_initialised;
};

/// Collective over the group, whose calls are made by this thread. On a server it returns when the
/// run is over: SERVED. Whatever goes wrong anywhere is told on all ranks; waits are bounded, as
/// far as the group's own calls return.
Status split(const char* function, GuardedSplit the, const char* config, const leat_group* group,
             std::int32_t* divided);

/// Why this process, with that rank in a communicator of that size, cannot be part of the
/// simulation; "" when it can. `size` 0: of no communicator.
std::string why_unfit(const Split& split, int rank, int size);

/// Who this process is in its simulation, which the split knows if there is one.
Result<Ranks> in_split(const Split& split, const std::function<Result<Ranks>()>& make_ranks);

}  // namespace leat::client
