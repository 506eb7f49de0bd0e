// SPDX-License-Identifier: Apache-2.0
// What the XML says of a raw store.
#pragma once

#include <string>

#include "server/include/plugin.hpp"
#include "server/plugins/common/io_choice.hpp"

namespace leat::raw {

/// "", or why there is no such option, or not with that value.
std::string why_no_option(const std::string& name, const std::string& value);

struct Options {
  std::string folder;
  bool is_per_iteration = false, is_durable = false;
  Io io = Io::buffered;
};

/// Throws std::runtime_error for one that there is not.
Options options_of(const leat_run& run);

}  // namespace leat::raw
