// SPDX-License-Identifier: Apache-2.0
#include "server/state/trace/trace.hpp"

#include <unistd.h>

#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

// Stores that are that far behind get no arrows.
constexpr std::size_t kIterationsWithArrows = 1024;

// Ranks are those of the whole run: all of its servers count alike.
std::uint64_t number_of_arrow(std::int32_t rank, std::int64_t iteration, std::size_t store) {
  return fnv1a(std::to_string(rank) + "/" + std::to_string(iteration) + "/" +
               std::to_string(store));
}

// Of each server process another one: it numbers names from 1.
std::uint32_t sequence_of(const std::string& key, std::int64_t offset_ns) noexcept {
  const std::uint64_t hash =
      fnv1a(key + "/" + std::to_string(getpid()) + "/" + std::to_string(offset_ns));
  return static_cast<std::uint32_t>(hash >> 32 ^ hash) | 1;
}

}  // namespace

std::string name_of_iteration(std::int64_t iteration) {
  return "iteration " + std::to_string(iteration);
}

Trace::Trace(std::unique_ptr<TraceFile> file, const std::string& title, const std::string& run,
             const std::string& server, std::int64_t wall_offset_ns)
    : key_(run + "/" + server),
      wall_offset_ns_(wall_offset_ns),
      root_(fnv1a(key_)),
      file_(std::move(file)),
      packets_(sequence_of(key_, wall_offset_ns)) {
  packets_.add_head(&bytes_, on_wall(os::now_ns()));
  const std::string about = "run " + run;
  packets_.add(&bytes_, perfetto::Track{.id = root_, .name = title, .about = about});
  send();
}

// Packets of one call stand together, so that none of them is missing. All with the lock.
void Trace::send() {
  file_->append(bytes_);
  bytes_.clear();
}

void Trace::pack_begin(Track track, const Slice& slice) {
  packets_.add(&bytes_, perfetto::Event{.type = perfetto::EventType::begin,
                                        .track = track,
                                        .at_ns = on_wall(slice.begun_ns),
                                        .name = slice.name,
                                        .is_frequent = slice.is_frequent,
                                        .iteration = slice.iteration,
                                        .bytes = slice.bytes,
                                        .arrows = slice.arrows});
}

void Trace::pack(perfetto::EventType type, Track track, std::int64_t at_ns) {
  packets_.add(&bytes_, perfetto::Event{.type = type, .track = track, .at_ns = on_wall(at_ns)});
}

Trace::Track Trace::track(const std::string& name, std::int32_t place, perfetto::Unit unit) {
  const Track track = fnv1a(key_ + "/" + name);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!known_.insert(track).second) return track;
  packets_.add(&bytes_, perfetto::Track{track, root_, name, {}, place, unit});
  send();
  return track;
}

void Trace::add(Track track, const Slice& slice, const std::vector<Slice>& within) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pack_begin(track, slice);
  for (const Slice& each : within) {
    pack_begin(track, each);
    pack(perfetto::EventType::end, track, each.ended_ns);
  }
  pack(perfetto::EventType::end, track, slice.ended_ns);
  send();
}

void Trace::begin(Track track, std::int64_t at_ns, std::string_view name, std::int64_t iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pack_begin(track, {.begun_ns = at_ns, .name = name, .iteration = iteration});
  send();
}

void Trace::end(Track track, std::int64_t at_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pack(perfetto::EventType::end, track, at_ns);
  send();
}

void Trace::moment(Track track, std::int64_t at_ns, std::string_view name, std::int64_t iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  packets_.add(&bytes_, perfetto::Event{.type = perfetto::EventType::instant,
                                        .track = track,
                                        .at_ns = on_wall(at_ns),
                                        .name = name,
                                        .iteration = iteration});
  send();
}

void Trace::number(Track track, std::int64_t at_ns, std::int64_t value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  packets_.add(&bytes_, perfetto::Event{.type = perfetto::EventType::counter,
                                        .track = track,
                                        .at_ns = on_wall(at_ns),
                                        .value = value});
  send();
}

Trace::Arrows Trace::arrows_from(std::int32_t rank, std::int64_t iteration, std::size_t stores) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_by_[iteration].push_back(rank);
    if (ended_by_.size() > kIterationsWithArrows) ended_by_.erase(ended_by_.begin());
  }
  Arrows arrows;
  for (std::size_t store = 0; store < stores; ++store)
    arrows.push_back(number_of_arrow(rank, iteration, store));
  return arrows;
}

Trace::Arrows Trace::arrows_to(std::size_t store, std::int64_t iteration) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Arrows arrows;
  if (const auto found = ended_by_.find(iteration); found != ended_by_.end())
    for (const std::int32_t rank : found->second)
      arrows.push_back(number_of_arrow(rank, iteration, store));
  return arrows;
}

TracedTime::TracedTime(Trace* trace, Trace::Track track, std::int64_t iteration, std::string what)
    : trace_(trace),
      track_(track),
      iteration_(iteration),
      what_(trace && what.empty() ? name_of_iteration(iteration) : std::move(what)),
      begun_ns_(trace ? os::now_ns() : 0) {}

void TracedTime::add_arrows_to(std::size_t store) {
  if (trace_) arrows_ = trace_->arrows_to(store, iteration_);
}

TracedTime::~TracedTime() {
  if (!trace_) return;
  trace_->add(track_, {.begun_ns = begun_ns_,
                       .ended_ns = os::now_ns(),
                       .name = what_,
                       .iteration = iteration_,
                       .arrows = std::move(arrows_)});
}

}  // namespace leat::server
