// SPDX-License-Identifier: Apache-2.0
// What is wrong with the blocks of an iteration, though each of them is right.
#pragma once

#include <cstdint>
#include <string>

namespace leat::server {

struct Finding {
  const char* what = "";  ///< "holes" or "overlap"
  std::uint32_t variable = 0;
  std::int64_t iteration = 0;
  std::string text;  ///< the same as long as it is the same that is wrong
};

}  // namespace leat::server
