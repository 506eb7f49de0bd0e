// SPDX-License-Identifier: Apache-2.0
// What ranks did, on a track for each: iterations, and in them their calls, waits, idle phases and what is between, as their
// events say. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/layout.hpp"
#include "server/state/trace/trace.hpp"

namespace leat::server {

class RankTracks {
 public:
  /// `goes_on`: a server before this one may have left slices open.
  RankTracks(Trace& trace, const model::Model& model, std::uint32_t clients, bool goes_on);

  /// It has attached: its first iteration begins.
  void came(std::uint32_t client, std::int32_t rank, std::int64_t now_ns);
  /// An event of a client has come; what it says of times may be anything.
  void said(std::uint32_t client, std::int32_t rank, const shm::Event& event, std::int64_t now_ns);
  /// Nothing more comes of it.
  void gone(std::uint32_t client, std::int32_t rank, bool died, std::int64_t now_ns);

 private:
  struct Span {
    std::int64_t begun_ns = 0, ended_ns = 0;
    const char* name = "";
  };
  struct Rank {
    Trace::Track track = 0;      // 0: not known yet
    std::int32_t number = -1;    // in the simulation
    bool in_iteration = false;   // a slice of it is open
    bool is_ending = false;      // how long the call takes that ends it comes next
    std::int64_t iteration = 0;  // that it is in
    std::int64_t until_ns = 0;   // all before is drawn; 0: nothing is
    Trace::Arrows arrows{};      // from the end of the iteration
    std::vector<Span> waits;     // of the call that is under way, and of those that came to nothing
  };

  Rank& rank_of(std::uint32_t client, std::int32_t number);
  Span in_time(const Rank& rank, std::int64_t ended_ns, std::uint64_t took_ns) const noexcept;
  void enter(Rank& rank, std::int64_t iteration, std::int64_t at_ns);
  void leave(Rank& rank, std::int64_t at_ns);
  void compute_until(Rank& rank, std::int64_t at_ns);
  void draw(Rank& rank, const Trace::Slice& call);
  void draw_end(Rank& rank, const Span& span);
  void wrote(Rank& rank, const shm::Event& event);
  void end_came(Rank& rank, const shm::Event& event);
  void span_came(Rank& rank, const shm::Event& event);

  Trace& trace_;
  const bool goes_on_;
  std::int64_t now_ns_ = 0;
  const std::size_t stores_;
  std::vector<std::string> writes_;  // by variable: what a write of it is called
  std::vector<Rank> ranks_;          // by client
};

}  // namespace leat::server
