// SPDX-License-Identifier: Apache-2.0
// What the values of the parameters that are known already say about a layout.
#pragma once

#include "lib/model/read_steps.hpp"

namespace leat::model {

/// Says so when an extent cannot be computed or is negative, when ghosts are more than the block,
/// and when the whole is smaller than the interior of one block. What hangs on a parameter without
/// a value is left to the run.
void check_layout(ReadContext& context, const Layout& layout, const Attributes& attributes);

}  // namespace leat::model
