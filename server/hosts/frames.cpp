// SPDX-License-Identifier: Apache-2.0
#include "server/hosts/frames.hpp"

#include <algorithm>
#include <string>

namespace leat::hosts {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostOfHead = std::uint64_t{1} << 26;
// Memory is taken as the bytes come, not as they are promised.
constexpr std::size_t kPiece = std::size_t{1} << 20;

bool receive_text(comm::ByteStream& stream, std::uint64_t bytes, std::string* text,
                  std::int64_t limit_ns) {
  text->clear();
  while (text->size() < bytes) {
    const std::size_t had = text->size();
    text->resize(std::min<std::uint64_t>(bytes, std::max(kPiece, 2 * had)));
    if (!stream.read(text->data() + had, text->size() - had, limit_ns)) return false;
  }
  return true;
}

}  // namespace

bool send_frame(comm::ByteStream& stream, const Frame& frame, std::int64_t limit_ns) {
  const std::string head = frame.head.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::uint64_t lengths[2] = {head.size(), frame.data.size()};
  std::string start(reinterpret_cast<const char*>(lengths), sizeof lengths);
  start += head;
  return stream.write(start.data(), start.size(), limit_ns) &&
         stream.write(frame.data.data(), frame.data.size(), limit_ns);
}

FrameStatus receive_frame(comm::ByteStream& stream, Frame* frame, std::uint64_t most_bytes,
                          std::int64_t limit_ns) {
  std::uint64_t lengths[2] = {};
  std::string head;
  if (!stream.read(lengths, sizeof lengths, limit_ns)) return FrameStatus::ended;
  if (lengths[0] > kMostOfHead || lengths[1] > most_bytes) return FrameStatus::malformed;
  if (!receive_text(stream, lengths[0], &head, limit_ns) ||
      !receive_text(stream, lengths[1], &frame->data, limit_ns))
    return FrameStatus::ended;
  return parse_head(head, &frame->head) ? FrameStatus::frame : FrameStatus::malformed;
}

}  // namespace leat::hosts
