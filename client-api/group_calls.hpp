// SPDX-License-Identifier: Apache-2.0
// What the processes of a communicator do together: come to a point, within a limit, and agree. All of it is collective
// over the group, whose calls are made by the calling thread.
#pragma once

#include <cstdint>

#include "client-api/launcher.hpp"
#include "client-api/leat.h"
#include "lib/base/status.hpp"

namespace leat::client {

/// For what all do at about the same time; LEAT_SPLIT_TIMEOUT has other seconds.
std::int64_t come_limit_ns();
/// For what may begin with the start of a server.
std::int64_t stage_limit_ns();

/// Waits until all have come. `what` has happened when they do not; then the group cannot be used any more.
Result<void> await_all(const leat_group& group, std::int64_t limit_ns, const std::string& what);

/// The rank with the worst status, the same on all; the first of them, and so the first of all when all is well.
std::int32_t rank_with_worst(const leat_group& group, Status own);

/// Who this process is: the first rank names the session, by LEAT_SESSION if that is set.
Result<Ranks> ranks_of(const leat_group& group);

/// The worst error of all, on all; within a limit. *speaks: it came about on this rank. False: others have not come, and
/// *own says so.
bool agree_on(const leat_group& group, Error* own, bool* speaks);
/// After an error on which all have agreed, and which who speaks has printed: none returns, and ends the job by that, before.
void await_printed(const leat_group& group);

/// Of a process that has Leat switched off among others that may not have.
void take_part(const leat_group& group);

}  // namespace leat::client
