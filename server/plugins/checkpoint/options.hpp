// SPDX-License-Identifier: Apache-2.0
// What the XML says of a checkpoint store.
#pragma once

#include <cstdint>
#include <string>

#include "server/include/plugin.hpp"

namespace leat::checkpoint {

/// "", or why there is no such option, or not with that value.
std::string why_no_option(const std::string& name, const std::string& value);

struct Options {
  std::string folder;
  std::string copy;  ///< "": there is no second place
  std::uint64_t keep = 2;
  std::string tells{};  ///< the parameter that says to the ranks that the run ends; "": none does
};

/// Throws std::runtime_error for one that there is not.
Options options_of(const leat_run& run);

}  // namespace leat::checkpoint
