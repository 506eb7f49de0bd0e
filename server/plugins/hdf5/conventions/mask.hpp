// SPDX-License-Identifier: Apache-2.0
// Yes or no for each iteration, in the form that CF gives flags.
#pragma once

#include <string>

#include "server/plugins/hdf5/conventions/table_attributes.hpp"
#include "server/plugins/hdf5/conventions/target.hpp"

namespace leat::hdf5 {

/// A list of int8 along the iterations, 1 or 0, of `length` zeros when it is new.
Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length = 0);

}  // namespace leat::hdf5
