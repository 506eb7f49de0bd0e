// SPDX-License-Identifier: Apache-2.0
// Bytes of a trace in Perfetto's format: those few of its messages that a run needs. A file of it is one message Trace, whose
// field 1 is repeated: so whole packets can be appended, and files put together, as bytes.
//
// Fields are those of github.com/google/perfetto, protos/perfetto/trace: trace_packet.proto, track_event/track_event.proto,
// track_event/track_descriptor.proto, track_event/counter_descriptor.proto, track_event/debug_annotation.proto,
// interned_data/interned_data.proto, clock_snapshot.proto. tests/trace decodes what is written by the descriptors of the package
// `perfetto`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace leat::server::perfetto {

/// As TrackEvent.Type.
enum class EventType : std::uint32_t { begin = 1, end = 2, instant = 3, counter = 4 };

/// As CounterDescriptor.Unit. `none`: the track is no counter.
enum class Unit : std::uint32_t { none = 0, count = 2, bytes = 3 };

struct Track {
  std::uint64_t id =
      0;  ///< differs from those of all other traces that may be put together with this one
  std::uint64_t parent = 0;  ///< 0: none
  std::string_view name;
  std::string_view about{};
  std::int32_t place = 0;  ///< among the children of its parent, ascending
  Unit unit = Unit::none;
};

struct Event {
  EventType type = EventType::instant;
  std::uint64_t track = 0;
  std::int64_t at_ns = 0;
  std::string_view name{};      ///< not of an end or a counter
  bool is_frequent = false;     ///< the name is written once, and a number for it from then on
  std::int64_t iteration = -1;  ///< -1: of none
  std::int64_t bytes = -1;      ///< -1: not said
  std::int64_t value = 0;       ///< of a counter
  std::span<const std::uint64_t>
      arrows{};  ///< lead from each event to the next one in time with the same number
};

/// What one server writes, in order. Not from two threads at once.
class Packets {
 public:
  /// `sequence`: differs from that of others who write to the same trace; not 0.
  explicit Packets(std::uint32_t sequence) : sequence_(sequence) {}

  /// Before all else. All times are of the clock that shows `now_ns`, counted from 1970, now.
  void add_head(std::string* to, std::int64_t now_ns);
  void add(std::string* to, const Track& track);
  void add(std::string* to, const Event& event);

 private:
  void add_packet(std::string* to) const;
  void put_time(std::int64_t at_ns);
  std::uint64_t number_of(std::string_view name);

  std::uint32_t sequence_;
  std::map<std::string, std::uint64_t, std::less<>> names_;
  std::string packet_, event_, part_;  // kept for their memory
};

/// How much of `bytes` are whole packets, from the start; the rest was cut off while it was written, or is no trace.
std::uint64_t whole_packets(std::string_view bytes) noexcept;

}  // namespace leat::server::perfetto
