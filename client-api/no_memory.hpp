// SPDX-License-Identifier: Apache-2.0
// Why a block found no memory: the message, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client-api/channel.hpp"
#include "lib/base/status.hpp"

namespace leat::client {

/// What was wanted, of whom.
struct WantedBlock {
  std::string_view variable;
  std::uint64_t bytes = 0;
  std::string_view config;  ///< the XML's path
};

/// `status`: of Channel::reserve or push_block, the one that was called last.
Error explain_no_memory(Status status, const WantedBlock& wanted, const Channel& channel);

}  // namespace leat::client
