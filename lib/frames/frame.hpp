// SPDX-License-Identifier: Apache-2.0
// What leatd and a process beside it say to each other, and how it is decoded: nothing is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/os/descriptor.hpp"

namespace leat {

/// Descriptors of such a process, as it knows them.
inline constexpr int kWorkerSocket = 3, kWorkerConstants = 5, kWorkerOutputs = 6;
inline constexpr int kWorkerSockets =
    7;  ///< and those behind it: of one that another host comes in by

// What leatd and a worker say to each other over a stream socket: 8 bytes length of the head, 8
// bytes length of the data, the head as JSON, the data.
// python-plugins/leat/scripting/frames.py is the other side.
struct Frame {
  nlohmann::json head;
  std::string data;
};

/// malformed: what came is no frame; what follows cannot be told from it.
enum class FrameStatus { frame, late, ended, malformed };

/// What comes before its data.
std::string start_of(const Frame& frame);
/// Reads one by `read`, which fills so many bytes, or says why it cannot. One with more than `most_bytes` of data is malformed.
FrameStatus read_frame(const std::function<FrameStatus(void*, std::size_t)>& read,
                       std::uint64_t most_bytes, Frame* frame);

/// False when the other side is gone, or takes nothing until `deadline_ns` of the monotonic clock.
bool send_frame(int socket, const Frame& frame, std::int64_t deadline_ns,
                const os::GivenUp& given_up = {});

/// False when `text` is no JSON object, or nested absurdly deep. Never throws for what the text
/// says.
bool parse_head(const std::string& text, nlohmann::json* head);

/// `ended`: the other side is gone or was given up.
FrameStatus receive_frame(int socket, Frame* frame, std::int64_t deadline_ns,
                          const os::GivenUp& given_up = {});

// What is said in frames, decoded. A worker runs code of anybody's: whatever it says, these functions
// neither throw nor believe it; what makes no sense reads as if it had not been said.

/// What is called `key`; null when there is none.
const nlohmann::json& member_of(const nlohmann::json& object, const char* key);

/// Nothing for what is none, or too large.
std::optional<std::int64_t> integer_of(const nlohmann::json& value);

/// The text called `key`; `otherwise` when there is none or it is no text.
std::string text_in(const nlohmann::json& head, const char* key, const char* otherwise = "");

/// The number that the frame has under that name; 0 when there is none.
std::int64_t number_in(const Frame& frame, const char* key);

}  // namespace leat
