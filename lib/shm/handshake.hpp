// SPDX-License-Identifier: Apache-2.0
// What passes over a session's socket: Hello from the client, Welcome from the server, Reports from
// the client, and at the end DrainReport. Fixed-size messages; a change needs a new kLayoutVersion like
// the segment's structs.
#pragma once

#include <cstdint>

#include "lib/platform/affinity.hpp"
#include "lib/shm/layout.hpp"

namespace leat::shm {

struct Hello {
  std::uint64_t magic;    ///< kMagic
  std::uint32_t version;  ///< kLayoutVersion
  std::int32_t rank, size, node_rank, node_size;
  std::int32_t pid;
  platform::CpuSet affinity;
  std::uint32_t resumed;  ///< 1: it was attached to a server that has died; then the two below hold
  std::uint32_t reserved;
  std::uint64_t current_region;  ///< offsets of the common regions it cuts blocks from; 0: none
  std::uint64_t spare_region;
  std::int64_t since_ns;  ///< when this rank began to come, by CLOCK_BOOTTIME
  char segment[128];      ///< resumed: the one that it has; "" before
};

/// Comes with the doorbell's descriptor when status is OK.
struct Welcome {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t status;
  std::int32_t
      server;          ///< of the node, whose this rank is; when that is another, it is to go there
  std::int32_t place;  ///< of this rank among those of its server
  char segment[128];
  char message[1024];
};

inline constexpr std::uint32_t kWasSaid = 1U << 31;
/// From a client, at any time in between: a call of its that failed, each kind once. The server says it once for all
/// ranks. Comes before the event `lost` that names its number. To a server that takes over all of them go once more: the one
/// before it may not have said them.
struct Report {
  std::uint32_t number;    ///< from 1 on, of this client; with kWasSaid in it: it was said
  std::uint32_t variable;  ///< or kNoVariable
  char text[1016];
};

/// Everything of this node's ranks is stored, or `message` says what is not.
struct DrainReport {
  std::int32_t status;
  std::uint32_t has_problems;  ///< 1: an error for those who set LEAT_STRICT=1
  std::uint32_t speaks;        ///< 1: this rank prints the message, which all ranks of the node get
  char message[4084];
};

static_assert(sizeof(Hello) == 320 && sizeof(Welcome) == 1176 && sizeof(DrainReport) == 4096 &&
              sizeof(Report) == 1024);

}  // namespace leat::shm
