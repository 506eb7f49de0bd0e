// SPDX-License-Identifier: Apache-2.0
// What `leat clean` found and did, as a screen and as JSON.
#pragma once

#include <string>
#include <vector>

#include "lib/node/stale_resources.hpp"
#include "server/command/drain.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {

struct CleanReport {
  std::string runtime_folder;
  bool dry_run = false;
  platform::Findings found;
  std::vector<KilledSession> killed{};

  bool good() const;  ///< nothing is left that should be gone
};

std::string screen(const CleanReport& report, const Look& look);
std::string json(const CleanReport& report);

}  // namespace leat::command
