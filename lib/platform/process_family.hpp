// SPDX-License-Identifier: Apache-2.0
// A process and all that it has started, however far that has gone: into a session of its own, to
// init when its parent ended. A family is known by a mark in the environment, which children
// inherit, by its session, and by who is whose parent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace leat::platform {

/// A line for the environment of a process that this one starts: "LEAT_WORKER=...". No two are the
/// same.
std::string family_mark();

/// Kills the leader of a session and its whole family, until nobody of it is left or `limit_ns` has
/// passed. The leader may be dead, but its status was not taken yet. False when somebody is left.
bool end_family(pid_t leader, const std::string& mark, std::int64_t limit_ns);

/// Kills families of this user whose maker has died. A maker in another container is none.
/// Returns how many processes these were.
int end_orphaned_families();

}  // namespace leat::platform
