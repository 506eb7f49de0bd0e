// SPDX-License-Identifier: Apache-2.0
#include "lib/staging/frames.hpp"

#include <algorithm>
#include <cstring>

#include "lib/os/crc32c.hpp"

namespace leat::staging {
namespace {

constexpr std::uint32_t kMagic = 0x5441454c;  // "LEAT"
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;

struct Head {
  std::uint32_t magic = kMagic;
  FrameKind kind{};
  std::uint64_t bytes = 0;  // of what follows, but for the data of a block
  std::uint32_t checksum = 0, reserved = 0;
};

Head head_of(FrameKind kind, const void* body, std::size_t bytes) {
  return {kMagic, kind, bytes, os::crc32c(body, bytes), 0};
}

}  // namespace

bool Conversation::send(FrameKind kind, const std::string& text, std::int64_t limit_ns) {
  const Head head = head_of(kind, text.data(), text.size());
  std::string whole(reinterpret_cast<const char*>(&head), sizeof head);
  whole += text;
  const std::lock_guard lock(sending_);
  return stream_->write(whole.data(), whole.size(), limit_ns);
}

bool Conversation::send_block(BlockHead head, const void* data, std::int64_t limit_ns) {
  if (stream_->is_plain() && !head.has_checksum) {
    head.checksum = os::crc32c(data, head.bytes);
    head.has_checksum = 1;
  }
  const Head first = head_of(FrameKind::block, &head, sizeof head);
  char both[sizeof first + sizeof head];
  std::memcpy(both, &first, sizeof first);
  std::memcpy(both + sizeof first, &head, sizeof head);
  const std::lock_guard lock(sending_);
  return stream_->write(both, sizeof both, limit_ns) && stream_->write(data, head.bytes, limit_ns);
}

bool Conversation::receive(Frame* frame, std::int64_t limit_ns) {
  Head head;
  if (!stream_->read(&head, sizeof head, limit_ns)) return false;
  const bool is_block = head.kind == FrameKind::block;
  if (head.magic != kMagic || head.bytes > kMostText ||
      (is_block && head.bytes != sizeof frame->block))
    return fail("what came is no word of a staging node's conversation");
  frame->kind = head.kind;
  frame->text.resize(is_block ? 0 : head.bytes);
  void* const body = is_block ? static_cast<void*>(&frame->block) : frame->text.data();
  if (!stream_->read(body, head.bytes, limit_ns)) return false;
  return os::crc32c(body, head.bytes) == head.checksum || fail("what came is not what was sent");
}

bool Conversation::receive_data(const BlockHead& head, void* to, std::int64_t limit_ns) {
  if (to && !stream_->read(to, head.bytes, limit_ns)) return false;
  char thrown[16384];
  for (std::uint64_t left = to ? 0 : head.bytes; left > 0;) {
    const std::uint64_t part = std::min<std::uint64_t>(left, sizeof thrown);
    if (!stream_->read(thrown, part, limit_ns)) return false;
    left -= part;
  }
  if (!to || !head.has_checksum || !stream_->is_plain()) return true;
  return os::crc32c(to, head.bytes) == head.checksum || fail("a block is not what was sent");
}

}  // namespace leat::staging
