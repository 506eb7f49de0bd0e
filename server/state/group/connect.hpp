// SPDX-License-Identifier: Apache-2.0
// From what a server knows of the others of its run to operations with them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/comm/group.hpp"
#include "lib/comm/listening.hpp"
#include "lib/comm/meeting.hpp"
#include "lib/comm/member.hpp"
#include "lib/model/model.hpp"
#include "server/state/run.hpp"

namespace leat::server {

struct ConnectParts {
  comm::Meeting meeting{};
  model::Carrier carrier = model::Carrier::none;  ///< tcp or folder; none: see why_alone
  std::string why_alone{};                        ///< ""
  comm::Listening listening{};                    ///< tcp
  std::string folder{};                           ///< folder
  std::optional<comm::Resume> resume{};           ///< of the server before this one
};

/// Never null: a server that cannot be connected is alone, and says why. `wake`: from any thread, when there is news.
std::unique_ptr<comm::Group> connect(const Run& run, ConnectParts parts,
                                     std::function<void()> wake);

}  // namespace leat::server
