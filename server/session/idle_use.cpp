// SPDX-License-Identifier: Apache-2.0
#include "server/session/idle_use.hpp"

#include <nlohmann/json.hpp>

namespace leat::server {

nlohmann::json json_of(const IdleUse& use) {
  return {{"found_seconds", use.found_seconds}, {"phases", use.phases},
          {"left_alone", use.left_alone},       {"mispredicted", use.mispredicted},
          {"used_seconds", use.used_seconds},   {"pieces", use.pieces},
          {"outlasted", use.outlasted},         {"late_seconds", use.late_seconds}};
}

}  // namespace leat::server
