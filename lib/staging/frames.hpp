// SPDX-License-Identifier: Apache-2.0
// What a server of the simulation and a staging node say to each other, over one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/byte_stream.hpp"

namespace leat::staging {

// The server of a node ("source") connects, and says who it is; the staging node answers. Then, for each iteration:
//
//     source                                     staging node
//     signal        of an event                  signals it, as the ranks that it names
//     parameters    the first rank's             keeps them for its ranks
//     block ...     head, and its data           into the segment of its own server, as a block of that rank
//     end           of the iteration             ends it for all ranks of the source
//                   alive, some times a second   it waits for memory, or just for the next one
//                   taken                        all of the iteration is in its segment, or was refused and said to be
//
// or, between two of them, what plugins and scripts of the source have made of an iteration, now or before:
//
//     products      what it is                   with it, and the block, into the segment of its own server, which publishes it
//     block         data of all, one by one
//                   products_taken               that has them, or why not
//
// and `bye` at the end, which is answered when all is stored. All but blocks is JSON.
enum class FrameKind : std::uint32_t {
  hello = 1,
  answer,
  parameters,
  signal,
  block,
  end,
  alive,
  taken,
  bye,
  stored,  ///< the answer to bye: how it went
  products,
  products_taken
};

/// Head of a block; its data follow. Numbers are as this machine has them: all nodes of a run are of one kind.
struct BlockHead {
  std::int32_t rank = 0;
  std::uint32_t variable = 0, block = 0, dims = 0;
  std::uint32_t has_position = 0, has_level = 0;
  std::int32_t level = 0;
  std::uint32_t checksum = 0;  ///< CRC-32C of the data, when has_checksum
  std::uint32_t has_checksum = 0, reserved = 0;
  std::uint64_t bytes = 0;
  std::int64_t extent[8]{}, position[8]{};
  std::int64_t
      global[8]{};  ///< of the array that it has a position in, with its own rank's parameters
};

struct Frame {
  FrameKind kind{};
  std::string text;  ///< JSON, of all but a block
  BlockHead block{};
};

// Both ends of a conversation. One thread sends, one receives; but that several may send() texts at a time.
class Conversation {
 public:
  explicit Conversation(std::unique_ptr<comm::ByteStream> stream) : stream_(std::move(stream)) {}

  // False: the conversation is over; see why_over(). Each wait ends when for `limit_ns` nothing has moved.
  bool send(FrameKind kind, const std::string& text, std::int64_t limit_ns);
  /// With the CRC-32C of the data where the connection is plain and the block has none.
  bool send_block(BlockHead head, const void* data, std::int64_t limit_ns);
  /// The next one; the data of a block are to be taken next.
  bool receive(Frame* frame, std::int64_t limit_ns);
  /// Into memory for so many bytes; null: they are read and thrown away. False also when they are not what was sent.
  bool receive_data(const BlockHead& head, void* to, std::int64_t limit_ns);

  comm::ByteStream& stream() noexcept { return *stream_; }
  const std::string& why_over() const noexcept {
    return why_.empty() ? stream_->why_broken() : why_;
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  std::unique_ptr<comm::ByteStream> stream_;
  std::mutex sending_;
  std::string why_;
};

}  // namespace leat::staging
