// SPDX-License-Identifier: Apache-2.0
// What a killed writer left in chunks that have room for rows to come. It would be seen where
// nobody writes later.
#pragma once

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// Behind `rows` rows, which are all that `dataset` has, there are fill values after this.
void clear_behind(hid_t dataset, hsize_t rows);

}  // namespace leat::hdf5
