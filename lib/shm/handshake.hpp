// SPDX-License-Identifier: Apache-2.0
// What passes between a client and its server beside the rings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/os/cores.hpp"
#include "lib/os/local_socket.hpp"
#include "lib/shm/layout.hpp"

namespace leat::shm {

// What passes over a session's socket: Hello from the client, Welcome from the server, Reports from
// the client, and at the end DrainReport. Fixed-size messages; a change needs a new kLayoutVersion like
// the segment's structs.
struct Hello {
  std::uint64_t magic;    ///< kMagic
  std::uint32_t version;  ///< kLayoutVersion
  std::int32_t rank, size, node_rank, node_size;
  std::int32_t pid;
  os::CpuSet affinity;
  std::uint32_t resumed;  ///< 1: it was attached to a server that has died; then the two below hold
  std::uint32_t
      meets;  ///< 1: the ranks bring what the servers of the run say of themselves together
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
  std::uint64_t meeting;  ///< number of this server among all of the run; 0: it meets no other one
  std::uint32_t first_offer_bytes, offer_bytes;
  /// What it says of itself to the others: a secret, when it is the first of them; and else. libleat understands none of it.
  char offers[2960];
};

inline constexpr std::uint32_t kWasSaid = 1U << 31;
/// In the number of a Report: it is no failed call, but a warning, or something to know.
inline constexpr std::uint32_t kIsWarning = 1U << 30, kIsNote = 1U << 29;
/// Instead of a report: offers of all servers of the run, one after the other, in a file in memory that comes along.
inline constexpr std::uint32_t kIntroduction = 0;
inline constexpr std::uint64_t kMostBytesOfIntroduction = std::uint64_t{1} << 31;
/// From a client, at any time in between: a call of its that failed, each kind once. The server says it once for all
/// ranks. Comes before the event `lost` that names its number. To a server that takes over all of them go once more: the one
/// before it may not have said them.
struct Report {
  std::uint32_t
      number;  ///< from 1 on, of this client; with kWasSaid in it: it was said; also kIsWarning, kIsNote
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

static_assert(sizeof(Hello) == 320 && sizeof(Welcome) == 4152 && sizeof(DrainReport) == 4096 &&
              sizeof(Report) == 1024);

// How a client and its server reach each other beside the rings of the segment: hello, reports, the
// last word, and that one of them has gone. A transport makes both ends of it: over a local socket
// between processes (client-api/connect/rendezvous.hpp, server/driver/local_transport.hpp), by calls
// within one (server/driver/in_process.hpp).

/// As the client has it. One thread at a time.
class ToServer {
 public:
  using Received = os::Received;
  virtual ~ToServer() = default;

  /// The server sleeps, and there is something for it in a ring.
  virtual void ring() noexcept = 0;
  /// It has ended or died.
  virtual bool is_gone() noexcept = 0;
  /// Without a wait. False: it is not told.
  virtual bool report(const Report& report) noexcept = 0;
  /// The same with what all servers of the run say of themselves.
  virtual bool introduce(const std::string& offers) noexcept = 0;
  /// The last word, if it comes within that time.
  virtual Received await(DrainReport* report, std::int64_t limit_ns) noexcept = 0;
  /// From now on the server sees nothing of this client; without freeing memory.
  virtual void close() noexcept = 0;
};

/// As the server has it; the client sees when it is destroyed. One thread.
class ToClient {
 public:
  using Received = os::Received;
  virtual ~ToClient() = default;

  /// The answer to its hello. False: it has gone meanwhile.
  virtual bool welcome(const Welcome& welcome) = 0;
  /// The next report, without a wait. With kIntroduction as its number `offers` is filled instead.
  virtual Received take(Report* report, std::string* offers) = 0;
  /// The last word. False: it has gone. Waits for at most a second.
  virtual bool drained(const DrainReport& report) = 0;
};

// That a run is drained by order, and by whose: the server writes it once, before it takes the last
// events of its clients. It outlives the server, so that all know why nothing more is taken.

inline void order_to_drain(ServerState& state, std::string_view who) noexcept {
  if (state.is_drained.load(std::memory_order_relaxed) != 0) return;
  state.drained_by[who.copy(state.drained_by, sizeof state.drained_by - 1)] = 0;
  // Release: who sees the word, sees the name.
  state.is_drained.store(1, std::memory_order_release);
}

inline bool is_drained(const ServerState& state) noexcept {
  return state.is_drained.load(std::memory_order_acquire) != 0;
}

/// "the run was drained by order of control/4711; what came after is not stored"
inline std::string drain_in_words(const ServerState& state) {
  return "the run was drained by order of " + std::string(state.drained_by) +
         "; what came after is not stored";
}

}  // namespace leat::shm
