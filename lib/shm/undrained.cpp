// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/undrained.hpp"

#include <algorithm>

#include "lib/shm/catalogue.hpp"
#include "lib/shm/leases.hpp"

namespace leat::shm {
namespace {

class Counter {
 public:
  explicit Counter(const Segment& segment) : segment_(segment), catalogue_(segment) {}

  Undrained run() {
    const ServerState& words = segment_.server_state();
    found_.done = words.done_iteration.load();
    found_.failovers_in_vain = words.fruitless.load();
    found_.begun = found_.done >= 0;
    found_.run = decode_run_text(segment_.run_text());
    if (!found_.run) found_.problem = "what its run was started with cannot be read";
    for (std::uint32_t i = 0; i < segment_.header().client_count; ++i) in_ring(i);
    in_leases();
    found_.begun = found_.begun || found_.blocks > 0;
    return std::move(found_);
  }

 private:
  const ClientRecord& record(std::uint32_t client) const {
    const ServerLane& lane = *segment_.client(client).server;
    return lane.records[lane.record.load() & 1];
  }

  // What the server has not taken from a client's ring.
  void in_ring(std::uint32_t client) {
    const ClientArea area = segment_.client(client);
    const ClientRecord& taken = record(client);
    found_.begun = found_.begun || taken.iteration > 0;
    const std::uint64_t slots = segment_.header().event_slots;
    const std::uint64_t pushed = area.client->event_tail.load(std::memory_order_acquire);
    if (pushed - taken.events > slots) return;  // makes no sense, and is not followed
    for (std::uint64_t at = taken.events; at != pushed; ++at) {
      const Event& event = area.events[at % slots];
      const auto kind = static_cast<EventKind>(event.kind);
      found_.begun = found_.begun || kind == EventKind::block || kind == EventKind::end_iteration ||
                     kind == EventKind::lost;
      if (kind == EventKind::block && event.bytes >= sizeof(BlockHeader))
        count(event.subject, event.iteration, event.bytes - sizeof(BlockHeader));
    }
  }

  // What it has taken, and the stores do not have yet.
  void in_leases() {
    const LeaseTable table(segment_);
    for (const Lease& lease : table.all()) {
      if (!fits(lease)) continue;
      const ClientRecord& taken = record(lease.client);
      for (const FoundBlock& block : table.blocks_in(lease)) {
        const BlockHeader& header = block.header;
        if (header.event == 0 || header.event > taken.events) continue;
        if (header.iteration <= taken.iteration)
          count(header.variable, header.iteration, header.data_bytes);
      }
    }
  }

  bool fits(const Lease& lease) const {
    const SegmentHeader& header = segment_.header();
    return lease.region.offset <= header.segment_bytes &&
           lease.region.bytes <= header.segment_bytes - lease.region.offset;
  }

  void count(std::uint32_t variable, std::int64_t iteration, std::uint64_t bytes) {
    const bool waits = iteration > found_.done && !segment_.drop_words().has(iteration);
    if (!waits || variable >= catalogue_.variables().size()) return;
    Undrained::Held& held =
        found_.variables[std::string(catalogue_.text(catalogue_.variables()[variable].name))];
    found_.iterations.insert(iteration);
    for (Undrained::Held* each : {&held, &all_}) {
      ++each->blocks;
      each->bytes += bytes;
    }
    found_.blocks = all_.blocks;
    found_.bytes = all_.bytes;
  }

  const Segment& segment_;
  const Catalogue catalogue_;
  Undrained found_;
  Undrained::Held all_;
};

}  // namespace

Undrained undrained_in(const Segment& segment) { return Counter(segment).run(); }

Undrained undrained_in(const std::string& name) {
  const Result<Segment> segment = Segment::look(name);
  if (segment) return undrained_in(*segment);
  Undrained found;
  if (segment.error().status == Status::ERROR_VERSION && Segment::is_finished(name))
    found.problem = segment.error().message;
  return found;
}

bool must_stay(const std::string& name) { return undrained_in(name).must_stay(); }

}  // namespace leat::shm
