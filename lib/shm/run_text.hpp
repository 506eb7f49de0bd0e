// SPDX-License-Identifier: Apache-2.0
// What a run was started with, kept in its segment: enough to finish it when all of its processes
// are dead, whatever has become of its XML meanwhile. Written once, before the first client
// attaches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::shm {

struct RunText {
  std::string session;
  std::string folder;  ///< absolute; the one that the server works in
  std::int32_t ranks = 1, node_ranks = 1;
  std::int32_t server = 0, servers = 1;  ///< of the node; they divide its ranks
  /// Path and text of the XML, then of each file that it includes; paths count from `folder`.
  std::vector<std::pair<std::string, std::string>> sources;
  /// Of the server: "NAME=value". The XML may refer to it, and so does the runtime folder.
  std::vector<std::string> environment;
};

std::string encode(const RunText& run);
/// Empty when that is no such text.
std::optional<RunText> decode_run_text(std::string_view bytes);

}  // namespace leat::shm
