// SPDX-License-Identifier: Apache-2.0
// `leat clean`: removes what dead sessions of this user left on this node, and says which live.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lib/node/stale_resources.hpp"
#include "server/cli/drain.hpp"
#include "server/cli/terminal.hpp"

namespace leat::cli {

// What `leat clean` found and did, as a screen and as JSON.
struct CleanReport {
  std::string runtime_folder;
  bool dry_run = false;
  platform::Findings found;
  std::vector<KilledSession> killed{};

  bool good() const;  ///< nothing is left that should be gone
};

std::string screen(const CleanReport& report, const Look& look);
std::string json(const CleanReport& report);

// `leat clean`: removes what dead sessions of this user left on this node, and says which live.

/// Adds the verb; running it sets `exit_code`.
void add_clean(CLI::App& app, int& exit_code);

}  // namespace leat::cli
