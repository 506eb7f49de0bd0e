// SPDX-License-Identifier: Apache-2.0
#include "server/session/schedule_use.hpp"

#include <nlohmann/json.hpp>

namespace leat::server {
namespace {

using nlohmann::json;

json use_in_words(const IdleUse& use) {
  return {{"found_seconds", use.found_seconds}, {"phases", use.phases},
          {"left_alone", use.left_alone},       {"mispredicted", use.mispredicted},
          {"used_seconds", use.used_seconds},   {"pieces", use.pieces},
          {"outlasted", use.outlasted},         {"late_seconds", use.late_seconds}};
}

json use_in_words(const StartUse& use) {
  return {{"first", use.first},
          {"later", use.later},
          {"deferred", use.deferred},
          {"at_once", use.at_once},
          {"lag_seconds", use.lag_seconds},
          {"longest_lag_seconds", use.longest_lag_seconds},
          {"waited_seconds", use.waited_seconds},
          {"used_seconds", use.used_seconds}};
}

}  // namespace

const char* name_of(const ScheduleUse& use) {
  return std::holds_alternative<IdleUse>(use) ? "idle" : "starts";
}

json json_of(const ScheduleUse& use) {
  return std::visit([](const auto& each) { return use_in_words(each); }, use);
}

}  // namespace leat::server
