// SPDX-License-Identifier: Apache-2.0
#include "lib/frames/frame.hpp"

#include <algorithm>
#include <limits>

namespace leat {
namespace {

using nlohmann::json;

// A worker that asks for more has lost its mind: no result of a script is so large.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;
constexpr std::uint64_t kMostHeadBytes = std::uint64_t{1} << 26;
// Heads are a few levels deep; copies and texts of deeper ones would need as much stack.
constexpr int kMostDepth = 16;
// Memory is taken as the bytes come, not as they are promised.
constexpr std::size_t kLeastRoom = std::size_t{1} << 20;

FrameStatus status_of(os::Arrived arrived) {
  switch (arrived) {
    case os::Arrived::all:
      return FrameStatus::frame;
    case os::Arrived::late:
      return FrameStatus::late;
    case os::Arrived::ended:
      return FrameStatus::ended;
  }
  return FrameStatus::ended;
}

FrameStatus read_text(const std::function<FrameStatus(void*, std::size_t)>& read,
                      std::uint64_t bytes, std::string* text) {
  text->clear();
  FrameStatus status = FrameStatus::frame;
  while (status == FrameStatus::frame && text->size() < bytes) {
    const std::size_t had = text->size();
    text->resize(std::min<std::uint64_t>(bytes, std::max(kLeastRoom, 2 * had)));
    status = read(text->data() + had, text->size() - had);
  }
  return status;
}

}  // namespace

std::string start_of(const Frame& frame) {
  // Texts of the simulation may be in any encoding; JSON is in UTF-8.
  const std::string head = frame.head.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::uint64_t lengths[2] = {head.size(), frame.data.size()};
  return std::string(reinterpret_cast<const char*>(lengths), sizeof lengths) + head;
}

bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns,
                const os::GivenUp& given_up) {
  const std::string start = start_of(frame);
  return os::send_all(socket, start.data(), start.size(), deadline_ns, given_up) &&
         os::send_all(socket, frame.data.data(), frame.data.size(), deadline_ns, given_up);
}

bool parse_head(const std::string& text, json* head) {
  using Event = json::parse_event_t;
  bool too_deep = false;
  const auto shallow = [&](int depth, Event event, const json&) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMostDepth) too_deep = true;
    return !opens || depth < kMostDepth;
  };
  *head = json::parse(text, shallow, false);
  return !too_deep && head->is_object();
}

FrameStatus read_frame(const std::function<FrameStatus(void*, std::size_t)>& read,
                       std::uint64_t most_bytes, Frame* frame) {
  std::uint64_t lengths[2] = {};
  FrameStatus status = read(lengths, sizeof lengths);
  if (status != FrameStatus::frame) return status;
  if (lengths[0] > kMostHeadBytes || lengths[1] > most_bytes) return FrameStatus::malformed;
  std::string head;
  status = read_text(read, lengths[0], &head);
  if (status == FrameStatus::frame) status = read_text(read, lengths[1], &frame->data);
  if (status != FrameStatus::frame) return status;
  return parse_head(head, &frame->head) ? FrameStatus::frame : FrameStatus::malformed;
}

FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns,
                          const os::GivenUp& given_up) {
  const auto read = [&](void* to, std::size_t bytes) {
    return status_of(os::receive_all(socket, to, bytes, deadline_ns, given_up));
  };
  return read_frame(read, kMostBytes, frame);
}

const json& member_of(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<std::int64_t> integer_of(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

std::string text_in(const json& head, const char* key, const char* otherwise) {
  const json& value = member_of(head, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::int64_t number_in(const Frame& frame, const char* key) {
  return integer_of(member_of(frame.head, key)).value_or(0);
}

}  // namespace leat
