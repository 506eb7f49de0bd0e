// SPDX-License-Identifier: Apache-2.0
// Which ranks a staging node stands for, and what a run is called there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat::staging {

using RankList = std::vector<std::int32_t>;  // ascending

/// What a staging node has of a run: the ranks of some of its servers.
struct Share {
  std::string run;         ///< session of the run
  RankList ranks{};        ///< of these
  std::int32_t all = 0;    ///< ranks of the whole run
  std::int32_t moved = 0;  ///< how often these ranks have lost their staging node before
};

/// Divides servers, each known by its ranks, among `nodes` staging nodes: neighbours stay together, and each node gets about as
/// many ranks. The result is the node of each server, in the same order.
std::vector<std::int64_t> plan_of(const std::vector<RankList>& servers, std::int64_t nodes);

/// The session on the staging node: "job7-staging"; of ranks that have moved "job7-staging.1ikg3v-12", with the lowest of them.
std::string session_of(const Share& share);

/// What a session says of itself.
struct SessionName {
  std::string run;  ///< what all staging servers of the run have in common: "job7-staging"
  std::int32_t moved = 0;
};
SessionName name_in(std::string_view session);

/// JSON of a share, and back; nothing of what is none.
std::string text_of(const Share& share);
std::optional<Share> share_in(const std::string& text);

}  // namespace leat::staging
