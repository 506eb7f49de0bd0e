// SPDX-License-Identifier: Apache-2.0
#include "server/driver/grace.hpp"

namespace leat::server {

void Grace::begin(const std::string& who, std::int64_t now_ns) {
  who_ = who;
  const bool at_once = has_begun() || half_ns_ == 0;
  take_until_ns_ = at_once ? now_ns : now_ns + half_ns_;
  scripts_until_ns_ = take_until_ns_ + half_ns_ / 2;
  engine_.announce_end();
  if (at_once) return engine_.drain(now_ns, who_);
  log_.warn(
      "got {}: what ranks hand over within {:.3g} s is taken, then stored; grace=\"...\" of "
      "<dedicated> says how long there is for both",
      who, static_cast<double>(half_ns_) / 1e9);
}

void Grace::watch(std::int64_t now_ns) {
  if (!has_begun()) return;
  if (now_ns >= take_until_ns_ && !engine_.status().all_gone) engine_.drain(now_ns, who_);
  if (now_ns >= scripts_until_ns_) engine_.abandon_scripts();
}

}  // namespace leat::server
