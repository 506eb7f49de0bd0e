// SPDX-License-Identifier: Apache-2.0
// Filters of a dataset, as `leat ls` names them.
#pragma once

#include <hdf5.h>

#include "server/plugins/hdf5/tools/ls/facts.hpp"

namespace leat::hdf5 {

/// Names of the filters that chunks go through, e.g. "shuffle", "deflate:1", "zstd:3"; none needs
/// to be installed.
Json filter_names(hid_t creation);

}  // namespace leat::hdf5
