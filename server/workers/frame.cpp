// SPDX-License-Identifier: Apache-2.0
#include "server/workers/frame.hpp"

#include <algorithm>

#include "lib/platform/stream.hpp"

namespace leat::server {
namespace {

// A worker that asks for more has lost its mind: no result of a script is so large.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;
constexpr std::uint64_t kMostHeadBytes = std::uint64_t{1} << 26;
// Heads are a few levels deep; copies and texts of deeper ones would need as much stack.
constexpr int kMostDepth = 16;
// Memory is taken as the bytes come, not as they are promised.
constexpr std::size_t kLeastRoom = std::size_t{1} << 20;

FrameStatus status_of(platform::Arrived arrived) {
  switch (arrived) {
    case platform::Arrived::all:
      return FrameStatus::frame;
    case platform::Arrived::late:
      return FrameStatus::late;
    case platform::Arrived::ended:
      return FrameStatus::ended;
  }
  return FrameStatus::ended;
}

FrameStatus receive_text(int socket, std::uint64_t bytes, std::string* text,
                         std::int64_t deadline_ns, const platform::GivenUp& given_up) {
  text->clear();
  FrameStatus status = FrameStatus::frame;
  while (status == FrameStatus::frame && text->size() < bytes) {
    const std::size_t had = text->size();
    text->resize(std::min<std::uint64_t>(bytes, std::max(kLeastRoom, 2 * had)));
    status = status_of(platform::receive_all(socket, text->data() + had, text->size() - had,
                                             deadline_ns, given_up));
  }
  return status;
}

}  // namespace

bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns,
                const platform::GivenUp& given_up) {
  // Texts of the simulation may be in any encoding; JSON is in UTF-8.
  const std::string head =
      frame.head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::uint64_t lengths[2] = {head.size(), frame.data.size()};
  std::string start(reinterpret_cast<const char*>(lengths), sizeof lengths);
  start += head;
  return platform::send_all(socket, start.data(), start.size(), deadline_ns, given_up) &&
         platform::send_all(socket, frame.data.data(), frame.data.size(), deadline_ns, given_up);
}

bool parse_head(const std::string& text, nlohmann::json* head) {
  using Event = nlohmann::json::parse_event_t;
  bool too_deep = false;
  const auto shallow = [&](int depth, Event event, const nlohmann::json&) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMostDepth) too_deep = true;
    return !opens || depth < kMostDepth;
  };
  *head = nlohmann::json::parse(text, shallow, false);
  return !too_deep && head->is_object();
}

FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns,
                          const platform::GivenUp& given_up) {
  std::uint64_t lengths[2] = {};
  FrameStatus status =
      status_of(platform::receive_all(socket, lengths, sizeof lengths, deadline_ns, given_up));
  if (status != FrameStatus::frame) return status;
  if (lengths[0] > kMostHeadBytes || lengths[1] > kMostBytes) return FrameStatus::malformed;
  std::string head;
  status = receive_text(socket, lengths[0], &head, deadline_ns, given_up);
  if (status != FrameStatus::frame) return status;
  status = receive_text(socket, lengths[1], &frame->data, deadline_ns, given_up);
  if (status != FrameStatus::frame) return status;
  return parse_head(head, &frame->head) ? FrameStatus::frame : FrameStatus::malformed;
}

}  // namespace leat::server
