// SPDX-License-Identifier: Apache-2.0
// What one call of a script has made for the stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/scalar.hpp"

namespace leat::server {

struct ScriptArray {
  std::string name, unit;
  ScalarType type = ScalarType::float64;
  std::vector<std::string> dimensions;
  std::vector<std::int64_t> extents;
  std::uint64_t offset = 0;  ///< of its data in ScriptResults::data
  std::uint64_t bytes = 0;
};

struct ScriptResults {
  std::string script;
  std::int64_t iteration = 0;
  std::vector<ScriptArray> arrays;  ///< scalars have no dimensions
  std::string data;
};

}  // namespace leat::server
