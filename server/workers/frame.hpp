// SPDX-License-Identifier: Apache-2.0
// What leatd and a worker say to each other over a stream socket: 8 bytes length of the head, 8
// bytes length of the data, the head as JSON, the data.
// python-plugins/leat/scripting/frames.py is the other side.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/platform/stream.hpp"

namespace leat::server {

struct Frame {
  nlohmann::json head;
  std::string data;
};

/// malformed: what came is no frame; what follows cannot be told from it.
enum class FrameStatus { frame, late, ended, malformed };

/// False when the other side is gone, or takes nothing until `deadline_ns` of the monotonic clock.
bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns,
                const platform::GivenUp& given_up = {});

/// False when `text` is no JSON object, or nested absurdly deep. Never throws for what the text
/// says.
bool parse_head(const std::string& text, nlohmann::json* head);

/// `ended`: the other side is gone or was given up.
FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns,
                          const platform::GivenUp& given_up = {});

}  // namespace leat::server
