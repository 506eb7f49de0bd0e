// SPDX-License-Identifier: Apache-2.0
// What the XML says of memory nodes, in the words of lib/platform.
#pragma once

#include "lib/model/model.hpp"
#include "lib/platform/placement.hpp"

namespace leat::server {

constexpr platform::MemoryPolicy policy_of(model::Numa numa) {
  switch (numa) {
    case model::Numa::server:
      return platform::MemoryPolicy::server;
    case model::Numa::client:
      return platform::MemoryPolicy::client;
    case model::Numa::interleave:
      return platform::MemoryPolicy::interleave;
  }
  return platform::MemoryPolicy::client;
}

}  // namespace leat::server
