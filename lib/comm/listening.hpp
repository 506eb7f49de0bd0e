// SPDX-License-Identifier: Apache-2.0
// Where a server can be reached by others of its run, before it knows who they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

/// Sockets that listen, all at one port. Who connects waits there until somebody takes them over.
struct Listening {
  std::uint16_t port = 0;  ///< 0: there is none
  std::vector<os::UniqueFd> sockets{};
};

/// At these addresses. `port` 0: at any that is free; another one is that of a server which has died.
Result<Listening> listen_at(const std::vector<std::string>& addresses, std::uint16_t port = 0);

}  // namespace leat::comm
