// SPDX-License-Identifier: Apache-2.0
// The methods of each kind of processor; empty on others. Private to crc32c.cpp.
#pragma once

#include <vector>

#include "lib/platform/crc32c.hpp"

namespace leat::platform {

std::vector<Crc32cMethod> crc32c_methods_of_x86();
std::vector<Crc32cMethod> crc32c_methods_of_arm();

}  // namespace leat::platform
