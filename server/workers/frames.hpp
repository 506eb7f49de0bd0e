// SPDX-License-Identifier: Apache-2.0
// What leatd and a process beside it say to each other, and how it is decoded: nothing is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// What leatd and a worker say to each other over a stream socket: 8 bytes length of the head, 8
// bytes length of the data, the head as JSON, the data.
// python-plugins/leat/scripting/frames.py is the other side.
struct Frame {
  nlohmann::json head;
  std::string data;
};

/// malformed: what came is no frame; what follows cannot be told from it.
enum class FrameStatus { frame, late, ended, malformed };

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

/// What "arrays" tells of: those that lie inside `data`, and are as large as their extents say.
std::vector<Product> products_in(const nlohmann::json& head, std::string_view data);

/// Tells of a product under this name, and puts its data behind the others, which begin at `start`.
void add_product(const Product& product, const std::string& name, std::size_t start,
                 nlohmann::json* told, std::string* data);

}  // namespace leat::server
