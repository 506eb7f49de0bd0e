// SPDX-License-Identifier: Apache-2.0
// `leat check --network`: which nodes of a job reach which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace leat::cli {

struct NetworkOptions {
  std::string file;
  std::optional<std::int64_t> nodes;  ///< processes that take part; else the launcher says
  std::optional<std::int64_t> node;   ///< which of them this one is
  double limit = 60;                  ///< seconds that all of it may take
  bool json = false;
};

/// Returns the exit code.
int check_network(const NetworkOptions& options);

}  // namespace leat::cli
