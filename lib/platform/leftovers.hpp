// SPDX-License-Identifier: Apache-2.0
// What dead sessions of this user left on this node, and which sessions live.
//
// A session lives while its leatd holds the lock of <session>.live, or anybody has its segment, be
// it ranks whose leatd has died and is about to be followed by another one, or leatd
// listens at its socket, or is the process after which the segment is named. Stopped processes hold
// their locks. leatd has the lock of <session>.live before it makes anything else, and makes its
// segment with its lock; a sweep takes a thing away only while it holds the lock of it. So sweeps
// and starting servers may meet at any moment, any number of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/platform/process_id.hpp"

namespace leat::platform {

struct LiveOne {
  std::string session;
  std::string segment;      ///< its path; "" while the server starts
  std::uint64_t bytes = 0;  ///< of the segment
  ProcessId server;         ///< pid 0: not known
};

struct Leftover {
  /// "segment", "socket", "live file", "journal", "start lock", "spill folder" or "spill link"
  std::string kind;
  std::string session;
  std::string path;
  std::uint64_t bytes = 0;
  std::string problem;  ///< why it could not be removed; "" when it was, or was to stay
};

struct Findings {
  std::vector<LiveOne> alive;
  std::vector<Leftover> dead;
};

struct Places {
  std::string runtime_folder;
  std::string shared_memory = "/dev/shm";
};

enum class Sweep { look, remove };

/// Name of a segment of this session whose leatd has died while ranks of it live; "" for none. The
/// caller holds the lock of <session>.live: no leatd of the session lives but itself, or with
/// another runtime folder, as nodes have that are one machine in a test. `wanted`, when it is not
/// "", is the only one that counts.
std::string orphaned_segment(const Places& places, const std::string& session,
                             const std::string& wanted = "");

/// Finds everything, and with Sweep::remove removes what is dead. Sessions of all runtime folders
/// count as far as their segments go. Nothing is touched that does not have a name of Leat's and
/// this user as its owner.
Findings sweep(const Places& places, Sweep what);

}  // namespace leat::platform
