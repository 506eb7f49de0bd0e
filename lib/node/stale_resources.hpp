// SPDX-License-Identifier: Apache-2.0
// What dead sessions of this user left on this node, and which sessions live.  A session lives while its leatd holds the
// lock of <session>.live, or anybody has its segment, be it ranks whose leatd has died and is about to be followed by
// another one, or leatd listens at its socket. Locks decide, never process ids: those of another container say nothing
// here. Stopped processes hold their locks. leatd has the lock of <session>.live before it makes anything else, and
// makes its segment with its locks; a sweep takes a thing away only while it holds the lock of it. So sweeps and
// starting servers may meet at any moment, any number of them. A sweep that finds the lock with another sweep waits for
// it, for half a second in all: what it took for alive would stay behind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"

namespace leat::node {

struct LiveOne {
  std::string session;
  std::string segment;      ///< its path; "" while the server starts
  std::uint64_t bytes = 0;  ///< of the segment
  os::ProcessId maker;      ///< of the segment, be it alive or not; pid 0: not known
};

struct StaleResource {
  /// "segment", "socket", "control socket", "live file", "journal", "sums", "start lock", "spill folder", "spill link" or
  /// "note of late ranks"
  std::string kind;
  std::string session;
  std::string path;
  std::uint64_t bytes = 0;
  std::string problem;  ///< why it could not be removed; "" when it was, or was to stay
};

/// A segment without processes, in which there is what has to be stored before it may go.
struct UndrainedOne {
  std::string session;
  std::string segment;  ///< its name
  std::uint64_t bytes = 0;
  bool is_being_stored = false;  ///< by somebody who has its lock
};

struct Findings {
  std::vector<LiveOne> alive;              ///< and those that are being stored
  std::vector<UndrainedOne> undrained;     ///< the oldest first
  std::vector<UndrainedOne> being_stored;  ///< no process of theirs lives; in their order
  std::vector<StaleResource> dead;
};

struct SearchFolders {
  std::string runtime_folder;
  std::string shared_memory = "/dev/shm";
};

enum class Sweep { look, remove };

/// Whether a dead segment, by its name, must stay because of what lies in it. Asked with its lock
/// held.
using MustStay = std::function<bool(const std::string& segment)>;

/// A segment whose leatd has died while ranks of it live, held by the server's lock on it: there is
/// no other successor, in whatever container. `name` is "" for none.
struct Orphan {
  std::string name;
  os::UniqueFd lock;
};

/// Looks whether the segment of this name is one. That of a leatd which is just dying is waited
/// for; ERROR_TIMEOUT when its lock is not free in time: its server lives.
Result<Orphan> orphaned_segment(const SearchFolders& places, const std::string& name,
                                std::int64_t timeout_ns = 5'000'000'000);

/// Finds everything, and with Sweep::remove removes what is dead and need not stay, as `must_stay`
/// says of segments; what belongs to one that stays, stays with it. Sessions of all runtime folders
/// count as far as their segments go. Nothing is touched that does not have a name of Leat's and
/// this user as its owner.
Findings sweep(const SearchFolders& places, Sweep what, const MustStay& must_stay = {});

}  // namespace leat::node
