// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace leat::hdf5 {

/// Makes an empty file one with the same `bytes`. Shares them where the file system can, and leaves
/// out what was never written. 0 or an errno: ENOSPC is known before anything is copied, where room
/// can be reserved.
int copy_content(int from, int to, std::uint64_t bytes);

}  // namespace leat::hdf5
