// SPDX-License-Identifier: Apache-2.0
// What two servers say first on a link: which server of which run each is, and whom it means.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/comm/rank_set.hpp"

namespace leat::comm {

struct Hello {
  Rank from = 0;
  Rank to = 0;
  Rank size = 0;      ///< of the run
  std::string run{};  ///< the same for all servers of a run, another one for each run
  bool operator==(const Hello&) const = default;
};

std::string hello_text(const Hello& hello);
std::optional<Hello> hello_in(std::string_view text);

/// "" when `theirs` is an answer to `own`, where `own.to` is -1 when it may be of any server; or why this is no
/// link between two servers of a run. A network or a file that leads to another server is found out so.
std::string why_no_peer(const std::optional<Hello>& theirs, const Hello& own);

}  // namespace leat::comm
