// SPDX-License-Identifier: Apache-2.0
// Whether a variable fits the mesh that it lies on.
#pragma once

#include <optional>

#include "lib/model/integer_values.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {

/// Elements of the whole in dimension `d`, when they are known with these parameters: of the global
/// array, else of a block without its ghosts.
std::optional<std::int64_t> whole_extent(const IntegerValues& parameters, const Layout& layout,
                                         std::size_t d);

/// Says what of a variable does not fit its mesh: the number of dimensions, or extents that are
/// known before the run. Extents may differ by one from those of the coordinates: centres, nodes,
/// and what lies on the faces of cells.
void check_on_mesh(ReadContext& context, const Variable& variable);

}  // namespace leat::model
