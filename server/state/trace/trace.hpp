// SPDX-License-Identifier: Apache-2.0
// What a run's rooms say of themselves for the trace: slices of time, moments and numbers on tracks, and arrows from the end of
// an iteration in a rank to who stores it. All from any thread; what is said costs a lock for a moment, and no wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/state/trace/perfetto.hpp"
#include "server/state/trace/trace_file.hpp"

namespace leat::server {

/// All times are of the monotonic clock.
class Trace {
 public:
  using Track = std::uint64_t;
  /// From what comes to what follows from it; no two arrows of a run have the same number.
  using Arrows = std::vector<std::uint64_t>;

  /// What lasts from `begun_ns` to `ended_ns`.
  struct Slice {
    std::int64_t begun_ns = 0, ended_ns = 0;
    std::string_view name{};
    bool is_frequent = false;     ///< many have the same name
    std::int64_t iteration = -1;  ///< -1: none
    std::int64_t bytes = -1;      ///< -1: not said
    Arrows arrows{};              ///< that begin or end at its begin
  };

  /// `title`: of all tracks. `run`: what all servers of the run have in common, and no other run. `server`: this one, and one
  /// that goes on after it. `wall_offset_ns`: from the monotonic clock to the time of day.
  Trace(std::unique_ptr<TraceFile> file, const std::string& title, const std::string& run,
        const std::string& server, std::int64_t wall_offset_ns);

  void start(Executor& executor) { file_->start(executor); }
  void finish() { file_->finish(); }

  /// Makes it known; again is no error. `place`: among the tracks, ascending.
  Track track(const std::string& name, std::int32_t place,
              perfetto::Unit unit = perfetto::Unit::none);
  /// Slices of one track lie within each other, or one behind the other; those `within` it are in order.
  void add(Track track, const Slice& slice, const std::vector<Slice>& within = {});
  /// The same in parts, which come in order.
  void begin(Track track, std::int64_t at_ns, std::string_view name, std::int64_t iteration);
  void end(Track track, std::int64_t at_ns);
  void moment(Track track, std::int64_t at_ns, std::string_view name, std::int64_t iteration);
  void number(Track track, std::int64_t at_ns, std::int64_t value);

  /// A rank has ended an iteration: the arrows from there, one to each store.
  Arrows arrows_from(std::int32_t rank, std::int64_t iteration, std::size_t stores);
  /// From all ranks of which that was said to one store.
  Arrows arrows_to(std::size_t store, std::int64_t iteration) const;

 private:
  std::int64_t on_wall(std::int64_t at_ns) const noexcept { return at_ns + wall_offset_ns_; }
  void pack(perfetto::EventType type, Track track, std::int64_t at_ns);
  void pack_begin(Track track, const Slice& slice);
  void send();

  const std::string key_;
  const std::int64_t wall_offset_ns_;
  const Track root_;
  const std::unique_ptr<TraceFile> file_;
  mutable std::mutex mutex_;
  perfetto::Packets packets_;
  std::string bytes_;
  std::set<Track> known_;
  std::map<std::int64_t, std::vector<std::int32_t>> ended_by_;  // ranks, of the latest iterations
};

/// "iteration 7".
std::string name_of_iteration(std::int64_t iteration);

/// While it lives something is at work; `trace` may be null.
class TracedTime {
 public:
  /// `what`: "" for the iteration.
  TracedTime(Trace* trace, Trace::Track track, std::int64_t iteration, std::string what = "");
  TracedTime(const TracedTime&) = delete;
  ~TracedTime();

  /// It follows from what ranks did in the iteration.
  void add_arrows_to(std::size_t store);

 private:
  Trace* const trace_;
  const Trace::Track track_;
  const std::int64_t iteration_;
  const std::string what_;
  Trace::Arrows arrows_;
  const std::int64_t begun_ns_;
};

// Places of tracks: ranks by their number, then the rest.
inline constexpr std::int32_t kServerPlace = 1 << 24, kPipelinePlace = kServerPlace + 1,
                              kStorePlace = kServerPlace + 2, kScriptPlace = kServerPlace + 4096,
                              kCounterPlace = kServerPlace + 8192;

}  // namespace leat::server
