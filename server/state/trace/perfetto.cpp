// SPDX-License-Identifier: Apache-2.0
#include "server/state/trace/perfetto.hpp"

namespace leat::server::perfetto {
namespace {

// The encoding of protocol buffers: protobuf.dev/programming-guides/encoding.
enum class Wire : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2 };

// Numbers of fields, by message.
constexpr std::uint32_t kTracePacket = 1;
constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                        kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60,
                        kFirstOnSequence = 87;
constexpr std::uint32_t kClock = 1, kClockId = 1, kClockTimestamp = 2;
constexpr std::uint32_t kEventName = 2, kAnnotationName = 3, kInternedNumber = 1, kInternedText = 2;
constexpr std::uint32_t kUuid = 1, kTrackName = 2, kParent = 5, kCounter = 8, kChildOrder = 11,
                        kAbout = 14, kPlaceAmongSiblings = 12, kCounterUnit = 3;
constexpr std::uint32_t kAnnotation = 4, kType = 9, kNameNumber = 10, kEventTrack = 11, kName = 23,
                        kCounterValue = 30, kFlow = 47;
constexpr std::uint32_t kAnnotationNumber = 1, kAnnotationInteger = 4;

// And of enumerations. BuiltinClock: a timestamp is of the second unless it says otherwise.
constexpr std::uint64_t kRealtime = 1, kBoottime = 6;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
constexpr std::uint64_t kByPlace = 3;  // ChildTracksOrdering

// Of names of annotations.
constexpr std::uint64_t kIterationName = 1, kBytesName = 2;

void put_varint(std::string* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

void put_tag(std::string* to, std::uint32_t field, Wire wire) {
  put_varint(to, std::uint64_t{field} << 3 | static_cast<std::uint32_t>(wire));
}

void put(std::string* to, std::uint32_t field, std::uint64_t value) {
  put_tag(to, field, Wire::varint);
  put_varint(to, value);
}

void put_fixed64(std::string* to, std::uint32_t field, std::uint64_t value) {
  put_tag(to, field, Wire::fixed64);
  for (int i = 0; i < 8; ++i) to->push_back(static_cast<char>(value >> 8 * i));
}

void put_text(std::string* to, std::uint32_t field, std::string_view text) {
  put_tag(to, field, Wire::bytes);
  put_varint(to, text.size());
  to->append(text);
}

std::string interned(std::uint64_t number, std::string_view text) {
  std::string bytes;
  put(&bytes, kInternedNumber, number);
  put_text(&bytes, kInternedText, text);
  return bytes;
}

std::string clock(std::uint64_t id, std::int64_t now_ns) {
  std::string bytes;
  put(&bytes, kClockId, id);
  put(&bytes, kClockTimestamp, static_cast<std::uint64_t>(now_ns));
  return bytes;
}

void put_annotation(std::string* event, std::string* part, std::uint64_t name, std::int64_t value) {
  if (value < 0) return;
  part->clear();
  put(part, kAnnotationNumber, name);
  put(part, kAnnotationInteger, static_cast<std::uint64_t>(value));
  put_text(event, kAnnotation, *part);
}

}  // namespace

void Packets::add_head(std::string* to, std::int64_t now_ns) {
  packet_.clear();
  put_time(now_ns);
  put(&packet_, kSequenceFlags, kStateCleared);
  put(&packet_, kFirstOnSequence, 1);
  std::string clocks, names;
  for (const std::uint64_t id : {kBoottime, kRealtime})
    put_text(&clocks, kClock, clock(id, now_ns));
  put_text(&packet_, kClockSnapshot, clocks);
  put_text(&names, kAnnotationName, interned(kIterationName, "iteration"));
  put_text(&names, kAnnotationName, interned(kBytesName, "bytes"));
  put_text(&packet_, kInternedData, names);
  add_packet(to);
}

void Packets::add(std::string* to, const Track& track) {
  packet_.clear();
  event_.clear();
  put(&packet_, kSequence, sequence_);
  put(&event_, kUuid, track.id);
  put_text(&event_, kTrackName, track.name);
  if (!track.about.empty()) put_text(&event_, kAbout, track.about);
  if (track.parent != 0) put(&event_, kParent, track.parent);
  if (track.parent == 0) put(&event_, kChildOrder, kByPlace);
  if (track.parent != 0) put(&event_, kPlaceAmongSiblings, static_cast<std::uint64_t>(track.place));
  if (track.unit != Unit::none) {
    part_.clear();
    put(&part_, kCounterUnit, static_cast<std::uint64_t>(track.unit));
    put_text(&event_, kCounter, part_);
  }
  put_text(&packet_, kTrackDescriptor, event_);
  add_packet(to);
}

void Packets::add(std::string* to, const Event& event) {
  packet_.clear();
  event_.clear();
  put_time(event.at_ns);
  put(&event_, kType, static_cast<std::uint64_t>(event.type));
  put(&event_, kEventTrack, event.track);
  if (event.is_frequent || event.iteration >= 0 || event.bytes >= 0)
    put(&packet_, kSequenceFlags, kNeedsState);
  if (event.is_frequent) {
    put(&event_, kNameNumber, number_of(event.name));
  } else if (!event.name.empty()) {
    put_text(&event_, kName, event.name);
  }
  put_annotation(&event_, &part_, kIterationName, event.iteration);
  put_annotation(&event_, &part_, kBytesName, event.bytes);
  if (event.type == EventType::counter)
    put(&event_, kCounterValue, static_cast<std::uint64_t>(event.value));
  for (const std::uint64_t arrow : event.arrows) put_fixed64(&event_, kFlow, arrow);
  put_text(&packet_, kTrackEvent, event_);
  add_packet(to);
}

// A name that is new stands in the packet that uses it.
std::uint64_t Packets::number_of(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  const std::uint64_t number = names_.size() + 1;
  names_.emplace(name, number);
  part_.clear();
  put_text(&part_, kEventName, interned(number, name));
  put_text(&packet_, kInternedData, part_);
  return number;
}

void Packets::put_time(std::int64_t at_ns) {
  put(&packet_, kTimestamp, static_cast<std::uint64_t>(at_ns));
  put(&packet_, kSequence, sequence_);
}

void Packets::add_packet(std::string* to) const { put_text(to, kTracePacket, packet_); }

std::uint64_t whole_packets(std::string_view bytes) noexcept {
  constexpr char kTag = kTracePacket << 3 | static_cast<std::uint32_t>(Wire::bytes);
  std::uint64_t whole = 0;
  while (whole < bytes.size() && bytes[whole] == kTag) {
    std::uint64_t size = 0, at = whole + 1;
    for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      size |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
      if (at == bytes.size()) return whole;
    }
    if (at >= bytes.size() || size == 0 || size > bytes.size() - at) return whole;
    whole = at + size;
  }
  return whole;
}

}  // namespace leat::server::perfetto
