// SPDX-License-Identifier: Apache-2.0
// What takes how many bytes of a file.
#pragma once

#include <hdf5.h>

#include <cstdint>

#include "server/plugins/hdf5/tools/ls/contents.hpp"

namespace leat::hdf5 {

/// values, tables, room, structures, rest: all `bytes` of the file, each counted once; null where
/// that cannot be read.
Json space_of(hid_t file, const Contents& contents, std::uint64_t bytes);

}  // namespace leat::hdf5
