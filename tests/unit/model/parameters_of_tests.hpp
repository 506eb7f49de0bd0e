// SPDX-License-Identifier: Apache-2.0
// Parameters as tests need them, in one line.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/model.hpp"

namespace leat::model {

inline Parameter integer(const std::string& name, std::int64_t value) {
  Parameter parameter;
  parameter.name = name;
  parameter.value = value;
  return parameter;
}

}  // namespace leat::model
