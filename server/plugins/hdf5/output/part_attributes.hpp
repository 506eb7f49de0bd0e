// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// What a view is made by, of a part of it.
void describe_part(hid_t file, const leat_run& run, const std::string& view);

}  // namespace leat::hdf5
